"""Migrations on the command line: up, down, and in several processes at once."""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.conftest import SECRET_KEY
from tests.support.factories import cli
from tests.support.remote import PATIENCE_SECONDS, eventually
from ticketing.application import configure
from ticketing.config import load
from ticketing.db import migrate
from ticketing.db.connection import database
from tools.stack import ROOT

pytestmark = pytest.mark.sql

LATER = """
def up(migrator, db):
    db.execute_sql("ALTER TABLE tenants ADD COLUMN later TEXT")


def down(migrator, db):
    db.execute_sql("ALTER TABLE tenants DROP COLUMN later")
"""


@pytest.fixture(params=["sqlite", "postgres"])
def environ_of_nothing(request, tmp_path, process_name):
    """The configuration of a service with an empty database, without migrations."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/deeper/empty.db"
    else:
        url = request.getfixturevalue("postgres").create_database(f"empty_{process_name}")
    return {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": url}


@pytest.fixture
def app_of_nothing(environ_of_nothing, built_app):
    """The application with an empty database, without migrations."""
    configure(built_app, load(environ_of_nothing))
    yield built_app
    database.close()


@pytest.fixture
def later(tmp_path, monkeypatch):
    """The name of a migration that comes after the schema."""
    folder = tmp_path / "migrations"
    shutil.copytree(migrate.DIRECTORY, folder)
    (folder / "0002_later.py").write_text(LATER)
    monkeypatch.setattr(migrate, "DIRECTORY", folder)
    return "0002_later"


def test_migrating_twice_finds_nothing_to_do_and_goes_down_and_up_again(app_of_nothing, later):
    def migrate(*arguments, **options):
        return cli(app_of_nothing, "db", *arguments, **options)

    assert migrate("downgrade", "--yes") == "nothing to revert\n"
    assert migrate("upgrade") == f"applied 0001_schema\napplied {later}\n"
    assert migrate("upgrade") == "nothing to apply\n"
    assert "Aborted!" in migrate("downgrade", stdin="n\n", exit_code=1)
    assert migrate("downgrade", "--yes") == f"reverted {later}\n"
    assert migrate("upgrade") == f"applied {later}\n"


def test_the_schema_itself_is_never_reverted(app_of_nothing):
    cli(app_of_nothing, "db", "upgrade")
    tables = database.get_tables()
    assert cli(app_of_nothing, "db", "downgrade", "--yes") == "nothing to revert\n"
    assert database.get_tables() == tables


def test_a_database_of_before_2_0_is_refused_in_one_sentence(app_of_nothing):
    history = "CREATE TABLE schema_migrations (id INTEGER, name TEXT, applied TEXT)"
    database.execute_sql(history)
    database.execute_sql("INSERT INTO schema_migrations VALUES (1, '0001_initial', '2026-01-01')")
    told = cli(app_of_nothing, "db", "upgrade", exit_code=1)
    assert told.startswith("Error: this database was made before release 2.0")
    assert told.count("\n") == 1
    assert database.get_tables() == ["schema_migrations"]


@pytest.mark.long
def test_three_processes_may_migrate_an_empty_database_at_once(
    environ_of_nothing, starts_processes
):
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "flask", "--app", "app", "db", "upgrade"],
            cwd=ROOT,
            env={"FLASK_SKIP_DOTENV": "1", **environ_of_nothing},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    told = [process.communicate(timeout=PATIENCE_SECONDS) for process in started]
    assert [process.returncode for process in started] == [0] * 3, told
    assert [err for _, err in told] == [""] * 3
    first, *others = sorted(out for out, _ in told)
    assert first.startswith("applied 0001_")
    assert others == ["nothing to apply\n"] * 2


def test_a_database_that_is_not_migrated_is_told_in_one_sentence(app_of_nothing):
    told = cli(app_of_nothing, "tenants", "create", "acme", "--name", "Acme", exit_code=1)
    assert told.startswith("Error: ") and "db upgrade" in told and told.count("\n") == 1


WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'relation' AND NOT granted"


@pytest.mark.parametrize("environ_of_nothing", ["postgres"], indirect=True)
def test_a_migration_and_an_order_that_lock_tables_in_two_orders_both_end(
    app_of_nothing, environ_of_nothing, later
):
    cli(app_of_nothing, "db", "upgrade")
    cli(app_of_nothing, "db", "downgrade", "--yes")

    def upgrade():
        try:
            return migrate.upgrade()
        finally:
            database.close()

    url = environ_of_nothing["DATABASE_URL"]
    with (
        psycopg.connect(url) as order,
        psycopg.connect(url, autocommit=True) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        order.execute("UPDATE events SET id = id")
        migrated = pool.submit(upgrade)
        eventually(lambda: other.execute(WAITING).fetchone() == (1,))
        # If the migration kept its first locks, each would wait for the other.
        for table in ("admissions", "payment_intents", "tenants", "ticket_types"):
            order.execute(f"UPDATE {table} SET id = id".encode())
        order.commit()
        assert len(migrated.result(PATIENCE_SECONDS)) == 1
