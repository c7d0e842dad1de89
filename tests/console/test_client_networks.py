"""The console's page of an event's networks: who holds and waits for most, and cancels it."""

import re

import pytest

from tests.support.admissions import FREE, given
from tests.support.books import change_home
from tests.support.console import sign_in
from tests.support.waiting import MAIL, entry_of, offer, press, proof, status, stock
from ticketing.limits import OFFERS_PER_CLIENT
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.models.waiting_rooms import WaitingRoom, WaitingRoomNetwork, WaitingRoomTurn

pytestmark = pytest.mark.sql

STRANGER, ADA = "192.0.2.1", "198.51.100.7"
ROW = re.compile(r'<th scope="row"><code>(\S+)</code></th>(.*?)</tr>', re.DOTALL)
NETWORK = re.compile(r'name="network" value="([^"]+)"')


@pytest.fixture
def environ(environ):
    return {**environ, **MAIL}


@pytest.fixture
def ticket(acme):
    return acme.ticket(capacity=20, max_per_order=10, allow_waitinglist=True, **FREE)


@pytest.fixture
def here(ticket):
    return f"/console/events/{ticket['event_id']}/networks"


def order_from(acme, ticket, address, quantity=1):
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "quantity": quantity}
    overrides = {"REMOTE_ADDR": address}
    path = f"{acme.checkout}/preflight"
    answer = acme.with_headers({}).post(path, body, environ_overrides=overrides)
    assert answer.status_code == 201, answer.json
    return answer.json["id"]


def join_from(acme, ticket, name, address):
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "quantity": 2}
    overrides, email = {"REMOTE_ADDR": address}, f"{name}@example.org"
    path = f"{acme.checkout}/waiting-list"
    sent = {**body, "email": email}
    assert acme.with_headers({}).post(path, sent, environ_overrides=overrides).status_code == 202
    entry = entry_of(email)
    assert press(acme.app, entry, "confirm").status_code == 303
    return entry


def rows(page):
    """Return what each row says, without its markup, by the short name of the network."""
    found = {name: re.sub(r"<[^>]+>", " ", row) for name, row in ROW.findall(page)}
    return {name: " ".join(row.split()) for name, row in found.items()}


def of_status(*ids):
    return [PaymentIntent.get_by_id(each).status for each in ids]


def test_the_largest_network_comes_first_and_ends_alone(acme, ticket, writer, here):
    mine = order_from(acme, ticket, ADA, 2)
    strange = [order_from(acme, ticket, STRANGER, 4) for _ in range(2)]
    storefront = acme.with_headers({"X-API-Key": acme.admin_key})
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
    of_key = storefront.post(f"{acme.checkout}/preflight", body).json["id"]
    page = writer.get(here).text
    first, second = rows(page).values()
    assert first.startswith("8 2 orders 0 0 0 ") and second.startswith("2 1 order 0 0 0 ")
    network, _ = NETWORK.findall(page)
    answer = writer.send(f"{here}/cancel", {"network": network})
    assert answer.headers["Location"] == f"{here}#canceled"
    assert of_status(*strange) == ["canceled"] * 2
    assert of_status(mine, of_key) == ["awaiting_payment"] * 2
    assert len(rows(writer.get(here).text)) == 1
    # A repeat changes nothing.
    assert writer.send(f"{here}/cancel", {"network": network}).status_code == 303
    entries = acme.api().get(f"{acme.path}/audit-log?subject={ticket['event_id']}").json["data"]
    logged = [each for each in entries if each["action"] == "client_networks_cancel"]
    assert len(logged) == 2 and logged[0]["after"] == {"network": next(iter(rows(page)))}
    proof(acme)


def test_money_that_was_seen_is_not_touched(acme, ticket, writer, here):
    paid, unpaid = (order_from(acme, ticket, STRANGER, 2) for _ in range(2))
    page = writer.get(here).text
    change_home(paid, received=1)
    (network,) = NETWORK.findall(page)
    writer.send(f"{here}/cancel", {"network": network})
    assert of_status(paid, unpaid) == ["awaiting_payment", "canceled"]
    assert rows(writer.get(here).text) == {}


def test_offers_and_places_of_the_waiting_list_end(acme, ticket, writer, here):
    given(acme, ticket, quantity=10)
    given(acme, ticket, quantity=10)
    taken = [join_from(acme, ticket, f"m{n}", STRANGER) for n in range(OFFERS_PER_CLIENT + 1)]
    ada = join_from(acme, ticket, "ada", ADA)
    TicketType.update(capacity=26).execute()
    offer(acme.app)
    assert [status(each) for each in taken] == ["offered", "offered", "waiting"]
    page = writer.get(here).text
    first, second = rows(page).values()
    assert first.startswith("0 4 2 offers 1 0 ") and second.startswith("0 2 1 offer 0 0 ")
    network, _ = NETWORK.findall(page)
    assert writer.send(f"{here}/cancel", {"network": network}).status_code == 303
    assert [status(each) for each in taken] == ["canceled"] * 3
    assert {WaitingListEntry.get_by_id(each.id).email for each in taken} == {None}
    assert status(ada) == "offered" and stock(ticket) == (2, 20, 0)
    proof(acme)


def test_a_48_is_one_network(acme, ticket, writer, here):
    for n in range(3):
        order_from(acme, ticket, f"2001:db8:1:{n}::1")
    order_from(acme, ticket, "2001:db8:2::1")
    held = [row.split()[0] for row in rows(writer.get(here).text).values()]
    assert held == ["3", "1"]


def test_who_waits_in_the_room_is_shown_by_number(acme, ticket, writer, here):
    event_id = ticket["event_id"]
    WaitingRoom.insert(
        event=event_id, opened=1, at=1, admitted_until=1, per_minute=60, called="[]", slowed_at=0
    ).execute()
    WaitingRoomNetwork.insert(event=event_id, network=77, people=5, counted_at=1).execute()
    page = writer.get(here).text
    assert rows(page)["n77"].startswith("0 0 0 5 ")
    assert writer.send(f"{here}/cancel", {"network": "n77"}).status_code == 303
    assert "after all others" in rows(writer.get(here).text)["n77"]
    assert WaitingRoomTurn.get().bars


def test_who_may_not_write_sees_no_button(acme, ticket, reader, writer, here):
    order_from(acme, ticket, STRANGER)
    page = reader.get(here).text
    assert len(rows(page)) == 1 and "Cancel these" not in page
    refused = reader.send(f"{here}/cancel", {"network": "0" * 64})
    assert refused.status_code == 403
    for wrong in ("", "n", "n1234567", "x" * 64, "n-1"):
        answer = writer.send(f"{here}/cancel", {"network": wrong})
        assert answer.status_code in (404, 422), wrong
    assert writer.get("/console/events/evt_0000000000000000000000000/networks").status_code == 404


def test_events_of_others_are_not_shown(acme, neighbour, ticket, here):
    order_from(acme, ticket, STRANGER)
    stranger = sign_in(neighbour, "write", "other@example.org")
    assert stranger.get(here).status_code == 404
    assert stranger.send(f"{here}/cancel", {"network": "0" * 64}).status_code == 404


def test_an_event_without_orders_says_so(ticket, writer, here):
    assert "Nobody holds or waits for anything" in writer.get(here).text


def test_a_crowd_has_the_name_of_its_network(acme, writer, ticket, here):
    path = f"{acme.path}/events/{ticket['event_id']}/crowds"
    crowd = {"network": "192.0.2.0/24", "seats": 15}
    assert acme.api().put(path, {"crowds": [crowd]}).status_code == 200
    for host in (1, 2):
        order_from(acme, ticket, f"192.0.2.{host}", 3)
    order_from(acme, ticket, ADA, 2)
    page = writer.get(here).text
    assert ROW.findall(page)[0][0] == "192.0.2.0/24"
    assert len(ROW.findall(page)) == 2
    ended = writer.send(f"{here}/cancel", {"network": NETWORK.findall(page)[0]})
    assert ended.headers["Location"].endswith("#canceled")
    assert stock(ticket)[0] == 2
