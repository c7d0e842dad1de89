"""What is counted of all processes and hosts together, in the transaction that it happens in.

To count is to add a row: nobody waits for anybody. The worker puts the rows together.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from ticketing import ids
from ticketing.db.connection import write_transaction
from ticketing.models.counters import Tally
from ticketing.models.prepared import prepared_insert

ENTERED = "intents_entered"
"""An intent entered the status of the label."""

UNSEEN = "chain_unseen"
"""The chain of the label could not be looked at."""

FEW, MANY = 100, 1000

_insert = prepared_insert(Tally)


def add(name: str, label: str, count: int = 1) -> None:
    """Count it."""
    _insert(Tally(id=ids.new("tly_"), name=name, label=label, count=count))


def read() -> dict[str, Counter[str]]:
    """Return how often everything happened, by name, then by label."""
    return _added_up(Tally.select())


def put_together() -> None:
    """Make few rows of many, so that `read` stays short."""
    some = [row.id for row in Tally.select(Tally.id).limit(MANY)]
    if len(some) <= FEW:
        return
    with write_transaction():
        counted = _added_up(Tally.delete().where(Tally.id.in_(some)).returning(Tally).execute())
        for name, labels in counted.items():
            for label, count in labels.items():
                add(name, label, count)


def _added_up(rows: Iterable[Tally]) -> dict[str, Counter[str]]:
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counted[row.name][row.label] += row.count
    return counted
