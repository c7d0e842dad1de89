"""Insert many rows quickly: foreign keys are not checked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ticketing.db.connection import database, is_sqlite

ROWS_AT_ONCE = 20_000

COLUMNS = {
    "tenants": "id slug name wallet_id created_at",
    "wallets": "id tenant_id owner gathering secret contract_version chain_ids code_on no_code_on"
    " unchecked_chains all_chain_ids continued_tokens next_index created_at",
    "api_keys": "id tenant_id name role digest digest_key created_at expires_at last_used_at"
    " revoked_at",
    "trail": "id tenant_id at actor address request_id action subject before after",
    "rate_counts": "caller minute used",
    "events": "id tenant_id title slug description type venue start_at end_at timezone"
    " online_join_url status created_at updated_at",
    "ticket_types": "id tenant_id event_id name price_amount chain_id transferable status capacity"
    " held sold min_per_order max_per_order sales_start_at sales_end_at created_at updated_at",
    "payment_intents": "id tenant_id event_id status flags quantity free_seats amount currency"
    " chain_id wallet_id address_index address token_address paid_block books_version buyer_email"
    " buyer_name created_at hold_until grace_until expires_at confirmed_at",
    "order_accounts": "id intent_id chain_id wallet_id address token_address tenant_id event_id"
    " token_decimals required_confirmations is_option in_reach received final kept open due"
    " refunded pending_block watch_until sold_at collectable_at swept_at swept_balance",
    "intent_items": "intent_id position ticket_type_id quantity list_amount unit_amount admission"
    " vouchered",
    "payments": "id intent_id account_id chain_id tx_hash log_index block_number block_hash"
    " block_time sender amount dust canonical seen_at",
    "collections": "id intent_id account_id chain_id token_address tx_hash log_index block_number"
    " block_hash block_time recipient amount dust canonical seen_at",
    "refunds": "id intent_id account_id chain_id tx_hash log_index sender recipient amount"
    " block_number block_hash checked created_at",
    "admissions": "id tenant_id event_id ticket_type_id intent_id code status amount holder_name"
    " holder_email redeemed_at created_at",
    "chains": "chain_id token_address decimals symbol refusal block_number block_hash block_time"
    " looked_at",
    "chain_blocks": "chain_id number hash time",
    "mails": "id tenant_id kind subject notification_id recipient_digest mailbox client client_site"
    " status attempts created_at ended_at",
    "idempotency_keys": "digest request_digest claimed_at created_at status body",
}
"""The tables, each with the columns of a row in order."""


class Sink:
    """Collects rows, and writes many at once."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in COLUMNS}

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


# With the default, Postgres counts 30,000 rows by chance, and a plan differs from run to run.
_COUNT_ALL_ROWS = ("SET default_statistics_target = 10000", "VACUUM ANALYZE")

# COPY writes the ids of accounts, and leaves the sequence where it is.
_GO_ON = """
SELECT setval(pg_get_serial_sequence('order_accounts', 'id'), MAX(id)) FROM order_accounts
"""


@contextmanager
def filling() -> Iterator[None]:
    """Do not check foreign keys meanwhile. At the end Postgres counts the rows for its plans.

    On Postgres it needs a superuser.
    """
    off = "PRAGMA foreign_keys = OFF" if is_sqlite() else "SET session_replication_role = replica"
    for statement in (off, "BEGIN"):
        database.execute_sql(statement)
    yield
    on = ("PRAGMA foreign_keys = ON",) if is_sqlite() else (_GO_ON, *_COUNT_ALL_ROWS, "RESET ALL")
    for statement in ("COMMIT", *on):
        database.execute_sql(statement)


def _line(row: tuple[Any, ...]) -> str:
    # No generated value needs the escapes of COPY.
    return "\t".join("\\N" if value is None else str(value) for value in row) + "\n"
