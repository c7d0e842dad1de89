"""What an intent's payments add up to, and the state that follows from it. Pure arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ticketing.chain import units
from ticketing.chain.answers import Block
from ticketing.constants import LIVE, PART_EXTENSION, REORG_GRACE, SOLD, Flag, IntentStatus
from ticketing.models.payment_intents import Payment, PaymentIntent


@dataclass(frozen=True)
class Balance:
    """One intent's sums in micro-units, as far as the chain is known (`as_of`).

    `final` is what lies deep enough to stay, `paid_block` the block of the payment that
    completed the amount; `deadline` and `grace_until` are the intent's as they must be now.
    """

    intent: PaymentIntent
    as_of: Block
    received: int
    final: int
    paid_block: int | None
    flags: frozenset[Flag]
    deadline: datetime
    grace_until: datetime | None

    @property
    def status(self) -> IntentStatus:
        """The status that the intent must have now, if it is not to be honoured late."""
        status = IntentStatus(self.intent.status)
        if status in SOLD:
            stays = status is IntentStatus.CONFIRMED and self.is_paid
            return IntentStatus.CONFIRMED if self.is_final or stays else IntentStatus.REVERSED
        if status not in LIVE:
            return status
        if self.is_paid:
            return self.paid_status
        if self.as_of.time > self.deadline:
            return IntentStatus.EXPIRED
        return IntentStatus.AWAITING_PAYMENT

    @property
    def is_paid(self) -> bool:
        """Whether the whole amount has arrived, and was not given back."""
        return self.received - self.intent.refunded >= self.intent.amount

    @property
    def is_final(self) -> bool:
        """Whether it has arrived so deep that it stays."""
        return self.final - self.intent.refunded >= self.intent.amount

    @property
    def paid_status(self) -> IntentStatus:
        """The status of an intent that is paid and has its stock."""
        return IntentStatus.CONFIRMED if self.is_final else IntentStatus.PROCESSING

    @property
    def is_newly_paid_late(self) -> bool:
        """Whether an expired intent is paid only now: what could not be honoured then, stays so."""
        before = self.intent.amount_received - self.intent.refunded
        expired = self.intent.status == IntentStatus.EXPIRED
        return expired and self.is_paid and before < self.intent.amount

    def refund_due(self, status: IntentStatus) -> int:
        """What was received beyond what is sold in this status, and was not given back yet."""
        sold = 0 if status in (IntentStatus.EXPIRED, IntentStatus.CANCELED) else self.intent.amount
        return max(0, self.received - sold - self.intent.refunded)


def add_up(intent: PaymentIntent, payments: Sequence[Payment], as_of: Block) -> Balance:
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
    whole = units.from_atomic(received, terms.decimals)[0]
    grace_until = _grace(intent, whole, as_of)
    deadline = max(_deadline(intent, canonical, completed), grace_until or intent.hold_until)
    ended = intent.status in (IntentStatus.EXPIRED, IntentStatus.CANCELED)
    late = [payment for payment in canonical if payment.block_time > deadline]
    flags = {
        Flag.UNDERPAID: 0 < received < price,
        Flag.OVERPAID: at_completion > price,
        Flag.PAID_LATE: bool(late) and (ended or completed is None or completed in late),
        Flag.DUPLICATE: completed is not None and received > at_completion,
        Flag.REORGED: Flag.REORGED in intent.flags or len(canonical) < len(payments),
    }
    return Balance(
        intent=intent,
        as_of=as_of,
        received=whole,
        final=units.from_atomic(final, terms.decimals)[0],
        paid_block=completed.block_number if completed else None,
        flags=frozenset(flag for flag, stands in flags.items() if stands),
        deadline=deadline,
        grace_until=grace_until,
    )


def _deadline(
    intent: PaymentIntent, canonical: Sequence[Payment], completed: Payment | None
) -> datetime:
    """Hold an order longer, once, when its first payment came in time and was a part."""
    deadline: datetime = intent.hold_until
    first = canonical[0] if canonical else None
    if first is None or first is completed or first.block_time > deadline:
        return deadline
    return deadline + PART_EXTENSION


def _grace(intent: PaymentIntent, received: int, as_of: Block) -> datetime | None:
    """Give an order time for its payment to come back, from when it was taken away."""
    granted: datetime | None = intent.grace_until
    if intent.status in LIVE and received < min(intent.amount, intent.amount_received):
        return as_of.time + REORG_GRACE
    return granted
