"""What an intent's payments add up to, and the state that follows from it. Pure arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass

from ticketing.chain import units
from ticketing.chain.node import Block
from ticketing.constants import LIVE, SOLD, Flag, IntentStatus
from ticketing.models.payment_intents import Payment, PaymentIntent


@dataclass(frozen=True)
class Books:
    """One intent's sums in micro-units, as far as the chain is known (`as_of`).

    `final` is what lies deep enough to stay; `paid_block` is the block of the payment that
    completed the amount.
    """

    intent: PaymentIntent
    as_of: Block
    received: int
    final: int
    paid_block: int | None
    flags: frozenset[Flag]

    @property
    def status(self) -> IntentStatus:
        """The status that the intent must have now."""
        status = IntentStatus(self.intent.status)
        paid = self.received >= self.intent.amount
        if status in SOLD:
            back = self.final >= self.intent.amount
            stays = status is IntentStatus.CONFIRMED and paid
            return IntentStatus.CONFIRMED if back or stays else IntentStatus.REVERSED
        if status not in LIVE:
            return status
        if self.final >= self.intent.amount:
            return IntentStatus.CONFIRMED
        if paid:
            return IntentStatus.PROCESSING
        if self.as_of.time > self.intent.expires_at:
            return IntentStatus.EXPIRED
        return IntentStatus.AWAITING_PAYMENT

    @property
    def refund_due(self) -> int:
        """What was received beyond what was sold, or is being sold."""
        if self.status in (IntentStatus.EXPIRED, IntentStatus.CANCELED):
            return self.received
        return max(0, self.received - self.intent.amount)


def add_up(intent: PaymentIntent, payments: Sequence[Payment], as_of: Block) -> Books:
    """Add up an intent's payments, given in the chain's order, canonical or not."""
    terms = intent.terms
    price = units.to_atomic(intent.amount, terms.decimals)
    final_up_to = as_of.number - terms.required_confirmations + 1
    canonical = [payment for payment in payments if payment.canonical]
    received = final = at_completion = 0
    completed: Payment | None = None
    for payment in canonical:
        received += units.to_atomic(payment.amount, terms.decimals) + payment.dust
        if payment.block_number <= final_up_to:
            final = received
        if completed is None and received >= price:
            completed = payment
            at_completion = received
    ended = intent.status in (IntentStatus.EXPIRED, IntentStatus.CANCELED)
    late = [payment for payment in canonical if payment.block_time > intent.expires_at]
    flags = {
        Flag.UNDERPAID: 0 < received < price,
        Flag.OVERPAID: at_completion > price,
        Flag.PAID_LATE: bool(late) and (ended or completed is None or completed in late),
        Flag.DUPLICATE: completed is not None and received > at_completion,
        Flag.REORGED: len(canonical) < len(payments),
    }
    return Books(
        intent=intent,
        as_of=as_of,
        received=units.from_atomic(received, terms.decimals)[0],
        final=units.from_atomic(final, terms.decimals)[0],
        paid_block=completed.block_number if completed else None,
        flags=frozenset(flag for flag, stands in flags.items() if stands),
    )
