"""A real Postgres that crashes, hangs, cuts connections, turns read-only or fails over."""

import json
import os
import signal
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.conftest import SECRET_KEY, UNREACHABLE_RPC
from tests.support.factories import event_body, new_xpub
from tests.support.faults import (
    UNLIMITED,
    Load,
    cut,
    family,
    order,
    reading_and_buying,
    runs,
    seconds_until,
    sql,
)
from tests.support.remote import RemoteOrganizer
from ticketing.db import migrate
from ticketing.db.connection import database, open_database
from tools.postgres import Postgres, Standby
from tools.stack import Stack, free_port

THREADS = 8
"""Two gunicorn workers with four threads each, and as many connections to the database."""


@pytest.fixture(scope="module")
def server():
    # It keeps what it has committed, whatever happens to it.
    with Postgres(durable=True, own=True) as running:
        yield running


@pytest.fixture(scope="module")
def stack(server, tmp_path_factory):
    """The web server and the worker; every test leaves them well, and no process was replaced."""
    url = server.create_database("faults")
    open_database(url)
    migrate.upgrade()
    database.close()
    log = tmp_path_factory.mktemp("faults") / "log"
    with Stack(variables(url), log=log) as running:
        running.database_url, running.log_path = url, log
        running.start_web()
        running.start_worker()
        yield running
        running.check()
        assert json.loads(running.flask("reconcile", "--json"))["ok"] is True
        assert "Traceback" not in log.read_text()
        running.kill("web")  # It would wait for those who keep their connections.


def variables(url):
    return {
        "DATABASE_URL": url,
        "SECRET_KEY": SECRET_KEY,
        "PORT": str(free_port()),
        "RPC_URL_31337": UNREACHABLE_RPC,
        "POLL_SECONDS": "0.1",
        "WEB_CONCURRENCY": "2",
        **UNLIMITED,
    }


@pytest.fixture
def acme(stack):
    return RemoteOrganizer(stack, f"acme-{free_port()}", new_xpub())


@pytest.fixture
def seat(acme):
    """Free of charge: its sale needs no chain."""
    return acme.ticket(price_amount=0, chain_id=None, capacity=None)


def buy_with_key(acme, ticket, key):
    headers = {"Idempotency-Key": key}
    return acme.client.send("POST", f"{acme.checkout}/preflight", order(ticket), headers)


def warm(acme):
    """Let every thread of every process have its connection."""
    with ThreadPoolExecutor(2 * THREADS) as pool:
        list(pool.map(lambda _: acme.send("GET", f"{acme.path}/events"), range(8 * THREADS)))


def held(acme, ticket):
    return acme.read(ticket)["held"]


@pytest.mark.parametrize("end", ["go_away", "crash"])
def test_no_request_fails_for_a_restart_that_happened_before_it(stack, server, acme, seat, end):
    warm(acme)
    getattr(server, end)()
    server.come_back()
    with ThreadPoolExecutor(2 * THREADS) as pool:
        # The first that each thread is asked: a write of its own among them.
        bought = list(
            pool.map(
                lambda n: (
                    buy_with_key(acme, seat, f"{uuid.uuid4()}") if n % 2 else acme.preflight(seat)
                ),
                range(4 * THREADS),
            )
        )
    assert {answer.status for answer in bought} == {201}
    assert held(acme, seat) == 4 * THREADS


def test_a_crash_under_load_costs_answers_of_503_and_is_over_when_it_is_back(
    stack, server, acme, seat
):
    with Load(stack.url, reading_and_buying(acme, seat)) as load:
        load.wait_for(20)
        server.crash()
        load.wait_for(20)
        assert acme.client.send("GET", "/healthz").status == 200
        assert acme.client.send("GET", "/readyz").status == 503
        away = acme.send("GET", f"{acme.path}/events")
        assert (away.status, away.json["code"]) == (503, "database_unavailable")
        assert int(away.headers["Retry-After"]) > 0
        server.come_back()
        back = time.monotonic()
        load.wait_for(40)
    assert load.counts().keys() == {200, 201, 503}
    assert load.counts(since=back).keys() == {200, 201}
    # A commit whose answer was lost is the one thing that nobody can know of.
    bought = load.counts()[201]
    assert bought <= held(acme, seat) <= bought + THREADS


def test_a_connection_cut_in_the_middle_of_a_preflight_leaves_nothing_of_it(stack, acme, seat):
    key = str(uuid.uuid4())
    with psycopg.connect(stack.database_url) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT 1 FROM ticket_types WHERE id = %s FOR UPDATE", [seat["id"]])
        waiting = pool.submit(buy_with_key, acme, seat, key)
        seconds_until(lambda: cut(stack.database_url, "wait_event_type = 'Lock'") == 1)
        answer = waiting.result()
        assert (answer.status, answer.json["code"]) == (503, "database_unavailable")
        other.rollback()
    assert held(acme, seat) == 0
    # Its key is free at once: it need not lapse.
    again = buy_with_key(acme, seat, key)
    assert again.status == 201
    assert "Idempotent-Replayed" not in again.headers
    assert held(acme, seat) == 1


def test_connections_cut_under_load_cost_no_more_than_what_was_under_way(stack, acme, seat):
    cuts = 5
    with Load(stack.url, reading_and_buying(acme, seat)) as load:
        for _ in range(cuts):
            load.wait_for(40)
            cut(stack.database_url)
        end = time.monotonic()
        load.wait_for(40)
    assert load.counts().keys() <= {200, 201, 503}
    assert load.counts()[503] <= cuts * 4
    assert load.counts(since=end + 0.1).keys() == {200, 201}


def test_a_database_that_hangs_is_waited_for_and_nothing_is_lost(stack, server, acme, seat):
    with Load(stack.url, reading_and_buying(acme, seat)) as load:
        load.wait_for(20)
        everything = family(server.pid)
        for pid in everything:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(1)
        for pid in filter(runs, everything):
            os.kill(pid, signal.SIGCONT)
        load.wait_for(20)
    assert load.counts().keys() == {200, 201}
    assert 0.9 < load.longest() < 15
    assert held(acme, seat) == load.counts()[201]


def test_a_database_that_is_read_only_for_a_moment_goes_on_being_read(stack, server, acme, seat):
    path = f"{acme.path}/events"
    token = acme.client.send("POST", "/v1/auth/token", {"api_key": acme.headers["X-API-Key"]})
    bearer = {"Authorization": f"Bearer {token.json['access_token']}"}
    # A key's use is noted once a minute, which cannot be written soon.
    sql(stack.database_url, "UPDATE api_keys SET last_used_at = NULL")
    sql(server.url, "ALTER DATABASE faults SET default_transaction_read_only = on")
    cut(stack.database_url)
    try:
        for _ in range(THREADS):
            for headers in (acme.headers, bearer):
                assert acme.client.send("GET", path, headers=headers).status == 200
            for answer in (
                acme.preflight(seat),
                buy_with_key(acme, seat, f"{uuid.uuid4()}"),
                acme.send("POST", path, event_body()),
            ):
                assert (answer.status, answer.json["code"]) == (503, "database_unavailable")
        seconds_until(
            lambda: "housekeeping: the database: cannot execute" in stack.log_path.read_text()
        )
        stack.check()
    finally:
        sql(server.url, "ALTER DATABASE faults RESET default_transaction_read_only")
    # Who was told 503 comes back on a connection that may write.
    seconds_until(lambda: acme.preflight(seat).status == 201)
    warm(acme)


@pytest.fixture
def followed(tmp_path):
    """A stack that knows of a primary and of its standby, and writes to whichever may be."""
    with Postgres(durable=True, own=True) as primary:
        url = primary.create_database("ticketing")
        open_database(url)
        migrate.upgrade()
        database.close()
        with Standby(primary) as standby:
            hosts = f"host=127.0.0.1,127.0.0.1&port={primary.port},{standby.port}"
            both = f"postgresql://postgres@/ticketing?{hosts}&target_session_attrs=read-write"
            with Stack(variables(both), log=tmp_path / "log") as running:
                running.start_web()
                yield running, primary, standby
                assert json.loads(running.flask("reconcile", "--json"))["ok"] is True
                assert "Traceback" not in (tmp_path / "log").read_text()
                running.kill("web")


def test_a_standby_that_takes_over_is_written_to_by_the_same_processes(followed):
    stack, primary, standby = followed
    acme = RemoteOrganizer(stack, "acme", new_xpub())
    seat = acme.ticket(price_amount=0, chain_id=None, capacity=None)
    # What it has not received when it takes over is lost, whoever asks.
    ((written,),) = sql(primary.url, "SELECT pg_current_wal_flush_lsn()::text")
    has_it = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
    seconds_until(lambda: sql(standby.url, has_it, written) == [(True,)])
    with Load(stack.url, reading_and_buying(acme, seat)) as load:
        load.wait_for(20)
        primary.crash()
        load.wait_for(5)
        sql(standby.url, "SELECT pg_promote()")
        assert seconds_until(lambda: acme.preflight(seat).status == 201) < 5
        whole = time.monotonic()
        load.wait_for(40)
    assert load.counts().keys() == {200, 201, 503}
    assert load.counts(since=whole).keys() == {200, 201}
