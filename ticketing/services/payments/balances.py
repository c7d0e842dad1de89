"""The balance of an order: what it received, keeps and owes. Pure arithmetic on its payments.

    received   its canonical payments
    waived     what the organizer wrote off, while the payments of that time are on the chain
    counted    received - refunded - waived
    kept       0 once the order has ended; its amount while it is live; once it is sold, the price
               of the seats that were not voided with a refund
    due        max(0, counted - kept), owed to the buyer
    pending    the part of due in blocks that are not final yet

A live order is paid when counted >= amount. Only a recorded refund, a waiver, or the removal of its
payments reduces what is due. Amounts are micro-units.

Example: Ada's order costs 10. She pays 4, then 8: received 12, kept 10, due 2. Until the 8 are
final, the order is `processing`, and the 2 are pending. Later the organizer waives 1: counted 11,
due 1. If a reorganization then removes the 8, the waiver ends with them: received 4, due 0, and
the confirmed order becomes `reversed`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ticketing.chain import units
from ticketing.chain.answers import Block
from ticketing.constants import LIVE, PART_EXTENSION, REORG_GRACE, SOLD, Flag, IntentStatus
from ticketing.models.payment_intents import Payment, PaymentIntent
from ticketing.models.refunds import Waiver

Position = tuple[int, int]
"""A place on a chain: block number and log index."""


@dataclass(frozen=True)
class Balance:
    """The sums of one order as of the block `as_of`, and their consequences.

    `final` is the part of `received` that is final. `waived` is in effect. `paid_block` is the
    block of the payment that completed what the order needs. `open_block` is the block of the first
    payment that is not final. `is_honoured`: a late transfer paid
    for an order that had ended.
    `deadline` and `grace_until` are the new values for the order.
    """

    intent: PaymentIntent
    as_of: Block
    received: int
    final: int
    waived: int
    is_honoured: bool
    paid_block: int | None
    open_block: int | None
    flags: frozenset[Flag]
    deadline: datetime
    grace_until: datetime | None

    @property
    def counted(self) -> int:
        """The amount that was received, and neither refunded nor waived."""
        return self.received - self.intent.refunded - self.waived

    @property
    def is_paid(self) -> bool:
        """Whether the order is paid. An order that had ended needs a late transfer."""
        has_enough = self.counted >= _needed(self.intent)
        return has_enough and (self.is_honoured or not has_ended(self.intent))

    @property
    def is_final(self) -> bool:
        """Whether the payments for the order are final."""
        return self._counted_final >= _needed(self.intent)

    @property
    def status(self) -> IntentStatus:
        """The status that the order must have now."""
        status = IntentStatus(self.intent.status)
        if status is IntentStatus.CANCELED:
            return status
        if status in SOLD:
            # A payment that moved to a newer block is not final for a while: tickets stay valid.
            stays = status is IntentStatus.CONFIRMED and self.is_paid
            return IntentStatus.CONFIRMED if self.is_final or stays else IntentStatus.REVERSED
        if self.is_paid:
            return IntentStatus.CONFIRMED if self.is_final else IntentStatus.PROCESSING
        if status is IntentStatus.EXPIRED or self.as_of.time > self.deadline:
            return IntentStatus.EXPIRED
        return IntentStatus.AWAITING_PAYMENT

    def due(self, status: IntentStatus) -> int:
        """Return the refund that is due in `status`."""
        return max(0, self.counted - kept(self.intent, status))

    def pending(self, status: IntentStatus) -> int:
        """Return the part of the refund due in `status` that is not final yet."""
        final = max(0, self._counted_final - kept(self.intent, status))
        return max(0, self.due(status) - final)

    @property
    def _counted_final(self) -> int:
        return self.final - self.intent.refunded - self.waived


def kept(intent: PaymentIntent, status: IntentStatus) -> int:
    """Return what an order keeps in `status`, in micro-units."""
    if status in LIVE:
        return int(intent.amount)
    if status in SOLD:
        return int(intent.unit_amount * (intent.quantity - intent.seats_refunded))
    return 0


def add_up(
    intent: PaymentIntent,
    payments: Sequence[Payment],
    as_of: Block,
    waivers: Sequence[Waiver] = (),
) -> Balance:
    """Compute the balance from an order's payments, in the order of the chain, canonical or not."""
    terms = intent.terms
    price = units.to_atomic(intent.amount, terms.decimals)
    final_up_to = terms.final_up_to(as_of.number)
    canonical = [payment for payment in payments if payment.canonical]
    waived = _waived(waivers, canonical, terms.decimals)
    received = final = at_completion = 0
    open_block: int | None = None
    completed: Payment | None = None
    for payment in canonical:
        received += _atomic(payment, terms.decimals)
        if payment.block_number <= final_up_to:
            final = received
        elif open_block is None:
            open_block = int(payment.block_number)
        if completed is None and received >= price:
            completed = payment
            at_completion = received
    whole = units.from_atomic(received, terms.decimals)[0]
    grace_until = _grace(intent, whole, as_of)
    deadline = max(_deadline(intent, canonical, completed), grace_until or intent.hold_until)
    ended = intent.status in (IntentStatus.EXPIRED, IntentStatus.CANCELED)
    late = [payment for payment in canonical if payment.block_time > deadline]
    # `overpaid`: a surplus in the payment that completed the price. `duplicate`: payments after it.
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
        waived=waived,
        is_honoured=any(payment.honoured for payment in canonical),
        paid_block=_paid_block(intent, canonical, waived),
        open_block=open_block,
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


def covering(
    intent: PaymentIntent, payments: Sequence[Payment], waivers: Sequence[Waiver] = ()
) -> Payment | None:
    """Return the first undecided transfer that covers the full amount of an ended order.

    None if the order owes an earlier refund, which stays due. None also if the order is unpaid
    even with that transfer, because more was refunded than received.

    Example: an order of 10 received 4, expired, and owes them. A late transfer of 10 does not cover
    it: 14 are owed. If the 4 were refunded first, the 10 cover it. Late transfers of 6 and 4 never
    do.
    """
    decimals = intent.terms.decimals
    canonical = [payment for payment in payments if payment.canonical]
    received = received_up_to(None, canonical, decimals)
    gone = intent.refunded + _waived(waivers, canonical, decimals)
    if not has_ended(intent) or received - gone < intent.amount:
        return None
    new = undecided(payments)
    before = [payment for payment in canonical if payment not in new]
    owed = sum(_atomic(payment, decimals) for payment in before)
    for payment in new:
        owes = units.from_atomic(owed, decimals)[0] > gone
        if payment.amount >= intent.amount and not owes:
            return payment
        owed += _atomic(payment, decimals)
    return None


def received_up_to(block: int | None, payments: Iterable[Payment], decimals: int) -> int:
    """Return the sum of the canonical payments in blocks up to `block` (None: all)."""
    counted = (
        _atomic(payment, decimals)
        for payment in payments
        if payment.canonical and (block is None or payment.block_number <= block)
    )
    return units.from_atomic(sum(counted), decimals)[0]


def received_before(position: Position, payments: Iterable[Payment], decimals: int) -> int:
    """Return the sum of the canonical payments that lie before a place on the chain."""
    before = (each for each in payments if (each.block_number, each.log_index) < position)
    return received_up_to(None, before, decimals)


def in_effect(waiver: Waiver, payments: Iterable[Payment], decimals: int) -> int:
    """Return the part of a waiver whose payments are still on the chain.

    Example: an order of 10 received 17 up to block 50, and the 7 too many are waived. If a
    reorganization removes 3 of the 17, 4 of the waiver remain. A payment in block 60 changes
    nothing: what it adds is owed.
    """
    removed = waiver.received - received_up_to(waiver.block_number, payments, decimals)
    return int(max(0, waiver.amount - max(0, removed)))


def _waived(waivers: Sequence[Waiver], canonical: Sequence[Payment], decimals: int) -> int:
    return sum(in_effect(waiver, canonical, decimals) for waiver in waivers)


def _needed(intent: PaymentIntent) -> int:
    """Return the amount for which an order becomes, or stays, sold."""
    status = IntentStatus(intent.status)
    return kept(intent, status) if status in SOLD else int(intent.amount)


def _paid_block(intent: PaymentIntent, canonical: Sequence[Payment], waived: int) -> int | None:
    """Return the block of the payment that completed what the order needs. None: not complete.

    Example: an order of 10 is paid twice, in the blocks 5 and 7: the result is 5. After a refund of
    10 it is 7, because now both payments are needed.
    """
    decimals = intent.terms.decimals
    # In micro-units: an old order's seat may not be a whole number of atomic units.
    target = _needed(intent) + intent.refunded + waived
    received = 0
    for payment in canonical:
        received += _atomic(payment, decimals)
        if units.from_atomic(received, decimals)[0] >= target:
            return int(payment.block_number)
    return None


def _atomic(payment: Payment, decimals: int) -> int:
    return units.to_atomic(payment.amount, decimals) + int(payment.dust)


def _deadline(
    intent: PaymentIntent, canonical: Sequence[Payment], completed: Payment | None
) -> datetime:
    """Extend the hold once, if the first payment was in time and at least half of the amount.

    Example: an order of 10 is held until 18:00. A first payment of 5 at 17:59 extends that to
    18:10. A first payment of 4 does not.
    """
    deadline: datetime = intent.hold_until
    first = canonical[0] if canonical else None
    if first is None or first is completed or first.block_time > deadline:
        return deadline
    return deadline + PART_EXTENSION if 2 * first.amount >= intent.amount else deadline


def _grace(intent: PaymentIntent, received: int, as_of: Block) -> datetime | None:
    """Give a removed payment time to return, starting when it was removed.

    Example: at 18:00 a reorganization removes the 4 that a live order of 10 had received. Its seats
    are held until 18:15 at least.
    """
    granted: datetime | None = intent.grace_until
    if intent.status in LIVE and received < min(intent.amount, intent.amount_received):
        return as_of.time + REORG_GRACE
    return granted
