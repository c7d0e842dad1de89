"""Each process caches public responses. They are always up to date."""

from datetime import timedelta

import pytest

from tests.support.apps import new_app
from tests.support.factories import (
    CHAIN,
    Api,
    event_body,
    in_days,
    new_organizer,
    ticket_body,
    worker_once,
)
from tests.support.wallets import new_address
from ticketing import clock
from ticketing.db.connection import database
from ticketing.services import chains
from ticketing.web import response_cache

pytestmark = pytest.mark.sql


@pytest.fixture
def shop(acme):
    """An organizer with one published event, a free ticket type and one on a chain."""
    acme.published = acme.event()
    acme.tickets = [
        acme.ticket(acme.published, price_amount=0, chain_id=None, capacity=1),
        acme.ticket(acme.published),
    ]
    return acme


@pytest.fixture
def elsewhere(shop, environ):
    """A client of another process: its cache is separate."""
    return Api(new_app(environ).test_client())


@pytest.fixture
def queries():
    """Record every statement."""
    seen = []
    database.obj.query_hooks.append(lambda event: seen.append(event.sql))
    yield seen
    database.obj.query_hooks.clear()


def admin(shop, method, path, body):
    api = shop.with_headers({"X-API-Key": shop.admin_key})
    answer = (api.patch if method == "PATCH" else api.post)(f"{shop.path}{path}", body)
    assert answer.status_code in (200, 201), answer.json


def ticket_path(shop, place=1):
    return f"/events/{shop.published['id']}/tickets/{shop.tickets[place]['id']}"


def refuse_chain(shop):
    chain = shop.app.extensions["ticketing"].chains[31337]
    facts = type("Facts", (), {"decimals": 6, "symbol": "USDC"})
    chains.note_facts(chain, facts, "it differs")


LISTS, TICKETS, EVENT = "/events", "/events/{}/tickets", "/events/{}"
CHANGES = {
    "an event's title": (
        (LISTS, EVENT),
        lambda shop: admin(shop, "PATCH", f"/events/{shop.published['id']}", {"title": "Other"}),
    ),
    "another event": (
        (LISTS,),
        lambda shop: admin(shop, "POST", "/events", {**event_body(), "status": "published"}),
    ),
    "a canceled event": (
        (LISTS, EVENT, TICKETS),
        lambda shop: admin(
            shop, "POST", f"/events/{shop.published['id']}/status", {"status": "canceled"}
        ),
    ),
    "a price": (
        (TICKETS,),
        lambda shop: admin(shop, "PATCH", ticket_path(shop), {"price_amount": 1}),
    ),
    "another ticket type": (
        (TICKETS,),
        lambda shop: admin(
            shop,
            "POST",
            f"/events/{shop.published['id']}/tickets",
            {**ticket_body(), "status": "published"},
        ),
    ),
    "a canceled ticket type": (
        (TICKETS,),
        lambda shop: admin(shop, "POST", ticket_path(shop) + "/status", {"status": "canceled"}),
    ),
    "the last seat held": ((TICKETS,), lambda shop: shop.buyer(shop.tickets[0])),
    "a refused chain": ((TICKETS,), refuse_chain),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_through_another_process_shows_in_the_next_answer(shop, elsewhere, change):
    paths, make = CHANGES[change]
    urls = [f"{shop.public}{path.format(shop.published['id'])}" for path in paths]
    before = [elsewhere.get(url) for url in urls]
    make(shop)
    for url, old in zip(urls, before, strict=True):
        new = elsewhere.get(url, headers={"If-None-Match": old.headers["ETag"]})
        assert new.status_code != 304
        assert new.json != old.json


def test_a_seat_given_back_shows_at_once(shop, elsewhere):
    url = f"{shop.public}/events/{shop.published['id']}/tickets"
    holder = shop.buyer(shop.tickets[0])
    assert elsewhere.get(url).json["data"][0]["availability"] == "held"
    assert holder.cancel().status_code == 200
    assert elsewhere.get(url).json["data"][0]["availability"] == "on_sale"


def test_a_first_wallet_shows_at_once(app, environ, node):
    bare = new_organizer(app, "bare", address=None)
    worker_once(app)
    url = f"{bare.public}/events/{bare.ticket()['event_id']}/tickets"
    elsewhere = Api(new_app(environ).test_client())
    assert elsewhere.get(url).json["data"][0]["availability"] == "unavailable"
    assert (
        bare.api()
        .put(f"{bare.path}/wallet", {"address": new_address(), "chain_ids": [CHAIN]})
        .status_code
        == 200
    )
    assert elsewhere.get(url).json["data"][0]["availability"] == "on_sale"


def test_a_sale_begins_and_ends_by_itself(shop, elsewhere, monkeypatch):
    times = {"sales_start_at": in_days(1), "sales_end_at": in_days(2)}
    admin(shop, "PATCH", ticket_path(shop), times)
    url = f"{shop.public}/events/{shop.published['id']}/tickets"
    now, told = clock.now(), []
    for days in (0, 1.5, 2.5):
        monkeypatch.setattr(clock, "now", lambda days=days: now + timedelta(days=days))
        told.append(elsewhere.get(url).json["data"][1]["availability"])
    assert told == ["not_started", "on_sale", "ended"]


def test_settings_of_the_tenant_make_what_is_kept_out_of_date(shop, neighbour, elsewhere, queries):
    def cost(organizer):
        queries.clear()
        assert elsewhere.get(f"{organizer.public}/events").status_code == 200
        return len(queries)

    elsewhere.get("/nothing")  # the first request reads which networks are blocked
    uncached, _ = cost(shop), cost(neighbour)
    assert cost(shop) == 1 < uncached
    admin(shop, "PATCH", "", {"accent_color": "#1f4e79"})
    assert cost(shop) == 1 + uncached  # the one that finds that the version is old
    assert cost(shop) == cost(neighbour) == 1
    admin(shop, "PATCH", "", {})
    assert cost(shop) == 1


def test_what_is_kept_costs_one_query(shop, elsewhere, queries):
    url = f"{shop.public}/events/{shop.published['slug']}/tickets"
    first = elsewhere.get(url)
    queries.clear()
    assert elsewhere.get(url).data == first.data
    assert len(queries) == 1


def test_no_more_is_kept_than_there_is_room_for(shop, elsewhere, queries, monkeypatch):
    urls = [f"{shop.public}/events?limit={limit}" for limit in (1, 2, 3)]
    size = len(elsewhere.get(urls[0]).data)
    room_for_two = 2 * (size + len(urls[0]) + response_cache.STATE_ROW_BYTES)
    monkeypatch.setattr(response_cache, "MAX_BYTES", room_for_two)
    for url in urls:
        elsewhere.get(url)
    queries.clear()
    elsewhere.get(urls[2])
    elsewhere.get(urls[1])
    assert len(queries) == 2
    elsewhere.get(urls[0])
    assert len(queries) > 3


def test_made_up_urls_take_no_more_room_than_there_is(shop, elsewhere, queries, monkeypatch):
    monkeypatch.setattr(response_cache, "MAX_RESPONSES", 2)
    urls = [f"{shop.public}/events/{shop.published['id']}?made-up={n}" for n in range(3)]
    for url in urls:
        assert elsewhere.get(url).status_code == 200
    queries.clear()
    elsewhere.get(urls[2])
    assert len(queries) == 1
    elsewhere.get(urls[0])
    assert len(queries) > 2


@pytest.mark.parametrize("form", ['"{}"', 'W/"{}"', '"other", "{}"', "*"])
def test_every_form_of_if_none_match_is_understood(shop, elsewhere, form):
    url = f"{shop.public}/events"
    etag = elsewhere.get(url).headers["ETag"].strip('"')
    answer = elsewhere.get(url, headers={"If-None-Match": form.format(etag)})
    assert (answer.status_code, answer.data) == (304, b"")
    assert answer.headers["ETag"] == f'"{etag}"'
    assert "must-revalidate" in answer.headers["Cache-Control"]
