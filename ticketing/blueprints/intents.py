"""The surface on which organizers read payment intents, and send their mails again."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from schemas.base import PageQuery, page_of
from schemas.intents import (
    AdminIntentDetailSchema,
    AdminIntentSchema,
    IntentListQuery,
    PaymentSchema,
)
from schemas.order_emails import EmailCorrectionSchema
from ticketing.errors import EmailClosed, MailNotConfigured, NotFound
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.roles import Role
from ticketing.services.catalog import vouchers
from ticketing.services.orders import intents, order_search
from ticketing.services.pagination import Page
from ticketing.services.payments import old_links
from ticketing.web import auth
from ticketing.web.audited import noted
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config, page_request
from ticketing.web.event_scope import filtered
from ticketing.web.idempotency import idempotent, never_stored

blp = ApiBlueprint(
    "intents",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>",
    guard=auth.TenantRole(
        reads={Role.READ, Role.FINANCE},
        writes={Role.WRITE, Role.FINANCE},
        scope=filtered("list_intents"),
    ),
    description="The buyers' orders and payments.",
)


@blp.get("/intents")
@blp.arguments(IntentListQuery, location="query")
@blp.response(200, page_of(AdminIntentSchema))
def list_intents(query: dict[str, Any], tenant: str) -> Page[PaymentIntent]:
    """List the tenant's payment intents, or find those that `q` identifies."""
    found = order_search.list_page(
        caller().tenant_id, page_request(query), event_ids=caller().event_ids, **query
    )
    _hide_codes(found.data)
    return found


@blp.get("/intents/<intent_id>")
@blp.response(200, AdminIntentDetailSchema)
@blp.raises(NotFound)
def get_intent(tenant: str, intent_id: str) -> PaymentIntent:
    """Read one payment intent with its largest payments and its admissions."""
    found = intents.read_all(caller().tenant_id, intent_id)
    _hide_codes([found])
    return found


def _hide_codes(found: Sequence[PaymentIntent]) -> None:
    """Hide the codes of vouchers from those who may not use them."""
    if not caller().role.holds(Role.WRITE):
        for intent in found:
            if intent.voucher is not None:
                vouchers.without_code(intent.voucher)


@blp.post("/intents/<intent_id>/email")
@idempotent
@blp.arguments(EmailCorrectionSchema)
@blp.response(200, AdminIntentDetailSchema)
@never_stored("voucher.code")
@blp.raises(NotFound, MailNotConfigured, EmailClosed)
def send_intent_to_email(body: dict[str, Any], tenant: str, intent_id: str) -> PaymentIntent:
    """Correct where the mails of an order go, and send the one that its buyer needs now.

    That is its tickets, or how to pay for it. The same address gets it again: the same tickets. The
    address before gets a mail that says so, without the new one. If it is the buyer's, the mail has
    a button that puts it back. `finance` may only do this with `end_old_links`.
    """
    send = partial(
        old_links.send_again,
        caller().tenant_id,
        intent_id,
        body["email"],
        config(),
        role=caller().role,
        end_old_links=body["end_old_links"],
    )
    found = noted(intent_id, send, lambda _: body)
    _hide_codes([found])
    return found


@blp.get("/intents/<intent_id>/payments")
@blp.arguments(PageQuery, location="query")
@blp.response(200, page_of(PaymentSchema))
@blp.raises(NotFound)
def list_payments(query: dict[str, Any], tenant: str, intent_id: str) -> Page[Payment]:
    """List the payments of an intent by their blocks, also those that were removed.

    Those on other networks than the order's are there, too: see `chain_id`.
    """
    return intents.page_of_payments(caller().tenant_id, intent_id, page_request(query))
