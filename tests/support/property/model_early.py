"""What must be true of orders that are confirmed before their payment is final: early ones."""

from datetime import datetime, timedelta

from tests.support.property.model_rows import LIVE, Books, Row, moment
from ticketing.chain.registry import Chain

DOORS_AHEAD = timedelta(hours=24)


class EarlyRules:
    """Follows which orders may be confirmed early. `depth`: after how many blocks. None: never."""

    def __init__(self, chain: Chain, most: int) -> None:
        early = chain.early_confirmations
        self.depth = early if early is not None and early < chain.confirmations else None
        self._most = most

    def check(self, before: Books, books: Books) -> None:
        """Check which orders are early, and whether those that became so may be."""
        for key, intent in books["payment_intents"].items():
            was = before["payment_intents"].get(key)
            is_small = intent["address"] is not None and intent["amount"] <= self._most
            assert intent["early_confirmations"] == (self.depth if is_small else None)
            if not intent["early"]:
                continue
            assert intent["status"] == "confirmed"
            assert intent["early_confirmations"] is not None
            if was is None or not was["early"]:
                _check_new(intent, was, before, books)
        for key, seat in books["transfers"].items():
            self._check_transfer(seat, before["transfers"].get(key), before, books)

    @staticmethod
    def _check_transfer(transfer: Row, was: Row | None, before: Books, books: Books) -> None:
        """Check that nothing is offered or accepted of an order that is not final."""
        is_accepted = transfer["accepted_at"] is not None
        if was is not None and is_accepted == (was["accepted_at"] is not None):
            return
        order = books["admissions"][transfer["admission_id"]]["intent_id"]
        of_order = [each["payment_intents"].get(order) for each in (before, books)]
        assert order is None or not all(row is None or row["early"] for row in of_order)


def _check_new(intent: Row, was: Row | None, before: Books, books: Books) -> None:
    """Check an order that became early: the rule held before the last event, or holds after it."""
    assert was is None or was["status"] in LIVE, "early again"
    assert intent["ended_at"] is None, "early after it had ended"
    read_to = [
        moment(state["block_time"])
        for each in (before, books)
        for state in each["chains"].values()
        if state["block_time"] is not None
    ]
    assert any(_may_be_early(intent, each, read_to) for each in (before, books))


def _may_be_early(intent: Row, books: Books, read_to: list[datetime]) -> bool:
    if intent["tenant_id"] not in books["tenants"]:
        return False
    doors = moment(books["events"][intent["event_id"]]["doors_open_at"])
    # Before the worker's first look, only the buyer's request has read the chain.
    is_far = not read_to or doors > min(read_to) + DOORS_AHEAD
    return bool(books["tenants"][intent["tenant_id"]]["early_confirmation"] and is_far)
