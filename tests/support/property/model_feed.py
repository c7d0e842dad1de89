"""What must be true of notifications: one for each fact, in a feed without gaps (section 8)."""

import json
from collections import Counter

from tests.support import fact_triggers
from tests.support.fact_triggers import Facts
from ticketing.models.notifications import Notification, NotificationFeed
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import counters

SUBJECTS = {
    "event": "event_id",
    "ticket_type": "ticket_id",
    "voucher": "voucher_id",
    "intent": "intent_id",
    "refund": "intent_id",
    "stray": "intent_id",
    "admission": "admission_id",
    "door_device": "device_id",
    "api_key": "key_id",
}
"""Which id of its data a notification is about, by the first part of its type."""


class FeedRules:
    """Follows the feed of the only tenant."""

    def __init__(self) -> None:
        self._numbered: dict[int, str] = {}
        self._counted_before: Counter[str] = Counter()

    def start_over(self) -> None:
        """Follow a new feed, because a migration has deleted the one before."""
        fact_triggers.install()
        self._numbered, self._counted_before = {}, _counted()

    def check(self) -> None:
        """Check that each fact is recorded once, and that no number was given late or twice."""
        rows = list(Notification.select().order_by(Notification.position))
        recorded: Facts = Counter((row.type, _subject(row)) for row in rows)
        noted = fact_triggers.noted()
        assert (noted - recorded, recorded - noted) == (Counter(), Counter())
        self._check_numbers(rows)
        _check_final(rows)

    def check_end(self) -> None:
        """Check that everything is numbered and counted, after the worker had time for it."""
        rows = list(Notification.select())
        assert all(row.sequence is not None for row in rows)
        entered = Counter(row.type for row in rows if row.type.startswith("intent."))
        for no_status in ("created", "part_paid", "finalized", "chain_changed"):
            del entered[f"intent.{no_status}"]
        assert _counted() - self._counted_before == entered

    def _check_numbers(self, rows: list[Notification]) -> None:
        numbered = {row.sequence: row.id for row in rows if row.sequence is not None}
        assert sorted(numbered) == list(range(1, len(numbered) + 1)), "a gap in the feed"
        assert self._numbered.items() <= numbered.items(), "a number has changed"
        feed = NotificationFeed.get_or_none()
        assert (feed.last_sequence if feed else 0) == len(numbered)
        self._numbered = numbered


def _check_final(rows: list[Notification]) -> None:
    """Check that one fact says of each order that it is final: when it is, and never twice.

    Who was reversed comes back final, and says so with the next `intent.confirmed`.
    """
    last: dict[str, str] = {}
    for row in rows:
        data = json.loads(row.data)
        if row.type == "intent.confirmed":
            is_first = data["intent_id"] not in last
            assert data["final"] or is_first, "early, but not for the first time"
            last[data["intent_id"]] = "final" if data["final"] else "early"
        elif row.type == "intent.finalized":
            assert data["final"] is True
            assert last[data["intent_id"]] == "early", "final for the second time"
            last[data["intent_id"]] = "final"
        elif row.type == "intent.reversed":
            last[data["intent_id"]] = "reversed"
    is_final = (PaymentIntent.status == "confirmed") & ~PaymentIntent.early
    final = {row.id for row in PaymentIntent.select(PaymentIntent.id).where(is_final)}
    assert {key for key, word in last.items() if word == "final"} == final & last.keys()


def _counted() -> Counter[str]:
    counted = counters.read().get(counters.ENTERED, Counter())
    return Counter({f"intent.{status}": count for status, count in counted.items()})


def _subject(row: Notification) -> str:
    found: str = json.loads(row.data)[SUBJECTS[row.type.partition(".")[0]]]
    return found
