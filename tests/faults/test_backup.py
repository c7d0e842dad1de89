"""Backups: made while buyers buy, restored into another service that ends with the same books."""

import json
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest

from tests.conftest import NO_LIMITS, SECRET_KEY
from tests.support.factories import PRICE, cli, new_xpub
from tests.support.remote import RemoteOrganizer, eventually
from ticketing.chain.xpub import derive_address
from ticketing.db import backup as backups
from ticketing.db.connection import database
from tools import anvil
from tools.postgres import find_binaries
from tools.stack import Stack, StackFailed, free_port

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
on_postgres = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)


@pytest.fixture
def node():
    with anvil.Anvil() as chain:
        anvil.ensure_token(chain.rpc)
        yield chain


@pytest.fixture
def serve(node, tmp_path):
    """Serves a database with processes of its own; what was started is stopped at the end."""
    running = []

    def start(database_url):
        variables = {
            **NO_LIMITS,
            "DATABASE_URL": database_url,
            "SECRET_KEY": SECRET_KEY,
            "PORT": str(free_port()),
            "RPC_URL_31337": node.url,
            "CONFIRMATIONS_31337": "1",
            "POLL_SECONDS": "0.1",
        }
        running.append(Stack(variables, log=tmp_path / f"log{len(running)}"))
        return running[-1]

    yield start
    for stack in running:
        stack.stop()


class Buyers(threading.Thread):
    """One buyer after another, who pay, until they are told to stop."""

    paying = threading.Lock()

    def __init__(self, acme, ticket, node):
        super().__init__()
        self.acme, self.ticket, self.node = acme, ticket, node
        self.enough = threading.Event()
        self.answers = []

    def run(self):
        while not self.enough.is_set():
            intent = self.acme.preflight(self.ticket)
            if intent.status == 201:
                with self.paying:
                    pay(self.node, intent.json)
                self.acme.purchase(intent.json)
            self.answers.append(intent.status)


def pay(node, intent, amount=PRICE):
    anvil.transfer(node.rpc, intent["token_address"], intent["address"], amount)


def audit(stack):
    return json.loads(stack.flask("reconcile", "--json"))


def read_only(path):
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


@on_sqlite
def test_a_backup_made_while_buyers_buy_is_whole_and_its_books_are_right(
    serve, node, database_url, tmp_path
):
    stack = serve(database_url)
    stack.start_web()
    stack.start_worker()
    acme = RemoteOrganizer(stack, "acme", new_xpub())
    ticket = acme.ticket(capacity=None)
    buyers = [Buyers(acme, ticket, node) for _ in range(3)]
    for each in buyers:
        each.start()
    sold = []
    for number in range(3):
        eventually(lambda: sum(len(each.answers) for each in buyers) > 10 * len(sold))
        path = tmp_path / f"backup{number}"
        stack.flask("db", "backup", str(path))
        assert path.stat().st_mode & 0o777 == 0o600
        assert audit(serve(f"sqlite:///{path}"))["ok"] is True
        with read_only(path) as copy:
            sold.append(copy.execute("SELECT sold FROM ticket_types").fetchone()[0])
    for each in buyers:
        each.enough.set()
    for each in buyers:
        each.join()
    assert {status for each in buyers for status in each.answers} == {201}
    assert sold[0] > 0 and sold == sorted(set(sold))
    assert audit(stack)["ok"] is True


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
        writer.join(5)
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
    assert "100% of" in said and "keep SECRET_KEY too" in said
    assert set(tmp_path.iterdir()) - before == {tmp_path / "copy"}
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600


@on_sqlite
def test_a_backup_never_takes_the_place_of_a_file(app, tmp_path):
    (tmp_path / "there").write_text("as before")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("there", "link"):
        said = cli(app, "db", "backup", str(tmp_path / name), exit_code=1)
        assert said == f"Error: {tmp_path / name} is there already, and is left as it is\n"
    assert (tmp_path / "there").read_text() == "as before"
    assert not (tmp_path / "nowhere").exists()


@on_sqlite
def test_of_two_backups_to_one_file_the_first_one_stays(app, tmp_path):
    target = tmp_path / "copy"

    def overtake(copied, total):
        if not target.exists():
            target.write_text("the first")

    with pytest.raises(backups.BackupFailed, match="is there already"):
        backups.backup(target, overtake)
    assert target.read_text() == "the first"
    assert not list(tmp_path.glob(".copy*"))


@on_sqlite
def test_where_no_backup_can_be_written_one_sentence_says_so(app, tmp_path):
    target = tmp_path / "no" / "folder"
    said = cli(app, "db", "backup", str(target), exit_code=1)
    assert said == f"Error: {target} cannot be written: No such file or directory\n"


@on_sqlite
def test_a_damaged_database_is_told_and_leaves_no_backup(serve, database_url, tmp_path):
    path = Path(database_url.removeprefix("sqlite:///"))
    with path.open("r+b") as file:
        file.seek(-4096, 2)
        file.write(b"\xa5" * 4096)
    with pytest.raises(StackFailed, match="Error: the copy is damaged, and so may the database be"):
        serve(database_url).flask("db", "backup", str(tmp_path / "copy"))
    assert not (tmp_path / "copy").exists()


@on_postgres
def test_on_postgres_it_names_the_way_of_postgres(app, tmp_path):
    said = cli(app, "db", "backup", str(tmp_path / "copy"), exit_code=1)
    assert "pg_dump" in said and len(said.splitlines()) == 1
    assert not (tmp_path / "copy").exists()


def books(organizer, intents):
    """What the books say of these intents, but for what each service makes up for itself."""
    told = []
    for intent in intents:
        found = organizer.intent(intent)
        del found["confirmed_at"], found["confirmations"]
        found["admissions"] = [each["status"] for each in found["admissions"]]
        for payment in found["payments"]:
            del payment["id"]
        told.append(found)
    return told


@pytest.fixture
def back_up(request, database_url, tmp_path):
    """Backs a service up as docs/operations.md says; returns what restores it elsewhere."""

    def of_sqlite(stack):
        stack.flask("db", "backup", str(tmp_path / "copy"))
        return lambda: f"sqlite:///{tmp_path / 'copy'}"

    def of_postgres(stack):
        folder = find_binaries()[0] or Path()
        dump = ["--format=custom", f"--file={tmp_path / 'dump'}", f"--dbname={database_url}"]
        subprocess.run([folder / "pg_dump", *dump], check=True)

        def restore():
            name = f"{database_url.rsplit('/', 1)[1]}_restored"
            url = request.getfixturevalue("postgres").create_database(name)
            into = ["--no-owner", "--exit-on-error", f"--dbname={url}", tmp_path / "dump"]
            subprocess.run([folder / "pg_restore", *into], check=True)
            return url

        return restore

    return of_sqlite if database_url.startswith("sqlite") else of_postgres


def test_a_service_restored_from_a_backup_ends_with_the_same_books(
    serve, node, database_url, back_up
):
    xpub = new_xpub()
    first = serve(database_url)
    first.start_web()
    first.start_worker()
    acme = RemoteOrganizer(first, "acme", xpub)
    ticket = acme.ticket(capacity=100)
    confirmed, late, partly, unpaid = known = [acme.preflight(ticket).json for _ in range(4)]
    pay(node, confirmed)
    pay(node, partly, 1)
    eventually(lambda: acme.intent(confirmed)["status"] == "confirmed")
    eventually(lambda: acme.intent(partly)["amount_received"] == 1)
    restore = back_up(first)
    cursor = acme.ready()["chains"][0]["block_number"]

    # All of this the backup does not know.
    pay(node, late)
    pay(node, partly, PRICE - 1)
    pay(node, confirmed, 2)
    lost, shown = acme.preflight(ticket).json, acme.preflight(ticket).json
    pay(node, lost)
    for intent in (late, partly, lost):
        eventually(lambda intent=intent: acme.intent(intent)["status"] == "confirmed")
    eventually(lambda: acme.intent(confirmed)["refund_due"] == 2)
    node.rpc("evm_increaseTime", 2000)
    node.rpc("anvil_mine", "0x1")
    eventually(lambda: acme.intent(unpaid)["status"] == "expired")
    before = books(acme, known)
    assert [each["status"] for each in before] == [*["confirmed"] * 3, "expired"]
    assert audit(first)["ok"] is True
    first.stop()

    second = serve(restore())
    passed_over = second.flask("db", "restored")
    assert passed_over == f"{xpub}  0/5 to 0/10004 are passed over\n"
    second.start_web()
    acme.move_to(second)
    assert acme.ready()["chains"][0]["block_number"] == cursor
    assert acme.intent(late)["status"] == "awaiting_payment"
    second.start_worker()
    eventually(lambda: acme.ready()["chains"][0]["block_number"] > cursor)
    eventually(lambda: books(acme, known) == before)
    assert audit(second)["ok"] is True
    now = acme.read(ticket)
    assert (now["held"], now["sold"]) == (0, 3)

    # Whoever was shown an address since the backup still may pay there, and pays for nobody else.
    after = [acme.preflight(ticket).json for _ in range(2)]
    assert [each["address"] for each in after] == [
        derive_address(xpub, index) for index in (10_005, 10_006)
    ]
    pay(node, shown)
    pay(node, after[0])
    eventually(lambda: acme.intent(after[0])["status"] == "confirmed")
    assert acme.intent(after[1])["amount_received"] == 0
    assert books(acme, known) == before
    assert audit(second)["ok"] is True


def test_every_wallet_passes_over_as_many_addresses_as_it_is_told(app, acme, neighbour):
    ticket = acme.ticket()
    acme.buyer(ticket)
    said = cli(app, "db", "restored", "--skip", "7")
    assert sorted(line.split("  ")[1] for line in said.splitlines()) == [
        "0/1 to 0/7 are passed over",
        "0/2 to 0/8 are passed over",
    ]
    api = acme.api()
    assert api.get(f"{acme.path}/wallet").json["next_index"] == 9
    xpub = api.get(f"{acme.path}/wallet").json["xpub"]
    assert acme.buyer(ticket).intent["address"] == derive_address(xpub, 9)
    assert neighbour.api().get(f"{neighbour.path}/wallet").json["next_index"] == 8


def test_a_wallet_never_passes_over_more_addresses_than_it_has(app, acme, neighbour):
    acme.buyer(acme.ticket())
    said = cli(app, "db", "restored", "--skip", str(2**31), exit_code=1)
    assert said == "Error: skip: A wallet has fewer addresses left than that.\n"
    for each, index in ((acme, 2), (neighbour, 1)):
        assert each.api().get(f"{each.path}/wallet").json["next_index"] == index


def test_there_is_nothing_to_pass_over_without_a_wallet(app):
    assert cli(app, "db", "restored") == ""
