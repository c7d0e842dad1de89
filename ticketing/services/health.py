"""Readiness: the database, its migrations, and the age of each chain's cursor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from peewee import DatabaseError, InterfaceError

from ticketing import clock
from ticketing.chain.registry import Chain
from ticketing.db import migrate
from ticketing.db.connection import close_broken_connection
from ticketing.services import chains


@dataclass(frozen=True)
class Cursor:
    """The last block of a chain that was read, and when the worker last read the chain."""

    chain_id: int
    block_number: int | None
    block_time: datetime | None
    age_seconds: int | None
    refusal: str | None


@dataclass(frozen=True)
class Readiness:
    """Whether the database responds and is migrated, and the cursors of the chains."""

    database: bool
    migrations: bool
    chains: Sequence[Cursor]

    @property
    def ready(self) -> bool:
        """Whether the service can handle requests."""
        return self.database and self.migrations

    @property
    def status(self) -> str:
        """`ready` or `not_ready`."""
        return "ready" if self.ready else "not_ready"


def readiness(enabled: Mapping[int, Chain]) -> Readiness:
    """Check the database and its migrations, and return them with the chains' cursors."""
    try:
        current = not migrate.pending()
        return Readiness(True, current, _cursors(enabled) if current else [])
    except (DatabaseError, InterfaceError):
        close_broken_connection()
        return Readiness(False, False, [])


def _cursors(enabled: Mapping[int, Chain]) -> list[Cursor]:
    states = chains.states()
    now = clock.now()
    found = []
    for chain_id in enabled:
        state = states.get(chain_id)
        looked_at: datetime | None = state.looked_at if state else None
        found.append(
            Cursor(
                chain_id=chain_id,
                block_number=state.block_number if state else None,
                block_time=state.block_time if state else None,
                age_seconds=max(0, int((now - looked_at).total_seconds())) if looked_at else None,
                refusal=state.refusal if state else None,
            )
        )
    return found
