"""The balance of an order: what it received, keeps and owes. Pure arithmetic on its payments.

    received   its canonical payments
    counted    received - refunded
    kept       0 once the order has ended; its amount while it is live or sold
    due        max(0, counted - kept), owed to the buyer
    pending    the part of what is due that lies in blocks not yet deep enough

A live order is paid when counted >= amount. What is due shrinks only by a settled refund or by the
removal of the payments it came from. Amounts are micro-units.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ticketing.chain import units
from ticketing.chain.answers import Block
from ticketing.constants import LIVE, PART_EXTENSION, REORG_GRACE, SOLD, Flag, IntentStatus
from ticketing.models.payment_intents import Payment, PaymentIntent


@dataclass(frozen=True)
class Balance:
    """The sums of one order as of the block `as_of`, and what follows from them.

    `final` is the part of `received` that lies deep enough. `paid_block` is the block of the
    payment that completed the amount. `is_honoured`: a late transfer keeps an order that had
    ended. `deadline` and `grace_until` are the order's as they must be now.
    """

    intent: PaymentIntent
    as_of: Block
    received: int
    final: int
    is_honoured: bool
    paid_block: int | None
    flags: frozenset[Flag]
    deadline: datetime
    grace_until: datetime | None

    @property
    def counted(self) -> int:
        """What was received and not sent back."""
        return self.received - self.intent.refunded

    @property
    def is_paid(self) -> bool:
        """Whether the order may have its tickets: one that had ended only by a late transfer."""
        has_enough: bool = self.counted >= self.intent.amount
        return has_enough and (self.is_honoured or not has_ended(self.intent))

    @property
    def is_final(self) -> bool:
        """Whether what pays the order lies so deep that it stays."""
        return self.final - self.intent.refunded >= self.intent.amount

    @property
    def status(self) -> IntentStatus:
        """The status that the order must have now."""
        status = IntentStatus(self.intent.status)
        if status is IntentStatus.CANCELED:
            return status
        if status in SOLD:
            stays = status is IntentStatus.CONFIRMED and self.is_paid
            return IntentStatus.CONFIRMED if self.is_final or stays else IntentStatus.REVERSED
        if self.is_paid:
            return IntentStatus.CONFIRMED if self.is_final else IntentStatus.PROCESSING
        if status is IntentStatus.EXPIRED or self.as_of.time > self.deadline:
            return IntentStatus.EXPIRED
        return IntentStatus.AWAITING_PAYMENT

    def due(self, status: IntentStatus) -> int:
        """Return what is owed to the buyer in `status`."""
        return max(0, self.counted - self._kept(status))

    def pending(self, status: IntentStatus) -> int:
        """Return the part of what is due in `status` that is not yet deep enough."""
        final = max(0, self.final - self.intent.refunded - self._kept(status))
        return max(0, self.due(status) - final)

    def _kept(self, status: IntentStatus) -> int:
        ended = status in (IntentStatus.EXPIRED, IntentStatus.CANCELED)
        return 0 if ended else int(self.intent.amount)


def add_up(intent: PaymentIntent, payments: Sequence[Payment], as_of: Block) -> Balance:
    """Add up an order's payments, given in the chain's order, canonical or not."""
    terms = intent.terms
    price = units.to_atomic(intent.amount, terms.decimals)
    final_up_to = as_of.number - terms.required_confirmations + 1
    canonical = [payment for payment in payments if payment.canonical]
    received = final = at_completion = 0
    completed: Payment | None = None
    for payment in canonical:
        received += _atomic(payment, terms.decimals)
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
        is_honoured=any(payment.honoured for payment in canonical),
        paid_block=completed.block_number if completed else None,
        flags=frozenset(flag for flag, is_set in flags.items() if is_set),
        deadline=deadline,
        grace_until=grace_until,
    )


def has_ended(intent: PaymentIntent) -> bool:
    """Tell whether an order is kept by a late transfer at most: it expired, or did once."""
    expired_once = intent.status in LIVE and intent.ended_at is not None
    return expired_once or intent.status == IntentStatus.EXPIRED


def undecided(payments: Sequence[Payment]) -> list[Payment]:
    """Return the transfers to an ended order on which nothing was decided yet.

    There are none while one that was honoured is on the chain: what comes beside it is surplus.
    """
    canonical = [payment for payment in payments if payment.canonical]
    if any(payment.honoured for payment in canonical):
        return []
    return [payment for payment in canonical if payment.honoured is None]


def covering(intent: PaymentIntent, payments: Sequence[Payment]) -> Payment | None:
    """Return the first undecided transfer that covers the whole amount of an ended order.

    None if the order owes anything else before it: what is owed stays owed. None as well if the
    order is unpaid with that transfer, because more was sent back than it has received.
    """
    decimals = intent.terms.decimals
    canonical = [payment for payment in payments if payment.canonical]
    received = units.from_atomic(sum(_atomic(each, decimals) for each in canonical), decimals)[0]
    if not has_ended(intent) or received - intent.refunded < intent.amount:
        return None
    new = undecided(payments)
    before = [payment for payment in canonical if payment not in new]
    owed = sum(_atomic(payment, decimals) for payment in before)
    for payment in new:
        owes = units.from_atomic(owed, decimals)[0] > intent.refunded
        if payment.amount >= intent.amount and not owes:
            return payment
        owed += _atomic(payment, decimals)
    return None


def _atomic(payment: Payment, decimals: int) -> int:
    return units.to_atomic(payment.amount, decimals) + int(payment.dust)


def _deadline(
    intent: PaymentIntent, canonical: Sequence[Payment], completed: Payment | None
) -> datetime:
    """Hold an order longer, once, when its first payment came in time and was half or more."""
    deadline: datetime = intent.hold_until
    first = canonical[0] if canonical else None
    if first is None or first is completed or first.block_time > deadline:
        return deadline
    return deadline + PART_EXTENSION if 2 * first.amount >= intent.amount else deadline


def _grace(intent: PaymentIntent, received: int, as_of: Block) -> datetime | None:
    """Give an order time for its payment to come back, from when it was taken away."""
    granted: datetime | None = intent.grace_until
    if intent.status in LIVE and received < min(intent.amount, intent.amount_received):
        return as_of.time + REORG_GRACE
    return granted
