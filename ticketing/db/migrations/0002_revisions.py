"""Add the tenants' revision, and indexes for a large database."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

DROPPED = (
    "intents_processing ON payment_intents (chain_id, paid_block) WHERE status = 'processing'",
    "intents_to_sweep ON payment_intents (chain_id, swept_at) WHERE watch_until IS NOT NULL",
    "events_published ON events (tenant_id, start_at, id) WHERE status = 'published'",
    "intents_of_tenant ON payment_intents (tenant_id, id)",
    "intents_flagged ON payment_intents (tenant_id, id) WHERE flags <> 0",
    "intents_to_refund ON payment_intents (tenant_id, id) WHERE refund_due > 0",
    "admissions_of_intent ON admissions (intent_id)",
    "payments_of_intent ON payments (intent_id)",
)
"""Indexes of the previous migration, which are replaced by better ones."""

INDEXES = (
    "intents_deep ON payment_intents (chain_id, paid_block)"
    " WHERE status IN ('processing', 'reversed')",
    "intents_unswept ON payment_intents (chain_id, watch_until)"
    " WHERE swept_at IS NULL AND watch_until IS NOT NULL",
    "intents_swept ON payment_intents (chain_id, swept_at) WHERE swept_at IS NOT NULL",
    "events_by_status ON events (tenant_id, status, id)",
    "events_by_status_and_start ON events (tenant_id, status, start_at, id)",
    "events_by_type ON events (tenant_id, type, id)",
    "events_by_type_and_start ON events (tenant_id, type, start_at, id)",
    "ticket_types_of_tenant ON ticket_types (tenant_id, id)",
    # With tenant_id itself, SQLite would choose the index on all intents of a tenant.
    "intents_flagged ON payment_intents (LOWER(tenant_id), id) WHERE flags <> 0",
    "intents_to_refund ON payment_intents (LOWER(tenant_id), id) WHERE refund_due > 0",
    "intents_of_event_flagged ON payment_intents (event_id, id) WHERE flags <> 0",
    "admissions_of_event_suspended ON admissions (event_id, id) WHERE status = 'suspended'",
    "admissions_suspended ON admissions (tenant_id, id) WHERE status = 'suspended'",
    # These also contain the columns that a reconciliation reads, so it reads no table rows.
    "intents_of_tenant ON payment_intents (tenant_id, id, address)",
    "admissions_of_intent ON admissions (intent_id, status)",
    "payments_of_intent ON payments (intent_id, canonical, amount, dust, chain_id)",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE tenants ADD COLUMN revision BIGINT NOT NULL DEFAULT 0")
    _exchange(db, DROPPED, INDEXES)


def down(migrator: SchemaMigrator, db: Database) -> None:
    _exchange(db, INDEXES, DROPPED)
    db.execute_sql("ALTER TABLE tenants DROP COLUMN revision")


def _exchange(db: Database, old: tuple[str, ...], new: tuple[str, ...]) -> None:
    for index in old:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
    for index in new:
        db.execute_sql(f"CREATE INDEX {index}")
