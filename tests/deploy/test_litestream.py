"""Litestream, configured as docs/hosting.md says: what was copied survives the loss of the disk."""

import shutil
import sqlite3
import subprocess
from contextlib import closing, contextmanager

import pytest

from tests.cli.test_documents import commands
from tests.support.processes import variables_of
from tests.support.remote import RemoteOrganizer, eventually
from tools import ToolMissing, installer
from tools.stack import ROOT, Stack

pytestmark = pytest.mark.long

OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture
def litestream(starts_processes):
    try:
        home = installer.from_pypi(ROOT / "tests" / "deploy" / "litestream.txt", "litestream")
    except ToolMissing as missing:
        pytest.skip(str(missing))
    return home / "bin" / "litestream"


@contextmanager
def replicating(program, settings, log):
    with log.open("w") as output:
        running = subprocess.Popen(
            [program, "replicate", "-config", settings], stdout=output, stderr=output
        )
    try:
        yield
    finally:
        running.kill()
        running.wait()


def test_what_was_copied_survives_the_loss_of_the_disk(litestream, tmp_path):
    database, copy = tmp_path / "service" / "ticketing.db", tmp_path / "copy"
    database.parent.mkdir()
    text = commands("docs/hosting.md", "`/etc/litestream.yml`", "Run `litestream")
    text = text.replace("/var/lib/ticketing/ticketing.db", str(database))
    settings = tmp_path / "litestream.yml"
    settings.write_text(text.replace("s3://my-bucket/ticketing", f"file://{copy}"))
    with Stack(variables_of(f"sqlite:///{database}"), log=tmp_path / "log") as stack:
        stack.flask("db", "upgrade")
        stack.start_web()
        with replicating(litestream, settings, tmp_path / "litestream.log"):
            acme = RemoteOrganizer(stack, "acme", address=OWNER)
            ticket = acme.ticket(price_amount=0, chain_id=None)
            late = acme.preflight(ticket).json
            assert acme.purchase(late).status == 200
            eventually(lambda: is_in(litestream, copy, late["id"], tmp_path))
        stack.kill("web")
        shutil.rmtree(database.parent)
        database.parent.mkdir()
        restore(litestream, copy, database)

        stack.flask("db", "upgrade")
        stack.flask("db", "restored")
        stack.start_web()
        assert acme.intent(late)["status"] == "confirmed"
        assert acme.purchase(acme.preflight(ticket).json).status == 200
        assert "the books are right" in stack.flask("reconcile")


def restore(program, copy, to):
    command = [program, "restore", "-o", to, f"file://{copy}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def is_in(program, copy, intent_id, tmp_path):
    """Whether the copy has this order, confirmed, already."""
    looked = tmp_path / "looked.db"
    looked.unlink(missing_ok=True)
    if not restore(program, copy, looked):
        return False
    query = "SELECT status FROM payment_intents WHERE id = ?"
    with closing(sqlite3.connect(looked)) as connection:
        return connection.execute(query, (intent_id,)).fetchall() == [("confirmed",)]
