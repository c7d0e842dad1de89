"""Add rate counts, the client of an unpaid order, counters and the audit log."""

from peewee import Database, PostgresqlDatabase
from playhouse.migrate import SchemaMigrator

_POSTGRES_STAYS = (
    "CREATE FUNCTION trail_stays() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN RAISE EXCEPTION 'the trail is append-only'; END $$",
    "CREATE TRIGGER trail_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON trail"
    " FOR EACH STATEMENT EXECUTE FUNCTION trail_stays()",
)

_SQLITE_STAYS = tuple(
    f"CREATE TRIGGER trail_stays_{what} BEFORE {what} ON trail"
    " BEGIN SELECT RAISE(ABORT, 'the trail is append-only'); END"
    for what in ("UPDATE", "DELETE")
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE rate_counts ("
        "caller TEXT NOT NULL PRIMARY KEY, minute BIGINT NOT NULL, used BIGINT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX rate_counts_by_minute ON rate_counts (minute)")
    db.execute_sql("ALTER TABLE payment_intents ADD COLUMN held_by TEXT")
    db.execute_sql(
        "CREATE INDEX intents_unpaid_of ON payment_intents (held_by, quantity, hold_until)"
        " WHERE status = 'awaiting_payment' AND held_by IS NOT NULL"
    )
    db.execute_sql(
        "CREATE TABLE tallies (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL,"
        " label TEXT NOT NULL, count BIGINT NOT NULL)"
    )
    instant = "TIMESTAMPTZ" if isinstance(db, PostgresqlDatabase) else "TEXT"
    db.execute_sql(
        "CREATE TABLE trail (id TEXT NOT NULL PRIMARY KEY,"
        f" tenant_id TEXT NOT NULL REFERENCES tenants (id), at {instant} NOT NULL,"
        " actor TEXT NOT NULL, address TEXT, request_id TEXT, action TEXT NOT NULL,"
        " subject TEXT NOT NULL, before TEXT, after TEXT NOT NULL)"
    )
    for columns in ("id", "actor, id", "subject, id"):
        name = "_".join(["trail", *columns.replace(",", "").split()])
        db.execute_sql(f"CREATE INDEX {name} ON trail (tenant_id, {columns})")
    for statement in _POSTGRES_STAYS if isinstance(db, PostgresqlDatabase) else _SQLITE_STAYS:
        db.execute_sql(statement)


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP TABLE trail")
    if isinstance(db, PostgresqlDatabase):
        db.execute_sql("DROP FUNCTION trail_stays")
    db.execute_sql("DROP TABLE tallies")
    db.execute_sql("DROP INDEX intents_unpaid_of")
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN held_by")
    db.execute_sql("DROP TABLE rate_counts")
