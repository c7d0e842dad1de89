"""The tables of the first release."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLES = {
    "wallets": """
        id TEXT PRIMARY KEY,
        xpub TEXT NOT NULL,
        public_key TEXT NOT NULL UNIQUE,
        next_index BIGINT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL
    """,
    "tenants": """
        id TEXT PRIMARY KEY,
        slug TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        wallet_id TEXT REFERENCES wallets (id),
        created_at TIMESTAMPTZ NOT NULL
    """,
    "api_keys": """
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        name TEXT NOT NULL,
        role TEXT NOT NULL,
        digest TEXT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        expires_at TIMESTAMPTZ NOT NULL,
        last_used_at TIMESTAMPTZ,
        revoked_at TIMESTAMPTZ
    """,
    "members": """
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        email TEXT NOT NULL,
        password_hash TEXT NOT NULL,
        role TEXT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        disabled_at TIMESTAMPTZ,
        UNIQUE (tenant_id, email)
    """,
    "events": """
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        title TEXT NOT NULL,
        slug TEXT NOT NULL,
        description TEXT NOT NULL,
        type TEXT NOT NULL,
        venue TEXT,
        start_at TIMESTAMPTZ NOT NULL,
        end_at TIMESTAMPTZ,
        timezone TEXT NOT NULL,
        online_join_url TEXT,
        status TEXT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        updated_at TIMESTAMPTZ NOT NULL,
        UNIQUE (tenant_id, slug)
    """,
    "ticket_types": """
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        event_id TEXT NOT NULL REFERENCES events (id),
        name TEXT NOT NULL,
        price_amount BIGINT NOT NULL,
        chain_id BIGINT,
        transferable BOOLEAN NOT NULL,
        status TEXT NOT NULL,
        capacity BIGINT,
        held BIGINT NOT NULL,
        sold BIGINT NOT NULL,
        min_per_order INTEGER NOT NULL,
        max_per_order INTEGER NOT NULL,
        sales_start_at TIMESTAMPTZ,
        sales_end_at TIMESTAMPTZ,
        created_at TIMESTAMPTZ NOT NULL,
        updated_at TIMESTAMPTZ NOT NULL,
        CHECK (held >= 0 AND sold >= 0 AND (capacity IS NULL OR held + sold <= capacity)),
        CHECK (price_amount = 0 OR chain_id IS NOT NULL)
    """,
    "payment_intents": """
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        event_id TEXT NOT NULL REFERENCES events (id),
        ticket_type_id TEXT NOT NULL REFERENCES ticket_types (id),
        status TEXT NOT NULL,
        flags INTEGER NOT NULL,
        quantity INTEGER NOT NULL,
        unit_amount BIGINT NOT NULL,
        amount BIGINT NOT NULL,
        amount_received BIGINT NOT NULL,
        refund_due BIGINT NOT NULL,
        refunded BIGINT NOT NULL,
        currency TEXT NOT NULL,
        chain_id BIGINT,
        wallet_id TEXT REFERENCES wallets (id),
        address_index BIGINT,
        address TEXT UNIQUE,
        token_address TEXT,
        token_decimals INTEGER,
        required_confirmations INTEGER,
        paid_block BIGINT,
        buyer_email TEXT,
        buyer_name TEXT,
        created_at TIMESTAMPTZ NOT NULL,
        hold_until TIMESTAMPTZ NOT NULL,
        grace_until TIMESTAMPTZ,
        expires_at TIMESTAMPTZ NOT NULL,
        confirmed_at TIMESTAMPTZ,
        watch_until TIMESTAMPTZ,
        swept_at TIMESTAMPTZ,
        swept_balance TEXT,
        UNIQUE (wallet_id, address_index)
    """,
    "payments": """
        id TEXT PRIMARY KEY,
        intent_id TEXT NOT NULL REFERENCES payment_intents (id),
        chain_id BIGINT NOT NULL,
        tx_hash TEXT NOT NULL,
        log_index INTEGER NOT NULL,
        block_number BIGINT NOT NULL,
        block_hash TEXT NOT NULL,
        block_time TIMESTAMPTZ NOT NULL,
        sender TEXT NOT NULL,
        amount BIGINT NOT NULL,
        dust BIGINT NOT NULL,
        canonical BOOLEAN NOT NULL,
        seen_at TIMESTAMPTZ NOT NULL,
        UNIQUE (chain_id, tx_hash, log_index)
    """,
    "admissions": """
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        event_id TEXT NOT NULL REFERENCES events (id),
        ticket_type_id TEXT NOT NULL REFERENCES ticket_types (id),
        intent_id TEXT NOT NULL REFERENCES payment_intents (id),
        code TEXT NOT NULL UNIQUE,
        status TEXT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL
    """,
    "idempotency_keys": """
        digest TEXT PRIMARY KEY,
        request_digest TEXT NOT NULL,
        claimed_at TIMESTAMPTZ NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        status INTEGER,
        body TEXT
    """,
    "chains": """
        chain_id BIGINT PRIMARY KEY,
        token_address TEXT NOT NULL,
        decimals INTEGER,
        symbol TEXT,
        refusal TEXT,
        block_number BIGINT,
        block_hash TEXT,
        block_time TIMESTAMPTZ,
        looked_at TIMESTAMPTZ,
        lease_holder TEXT,
        lease_until TIMESTAMPTZ
    """,
    "chain_blocks": """
        chain_id BIGINT NOT NULL REFERENCES chains (chain_id),
        number BIGINT NOT NULL,
        hash TEXT NOT NULL,
        time TIMESTAMPTZ NOT NULL,
        PRIMARY KEY (chain_id, number)
    """,
    "refunds": """
        id TEXT PRIMARY KEY,
        intent_id TEXT NOT NULL REFERENCES payment_intents (id),
        chain_id BIGINT NOT NULL,
        tx_hash TEXT NOT NULL,
        log_index INTEGER NOT NULL,
        recipient TEXT NOT NULL,
        amount BIGINT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        UNIQUE (chain_id, tx_hash, log_index)
    """,
}

INDEXES = (
    "api_keys_of_tenant ON api_keys (tenant_id, id)",
    "events_of_tenant ON events (tenant_id, id)",
    "events_by_start ON events (tenant_id, start_at, id)",
    "events_published ON events (tenant_id, start_at, id) WHERE status = 'published'",
    "ticket_types_of_event ON ticket_types (event_id, id)",
    "intents_of_tenant ON payment_intents (tenant_id, id)",
    "intents_of_event ON payment_intents (event_id, id)",
    "intents_of_ticket_type ON payment_intents (ticket_type_id, status, quantity)",
    "intents_by_status ON payment_intents (tenant_id, status, id)",
    "intents_flagged ON payment_intents (tenant_id, id) WHERE flags <> 0",
    "intents_awaiting ON payment_intents (chain_id, expires_at) WHERE status = 'awaiting_payment'",
    "intents_processing ON payment_intents (chain_id, paid_block) WHERE status = 'processing'",
    "intents_watched ON payment_intents (chain_id, watch_until) WHERE watch_until IS NOT NULL",
    "intents_to_refund ON payment_intents (tenant_id, id) WHERE refund_due > 0",
    "intents_to_sweep ON payment_intents (chain_id, swept_at) WHERE watch_until IS NOT NULL",
    "refunds_of_intent ON refunds (intent_id)",
    "payments_of_intent ON payments (intent_id)",
    "payments_of_block ON payments (chain_id, block_number)",
    "idempotency_keys_by_age ON idempotency_keys (created_at)",
    "admissions_of_tenant ON admissions (tenant_id, id)",
    "admissions_of_event ON admissions (event_id, id)",
    "admissions_of_intent ON admissions (intent_id)",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, columns in TABLES.items():
        db.execute_sql(f"CREATE TABLE {table} ({columns})")
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for table in reversed(TABLES):
        db.execute_sql(f"DROP TABLE {table}")
