"""Store the questions of events, and the answers of buyers and holders."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLES = {
    "questions": """
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        event_id TEXT NOT NULL REFERENCES events (id),
        identifier TEXT NOT NULL,
        question TEXT NOT NULL,
        help_text TEXT,
        type TEXT NOT NULL,
        required BOOLEAN NOT NULL,
        ask TEXT NOT NULL,
        position INTEGER NOT NULL,
        ticket_ids TEXT,
        show_at_door BOOLEAN NOT NULL,
        archived_at TIMESTAMPTZ,
        created_at TIMESTAMPTZ NOT NULL,
        updated_at TIMESTAMPTZ NOT NULL
    """,
    "question_options": """
        id TEXT PRIMARY KEY,
        question_id TEXT NOT NULL REFERENCES questions (id),
        position INTEGER NOT NULL,
        label TEXT NOT NULL
    """,
    "answers": """
        id TEXT PRIMARY KEY,
        question_id TEXT NOT NULL REFERENCES questions (id),
        intent_id TEXT REFERENCES payment_intents (id),
        admission_id TEXT REFERENCES admissions (id),
        value TEXT NOT NULL,
        answered_at TIMESTAMPTZ NOT NULL,
        CHECK ((intent_id IS NULL) <> (admission_id IS NULL))
    """,
}

INDEXES = (
    "CREATE UNIQUE INDEX questions_by_identifier ON questions (event_id, identifier)",
    "CREATE INDEX options_of_question ON question_options (question_id)",
    """
    CREATE UNIQUE INDEX answers_of_intent ON answers (intent_id, question_id)
    WHERE intent_id IS NOT NULL
    """,
    """
    CREATE UNIQUE INDEX answers_of_admission ON answers (admission_id, question_id)
    WHERE admission_id IS NOT NULL
    """,
    "CREATE INDEX answers_to_question ON answers (question_id)",
)

COLUMNS = (
    "order_questions INTEGER NOT NULL DEFAULT 0",
    "attendee_questions INTEGER NOT NULL DEFAULT 0",
    "questions_reminded_at TIMESTAMPTZ",
)

OF_EVENTS = """
    CREATE INDEX events_with_questions ON events (start_at)
    WHERE attendee_questions > 0 AND questions_reminded_at IS NULL
"""


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, definition in TABLES.items():
        db.execute_sql(f"CREATE TABLE {table} ({definition})")
    for index in INDEXES:
        db.execute_sql(index)
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE events ADD COLUMN {column}")
    db.execute_sql(OF_EVENTS)


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP INDEX events_with_questions")
    for column in reversed(COLUMNS):
        db.execute_sql(f"ALTER TABLE events DROP COLUMN {column.split()[0]}")
    for table in reversed(TABLES):
        db.execute_sql(f"DROP TABLE {table}")
