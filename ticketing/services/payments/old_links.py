"""End the links of an order whose address the organizer changes."""

from __future__ import annotations

from ticketing.config import Config
from ticketing.db.connection import write_transaction
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.orders import buyer_emails, intents
from ticketing.services.payments import payee_changes


def send_again(
    tenant_id: str, intent_id: str, email: str, config: Config, *, end_old_links: bool
) -> PaymentIntent:
    """Set the address of an order for the organizer, and plan the mail that its buyer needs now.

    With `end_old_links`, the order gets a new link, which goes to that address only. The links of
    before, payment links, x402 claims and statements that wait for the order's refunds end. Where
    its refunds go does not change. Return the order with its details.

    NotFound. MailNotConfigured. EmailClosed.
    """
    with write_transaction():
        intent = buyer_emails.send_again(
            tenant_id, intent_id, email, config, ends_links=end_old_links
        )
        if end_old_links:
            payee_changes.end_waiting(intent)
    return intents.read_all(tenant_id, intent_id)
