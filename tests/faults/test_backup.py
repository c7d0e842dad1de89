"""Backups during sales: complete, readable only by their owner, never over an existing file."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.databases import on_sqlite
from tests.support.factories import PRICE, cli
from tests.support.processes import audit, variables_of
from tests.support.remote import PATIENCE_SECONDS, eventually
from tests.support.stopped_clock import StoppedClock
from ticketing import clock as clocks
from ticketing.db import backup as backups
from ticketing.db.connection import database
from tools import anvil
from tools.stack import ROOT, Stack, StackFailed

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
def test_orders_go_on_between_two_steps_of_a_backup_and_are_not_in_it(acme, database_url, tmp_path):
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

    backups.backup(tmp_path / "copy", database_url, meanwhile)
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
def test_of_two_backups_to_one_file_the_first_one_stays(app, database_url, tmp_path):
    target = tmp_path / "copy"

    def overtake(copied, total):
        if not target.exists():
            target.write_text("the first")

    with pytest.raises(backups.BackupFailed, match="exists already"):
        backups.backup(target, database_url, overtake)
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


def test_a_backup_is_encrypted_for_a_public_key(app, acme, tmp_path, age, postgres_on_path):
    public, secret = age
    acme.event(title="Summer Concert")
    file = tmp_path / "copy.age"
    said = cli(app, "db", "backup", str(file), "--recipient", public)
    assert f"{file} has " in said and file.stat().st_mode & 0o777 == 0o600
    assert b"Summer Concert" not in file.read_bytes()
    assert not list(tmp_path.glob(".copy*"))
    command = ["age", "--decrypt", "--identity", secret, "--output", tmp_path / "copy", file]
    subprocess.run(command, check=True)
    assert (tmp_path / "copy").read_bytes()[:5] in (b"SQLit", b"PGDMP")


def test_a_folder_keeps_the_newest_backups_and_the_metrics_their_age(
    app, acme, api, tmp_path, monkeypatch, postgres_on_path
):
    assert "ticketing_backup_age_seconds" not in metrics_of(app)
    folder = tmp_path / "backups"
    folder.mkdir()
    for name in ("other.txt", "ticketing-20200101T000000Z.sqlite.part"):
        (folder / name).write_text("stays")
    clock = StoppedClock(monkeypatch, clocks.now())
    for _ in range(4):
        cli(app, "db", "backup", "--folder", str(folder), "--keep", "2")
        clock.forward(hours=1)
    made = sorted(each.name for each in folder.glob("ticketing-*Z.*") if "part" not in each.name)
    assert len(made) == 2 and len(list(folder.iterdir())) == 4
    assert made[-1].startswith(f"ticketing-{clock.now - timedelta(hours=1):%Y%m%dT%H%M%S}Z.")
    assert "\nticketing_backup_age_seconds 3600.0\n" in metrics_of(app)


@on_sqlite
def test_the_new_backup_stays_even_if_the_clock_was_in_the_future_once(app, tmp_path):
    (tmp_path / "ticketing-20990101T000000Z.sqlite").write_text("of the future")
    cli(app, "db", "backup", "--folder", str(tmp_path), "--keep", "1")
    (kept,) = tmp_path.glob("ticketing-*")
    assert kept.read_bytes()[:6] == b"SQLite"


@on_sqlite
def test_what_a_killed_backup_left_is_deleted_the_day_after(app, tmp_path):
    for hours in (1, 25):
        left = tmp_path / f".ticketing-{hours}"
        left.mkdir()
        (left / "copy").write_text("not encrypted")
        then = clocks.now().timestamp() - hours * 3600
        os.utime(left, (then, then))
    cli(app, "db", "backup", "--folder", str(tmp_path))
    assert [each.name for each in tmp_path.glob(".*")] == [".ticketing-1"]


@on_sqlite
def test_a_backup_that_is_stopped_leaves_nothing(database_url, tmp_path):
    folder, program = tmp_path / "backups", tmp_path / "age"
    folder.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/encrypting\nexec sleep 600\n")
    program.chmod(0o700)
    command = [sys.executable, "-m", "flask", "--app", "app", "db", "backup", "--folder", folder]
    path = f"{tmp_path}:{os.environ['PATH']}"
    environ = {**os.environ, **variables_of(database_url), "PATH": path}
    with subprocess.Popen([*command, "--recipient", "age1x"], cwd=ROOT, env=environ) as running:
        eventually((tmp_path / "encrypting").exists)
        assert list(folder.glob(".ticketing-*/copy"))
        running.terminate()
        assert running.wait(PATIENCE_SECONDS) == 128 + signal.SIGTERM
    assert list(folder.iterdir()) == []


def metrics_of(app):
    app.extensions["ticketing"] = replace(app.extensions["ticketing"], metrics_token="t" * 16)
    answer = app.test_client().get("/metrics", headers={"Authorization": f"Bearer {'t' * 16}"})
    assert answer.status_code == 200
    return answer.text


@pytest.mark.parametrize("arguments", [(), ("file", "--folder", "."), ("--folder", "/nowhere")])
@on_sqlite
def test_it_needs_one_place(app, arguments):
    cli(app, "db", "backup", *arguments, exit_code=2)


@pytest.mark.parametrize("recipient", ["age1no", "--output=/tmp/x", ""])
@on_sqlite
def test_a_wrong_key_leaves_no_backup(app, tmp_path, age, recipient):
    file = tmp_path / "copy"
    cli(app, "db", "backup", str(file), f"--recipient={recipient}", exit_code=1)
    assert not file.exists() and not list(tmp_path.glob(".copy*"))


def test_without_its_programs_one_sentence_says_what_is_missing(app, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = cli(app, "db", "backup", str(tmp_path / "copy"), "--recipient", "age1x", exit_code=1)
    assert "is missing: install " in said and len(said.splitlines()) <= 2
    assert not (tmp_path / "copy").exists()


@on_postgres
@pytest.mark.parametrize("more", ["pgbouncer=true", "pgbouncer=prepares", "gssencmode=disable"])
def test_what_pg_dump_would_not_understand_is_told(app, tmp_path, more):
    known = app.extensions["ticketing"]
    app.extensions["ticketing"] = replace(known, database_url=f"{known.database_url}?{more}")
    said = cli(app, "db", "backup", str(tmp_path / "copy"), exit_code=1)
    assert said.startswith("Error: ") and len(said.splitlines()) == 1
    assert not (tmp_path / "copy").exists()


@on_sqlite
def test_a_database_that_is_not_there_is_told_as_by_each_command(app, tmp_path):
    database.execute_sql("DROP TABLE last_backup")
    said = cli(app, "db", "backup", str(tmp_path / "copy"), exit_code=1)
    last = said.splitlines()[-1]
    assert last.startswith("Error: database: ") and "run 'db upgrade'" in last


@on_postgres
def test_a_password_is_in_no_argument_and_in_no_message(app, tmp_path, monkeypatch):
    known = app.extensions["ticketing"]
    url = "postgresql://ada:geheim@127.0.0.1:9/shop"
    app.extensions["ticketing"] = replace(known, database_url=url)
    said = cli(app, "db", "backup", str(tmp_path / "copy"), exit_code=1)
    assert "pg_dump: " in said and "geheim" not in said
