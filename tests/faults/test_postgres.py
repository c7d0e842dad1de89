"""A real Postgres that crashes, hangs, cuts connections, turns read-only or fails over."""

import os
import signal
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.support.factories import event_body
from tests.support.faults import Load, cut, family, order, reading_and_buying, runs, sql
from tests.support.processes import new_seat, new_tenant, service, variables_of
from tests.support.remote import eventually
from ticketing.db import migrate
from ticketing.db.connection import database, open_database
from ticketing.services.idempotency import CLAIM_LAPSES_AFTER
from tools.postgres import Postgres, Standby

pytestmark = pytest.mark.long

THREADS = 8
"""Two gunicorn processes with four threads each, and as many database connections."""


@pytest.fixture(scope="module")
def server(starts_processes):
    # It keeps what it committed, even after a crash.
    with Postgres(durable=True, own=True) as running:
        yield running


@pytest.fixture(scope="module")
def stack(server, tmp_path_factory):
    """The web server and the worker. Every test leaves them well, and no process was replaced."""
    url = server.create_database("faults")
    open_database(url)
    migrate.upgrade()
    database.close()
    log = tmp_path_factory.mktemp("faults") / "log"
    with service(variables_of(url), log) as running:
        running.start_worker()
        yield running


def buy_with_key(remote, ticket, key):
    headers = {"Idempotency-Key": key}
    return remote.client.send("POST", f"{remote.checkout}/preflight", order(ticket), headers)


def warm(remote):
    """Make every thread of every process open its connection."""
    with ThreadPoolExecutor(2 * THREADS) as pool:
        list(pool.map(lambda _: remote.send("GET", f"{remote.path}/events"), range(8 * THREADS)))


def held(remote, ticket):
    return remote.read(ticket)["held"]


@pytest.mark.parametrize("end", ["go_away", "crash"])
def test_no_request_fails_for_a_restart_that_happened_before_it(stack, server, remote, seat, end):
    warm(remote)
    getattr(server, end)()
    server.come_back()

    def buy(number):
        if number % 2:
            return buy_with_key(remote, seat, f"{uuid.uuid4()}")
        return remote.preflight(seat)

    with ThreadPoolExecutor(2 * THREADS) as pool:
        # The first requests of each thread, writes among them.
        bought = list(pool.map(buy, range(4 * THREADS)))
    assert {answer.status for answer in bought} == {201}
    assert held(remote, seat) == 4 * THREADS


def test_a_crash_under_load_costs_answers_of_503_and_is_over_when_it_is_back(
    stack, server, remote, seat
):
    with Load(stack.url, reading_and_buying(remote, seat)) as load:
        load.wait_for(20)
        server.crash()
        load.wait_for(20)
        assert remote.client.send("GET", "/healthz").status == 200
        assert remote.client.send("GET", "/readyz").status == 503
        away = remote.send("GET", f"{remote.path}/events")
        assert (away.status, away.json["code"]) == (503, "database_unavailable")
        assert int(away.headers["Retry-After"]) > 0
        server.come_back()
        back = time.monotonic()
        load.wait_for(40)
    assert load.counts().keys() == {200, 201, 503}
    assert load.counts(since=back).keys() == {200, 201}
    # Nobody can know about a commit whose response was lost.
    bought = load.counts()[201]
    assert bought <= held(remote, seat) <= bought + THREADS


def test_a_connection_cut_in_the_middle_of_a_preflight_leaves_nothing_of_it(stack, remote, seat):
    key = str(uuid.uuid4())
    with psycopg.connect(stack.database_url) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT 1 FROM ticket_types WHERE id = %s FOR UPDATE", [seat["id"]])
        waiting = pool.submit(buy_with_key, remote, seat, key)
        eventually(lambda: cut(stack.database_url, "wait_event_type = 'Lock'") == 1)
        answer = waiting.result()
        assert (answer.status, answer.json["code"]) == (503, "database_unavailable")
        other.rollback()
    assert held(remote, seat) == 0
    # Its key is free at once: it does not have to expire.
    again = buy_with_key(remote, seat, key)
    assert again.status == 201
    assert "Idempotent-Replayed" not in again.headers
    assert held(remote, seat) == 1


def test_a_key_whose_request_failed_with_the_database_is_free_when_it_is_back(
    stack, server, remote, seat
):
    key = str(uuid.uuid4())
    with psycopg.connect(stack.database_url) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT 1 FROM ticket_types WHERE id = %s FOR UPDATE", [seat["id"]])
        waiting = pool.submit(buy_with_key, remote, seat, key)
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        eventually(lambda: sql(server.url, waits) == [(1,)])
        server.crash()
        assert waiting.result().status == 503
        other.close()
    server.come_back()
    back = time.monotonic()
    # Only the process that made the claim can give it up. The repeats reach both processes.
    eventually(lambda: buy_with_key(remote, seat, key).status == 201)
    assert time.monotonic() < back + CLAIM_LAPSES_AFTER.total_seconds() / 2
    assert held(remote, seat) == 1


def test_a_key_is_free_even_if_nobody_knows_whether_its_claim_was_committed(
    stack, server, remote, seat
):
    key = str(uuid.uuid4())
    # The claim is on the disk, and its commit waits for a standby that does not exist.
    sql(server.url, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    sql(server.url, "SELECT pg_reload_conf()")
    try:
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(buy_with_key, remote, seat, key)
            waits = (
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE wait_event = 'SyncRep' AND query LIKE 'INSERT INTO \"idempotency_%%'"
            )
            eventually(lambda: sql(server.url, waits) == [(1,)])
            server.crash()
            assert waiting.result().status == 503
    finally:
        server.come_back()
        sql(server.url, "ALTER SYSTEM RESET synchronous_standby_names")
        sql(server.url, "SELECT pg_reload_conf()")
    back = time.monotonic()
    eventually(lambda: buy_with_key(remote, seat, key).status == 201)
    assert time.monotonic() < back + CLAIM_LAPSES_AFTER.total_seconds() / 2
    assert held(remote, seat) == 1


def test_connections_cut_under_load_cost_no_more_than_what_was_under_way(stack, remote, seat):
    cuts = 5
    with Load(stack.url, reading_and_buying(remote, seat)) as load:
        for _ in range(cuts):
            load.wait_for(40)
            cut(stack.database_url)
        end = time.monotonic()
        load.wait_for(40)
    assert load.counts().keys() <= {200, 201, 503}
    assert load.counts()[503] <= cuts * 4
    assert load.counts(since=end).keys() == {200, 201}


def test_a_database_that_hangs_is_waited_for_and_nothing_is_lost(stack, server, remote, seat):
    with Load(stack.url, reading_and_buying(remote, seat)) as load:
        load.wait_for(20)
        everything = family(server.pid)
        for pid in everything:
            os.kill(pid, signal.SIGSTOP)
        stopped = len(load.seen)
        time.sleep(1)
        # It hangs: each client got at most the response that was already on its way.
        assert len(load.seen) <= stopped + load.clients
        for pid in filter(runs, everything):
            os.kill(pid, signal.SIGCONT)
        load.wait_for(20)
    assert load.counts().keys() == {200, 201}
    assert held(remote, seat) == load.counts()[201]


def test_a_database_that_is_read_only_for_a_moment_goes_on_being_read(stack, server, remote, seat):
    path = f"{remote.path}/events"
    token = remote.client.send("POST", "/v1/auth/token", {"api_key": remote.headers["X-API-Key"]})
    bearer = {"Authorization": f"Bearer {token.json['access_token']}"}
    # A key's use is stored once a minute. Soon that is not possible.
    sql(stack.database_url, "UPDATE api_keys SET last_used_at = NULL")
    sql(server.url, "ALTER DATABASE faults SET default_transaction_read_only = on")
    cut(stack.database_url)
    try:
        for _ in range(THREADS):
            for headers in (remote.headers, bearer):
                assert remote.client.send("GET", path, headers=headers).status == 200
            for answer in (
                remote.preflight(seat),
                buy_with_key(remote, seat, f"{uuid.uuid4()}"),
                remote.send("POST", path, event_body()),
            ):
                assert (answer.status, answer.json["code"]) == (503, "database_unavailable")
        eventually(lambda: "housekeeping: database: cannot execute" in stack.log_path.read_text())
        stack.check()
    finally:
        sql(server.url, "ALTER DATABASE faults RESET default_transaction_read_only")
    # After a 503, the next request has a connection that may write.
    eventually(lambda: remote.preflight(seat).status == 201)
    warm(remote)


@pytest.fixture
def followed(tmp_path, starts_processes):
    """A stack that knows a primary and its standby, and writes to the one that accepts it."""
    with Postgres(durable=True, own=True) as primary:
        url = primary.create_database("ticketing")
        open_database(url)
        migrate.upgrade()
        database.close()
        with Standby(primary) as standby:
            hosts = f"host=127.0.0.1,127.0.0.1&port={primary.port},{standby.port}"
            both = f"postgresql://postgres@/ticketing?{hosts}&target_session_attrs=read-write"
            with service(variables_of(both), tmp_path / "log") as running:
                yield running, primary, standby


def test_a_standby_that_takes_over_is_written_to_by_the_same_processes(followed):
    stack, primary, standby = followed
    remote = new_tenant(stack)
    seat = new_seat(remote)
    # Data that it has not received at its promotion is lost.
    ((written,),) = sql(primary.url, "SELECT pg_current_wal_flush_lsn()::text")
    has_it = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
    eventually(lambda: sql(standby.url, has_it, written) == [(True,)])
    with Load(stack.url, reading_and_buying(remote, seat)) as load:
        load.wait_for(20)
        primary.crash()
        load.wait_for(5)
        sql(standby.url, "SELECT pg_promote()")
        eventually(lambda: remote.preflight(seat).status == 201)
        whole = time.monotonic()
        load.wait_for(40)
    assert load.counts().keys() == {200, 201, 503}
    assert load.counts(since=whole).keys() == {200, 201}
