"""The email addresses of an order: which of them are the buyer's, and which get a warning."""

from dataclasses import dataclass
from datetime import datetime

from ticketing.models.payment_intents import PaymentIntent


@dataclass(frozen=True)
class Mailboxes:
    """`buyers`: addresses that the buyer has proven; only these get buttons. `told`: at most three:
    the one at the first payment, the one before, and the present one.

    `changed_by_staff_at`: when the organizer's side last changed the address, unless a mailbox of
    the buyer has confirmed one since. None: it didn't.
    """

    buyers: tuple[str, ...]
    told: tuple[str, ...]
    changed_by_staff_at: datetime | None = None


def of(intent: PaymentIntent) -> Mailboxes:
    """Return the mailboxes of an order."""
    present = () if intent.buyer_email is None else (intent.buyer_email,)
    return Mailboxes(present, present)
