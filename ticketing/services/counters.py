"""Counters for all processes and hosts. They count in the transaction of the counted event.

Each count adds a row, so that transactions do not wait for each other. The worker merges rows.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from ticketing import ids
from ticketing.db.connection import write_transaction
from ticketing.models.counters import CounterEntry
from ticketing.models.prepared import prepared_insert

ENTERED = "intents_entered"
"""Counts intents that entered a status, the label."""

RPC_ERRORS = "chain_unseen"
"""Counts failed reads of a chain, the label. The name is that of stored rows."""

SET_ASIDE = "orders_set_aside"
"""Counts failed settlements of orders on a chain, the label. 0: free orders."""

SKIPPED_BLOCKS = "chain_blocks_skipped"
"""Counts blocks of a chain, the label, that no node had any more."""

X402_SETTLES = "x402_settles"
"""Counts what facilitators said of transfers. The label: a chain and an outcome, "8453 refused"."""

REFUND_REPORTS = "refund_reports"
"""Counts reports of what a network says otherwise than the books. The label: "8453 id_used"."""

FEW, MANY = 100, 1000

_insert = prepared_insert(CounterEntry)


def add(name: str, label: str, count: int = 1) -> None:
    """Add `count` to a counter."""
    _insert(CounterEntry(id=ids.new("tly_"), name=name, label=label, count=count))


def read() -> dict[str, Counter[str]]:
    """Return all counters, by name, then by label."""
    return _added_up(CounterEntry.select())


def merge() -> None:
    """Merge rows of the same counter, so that `read` stays fast."""
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
