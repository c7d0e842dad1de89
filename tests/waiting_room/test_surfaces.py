"""Programs and agents wait like people. Who has an order, a ticket or a credential never waits."""

import re

import pytest

from tests.support.doors import Door
from tests.support.factories import Api
from tests.support.mcp import call, refused
from tests.support.order_pages import key_in, link, press
from tests.waiting_room.conftest import in_minutes
from ticketing import links
from ticketing.models.waiting_rooms import WaitingRoomArrivals
from ticketing.services.waiting_room import admitting


def wait(person, time, seconds=6):
    """Let time pass, while others ask."""
    for _ in range(seconds):
        time.forward(seconds=1.1)
        person().open()


def test_a_program_waits_with_its_token(opened, person, time):
    program = person()

    refusal = program.preflight()

    assert refusal.status_code == 429
    problem = refusal.json
    assert problem["code"] == "waiting_room"
    assert problem["place"] == 1
    assert problem["wait_reason"] == "queue"
    assert int(refusal.headers["Retry-After"]) >= 3
    wait(person, time)
    assert program.preflight().status_code == 201
    assert program.preflight().status_code == 429  # one order for a turn


def test_a_turn_is_kept_if_the_order_fails(opened, person, time, acme, admin, seat):
    program = person()
    program.preflight()
    wait(person, time)
    path = f"{acme.path}/events/{seat['event_id']}/tickets/{seat['id']}"
    admin.patch(path, {"min_per_order": 2})
    assert program.preflight().json["code"] == "below_minimum"
    admin.patch(path, {"min_per_order": 1})

    assert program.preflight().status_code == 201


def test_a_repeat_of_an_order_needs_no_turn(opened, person, time):
    program, key = person(), {"Idempotency-Key": "k" * 32}
    program.preflight()
    wait(person, time)
    first = program.preflight(**key)
    assert first.status_code == 201

    assert program.preflight(**key).json["id"] == first.json["id"]


def test_an_agent_waits_with_its_token(opened, person, time, acme, api, seat):
    order = {"tenant": "acme", "event_id": seat["event_id"], "ticket_id": seat["id"]}

    problem = refused(api, "order_ticket", **order)

    assert problem["code"] == "waiting_room"
    assert problem["retry_after"] >= 3
    wait(person, time)
    made = call(api, "order_ticket", **order, waiting_room_token=problem["token"])
    assert made["status"] == "awaiting_payment"


def test_a_credential_never_waits(opened, acme, seat):
    storefront = acme.with_headers({"X-API-Key": acme.key("paywall")})
    body = {"event_id": seat["event_id"], "ticket_id": seat["id"]}

    assert storefront.post(f"{acme.checkout}/preflight", body).status_code == 201


def test_who_has_an_order_or_a_ticket_never_waits(acme, admin, seat, event, person):
    buyer = acme.buyer(seat)
    admin.patch(f"{acme.path}/events/{event['id']}", {"waiting_room": "on"})
    assert person().place() == 1

    client = acme.app.test_client()
    assert client.get(link(buyer)).status_code == 200
    assert buyer.purchase().status_code == 200
    (ticket,) = buyer.purchase().json["admissions"]
    assert client.get(links.ticket(ticket["code"])).status_code == 200


def test_who_orders_again_waits_on_the_page_of_the_event(acme, seat, admin, event, person):
    buyer = acme.buyer(seat)
    assert buyer.cancel().status_code == 200
    page = acme.app.test_client().get(link(buyer)).text
    admin.patch(f"{acme.path}/events/{event['id']}", {"waiting_room": "on"})

    again = press(buyer, "again", idempotency_key=key_in(page))

    assert again.status_code == 303
    assert again.location == "/acme/summer"


def test_a_door_never_waits(acme, admin, person, time):
    door = Door(acme, slug="autumn", start_at=in_minutes(time, 30))
    gate, ticket = door.gate(), door.admission()
    admin.patch(f"{acme.path}/events/{door.event['id']}", {"waiting_room": "on"})
    assert person().open("/acme/autumn").headers["Retry-After"] == "3"

    assert gate.outcome(qr=door.qr(ticket)) == "admitted"


def test_other_events_do_not_wait(acme, opened, person):
    acme.ticket(acme.event(slug="autumn"))

    assert 'name="idempotency_key"' in person().open("/acme/autumn").text


def test_what_is_public_is_read_without_waiting(acme, opened, event, api):
    assert api.get(f"{acme.public}/events/{event['id']}/tickets").status_code == 200


def test_scripts_of_websites_may_send_the_token(acme, opened):
    answer = Api(acme.app.test_client()).client.options(
        f"{acme.checkout}/preflight", headers={"Origin": "https://shop.example.org"}
    )

    assert "Waiting-Room-Token" in answer.headers["Access-Control-Allow-Headers"]


def test_agents_learn_of_it_in_llms_txt(api):
    text = api.get("/llms.txt").text

    assert "Waiting-Room-Token" in text
    assert "`waiting_room` (429)" in text


@pytest.mark.parametrize("language", ["de", "es", "fr", "it", "nl", "pl", "pt"])
def test_the_page_is_in_the_language_of_its_reader(opened, person, language):
    page = person().open(f"/acme/summer?lang={language}").text

    assert f'<html lang="{language}">' in page
    assert "Your place" not in page
    assert "Many people" not in page


def test_the_page_works_without_javascript(opened, person):
    first, page = person().open("/acme/summer?lang=en"), person().open("/acme/summer?lang=en")

    # The second one is from memory.
    assert first.headers["Content-Security-Policy"] == page.headers["Content-Security-Policy"]
    assert {*first.headers.keys()} == {*page.headers.keys()}
    assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in page.text
    assert page.headers["Cache-Control"] == "no-store"
    assert re.search(r"<title>Your place: [12]\. It takes less than a minute\.", page.text)


def test_places_of_a_large_crowd_take_minutes(opened, person, time, monkeypatch, event):
    monkeypatch.setattr(admitting, "GROWTH", 1.0)
    person().open()
    second = int(time.now.timestamp())
    WaitingRoomArrivals.create(event=event["id"], second=second, people=5_000)
    time.forward(seconds=2)
    person().open()

    page = person().open()
    assert re.search(r"Your place: 500[23]\. It takes about 9 minutes\.", page.text)
    assert 20 <= int(page.headers["Retry-After"]) <= 45
