"""A full disk, and a SQLite database that another program has locked."""

import sqlite3
import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.databases import on_sqlite
from tests.support.factories import Api, event_body
from tests.support.faults import Load, family, order, reading_and_buying, runs, sql
from tests.support.processes import new_seat, new_tenant, service, variables_of
from tests.support.remote import eventually
from ticketing.db import connection, migrate
from ticketing.db.connection import database, open_database
from tools.postgres import Postgres

pytestmark = pytest.mark.long

NO_LIMIT = "unlimited"

WRITERS = 3
"""One less than the threads of a process: if one process gets all of them, it can still read."""


def make_full(pids, largest):
    """Limit the size of all files of these processes. This needs neither root nor a full disk."""
    for pid in filter(runs, pids):
        limit = ["prlimit", "--pid", str(pid), f"--fsize={largest}:"]
        # The owner of a process may do this. Root in a container may not.
        subprocess.run(limit, check=True, user=Path(f"/proc/{pid}").stat().st_uid)


@pytest.fixture
def path(sqlite_template, tmp_path):
    path = tmp_path / "ticketing.db"
    path.write_bytes(sqlite_template.read_bytes())
    return path


@pytest.fixture
def variables(path):
    return variables_of(f"sqlite:///{path}")


@pytest.fixture
def stack(stack):
    """The web server and the worker on SQLite."""
    stack.start_worker()
    yield stack
    # Earlier errors must be reported.
    assert "cannot rollback" not in stack.log_path.read_text()


def is_refused(answer):
    return (answer.status, answer.json.get("code")) == (503, "database_unavailable")


def test_sqlite_on_a_full_disk_is_read_and_sells_again_once_there_is_room(
    stack, remote, seat, path
):
    bought = 0
    eventually(lambda: len(family(stack.pid())) == 1 + int(stack.environ["WEB_CONCURRENCY"]))
    processes = [*family(stack.pid()), stack.pid("worker")]
    written = Path(f"{path}-wal")

    def buy():
        nonlocal bought
        answer = remote.preflight(seat)
        bought += answer.status == 201
        return answer

    # Of the files that a transaction is written to, this is to be the largest: the disk is full
    # for the next one, and not for what is in the database already.
    eventually(lambda: buy().status == 201 and written.stat().st_size > path.stat().st_size)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # no transaction is open
    make_full(processes, written.stat().st_size)
    other.execute("ROLLBACK")
    # It stays open. Processes close their connections after an error, and the last one that closes
    # empties the file: there would be room again.
    for _ in range(16):
        assert remote.send("GET", f"{remote.path}/events").status == 200
        assert remote.client.send("GET", "/readyz").status == 200
        key = {"Idempotency-Key": str(uuid.uuid4())}
        for answer in (
            remote.preflight(seat),
            remote.client.send("POST", f"{remote.checkout}/preflight", order(seat), key),
            remote.send("POST", f"{remote.path}/events", event_body()),
        ):
            assert is_refused(answer), answer.json
    other.close()
    make_full(processes, NO_LIMIT)
    eventually(lambda: buy().status == 201)
    assert remote.read(seat)["held"] == bought


def test_postgres_on_a_full_disk_is_read_and_sells_again_once_there_is_room(
    tmp_path, starts_processes
):
    with Postgres(own=True) as server:
        url = server.create_database("ticketing")
        open_database(url)
        migrate.upgrade()
        database.close()
        with service(variables_of(url), tmp_path / "log") as stack:
            acme = new_tenant(stack)
            seat = new_seat(acme)
            # The files of its log have 16 MiB from the start. A table must be larger to reach the
            # limit.
            sql(
                url,
                "INSERT INTO idempotency_keys"
                " (digest, request_digest, claimed_at, created_at, body)"
                " SELECT gen_random_uuid(), '', now(), now(), repeat('x', 1900)"
                " FROM generate_series(1, 10000)",
            )
            (size,) = sql(url, "SELECT pg_relation_size('idempotency_keys')")[0]
            assert size > 17 * 2**20
            make_full(family(server.pid), size)

            def buy():
                key = {"Idempotency-Key": str(uuid.uuid4())}
                return acme.client.send("POST", f"{acme.checkout}/preflight", order(seat), key)

            eventually(lambda: is_refused(buy()))
            held = acme.read(seat)["held"]
            for _ in range(8):
                assert is_refused(buy())
                assert acme.send("GET", f"{acme.path}/events").status == 200
            make_full(family(server.pid), NO_LIMIT)
            eventually(lambda: buy().status == 201)
            assert acme.read(seat)["held"] == held + 1


@pytest.mark.parametrize("begin", ["BEGIN EXCLUSIVE", "BEGIN IMMEDIATE"])
def test_who_writes_waits_for_a_lock_on_sqlite_and_who_reads_does_not(
    stack, remote, seat, path, begin
):
    token = remote.client.send("POST", "/v1/auth/token", {"api_key": remote.headers["X-API-Key"]})
    bearer = {"Authorization": f"Bearer {token.json['access_token']}"}
    other = sqlite3.connect(path, isolation_level=None)
    with ThreadPoolExecutor(WRITERS) as pool:
        other.execute(begin)
        waiting = [pool.submit(remote.preflight, seat) for _ in range(WRITERS)]
        for _ in range(5):
            answer = remote.client.send("GET", f"{remote.path}/events", headers=bearer)
            assert answer.status == 200
        assert not any(each.done() for each in waiting)
        other.execute("COMMIT")
        assert [each.result().status for each in waiting] == [201] * WRITERS
    other.close()


@on_sqlite
def test_who_waits_too_long_for_a_lock_on_sqlite_is_told_to_come_back(
    environ, monkeypatch, request
):
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_SECONDS", 0.2)
    acme = request.getfixturevalue("acme")
    seat = acme.ticket(price_amount=0, chain_id=None)
    key = {"Idempotency-Key": str(uuid.uuid4())}
    api = Api(acme.app.test_client())
    other = sqlite3.connect(environ["DATABASE_URL"].removeprefix("sqlite:///"))
    other.execute("BEGIN IMMEDIATE")
    for headers in ({}, key):
        answer = api.post(f"{acme.checkout}/preflight", order(seat), headers=headers)
        assert (answer.status_code, answer.json["code"]) == (503, "database_unavailable")
    assert acme.with_headers({"X-API-Key": acme.admin_key}).get(f"{acme.path}/events").json["data"]
    other.rollback()
    answer = api.post(f"{acme.checkout}/preflight", order(seat), headers=key)
    assert answer.status_code == 201
    assert "Idempotent-Replayed" not in answer.headers


@pytest.mark.parametrize("how", ["backup", "vacuum into", "checkpoint"])
def test_a_backup_of_sqlite_under_load_costs_no_request_and_holds_what_was_sold(
    stack, remote, seat, path, how
):
    copy = Path(f"{path}.copy")
    with Load(stack.url, reading_and_buying(remote, seat)) as load:
        load.wait_for(40)
        before = load.counts()[201]
        with sqlite3.connect(path) as other:
            if how == "backup":
                # It reads from one snapshot, so it need not begin again after each order.
                other.execute("BEGIN")
                other.execute("SELECT count(*) FROM payment_intents")
                with sqlite3.connect(copy) as target:
                    other.backup(target, pages=16, sleep=0.01)
            elif how == "vacuum into":
                other.execute("VACUUM INTO ?", [str(copy)])
            else:
                other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        load.wait_for(40)
    assert load.counts().keys() == {200, 201}
    if how != "checkpoint":
        with sqlite3.connect(copy) as restored:
            assert restored.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            (orders,) = restored.execute("SELECT count(*) FROM payment_intents").fetchone()
        assert before <= orders <= load.counts()[201]
