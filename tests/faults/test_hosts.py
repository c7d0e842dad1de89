"""Two hosts and two workers on one Postgres, all through PgBouncer in transaction mode."""

import copy
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import psycopg
import pytest
from peewee import DatabaseError

from tests.support.databases import APPLICATION_NAME
from tests.support.factories import PRICE, ticket_body
from tests.support.processes import Service, new_tenant, service, variables_of
from tests.support.remote import eventually
from tests.support.wallets import new_address
from ticketing.db.connection import database, open_database
from tools import ToolMissing, anvil
from tools.daemons import PgBouncer
from tools.json_client import Client
from tools.stack import Stack, free_port

pytestmark = pytest.mark.long

POOL = 3
"""The number of connections to a database, shared by the processes of both hosts."""

MANY = 24
"""A number of requests that reaches every process and thread of a host, three times and more."""

SEATS, BUYERS = 20, 60


@dataclass
class Hosts:
    """The running parts. `direct_url` is their database without the pooler."""

    a: Service
    b: Service
    node: anvil.Anvil
    direct_url: str


@pytest.fixture(scope="module")
def pooler(postgres):
    """None if there is no PgBouncer: the summary of the run says so."""
    try:
        running = PgBouncer(postgres.url, pool_size=POOL)
    except ToolMissing:
        yield None
    else:
        with running:
            yield running


def behind(pooler, url):
    """Return the URL of a database behind the pooler, for a host."""
    return url if pooler is None else f"{pooler.url_of(url)}?pgbouncer=true"


@pytest.fixture(scope="module")
def hosts(postgres, postgres_template, pooler, process_name, tmp_path_factory):
    direct = postgres.create_database(f"hosts_{process_name}", postgres_template)
    url, folder = behind(pooler, direct), tmp_path_factory.mktemp("hosts")
    with (
        anvil.Anvil() as node,
        service(variables_of(url, node.url), folder / "a") as a,
        service(variables_of(url, node.url), folder / "b") as b,
    ):
        anvil.ensure_token(node.rpc)
        yield Hosts(a, b, node, direct)


@pytest.fixture
def pair(hosts):
    """An organizer at host A, and the same organizer at host B."""
    at_a = new_tenant(hosts.a)
    return at_a, at(hosts.b, at_a)


def at(stack, organizer):
    moved = copy.copy(organizer)
    moved.client = Client(stack.url)
    return moved


def listing(organizer, ticket):
    return f"{organizer.public}/events/{ticket['event_id']}/tickets"


def everywhere(ask):
    """Return responses of the processes of a host, over many connections at once."""
    with ThreadPoolExecutor(MANY // 2) as pool:
        return list(pool.map(lambda _: ask(), range(MANY)))


def pay(hosts, intent):
    anvil.transfer(hosts.node.rpc, intent["token_address"], intent["address"], PRICE)


def statuses(answers):
    return {answer.status for answer in answers}


def change(organizer, ticket, method, path, body):
    place = f"{organizer.path}/events/{ticket['event_id']}{path.format(ticket['id'])}"
    answer = organizer.send(method, place, body)
    assert answer.status in (200, 201), answer.json


CHANGES = {
    "a price": ("PATCH", "/tickets/{}", {"price_amount": 1}),
    "another ticket type": ("POST", "/tickets", {**ticket_body(), "status": "published"}),
    "a canceled ticket type": ("POST", "/tickets/{}/status", {"status": "canceled"}),
    "a canceled event": ("POST", "/status", {"status": "canceled"}),
    "the last seats held": None,
}


def test_a_key_made_at_one_host_opens_the_other_until_it_is_revoked(pair):
    at_a, at_b = pair
    made = at_a.send("POST", f"{at_a.path}/apikeys", {"name": "x", "role": "read"}).json
    token = at_a.client.send("POST", "/v1/auth/token", {"api_key": made["key"]}).json
    bearer = {"Authorization": f"Bearer {token['access_token']}"}

    def asked(headers):
        path = f"{at_b.path}/events"
        return statuses(everywhere(lambda: at_b.client.send("GET", path, headers=headers)))

    assert asked({"X-API-Key": made["key"]}) == asked(bearer) == {200}
    assert at_a.send("POST", f"{at_a.path}/apikeys/{made['id']}/revoke").status == 200
    assert asked({"X-API-Key": made["key"]}) == asked(bearer) == {401}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_at_one_host_shows_in_the_very_next_answers_of_the_other(pair, what):
    at_a, at_b = pair
    ticket = at_a.ticket(capacity=2)
    url = listing(at_a, ticket)

    def ask(etag):
        return at_b.client.send("GET", url, headers={"If-None-Match": etag})

    (etag,) = {answer.headers["ETag"] for answer in everywhere(lambda: ask('"none"'))}
    assert statuses(everywhere(lambda: ask(etag))) == {304}
    if CHANGES[what]:
        change(at_a, ticket, *CHANGES[what])
    else:
        assert at_a.preflight(ticket, quantity=2).status == 201
    after = everywhere(lambda: ask(etag))
    assert statuses(after) == {404 if what == "a canceled event" else 200}
    assert len({answer.headers.get("ETag") for answer in after}) == 1
    assert after[0].headers.get("ETag") != etag


def test_an_event_published_and_a_wallet_given_at_one_host_show_at_the_other(hosts, pair):
    slug = f"bare-{free_port()}"
    made = json.loads(hosts.a.flask("tenants", "create", slug, "--name", slug, "--json"))
    bare = pair[0]
    bare.headers, bare.path = {"X-API-Key": made["key"]}, f"/v1/admin/tenants/{slug}"
    bare.public = f"/v1/public/tenants/{slug}"
    ticket = bare.ticket()
    url, at_b = listing(bare, ticket), at(hosts.b, bare)

    def shown():
        answers = everywhere(lambda: at_b.client.send("GET", url))
        (told,) = {
            answer.json["data"][0]["availability"] if answer.status == 200 else answer.status
            for answer in answers
        }
        return told

    assert shown() == "unavailable"
    assert (
        bare.send(
            "PUT", f"{bare.path}/wallet", {"address": new_address(), "chain_ids": [31337]}
        ).status
        == 200
    )
    assert shown() == "on_sale"
    change(bare, ticket, "POST", "/status", {"status": "draft"})
    assert shown() == 404
    change(bare, ticket, "POST", "/status", {"status": "published"})
    assert shown() == "on_sale"


def test_what_is_begun_at_one_host_is_paid_and_purchased_at_the_other(hosts, pair):
    at_a, at_b = pair
    ticket = at_a.ticket()
    intent = at_a.preflight(ticket).json
    pay(hosts, intent)
    answers = [*everywhere(lambda: at_b.purchase(intent)), at_a.purchase(intent)]
    # In each process few requests wait for the node. The others are asked to retry.
    assert 200 in statuses(answers) <= {200, 503}
    answers = [at_b.purchase(intent), *(each for each in answers if each.status == 200)]
    assert len({answer.json["admissions"][0]["code"] for answer in answers}) == 1
    assert at_a.read(ticket)["sold"] == at_b.read(ticket)["sold"] == 1


def test_an_idempotency_key_used_at_one_host_is_known_at_the_other(pair):
    at_a, at_b = pair
    ticket = at_a.ticket()
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
    headers = {"Idempotency-Key": f"a-key-of-thirty-two-characters-{free_port()}"}
    path = f"{at_a.checkout}/preflight"
    first = at_a.client.send("POST", path, body, headers)
    again = everywhere(lambda: at_b.client.send("POST", path, body, headers))
    assert statuses([first, *again]) == {201}
    assert {answer.json["client_secret"] for answer in again} == {first.json["client_secret"]}
    assert {answer.headers["Idempotent-Replayed"] for answer in again} == {"true"}
    assert at_b.read(ticket)["held"] == 1


def test_a_cursor_made_at_one_host_leads_on_at_the_other(pair):
    at_a, at_b = pair
    made = [at_a.ticket()["event_id"] for _ in range(7)]
    for path, headers in ((at_a.path, at_a.headers), (at_a.public, {})):
        found, cursor, turns = [], "", [at_a, at_b] * 4
        while cursor is not None:
            url = f"{path}/events?limit=2" + (f"&cursor={cursor}" if cursor else "")
            page = turns.pop().client.send("GET", url, headers=headers).json
            found += [event["id"] for event in page["data"]]
            cursor = page["next_cursor"]
        assert sorted(found) == made
        assert len(turns) == 4


def test_buyers_of_both_hosts_get_as_many_holds_as_there_are_seats(hosts, pair, pooler):
    ticket = pair[0].ticket(capacity=SEATS)
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: pair[n % 2].preflight(ticket), range(BUYERS)))
    held = [answer.json["address"] for answer in answers if answer.status == 201]
    assert len(held) == len(set(held)) == SEATS
    assert statuses(answers) == {201, 409}
    assert pair[1].read(ticket)["held"] == SEATS
    with psycopg.connect(hosts.direct_url) as connection:
        count = (
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name <> %s"
        )
        (connections,) = connection.execute(count, [APPLICATION_NAME]).fetchone()
    assert pooler is None or connections - 1 <= POOL


def test_a_worker_of_one_host_is_killed_and_that_of_the_other_goes_on(hosts, pair):
    at_a, at_b = pair
    ticket = at_a.ticket()
    hosts.a.start_worker()
    eventually(lambda: at_b.ready()["chains"][0]["block_number"] is not None)
    hosts.b.start_worker()
    before, after = at_a.preflight(ticket).json, at_b.preflight(ticket).json
    pay(hosts, before)
    eventually(lambda: at_b.intent(before)["status"] == "confirmed")
    hosts.a.kill("worker")
    pay(hosts, after)
    eventually(lambda: at_a.intent(after)["status"] == "confirmed")
    hosts.b.check()
    hosts.b.kill("worker")
    assert at_b.read(ticket)["sold"] == 2


def test_an_empty_database_is_migrated_once_by_many_hosts_at_once(postgres, pooler):
    url = behind(pooler, postgres.create_database(f"empty_{free_port()}"))
    stack = Stack(variables_of(url))
    with ThreadPoolExecutor(4) as pool:
        told = sorted(pool.map(lambda _: stack.flask("db", "upgrade"), range(4)))
    assert told[0].startswith("applied 0001")
    assert told[1:] == ["nothing to apply\n"] * 3


def test_prepared_statements_break_behind_pgbouncer_and_its_mark_in_the_url_ends_them(
    postgres, pooler
):
    if pooler is None:
        # The run's last line says so (tests/support/real_programs.py).
        pytest.skip("there is no PgBouncer")
    with PgBouncer(postgres.url, pool_size=1) as narrow:
        ask_often(behind(narrow, postgres.url))
        with pytest.raises(DatabaseError, match="prepared statement"):
            ask_often(narrow.url_of(postgres.url))


def test_a_newer_pgbouncer_keeps_prepared_statements_for_the_other_mark(postgres, pooler):
    if pooler is None or not PgBouncer.can_prepare():
        pytest.skip("PgBouncer 1.22 or newer is missing: Debian 13 has it")
    with PgBouncer(postgres.url, pool_size=1, prepares=True) as narrow:
        kept = prepared(f"{narrow.url_of(postgres.url)}?pgbouncer=prepares")
    assert kept == {"SELECT CAST($1 AS INTEGER)"}


def prepared(url):
    """Return which statements of `ask_often` the only connection of the pooler has prepared."""
    ask_often(url)
    open_database(url)
    try:
        listed = database.execute_sql("SELECT statement FROM pg_prepared_statements").fetchall()
    finally:
        database.close()
    return {statement for (statement,) in listed if "CAST" in statement}


def ask_often(url):
    """Run a statement until it is prepared, over two connections that share a third."""
    open_database(url)
    try:
        for _ in range(2):
            for _ in range(10):
                database.execute_sql("SELECT CAST(%s AS INTEGER)", (1,)).fetchall()
            database.close()
    finally:
        database.close()
