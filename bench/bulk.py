"""Insert millions of rows quickly: indexes are created last, foreign keys are not checked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ticketing.db.connection import database, is_sqlite

ROWS_AT_ONCE = 20_000

COLUMNS = {
    "tenants": "id slug name wallet_id created_at",
    "wallets": "id xpub public_key next_index created_at",
    "api_keys": "id tenant_id name role digest created_at expires_at last_used_at revoked_at",
    "trail": "id tenant_id at actor address request_id action subject before after",
    "rate_counts": "caller minute used",
    "events": "id tenant_id title slug description type venue start_at end_at timezone"
    " online_join_url status created_at updated_at",
    "ticket_types": "id tenant_id event_id name price_amount chain_id transferable status capacity"
    " held sold min_per_order max_per_order sales_start_at sales_end_at created_at updated_at",
    "payment_intents": "id tenant_id event_id ticket_type_id status flags quantity unit_amount"
    " amount amount_received refund_due refunded currency chain_id wallet_id address_index address"
    " token_address token_decimals required_confirmations paid_block buyer_email buyer_name"
    " created_at hold_until grace_until expires_at confirmed_at watch_until swept_at swept_balance",
    "payments": "id intent_id chain_id tx_hash log_index block_number block_hash block_time sender"
    " amount dust canonical seen_at",
    "refunds": "id intent_id chain_id tx_hash log_index recipient amount created_at",
    "admissions": "id tenant_id event_id ticket_type_id intent_id code status holder_name"
    " holder_email redeemed_at created_at",
    "chains": "chain_id token_address decimals symbol refusal block_number block_hash block_time"
    " looked_at",
    "chain_blocks": "chain_id number hash time",
    "idempotency_keys": "digest request_digest claimed_at created_at status body",
}
"""The tables, each with the columns of a row in order."""


class Sink:
    """Collects rows, and writes many at once."""

    def __init__(self, *, shows: bool = False) -> None:
        """`shows`: print the number of written rows to the terminal."""
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in COLUMNS}
        self._written = dict.fromkeys(COLUMNS, 0)
        self._shows = shows

    def add(self, table: str, *row: Any) -> None:
        """Add a row to a table."""
        rows = self._rows[table]
        rows.append(row)
        if len(rows) == ROWS_AT_ONCE:
            self._write(table)

    def flush(self) -> None:
        """Write the remaining rows."""
        for table in COLUMNS:
            self._write(table)

    def _write(self, table: str) -> None:
        rows, columns = self._rows[table], COLUMNS[table].split()
        self._rows[table] = []
        if is_sqlite():
            marks = ", ".join("?" * len(columns))
            database.connection().executemany(
                f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows
            )
        else:
            statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
            with database.cursor() as cursor, cursor.copy(statement) as copy:
                copy.write("".join(map(_line, rows)))
        self._written[table] += len(rows)
        if self._shows:
            print(f"\r{table:16} {self._written[table]:10,} rows", end="", flush=True)


@contextmanager
def filling() -> Iterator[None]:
    """Disable everything that slows down writes, and restore it at the end.

    If the process is killed in between, the database is unusable.
    """
    indexes = dict(database.execute_sql(_INDEXES_SQLITE if is_sqlite() else _INDEXES_POSTGRES))
    before = _BEFORE_SQLITE if is_sqlite() else _BEFORE_POSTGRES
    after = _AFTER_SQLITE if is_sqlite() else _AFTER_POSTGRES
    for statement in (*before, *(f"DROP INDEX {name}" for name in indexes), "BEGIN"):
        database.execute_sql(statement)
    yield
    for statement in ("COMMIT", *indexes.values(), *after):
        database.execute_sql(statement)


_INDEXES_SQLITE = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
_INDEXES_POSTGRES = """
    SELECT indexname, indexdef FROM pg_indexes
    WHERE schemaname = current_schema() AND indexname NOT IN (SELECT conname FROM pg_constraint)
"""
_BEFORE_SQLITE = (
    "PRAGMA foreign_keys = OFF",
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
    "PRAGMA cache_size = -1000000",
)
_AFTER_SQLITE = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)
_BEFORE_POSTGRES = (
    "SET session_replication_role = replica",
    "SET synchronous_commit = off",
    "SET maintenance_work_mem = '512MB'",
)
# Autovacuum does this later.
_AFTER_POSTGRES = ("VACUUM ANALYZE", "RESET ALL")


def _line(row: tuple[Any, ...]) -> str:
    # No generated value needs the escapes of COPY.
    return "\t".join("\\N" if value is None else str(value) for value in row) + "\n"
