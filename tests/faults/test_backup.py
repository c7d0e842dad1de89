"""Backups during sales: complete, readable only by their owner, never over an existing file."""

import sqlite3
import threading
from pathlib import Path

import pytest

from tests.support.databases import on_sqlite
from tests.support.factories import PRICE, cli
from tests.support.processes import audit, variables_of
from tests.support.remote import PATIENCE_SECONDS, eventually
from ticketing.db import backup as backups
from ticketing.db.connection import database
from tools import anvil
from tools.stack import Stack, StackFailed

pytestmark = pytest.mark.long

on_postgres = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)


class Buyers(threading.Thread):
    """One buyer after another who pays, until `enough` is set."""

    paying = threading.Lock()

    def __init__(self, remote, ticket, node):
        super().__init__()
        self.remote, self.ticket, self.node = remote, ticket, node
        self.enough = threading.Event()
        self.answers = []

    def run(self):
        while not self.enough.is_set():
            intent = self.remote.preflight(self.ticket)
            if intent.status == 201:
                with self.paying:
                    self.pay(intent.json)
                self.remote.purchase(intent.json)
            self.answers.append(intent.status)

    def pay(self, intent):
        anvil.transfer(self.node.rpc, intent["token_address"], intent["address"], PRICE)


def read_only(path):
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


@on_sqlite
def test_a_backup_made_while_buyers_buy_is_whole_and_its_books_are_right(
    stack, node, remote, tmp_path
):
    stack.start_worker()
    ticket = remote.ticket(capacity=None)
    buyers = [Buyers(remote, ticket, node) for _ in range(3)]
    for each in buyers:
        each.start()
    sold = []
    for number in range(3):
        before = remote.read(ticket)["sold"]
        eventually(lambda before=before: remote.read(ticket)["sold"] > before + 5)
        path = tmp_path / f"backup{number}"
        stack.flask("db", "backup", str(path))
        assert path.stat().st_mode & 0o777 == 0o600
        assert audit(Stack(variables_of(f"sqlite:///{path}")))["ok"] is True
        with read_only(path) as copy:
            sold.append(copy.execute("SELECT sold FROM ticket_types").fetchone()[0])
    for each in buyers:
        each.enough.set()
    for each in buyers:
        each.join()
    assert {status for each in buyers for status in each.answers} == {201}
    assert sold[0] > 0 and sold == sorted(set(sold))


@on_sqlite
def test_orders_go_on_between_two_steps_of_a_backup_and_are_not_in_it(acme, tmp_path):
    database.execute_sql("CREATE TABLE padding AS SELECT zeroblob(9000000) AS bytes")
    steps, titles = [], []

    def meanwhile(copied, total):
        """Write between two steps, as another process does."""
        steps.append((copied, total))
        assert len(steps) <= total // backups.PAGES + 1, "it started anew"
        titles.append(f"Made after step {len(steps)}")
        writer = threading.Thread(target=acme.event, kwargs={"title": titles[-1]})
        writer.start()
        writer.join(PATIENCE_SECONDS)
        assert not writer.is_alive()

    backups.backup(tmp_path / "copy", meanwhile)
    assert len(steps) >= 3
    with read_only(tmp_path / "copy") as copy:
        assert copy.execute("SELECT count(*) FROM events").fetchone() == (0,)
    found = acme.api("read").get(f"{acme.path}/events").json["data"]
    assert [event["title"] for event in found] == titles


@on_sqlite
def test_a_backup_is_one_file_that_its_owner_alone_can_read(app, acme, tmp_path):
    before = set(tmp_path.iterdir())
    said = cli(app, "db", "backup", str(tmp_path / "copy"))
    assert "100% of" in said and "keep SECRET_KEY in another place" in said
    assert set(tmp_path.iterdir()) - before == {tmp_path / "copy"}
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600


@on_sqlite
def test_a_backup_never_takes_the_place_of_a_file(app, tmp_path):
    (tmp_path / "there").write_text("as before")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("there", "link"):
        said = cli(app, "db", "backup", str(tmp_path / name), exit_code=1)
        assert said == f"Error: {tmp_path / name} exists already; it was not changed\n"
    assert (tmp_path / "there").read_text() == "as before"
    assert not (tmp_path / "nowhere").exists()


@on_sqlite
def test_of_two_backups_to_one_file_the_first_one_stays(app, tmp_path):
    target = tmp_path / "copy"

    def overtake(copied, total):
        if not target.exists():
            target.write_text("the first")

    with pytest.raises(backups.BackupFailed, match="exists already"):
        backups.backup(target, overtake)
    assert target.read_text() == "the first"
    assert not list(tmp_path.glob(".copy*"))


@on_sqlite
def test_where_no_backup_can_be_written_one_sentence_says_so(app, tmp_path):
    target = tmp_path / "no" / "folder"
    said = cli(app, "db", "backup", str(target), exit_code=1)
    assert said == f"Error: cannot write {target}: No such file or directory\n"


@on_sqlite
def test_a_damaged_database_is_told_and_leaves_no_backup(database_url, tmp_path, starts_processes):
    path = Path(database_url.removeprefix("sqlite:///"))
    with path.open("r+b") as file:
        file.seek(-4096, 2)
        file.write(b"\xa5" * 4096)
    with pytest.raises(StackFailed, match="Error: the copy is damaged; check the database too"):
        Stack(variables_of(database_url)).flask("db", "backup", str(tmp_path / "copy"))
    assert not (tmp_path / "copy").exists()


@on_postgres
def test_on_postgres_it_names_the_way_of_postgres(app, tmp_path):
    said = cli(app, "db", "backup", str(tmp_path / "copy"), exit_code=1)
    assert "pg_dump" in said and len(said.splitlines()) == 1
    assert not (tmp_path / "copy").exists()
