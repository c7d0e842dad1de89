"""What is counted of all processes and hosts together, in the transaction that it happens in.

To count is to add a row: nobody waits for anybody. The worker puts the rows together.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from ticketing import ids
from ticketing.db.connection import write_transaction
from ticketing.models.counters import CounterEntry
from ticketing.models.prepared import prepared_insert

ENTERED = "intents_entered"
"""An intent entered the status of the label."""

UNSEEN = "chain_unseen"
"""The chain of the label could not be looked at."""

FEW, MANY = 100, 1000

_insert = prepared_insert(CounterEntry)


def add(name: str, label: str, count: int = 1) -> None:
    """Count it."""
    _insert(CounterEntry(id=ids.new("tly_"), name=name, label=label, count=count))


def read() -> dict[str, Counter[str]]:
    """Return how often everything happened, by name, then by label."""
    return _added_up(CounterEntry.select())


def put_together() -> None:
    """Make few rows of many, so that `read` stays short."""
    some = [row.id for row in CounterEntry.select(CounterEntry.id).limit(MANY)]
    if len(some) <= FEW:
        return
    with write_transaction():
        counted = _added_up(
            CounterEntry.delete().where(CounterEntry.id.in_(some)).returning(CounterEntry).execute()
        )
        for name, labels in counted.items():
            for label, count in labels.items():
                add(name, label, count)


def _added_up(rows: Iterable[CounterEntry]) -> dict[str, Counter[str]]:
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counted[row.name][row.label] += row.count
    return counted
