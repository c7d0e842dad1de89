"""What must be true of refunds, in plain Python: who may get one, and how much (section 9.3)."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.fake_chain import Seen
from tests.support.property.model_rows import (
    Books,
    Row,
    at_place,
    kept_at,
    moment,
    received,
    waived,
)

OVERLAP = timedelta(hours=72)
Log = tuple[str, int, str]
"""A transfer in a block: transaction, log index, hash of the block."""


class RefundRules:
    """Compares each refund that is new in the books with the transfers that were on the chain."""

    def __init__(self, scale: int) -> None:
        self._scale = scale
        self._seen: dict[Log, Seen] = {}
        self._named: set[tuple[str, str]] = set()

    def see(self, chain: Any) -> None:
        """Record where each transfer is now."""
        for seen in chain.transfers():
            self._seen[seen.tx_hash, seen.log_index, seen.block_hash] = seen

    def name_recipient(self, intent_id: str, address: str) -> None:
        """Record that the organizer answers for a recipient."""
        self._named.add((intent_id, address.lower()))

    def check(self, before: Books, books: Books) -> None:
        """Check all refunds that count since the last event."""
        counted = _canonical(books)
        new = counted.keys() - _canonical(before).keys()
        for log in sorted(new):
            self._check_one(log, counted[log], before, books)
        self._check_shares(counted)

    def check_against(self, transfers: Sequence[Seen], books: Books) -> None:
        """Check that each refund that counts is on a chain now."""
        there = {(seen.tx_hash, seen.log_index, seen.block_hash) for seen in transfers}
        counted = {log[1:] for log in _canonical(books)}
        assert counted <= there, "a refund counts that is not on the chain"

    def _check_one(self, key: tuple[str, ...], refund: Row, before: Books, books: Books) -> None:
        seen = self._seen[_log(refund)]
        payee = seen.send.to.lower()
        assert refund["recipient"].lower() == payee
        assert refund["block_number"] == seen.block_number
        intent_id, place = refund["intent_id"], refund["place"]
        time = datetime.fromtimestamp(seen.time, UTC)
        stated = at_place(books["refund_addresses"], place)
        is_stated = any(
            row["address"].lower() == payee
            and (row["replaced_at"] is None or time < moment(row["replaced_at"]) + OVERLAP)
            for row in stated
        )
        refunds = [row for row in at_place(books["refunds"], place) if row["canonical"]]
        # Another event may have removed payments after this refund was settled.
        payments = _of_both(before, books, place)
        if not is_stated and (intent_id, payee) not in self._named:
            firsts = [moment(row["stated_at"]) for row in stated]
            assert all(time < first + OVERLAP for first in firsts), "a payer, too late"
            sent = received(
                (row for row in payments if row["sender"].lower() == payee), self._scale
            )
            back = sum(row["amount"] for row in refunds if row["recipient"].lower() == payee)
            assert back <= sent, "more than this payer has sent"

        def keeps(arrived: int) -> int:
            return min(
                kept_at(rows, place, arrived)
                for rows in (before, books)
                if intent_id in rows["payment_intents"]
            )

        written_off = min(waived(rows, place, self._scale) for rows in (before, books))
        refunded = sum(row["amount"] for row in refunds)
        arrived = received(payments, self._scale)
        assert refunded + written_off + keeps(arrived) <= arrived, "more than was owed"
        here = _position(refund)
        earlier = received((row for row in payments if _position(row) < here), self._scale)
        until = sum(row["amount"] for row in refunds if _position(row) <= here)
        assert until + keeps(earlier) <= earlier, "paid before it was owed"

    def _check_shares(self, counted: dict[tuple[str, ...], Row]) -> None:
        shares: Counter[Log] = Counter()
        of_transaction: Counter[str] = Counter()
        for refund in counted.values():
            shares[_log(refund)] += refund["amount"] * self._scale
            of_transaction[refund["tx_hash"]] += refund["amount"] * self._scale
        for log, amount in shares.items():
            assert amount <= self._seen[log].send.amount, "shared out beyond its value"
        for tx_hash, amount in of_transaction.items():
            # In every block where it was, a transaction moved the same amounts.
            blocks = {log[2] for log in self._seen if log[0] == tx_hash}
            one = blocks.pop()
            sent = [s.send.amount for log, s in self._seen.items() if log[::2] == (tx_hash, one)]
            assert amount <= sum(sent), "counted in two blocks"


def _canonical(books: Books) -> dict[tuple[str, ...], Row]:
    """Return the refunds that count."""
    return {
        (row["intent_id"], *_log(row)): row for row in books["refunds"].values() if row["canonical"]
    }


def _of_both(before: Books, books: Books, place: str) -> list[Row]:
    """Return the payments of an order that are canonical, or were before the last event.

    Of a payment that moved to another block, return the earlier place.
    """
    rows: dict[str, Row] = {}
    for each in (before, books):
        for row in at_place(each["payments"], place):
            known = rows.get(row["id"], row)
            if row["canonical"] and _position(row) <= _position(known):
                rows[row["id"]] = row
    return list(rows.values())


def _log(refund: Row) -> Log:
    return refund["tx_hash"], refund["log_index"], refund["block_hash"]


def _position(row: Row) -> tuple[int, int]:
    return row["block_number"], row["log_index"]
