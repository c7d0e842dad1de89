"""The balance of an order: what it received, keeps and owes. Pure arithmetic on sums.

    received   its canonical payments
    waived     what the organizer wrote off, while the payments of that time are on the chain
    counted    received - refunded - waived
    kept       0 once the order has ended; its amount while it is live; once it is sold, its amount
               less what its seats released and what is forgiven, and at least 0. A seat that is
               voided with a refund releases its cost
    forgiven   what is missing of an order that was paid in time, up to its tolerance; else 0
    due        max(0, counted - kept), owed to the buyer
    pending    the part of due in blocks that are not final yet

A live order is paid when counted >= amount - tolerance. An order that has ended once needs the
whole amount. Only a recorded refund, a waiver, or the removal of its
payments reduces what is due. Amounts are micro-units.

Example: Ada's order costs 10. She pays 4, then 8: received 12, kept 10, due 2. Until the 8 are
final, the order is `processing`, and the 2 are pending. Later the organizer waives 1: counted 11,
due 1. If a reorganization then removes the 8, the waiver ends with them: received 4, due 0, and
the confirmed order becomes `reversed`.

Example with a tolerance of 5 %: Bob's order costs 25, and his exchange sends 24. The order is
confirmed: forgiven 1, kept 24, due 0. He adds 1: forgiven 0, kept 25, due 0. He adds 2 more: due 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ticketing.chain import units
from ticketing.chain.answers import Block
from ticketing.constants import LIVE, PART_EXTENSION, REORG_GRACE, SOLD, Flag, IntentStatus
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import Waiver

Position = tuple[int, int]
"""A place on a chain: block number and log index."""


@dataclass(frozen=True)
class Totals:
    """What the payments of an order add up to, as of a block. Sums are in atomic units.

    `received` are the canonical payments: `final` those that are final, `decided` those whose
    `honoured` is known. `open_block` is the block of the first one that is not final. `latest` is
    the latest time of a block. `has_removed`: a payment is not canonical.
    """

    received: int
    final: int
    decided: int
    open_block: int | None
    latest: datetime | None
    is_honoured: bool
    has_undecided: bool
    has_removed: bool

    @property
    def awaits_decision(self) -> bool:
        """Whether there are transfers that must be decided if the order has ended."""
        return self.has_undecided and not self.is_honoured


@dataclass(frozen=True)
class Step:
    """A canonical payment, and what the order had received with it, in atomic units.

    `amount` is in micro-units. `time` is that of the block.
    """

    block_number: int
    time: datetime
    amount: int
    received: int


@dataclass(frozen=True)
class Balance:
    """The sums of one order as of the block `as_of`, and their consequences.

    `final` is the part of `received` that is final. `waived` is in effect. `paid_block` is the
    block of the payment that reached the order's goal. `open_block` is the block of the first
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
        return self.received - self.intent.home.refunded - self.waived

    @property
    def is_paid(self) -> bool:
        """Whether the order is paid. An order that had ended needs a late transfer."""
        has_enough = self.received >= goal(self.intent, self.waived)
        return has_enough and (self.is_honoured or not has_ended(self.intent))

    @property
    def is_final(self) -> bool:
        """Whether the payments for the order are final."""
        return self.final >= goal(self.intent, self.waived)

    @property
    def is_deep(self) -> bool:
        """Whether they are, and the payment that reached the goal is old enough too.

        Example: the only seat of an order is voided with a refund. Then nothing is needed any more,
        but a payment of this block may still leave the chain.
        """
        last = self.intent.terms.final_up_to(self.as_of.number)
        return self.is_final and (self.paid_block is None or self.paid_block <= last)

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
        return max(0, self.counted - kept(self.intent, status, self.received))

    def pending(self, status: IntentStatus) -> int:
        """Return the part of the refund due in `status` that is not final yet."""
        counted_final = self.final - self.intent.home.refunded - self.waived
        final = max(0, counted_final - kept(self.intent, status, self.final))
        return max(0, self.due(status) - final)

    def books(self, status: IntentStatus) -> dict[str, int | None]:
        """Return the columns of the order's home that follow in `status`."""
        return {
            "received": self.received,
            "final": self.final,
            "waived": self.waived,
            "due": self.due(status),
            "pending": self.pending(status),
            "pending_block": self.open_block,
        }


def kept(intent: PaymentIntent, status: IntentStatus, received: int) -> int:
    """Return what an order that received this much keeps in `status`, in micro-units."""
    if status in LIVE:
        return int(intent.amount)
    if status in SOLD:
        return max(0, int(intent.amount - intent.released) - intent.forgiven_of(received))
    return 0


def add_up(
    intent: PaymentIntent, totals: Totals, steps: Sequence[Step], as_of: Block, waived: int
) -> Balance:
    """Compute the balance from the sums of an order's payments.

    `steps` are in the order of the chain: the first canonical payment, the one that was enough, the
    one that completed the price, and the one that reached `goal`. Others change nothing. `waived`:
    see `in_effect`.

    Example: an order of 10 received 4, 8 and 1, all final. The steps are the 4 and the 8, which
    completed the price: 12. So it is paid, `overpaid` because 12 > 10, and `duplicate` because of
    the 1. 3 are due.
    """
    terms = intent.terms
    price = units.to_atomic(intent.amount, terms.decimals)
    received = units.from_atomic(totals.received, terms.decimals)[0]
    completed = next((step for step in steps if step.received >= price), None)
    paid = _first_with(steps, intent.enough, terms.decimals)
    reached = _first_with(steps, goal(intent, waived), terms.decimals)
    grace_until = _grace(intent, received, as_of)
    deadline = max(_deadline(intent, steps, paid), grace_until or intent.hold_until)
    ended = intent.status in (IntentStatus.EXPIRED, IntentStatus.CANCELED)
    is_late = totals.latest is not None and totals.latest > deadline
    # `overpaid`: a surplus in the payment that completed the price. `duplicate`: payments after it.
    flags = {
        Flag.UNDERPAID: 0 < totals.received < price,
        Flag.OVERPAID: completed is not None and completed.received > price,
        Flag.PAID_LATE: is_late and (ended or paid is None or paid.time > deadline),
        Flag.DUPLICATE: completed is not None and totals.received > completed.received,
        Flag.REORGED: Flag.REORGED in intent.flags or totals.has_removed,
    }
    return Balance(
        intent=intent,
        as_of=as_of,
        received=received,
        final=units.from_atomic(totals.final, terms.decimals)[0],
        waived=waived,
        is_honoured=totals.is_honoured,
        paid_block=None if reached is None else reached.block_number,
        open_block=totals.open_block,
        flags=frozenset(flag for flag, is_set in flags.items() if is_set),
        deadline=deadline,
        grace_until=grace_until,
    )


def has_ended(intent: PaymentIntent) -> bool:
    """Return whether an order has expired, now or earlier: only a late transfer can pay for it."""
    expired_once = intent.status in LIVE and intent.ended_at is not None
    return expired_once or intent.status == IntentStatus.EXPIRED


def may_be_covered(account: OrderAccount, totals: Totals, waived: int) -> bool:
    """Return whether an undecided late transfer to an account could pay for an ended order.

    None can while an honoured transfer is on the chain: all others are surplus.
    """
    received = units.from_atomic(totals.received, account.terms.decimals)[0]
    is_enough = received - account.refunded - waived >= account.order.amount
    return has_ended(account.order) and totals.awaits_decision and is_enough


def in_effect(waiver: Waiver, received: int) -> int:
    """Return the part of a waiver whose payments are still on the chain.

    `received` is the sum of the canonical payments up to its block.

    Example: an order of 10 received 17 up to block 50, and the 7 too many are waived. If a
    reorganization removes 3 of the 17, 4 of the waiver remain. A payment in block 60 changes
    nothing: what it adds is owed.
    """
    removed = waiver.received - received
    return int(max(0, waiver.amount - max(0, removed)))


def goal(intent: PaymentIntent, waived: int) -> int:
    """Return what an order must have received to become, or stay, sold, in micro-units.

    It is the least that leaves `kept` after what was paid back and waived.

    Example: an order of 10 is paid twice, in the blocks 5 and 7: the goal is 10, reached in block
    5. After a refund of 10 the goal is 20, reached in block 7: now both payments are needed.

    Example with a tolerance of 1: an order of 2 seats at 10 received 19, the goal. One seat is
    voided, and its 10 are paid back: the goal is still 19, and 9 are kept. If it had received 23
    and 13 were paid back, more than was released, nothing may be missing: the goal is 23.
    """
    gone = int(intent.home.refunded) + waived
    if intent.status not in SOLD:
        return intent.enough + gone
    left = int(intent.amount - intent.released)
    if gone > intent.released:
        return left + gone
    return max(0, left - (int(intent.amount) - intent.enough)) + gone


def _first_with(steps: Sequence[Step], sum_: int, decimals: int) -> Step | None:
    """Return the step that reached a sum of micro-units. None: none did."""
    # In micro-units: what is needed may not be a whole number of atomic units.
    return next((s for s in steps if units.from_atomic(s.received, decimals)[0] >= sum_), None)


def _deadline(intent: PaymentIntent, steps: Sequence[Step], paid: Step | None) -> datetime:
    """Extend the hold once, if the first payment was in time and at least half of what is needed.

    Example: an order of 10 is held until 18:00. A first payment of 5 at 17:59 extends that to
    18:10. A first payment of 4 does not.
    """
    deadline: datetime = intent.hold_until
    first = steps[0] if steps else None
    if first is None or first is paid or first.time > deadline:
        return deadline
    return (
        deadline + PART_EXTENSION
        if 2 * first.amount >= intent.amount - intent.tolerance
        else deadline
    )


def _grace(intent: PaymentIntent, received: int, as_of: Block) -> datetime | None:
    """Give a removed payment time to return, starting when it was removed.

    Example: at 18:00 a reorganization removes the 4 that a live order of 10 had received. Its seats
    are held until 18:15 at least.
    """
    granted: datetime | None = intent.grace_until
    if intent.status in LIVE and received < min(intent.enough, intent.home.received):
        return as_of.time + REORG_GRACE
    return granted
