"""The refunds surface: list refunds, count what was paid back, write off what is not."""

from typing import Any

from schemas.base import page_of
from schemas.refunds import (
    RefundByHandSchema,
    RefundListQuery,
    RefundPayeeSchema,
    RefundSchema,
    RefundSettleSchema,
    RefundsSettleSchema,
    RefundsWaiveSchema,
    RefundWaiveSchema,
    SettledRefundsSchema,
    WaivedRefundsSchema,
)
from ticketing.errors import (
    AmountChanged,
    ChainUnavailable,
    Invalid,
    NoRefundDue,
    NotFound,
    NothingReceived,
    RefundListed,
    RefundNotSeen,
)
from ticketing.roles import Role
from ticketing.services.pagination import Page
from ticketing.services.payments import (
    entered_payees,
    refund_settlement,
    refunds,
    refunds_by_hand,
    waivers,
)
from ticketing.services.payments.refund_settlement import SettledOrders
from ticketing.services.payments.refunds import RefundOwed
from ticketing.services.payments.waivers import Waived
from ticketing.web import auth
from ticketing.web.audited import actor
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config, page_request
from ticketing.web.event_scope import filtered
from ticketing.web.idempotency import idempotent, idempotent_outside_transaction

blp = ApiBlueprint(
    "refunds",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/refunds",
    guard=auth.TenantRole(
        reads={Role.READ, Role.FINANCE},
        writes={Role.ADMIN, Role.FINANCE},
        scope=filtered("list_refunds"),
    ),
    description="Refunds that the organizer owes. The service never sends money.",
)


@blp.get("")
@blp.arguments(RefundListQuery, location="query")
@blp.response(200, page_of(RefundSchema))
def list_refunds(query: dict[str, Any], tenant: str) -> Page[RefundOwed]:
    """List the refunds that are due, or with `status` those that were waived or settled.

    There is one for each order, network and token.
    """
    return refunds.list_page(
        caller().tenant_id, page_request(query), event_ids=caller().event_ids, **query
    )


@blp.post("/<intent_id>/settle")
@idempotent_outside_transaction
@blp.arguments(RefundSettleSchema)
@blp.response(200, RefundSchema)
@blp.raises(NotFound, NoRefundDue, RefundNotSeen, ChainUnavailable, Invalid)
def settle_refund(body: dict[str, Any], tenant: str, intent_id: str) -> RefundOwed:
    """Count a transaction as a refund, or a part of it. It must be final on the chain.

    Transfers count to the stated refund address, to a payer up to what it sent, and to `recipient`.
    A transfer pays what is owed from payments before it. One transfer may pay several orders. Of
    money on another network, name its `chain_id`. It counts also if the money is still unassigned.
    """
    return refund_settlement.settle(
        caller().tenant_id, intent_id, **body, enabled=config().chains, by=actor()
    )


@blp.post("/settle")
@idempotent_outside_transaction
@blp.arguments(RefundsSettleSchema)
@blp.response(200, SettledRefundsSchema)
@blp.raises(ChainUnavailable)
def settle_refunds(body: dict[str, Any], tenant: str) -> SettledOrders:
    """Count a transaction as refunds of all orders that it paid. It must be final on the chain.

    500 orders and 200 transfers are tried. An order that is due what a transfer sends is first,
    then the oldest. Call again while `left` is not 0, with another Idempotency-Key.
    """
    return refund_settlement.settle_all(
        caller().tenant_id, **body, enabled=config().chains, by=actor()
    )


@blp.post("/<intent_id>/waive")
@idempotent
@blp.arguments(RefundWaiveSchema)
@blp.response(200, RefundSchema)
@blp.raises(NotFound, NoRefundDue, AmountChanged, RefundListed, ChainUnavailable)
def waive_refund(body: dict[str, Any], tenant: str, intent_id: str) -> RefundOwed:
    """Write off a refund that cannot or need not be sent back.

    Not one on a list of payouts that can still be paid: 409 `refund_listed`.
    """
    return waivers.waive(caller().tenant_id, intent_id, **body, by=actor())


@blp.put("/<intent_id>/payee")
@idempotent
@blp.arguments(RefundPayeeSchema)
@blp.response(200, RefundSchema)
@blp.raises(NotFound, Invalid, NothingReceived)
def enter_payee(body: dict[str, Any], tenant: str, intent_id: str) -> RefundOwed:
    """Enter where a refund goes, for a buyer who told you. It counts at once.

    The buyer gets a mail, and the audit log has your `reason`. Whoever signs the list of payouts is
    told who entered it. What the buyer stated and still waits ends.
    """
    return entered_payees.enter(caller().tenant_id, intent_id, **body, config=config(), by=actor())


@blp.post("/<intent_id>/by-hand")
@idempotent
@blp.arguments(RefundByHandSchema)
@blp.response(200, RefundSchema)
@blp.raises(NotFound, NoRefundDue, RefundListed, ChainUnavailable)
def mark_refund(body: dict[str, Any], tenant: str, intent_id: str) -> RefundOwed:
    """Mark a refund that you pay by hand, as from an exchange, or remove the mark.

    A marked refund is on no list of payouts. A refund on a list that can still be paid cannot be
    marked: 409 `refund_listed`. The mark ends when a refund of the order is counted or waived.
    """
    return refunds_by_hand.mark(caller().tenant_id, intent_id, **body, by=actor())


@blp.post("/waive")
@idempotent
@blp.arguments(RefundsWaiveSchema)
@blp.response(200, WaivedRefundsSchema)
@blp.raises(ChainUnavailable)
def waive_refunds(body: dict[str, Any], tenant: str) -> Waived:
    """Write off all refunds of `max_amount` or less, the largest first, 500 in one call.

    An order with pending payments is left out: it may owe more soon. So is one on a list of payouts
    that can still be paid. Call again while `left` is
    not 0, with another Idempotency-Key.
    """
    return waivers.waive_small(caller().tenant_id, **body, by=actor())
