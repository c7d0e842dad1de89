"""The public surface on a real standby that lags, goes away and comes back: never an old answer."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import psycopg
import pytest

from app import create_app
from tests.conftest import SECRET_KEY, UNREACHABLE_RPC
from tests.support.factories import Api, new_organizer, new_xpub
from tests.support.remote import RemoteOrganizer, eventually
from ticketing.config import ConfigError, load
from ticketing.db import migrate
from ticketing.db.connection import database, open_database
from ticketing.services import catalog_version
from ticketing.services.catalog import public_listing
from tools.postgres import Postgres, Standby
from tools.stack import Stack, free_port

_LISTING = '"t1"."capacity", "t1"."held"'
"""What a listing asks of a database, and what asks for a stamp does not."""

numbers = count()


@pytest.fixture(scope="module")
def primary():
    with Postgres(own=True) as server:
        yield server


@pytest.fixture(scope="module")
def followed(primary):
    with Standby(primary) as server:
        yield server


@pytest.fixture
def standby(followed):
    """The standby, which follows again once the test is over."""
    yield followed
    if not followed.runs:
        followed.come_back()
    replay(followed, "resume")


def replay(standby, what):
    """`pause` what the standby does with what it gets, or `resume` it."""
    with psycopg.connect(standby.url, autocommit=True) as connection:
        connection.execute(f"SELECT pg_wal_replay_{what}()")


def catch_up(primary, standby):
    """Wait until the standby has all that the primary has committed."""
    with psycopg.connect(primary.url, autocommit=True) as connection:
        # The tests' servers write their log when they come to it, unless they are told otherwise.
        connection.execute("SET synchronous_commit = on")
        connection.execute("SELECT pg_logical_emit_message(true, '', '')")
        (written,) = connection.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
    with psycopg.connect(standby.url, autocommit=True) as connection:
        question = "SELECT pg_last_wal_replay_lsn() >= %s"
        eventually(lambda: connection.execute(question, (written,)).fetchone()[0])


@pytest.fixture(scope="module")
def replicated(primary, followed):
    """The service's configuration with a migrated database and its replica."""
    url = primary.create_database("ticketing")
    open_database(url)
    migrate.upgrade()
    database.close()
    return {
        "SECRET_KEY": SECRET_KEY,
        "DATABASE_URL": url,
        "DATABASE_REPLICA_URL": followed.url_of(url),
        "RPC_URL_31337": UNREACHABLE_RPC,
    }


@pytest.fixture
def shop(primary, standby, replicated):
    """An organizer with a listing of two ticket types, one of them with a single seat."""
    made = new_organizer(create_app(load(replicated)), f"acme-{next(numbers)}")
    made.event_id = made.event()["id"]
    made.seat, made.other = (
        made.ticket({"id": made.event_id}, price_amount=0, chain_id=None, capacity=capacity)
        for capacity in (1, None)
    )
    made.url = f"{made.public}/events/{made.event_id}/tickets"
    catch_up(primary, standby)
    yield made
    database.close()
    with database.on_replica():
        database.close()


def fresh(shop):
    """A client of an application that keeps no answers yet."""
    shop.app.extensions.pop("remembered", None)
    return Api(shop.app.test_client())


def listed(shop):
    answer = fresh(shop).get(shop.url)
    assert answer.status_code == 200, answer.json
    return answer.json["data"]


def from_primary(shop):
    """What is listed if there is no replica and nothing is kept."""
    replica, database.replica = database.replica, None
    kept = shop.app.extensions.pop("remembered", None)
    try:
        return listed(shop)
    finally:
        database.replica, shop.app.extensions["remembered"] = replica, kept


def set_price(shop, amount):
    path = f"{shop.path}/events/{shop.event_id}/tickets/{shop.other['id']}"
    api = shop.with_headers({"X-API-Key": shop.admin_key})
    assert api.patch(path, {"price_amount": amount, "chain_id": 31337}).status_code == 200


def test_what_is_not_kept_is_read_on_the_replica(shop, standby):
    before, seen = standby.asked(_LISTING), []
    database.obj.query_hooks.append(lambda event: seen.append(event.sql))
    told = listed(shop)
    assert standby.asked(_LISTING) == before + 1
    assert seen and not [sql for sql in seen if _LISTING in sql]
    assert told == from_primary(shop)


def test_a_replica_that_lags_is_passed_over_until_it_has_caught_up(shop, primary, standby):
    replay(standby, "pause")
    before = standby.asked(_LISTING)
    set_price(shop, 7_000_000)
    assert listed(shop)[1]["price_amount"] == 7_000_000
    shop.buyer(shop.seat)
    assert listed(shop)[0]["availability"] == "sold_out"
    assert standby.asked(_LISTING) == before
    replay(standby, "resume")
    catch_up(primary, standby)
    assert listed(shop)[0]["availability"] == "sold_out"
    assert standby.asked(_LISTING) == before + 1


def test_what_is_new_on_the_primary_alone_is_found(shop, standby):
    replay(standby, "pause")
    new = new_organizer(shop.app, f"new-{next(numbers)}")
    event = new.event()
    assert fresh(shop).get(f"{new.public}/events/{event['slug']}").json["id"] == event["id"]
    path = f"{shop.path}/events/{shop.event_id}/status"
    assert shop.api().post(path, {"status": "canceled"}).status_code == 200
    assert fresh(shop).get(shop.url).status_code == 404


def test_whatever_happens_no_answer_is_older_than_the_primarys(shop, primary, standby):
    chance, holders, before = random.Random(5), [], standby.asked(_LISTING)
    api = fresh(shop)
    for _ in range(80):
        step = chance.choice(("price", "hold", "give back", "lag", "catch up", "forget"))
        if step == "price":
            set_price(shop, chance.randrange(1, 10) * 1_000_000)
        elif step == "hold" and not holders:
            holders.append(shop.buyer(shop.seat))
        elif step == "give back" and holders:
            assert holders.pop().cancel().status_code == 200
        elif step == "lag":
            replay(standby, "pause")
        elif step == "catch up":
            replay(standby, "resume")
            catch_up(primary, standby)
        elif step == "forget":
            fresh(shop)
        assert api.get(shop.url).json["data"] == from_primary(shop), step
    assert standby.asked(_LISTING) > before + 5


def at_the_first_listing(monkeypatch, happens):
    """Let something happen when the standing is known and the listing not yet read."""
    original, left = public_listing.list_ticket_types, [happens]

    def listing(*args):
        if left:
            left.pop()()
        return original(*args)

    monkeypatch.setattr(public_listing, "list_ticket_types", listing)


def test_a_replica_that_goes_away_in_the_middle_fails_no_request(shop, standby, monkeypatch):
    listed(shop)
    at_the_first_listing(monkeypatch, standby.go_away)
    assert listed(shop) == from_primary(shop)


def test_a_replica_that_is_down_is_let_alone_and_used_again_later(shop, standby, caplog):
    expected = listed(shop)
    standby.go_away()
    start = time.monotonic()
    assert [listed(shop) for _ in range(20)] == [expected] * 20
    assert caplog.text.count("the replica cannot be read") == 1
    standby.come_back()
    assert (listed(shop), standby.asked(_LISTING)) == (expected, 0)
    assert database.avoided_until > start + catalog_version.REPLICA_AVOIDED_SECONDS
    database.avoided_until = time.monotonic()
    assert (listed(shop), standby.asked(_LISTING)) == (expected, 1)


def test_a_replica_that_was_started_again_is_used_at_once(shop, standby):
    expected = listed(shop)
    standby.go_away()
    standby.come_back()
    assert listed(shop) == expected
    assert standby.asked(_LISTING) == 1


def test_a_replica_without_the_tables_is_passed_over(shop, primary, standby, replicated):
    url = primary.create_database("empty")
    catch_up(primary, standby)
    replay(standby, "pause")
    urls = {"DATABASE_URL": url, "DATABASE_REPLICA_URL": standby.url_of(url)}
    app = create_app(load({**replicated, **urls}))
    migrate.upgrade()
    new = new_organizer(app, "new")
    assert fresh(new).get(f"{new.public}/events").json["data"] == []


def test_a_host_that_is_lost_is_given_up_in_seconds(shop):
    for each in (database.obj, database.replica):
        assert each.connection().info.get_parameters()["tcp_user_timeout"] == "10000"


def test_processes_answer_while_their_replica_ends(replicated, primary, standby, tmp_path):
    variables = {**replicated, "PORT": str(free_port()), "WEB_CONCURRENCY": "2"}
    with Stack(variables, log=tmp_path / "log") as stack:
        stack.start_web()
        acme = RemoteOrganizer(stack, "remote", new_xpub())
        url = f"/v1/public/tenants/remote/events/{acme.ticket()['event_id']}/tickets"
        catch_up(primary, standby)

        def ask(limit):
            # Nobody asked for this URL before, so no kept answer serves.
            return acme.client.send("GET", f"{url}?limit={limit}").status

        before = standby.asked(_LISTING)
        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(ask, range(1, 51))) == {200}
            assert standby.asked(_LISTING) > before + 25
            standby.go_away()
            start = time.monotonic()
            assert set(pool.map(ask, range(51, 101))) == {200}
        assert time.monotonic() - start < 5
        assert "Traceback" not in (tmp_path / "log").read_text()


def hold_from_elsewhere(organizer, ticket, holders):
    with ThreadPoolExecutor(1) as pool:
        holders.append(pool.submit(organizer.buyer, ticket).result())
        pool.submit(lambda: database.close()).result()


def test_stock_held_in_the_middle_and_given_back_leaves_no_wrong_answer(acme, api, monkeypatch):
    seat, holders = acme.ticket(price_amount=0, chain_id=None, capacity=1), []
    url = f"{acme.public}/events/{seat['event_id']}/tickets"
    at_the_first_listing(monkeypatch, lambda: hold_from_elsewhere(acme, seat, holders))
    api.get(url)
    assert holders[0].cancel().status_code == 200
    assert api.get(url).json["data"][0]["availability"] == "on_sale"


def test_nor_does_a_replica_that_sees_it_in_the_middle(shop, primary, standby, monkeypatch):
    holders, api = [], fresh(shop)

    def hold():
        hold_from_elsewhere(shop, shop.seat, holders)
        catch_up(primary, standby)

    before = standby.asked(_LISTING)
    at_the_first_listing(monkeypatch, hold)
    api.get(shop.url)
    assert standby.asked(_LISTING) == before + 1
    assert holders[0].cancel().status_code == 200
    assert api.get(shop.url).json["data"][0]["availability"] == "on_sale"


GOOD, SQLITE = "postgres://127.0.0.1/x", "sqlite:///x.db"


@pytest.mark.parametrize(
    ("url", "replica"), [("", GOOD), (SQLITE, GOOD), (GOOD, SQLITE), (GOOD, GOOD.rstrip("/x"))]
)
def test_a_replica_that_cannot_be_stops_the_start(url, replica):
    environ = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": url, "DATABASE_REPLICA_URL": replica}
    with pytest.raises(ConfigError, match="DATABASE_REPLICA_URL "):
        load(environ)
