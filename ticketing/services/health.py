"""Whether the service can do its work."""

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
    """How far a chain has been read, and when the worker last looked."""

    chain_id: int
    block_number: int | None
    block_time: datetime | None
    age_seconds: int | None
    refusal: str | None


@dataclass(frozen=True)
class Readiness:
    """What the service stands on, and whether it holds."""

    database: bool
    migrations: bool
    chains: Sequence[Cursor]

    @property
    def ready(self) -> bool:
        """Whether requests can be answered."""
        return self.database and self.migrations

    @property
    def status(self) -> str:
        """The same in one word."""
        return "ready" if self.ready else "not_ready"


def readiness(enabled: Mapping[int, Chain]) -> Readiness:
    """Ask the database whether it is there and current, and how old each chain's cursor is."""
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
