"""The balance of an order: what it received, keeps and owes. Pure arithmetic on its payments.

    received   its canonical payments
    counted    received - refunded
    kept       0 once the order has ended; its amount while it is live or sold
    due        max(0, counted - kept), owed to the buyer
    pending    the part of due in blocks that are not final yet

A live order is paid when counted >= amount. Only a recorded refund, or the removal of its payments,
reduces what is due. Amounts are micro-units.
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
    """The sums of one order as of the block `as_of`, and their consequences.

    `final` is the part of `received` that is final. `paid_block` is the block of the payment that
    completed the amount. `is_honoured`: a late transfer paid for an order that had ended.
    `deadline` and `grace_until` are the new values for the order.
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
        """The amount that was received and not refunded."""
        return self.received - self.intent.refunded

    @property
    def is_paid(self) -> bool:
        """Whether the order is paid. An order that had ended needs a late transfer."""
        has_enough: bool = self.counted >= self.intent.amount
        return has_enough and (self.is_honoured or not has_ended(self.intent))

    @property
    def is_final(self) -> bool:
        """Whether the payments for the order are final."""
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
        """Return the refund that is due in `status`."""
        return max(0, self.counted - self._kept(status))

    def pending(self, status: IntentStatus) -> int:
        """Return the part of the refund due in `status` that is not final yet."""
        final = max(0, self.final - self.intent.refunded - self._kept(status))
        return max(0, self.due(status) - final)

    def _kept(self, status: IntentStatus) -> int:
        ended = status in (IntentStatus.EXPIRED, IntentStatus.CANCELED)
        return 0 if ended else int(self.intent.amount)


def add_up(intent: PaymentIntent, payments: Sequence[Payment], as_of: Block) -> Balance:
    """Compute the balance from an order's payments, in the order of the chain, canonical or not."""
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
    """Return whether an order has expired, now or earlier: only a late transfer can pay for it."""
    expired_once = intent.status in LIVE and intent.ended_at is not None
    return expired_once or intent.status == IntentStatus.EXPIRED


def undecided(payments: Sequence[Payment]) -> list[Payment]:
    """Return the transfers to an ended order that are not decided yet.

    Empty while an honoured transfer is on the chain: all others are surplus.
    """
    canonical = [payment for payment in payments if payment.canonical]
    if any(payment.honoured for payment in canonical):
        return []
    return [payment for payment in canonical if payment.honoured is None]


def covering(intent: PaymentIntent, payments: Sequence[Payment]) -> Payment | None:
    """Return the first undecided transfer that covers the full amount of an ended order.

    None if the order owes an earlier refund, which stays due. None also if the order is unpaid
    even with that transfer, because more was refunded than received.
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
    """Extend the hold once, if the first payment was in time and at least half of the amount."""
    deadline: datetime = intent.hold_until
    first = canonical[0] if canonical else None
    if first is None or first is completed or first.block_time > deadline:
        return deadline
    return deadline + PART_EXTENSION if 2 * first.amount >= intent.amount else deadline


def _grace(intent: PaymentIntent, received: int, as_of: Block) -> datetime | None:
    """Give a removed payment time to return, starting when it was removed."""
    granted: datetime | None = intent.grace_until
    if intent.status in LIVE and received < min(intent.amount, intent.amount_received):
        return as_of.time + REORG_GRACE
    return granted
