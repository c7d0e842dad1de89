"""The organizer changes the address of an order, and may end the links of before."""

from __future__ import annotations

from collections.abc import Sequence

from ticketing.config import Config
from ticketing.db.connection import write_transaction
from ticketing.errors import InsufficientRole
from ticketing.models.payment_intents import PaymentIntent
from ticketing.roles import Role
from ticketing.services.orders import accounts, buyer_emails, intents
from ticketing.services.payments import payee_changes, settlement


def send_again(
    tenant_id: str, intent_id: str, email: str, config: Config, *, role: Role, end_old_links: bool
) -> PaymentIntent:
    """Set the address of an order for the organizer, and plan the mail that its buyer needs now.

    With `end_old_links`, the order gets a new link, which goes to that address only. The links of
    before, payment links, x402 claims and statements that wait for the order's refunds end. Where
    its refunds go does not change. Return the order with its details.

    `role`: that of who asks. Who has a new link can say where a refund goes, so for an order with
    money the old ones end only with a role for money.

    NotFound. InsufficientRole. MailNotConfigured. EmailClosed.
    """
    found = intents.get(tenant_id, intent_id)
    with write_transaction():
        (intent,) = settlement.lock_rows([found.id])
        if not role.holds(*_needed(intent, end_old_links=end_old_links)):
            raise InsufficientRole
        intent = buyer_emails.send_again(
            tenant_id, intent_id, email, config, ends_links=end_old_links
        )
        if end_old_links:
            payee_changes.end_waiting(intent)
    return intents.read_all(tenant_id, intent_id)


def _needed(intent: PaymentIntent, *, end_old_links: bool) -> Sequence[Role]:
    if end_old_links and accounts.has_money(intent):
        return Role.FINANCE, Role.ADMIN
    return (Role.WRITE,)
