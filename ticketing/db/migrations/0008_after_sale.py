"""Add what happens after the sale: holders, transfers, voids, refunds in parts, and the door."""

from peewee import Database, PostgresqlDatabase
from playhouse.migrate import SchemaMigrator

COLUMNS = {
    "events": (
        "capacity BIGINT",
        "doors_open_at TIMESTAMPTZ",
        "transfers_end_at TIMESTAMPTZ",
        "erased_at TIMESTAMPTZ",
        "erasure_tried_at TIMESTAMPTZ",
    ),
    "payment_intents": (
        "waived BIGINT NOT NULL DEFAULT 0",
        "seats_refunded INTEGER NOT NULL DEFAULT 0",
        "refund_address TEXT",
    ),
    "admissions": (
        "generation INTEGER NOT NULL DEFAULT 1",
        "holder_name TEXT",
        "holder_email TEXT",
        "named_at TIMESTAMPTZ",
        "transferred_at TIMESTAMPTZ",
        "redeemed_at TIMESTAMPTZ",
        "redeemed_gate TEXT",
        "redeemed_by TEXT",
        "voided_at TIMESTAMPTZ",
        "void_reason TEXT",
        "void_refund BOOLEAN NOT NULL DEFAULT FALSE",
        "qr TEXT",
        "change_number BIGINT",
    ),
}

TABLES = {
    "trail_people": """
        entry_id TEXT PRIMARY KEY REFERENCES trail (id),
        subject TEXT NOT NULL,
        before TEXT,
        after TEXT NOT NULL
    """,
    "event_stock": """
        event_id TEXT PRIMARY KEY REFERENCES events (id),
        capacity BIGINT NOT NULL,
        held BIGINT NOT NULL,
        sold BIGINT NOT NULL,
        CHECK (held >= 0 AND sold >= 0 AND held + sold <= capacity)
    """,
    "transfers": """
        id TEXT PRIMARY KEY,
        admission_id TEXT NOT NULL REFERENCES admissions (id),
        generation INTEGER NOT NULL,
        holder_name TEXT,
        holder_email TEXT,
        created_at TIMESTAMPTZ NOT NULL,
        expires_at TIMESTAMPTZ NOT NULL,
        accepted_at TIMESTAMPTZ,
        ended_at TIMESTAMPTZ
    """,
    "refund_addresses": """
        id TEXT PRIMARY KEY,
        intent_id TEXT NOT NULL REFERENCES payment_intents (id),
        address TEXT NOT NULL,
        stated_at TIMESTAMPTZ NOT NULL,
        replaced_at TIMESTAMPTZ
    """,
    "waivers": """
        id TEXT PRIMARY KEY,
        intent_id TEXT NOT NULL REFERENCES payment_intents (id),
        amount BIGINT NOT NULL,
        received BIGINT NOT NULL,
        block_number BIGINT NOT NULL,
        reason TEXT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL
    """,
    "ticket_keys": """
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        number INTEGER NOT NULL,
        public_key TEXT NOT NULL,
        secret_key_id TEXT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        PRIMARY KEY (tenant_id, number),
        UNIQUE (tenant_id, secret_key_id)
    """,
    "door_devices": """
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        event_id TEXT NOT NULL REFERENCES events (id),
        name TEXT NOT NULL,
        gate TEXT,
        show_names BOOLEAN NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        expires_at TIMESTAMPTZ NOT NULL,
        pairing_digest TEXT UNIQUE,
        pairing_expires_at TIMESTAMPTZ NOT NULL,
        paired_at TIMESTAMPTZ,
        token_digest TEXT,
        token_digest_key TEXT,
        last_seen_at TIMESTAMPTZ,
        unsynced INTEGER,
        revoked_at TIMESTAMPTZ
    """,
    "event_doors": """
        event_id TEXT PRIMARY KEY REFERENCES events (id),
        salt TEXT NOT NULL,
        last_change BIGINT NOT NULL
    """,
    "scans": """
        id TEXT PRIMARY KEY,
        event_id TEXT NOT NULL REFERENCES events (id),
        credential TEXT NOT NULL,
        nonce TEXT NOT NULL,
        kind TEXT NOT NULL,
        content_digest TEXT NOT NULL,
        admission_id TEXT REFERENCES admissions (id),
        generation INTEGER,
        verdict TEXT NOT NULL,
        outcome TEXT NOT NULL,
        decided TEXT,
        undoes TEXT REFERENCES scans (id),
        gate TEXT,
        device_at TIMESTAMPTZ NOT NULL,
        scanned_at TIMESTAMPTZ NOT NULL,
        received_at TIMESTAMPTZ NOT NULL,
        first_at TIMESTAMPTZ,
        first_gate TEXT,
        UNIQUE (event_id, nonce, credential)
    """,
}

_REFUND_COLUMNS = (
    "id, intent_id, chain_id, tx_hash, log_index, recipient, amount, block_number, block_hash,"
    " canonical, created_at"
)
_REFUNDS = """
    id TEXT PRIMARY KEY,
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    chain_id BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    log_index INTEGER NOT NULL,
    recipient TEXT NOT NULL,
    amount BIGINT NOT NULL,
    block_number BIGINT,
    block_hash TEXT,
    canonical BOOLEAN NOT NULL DEFAULT TRUE,
    created_at TIMESTAMPTZ NOT NULL,
"""
_REFUND_INDEXES = (
    "refunds_of_intent ON refunds (intent_id)",
    "refunds_of_block ON refunds (chain_id, block_number)",
)

INDEXES = (
    "trail_people_of_subject ON trail_people (subject)",
    "events_to_erase ON events (start_at) WHERE erased_at IS NULL",
    "refunds_of_log ON refunds (chain_id, tx_hash, log_index)",
    "admissions_changed ON admissions (event_id, change_number)",
    "admissions_of_event_void ON admissions (event_id, id) WHERE status = 'void'",
    "admissions_void ON admissions (tenant_id, id) WHERE status = 'void'",
    "admissions_of_event_redeemed ON admissions (event_id, id) WHERE redeemed_at IS NOT NULL",
    "admissions_redeemed ON admissions (tenant_id, id) WHERE redeemed_at IS NOT NULL",
    "admissions_of_ticket_type ON admissions (ticket_type_id, status)",
    "transfers_of_admission ON transfers (admission_id, id)",
    "refund_addresses_of_intent ON refund_addresses (intent_id, id)",
    "waivers_of_intent ON waivers (intent_id)",
    "intents_waived ON payment_intents (LOWER(tenant_id), id) WHERE refund_due = 0 AND waived > 0",
    "intents_refunded ON payment_intents (LOWER(tenant_id), id)"
    " WHERE refund_due = 0 AND waived = 0 AND refunded > 0",
    "door_devices_of_event ON door_devices (event_id, id)",
    "scans_of_event ON scans (event_id, id)",
    "scans_of_admission ON scans (admission_id, id)",
    "scans_in_conflict ON scans (event_id, id) WHERE outcome = 'conflict'",
)

_POSTGRES_SCANS_STAY = (
    "CREATE FUNCTION scans_stay() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN RAISE EXCEPTION 'scans are append-only'; END $$",
    "CREATE TRIGGER scans_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON scans"
    " FOR EACH STATEMENT EXECUTE FUNCTION scans_stay()",
)

_SQLITE_SCANS_STAY = tuple(
    f"CREATE TRIGGER scans_stay_{what} BEFORE {what} ON scans"
    " BEGIN SELECT RAISE(ABORT, 'scans are append-only'); END"
    for what in ("UPDATE", "DELETE")
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    # Guests belong to no intent.
    migrator.drop_not_null("admissions", "intent_id").run()
    for table, columns in COLUMNS.items():
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column}")
    for table, definition in TABLES.items():
        db.execute_sql(f"CREATE TABLE {table} ({definition})")
    # One transfer may now pay the refunds of several orders.
    _rebuild_refunds(db, "UNIQUE (intent_id, chain_id, tx_hash, log_index)")
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")
    # A scan is undone once at most.
    db.execute_sql("CREATE UNIQUE INDEX scans_undone ON scans (undoes) WHERE undoes IS NOT NULL")
    is_postgres = isinstance(db, PostgresqlDatabase)
    for statement in _POSTGRES_SCANS_STAY if is_postgres else _SQLITE_SCANS_STAY:
        db.execute_sql(statement)
    for column in ("name", "email"):
        db.execute_sql(
            f"UPDATE admissions SET holder_{column} = (SELECT buyer_{column} FROM payment_intents"
            " WHERE payment_intents.id = admissions.intent_id)"
        )


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
    _rebuild_refunds(db, "UNIQUE (chain_id, tx_hash, log_index)")
    for table in reversed(TABLES):
        db.execute_sql(f"DROP TABLE {table}")
    if isinstance(db, PostgresqlDatabase):
        db.execute_sql("DROP FUNCTION scans_stay")
    for table, columns in COLUMNS.items():
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column.split()[0]}")
    db.execute_sql("DELETE FROM admissions WHERE intent_id IS NULL")
    migrator.add_not_null("admissions", "intent_id").run()


def _rebuild_refunds(db: Database, constraint: str) -> None:
    """Replace the table's constraint. SQLite can only do that with a new table."""
    db.execute_sql(f"CREATE TABLE refunds_new ({_REFUNDS} {constraint})")
    db.execute_sql(
        f"INSERT INTO refunds_new ({_REFUND_COLUMNS}) SELECT {_REFUND_COLUMNS} FROM refunds"
    )
    db.execute_sql("DROP TABLE refunds")
    db.execute_sql("ALTER TABLE refunds_new RENAME TO refunds")
    for index in _REFUND_INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")
