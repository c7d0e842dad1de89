"""Who may receive a refund, and how much of one transfer counts. Pure rules, without a database.

A transfer to a payee counts, until 72 h after it was replaced. A statement that waits, or that was
stopped or replaced while it waited, is no payee. A transfer to a payer counts up to what this payer
sent and has not got back, until 72 h after somebody decided otherwise: the buyer, whose statement
counts, or the organizer. A transfer to the organizer's `recipient` counts.

A transfer pays only what is owed from payments that lie before it on the chain. So an older
transfer pays no newer debt, and newer payments do not hinder it. Times are those of the transfer's
block. Amounts are micro-units.

Example: an order costs 10. Wallet W pays 1 in block 100, exchange E pays 12 in block 101, so 3 are
owed. Of a transfer of 5 in block 110, 3 count if it went to E, and 1 if it went to W, which sent no
more. If it went to address X: 0, or 3 if X is the payee or the organizer names X as `recipient`.
Of a transfer in block 100, nothing counts: nothing was owed yet.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

from ticketing.chain import address, units
from ticketing.chain.answers import Transfer
from ticketing.constants import REFUND_ADDRESS_OVERLAP
from ticketing.models.refunds import RefundAddress
from ticketing.services.payments.balances import Position


@dataclass(frozen=True)
class Reduction:
    """A refund or waiver that counts already, and its place on the chain. A waiver has no payee."""

    position: Position
    amount: int
    payee: str | None = None


class Received:
    """The payments of an order, added up in the order of the chain.

    `payments` are the canonical ones, each with its place and its amount in atomic units. Example:
    of payments of 3 and 4 at (100, 0) and (101, 5), 3 were received before (101, 5).
    """

    def __init__(self, payments: Iterable[tuple[Position, int]], decimals: int) -> None:
        paid = list(payments)
        self._places = [place for place, _ in paid]
        self._sums = [0, *accumulate(amount for _, amount in paid)]
        self._decimals = decimals

    def before(self, place: Position) -> int:
        """Return what was received before a place on the chain, in micro-units."""
        atomic = self._sums[bisect_left(self._places, place)]
        return units.from_atomic(atomic, self._decimals)[0]


@dataclass(frozen=True)
class Debts:
    """What one order received, keeps, and gave back or waived; and who may get the rest.

    `kept` returns what it keeps if it has received some amount: the less is missing, the less is
    forgiven. `sent` is what was received of each payer. `payees` are all rows of
    the account, `recipient` is the organizer's.
    """

    received: Received
    sent: Mapping[str, Received]
    kept: Callable[[int], int]
    reductions: Sequence[Reduction]
    payees: Sequence[RefundAddress]
    recipient: str | None


def position_of(transfer: Transfer) -> Position:
    """Return the place of a transfer on its chain."""
    return transfer.block.number, transfer.log_index


def countable(debts: Debts, transfer: Transfer) -> int:
    """Return the most that a transfer may count as a refund of an order, whatever its value."""
    position, time, payee = position_of(transfer), transfer.block.time, transfer.recipient
    owed = _room(position, debts.received, debts.reductions, debts.kept)
    if not is_payee(debts, transfer):
        return 0
    if payee == debts.recipient or _is_payee(payee, time, debts.payees):
        return owed
    got_back = [each for each in debts.reductions if each.payee == payee]
    return min(owed, _room(position, debts.sent[payee], got_back, lambda _: 0))


def is_payee(debts: Debts, transfer: Transfer) -> bool:
    """Return whether the recipient of a transfer may get refunds of an order at all."""
    time, payee = transfer.block.time, transfer.recipient
    if payee == debts.recipient or _is_payee(payee, time, debts.payees):
        return True
    is_payer = payee != address.ZERO and payee in debts.sent
    return is_payer and _payers_count(time, debts.payees)


def _room(
    position: Position,
    received: Received,
    reductions: Sequence[Reduction],
    kept: Callable[[int], int],
) -> int:
    """Return how much can be given back at `position`.

    What was given back up to any place must be owed from payments before that place. This must
    stay true for the later reductions too.

    Example: an order of 10 received 12 in block 100 and 5 in block 120. A refund of 5 in block 130
    counts already. Then a transfer in block 110 may count 2: that much was owed there, and 7 - 5 is
    left in block 130. If that refund was 6, only 1 is left.
    """
    later = [each.position for each in reductions if each.position > position]
    return max(
        0,
        min(
            # Before `place`, less than what is kept may have arrived. Then nothing was owed there.
            _owed(received.before(place), kept)
            - sum(each.amount for each in reductions if each.position <= place)
            for place in (position, *later)
        ),
    )


def _owed(received: int, kept: Callable[[int], int]) -> int:
    return max(0, received - kept(received))


def _is_payee(address: str, time: datetime, payees: Sequence[RefundAddress]) -> bool:
    return any(
        payee.address == address
        and payee.counts_since is not None
        and (payee.replaced_at is None or time < payee.replaced_at + REFUND_ADDRESS_OVERLAP)
        for payee in payees
    )


def _payers_count(time: datetime, payees: Sequence[RefundAddress]) -> bool:
    decided = [each.counts_since for each in payees if not each.is_proven and each.counts_since]
    return not decided or time < min(decided) + REFUND_ADDRESS_OVERLAP
