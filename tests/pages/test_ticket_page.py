"""The page of a ticket: what it shows in each state, and to whom."""

import re
from datetime import UTC, datetime

import pytest

from tests.support import admissions
from tests.support.apps import new_app
from tests.support.doors import Door
from tests.support.factories import Api, in_days
from tests.support.holders import JOIN_URL, Held, bought, write
from tests.support.stored_rows import rows
from ticketing import clock, formats
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.ticket_types import TicketType
from ticketing.pages import qr

ODD_CODES = {
    "short": "0" * 19,
    "long": "0" * 21,
    "unknown": "0" * 20,
    "upper case": "A" * 20,
    "NUL": "0" * 19 + "%00",
    "line break": "0" * 20 + "%0A",
    "not UTF-8": "0" * 19 + "%FF",
    "other digits": "%D9%A1" * 20,
    "override": "%E2%80%AE" * 20,
    "huge": "0" * 5000,
    "wildcard": "%25" * 20,
    "dots": "..",
}
HOSTILE = '\u202e<script>alert(1)</script>" onload="x'


@pytest.fixture
def show(api):
    """Return the text of a ticket's page."""

    def show(held):
        page = api.get(f"/t/{held.code}")
        assert page.status_code == 200
        return page.text

    return show


def cancel(acme, event):
    path = f"{acme.path}/events/{event['id']}/status"
    assert acme.api().post(path, {"status": "canceled"}).status_code == 200


def has_qr(text):
    return 'class="qr"' in text


def test_it_has_the_qr_code_and_the_facts(acme, event, held, show):
    text = show(held)
    for shown in ("Summer Concert", "Main Hall", "(Europe/Berlin)", "Seat", "Ada", held.id, "Acme"):
        assert shown in text, shown
    assert str(qr.svg(held.get().json["qr"])) in text
    assert f"/v1/public/tenants/acme/events/{event['id']}.ics" in text
    assert 'href="/acme/summer-concert"' in text and "online_join_url" not in text
    assert len(text) < 30_000


def test_its_links_open(event, held, show, api):
    paths = re.findall(r'(?:href|src)="(/[^"]+)"', show(held))
    assert len(paths) > 5
    for path in paths:
        with api.get(path) as answer:
            assert answer.status_code == 200, path


def test_it_says_what_its_link_is_and_how_to_pass_it_on(held, show):
    text = show(held)
    assert 'id="pass-on"' in text and "So do not send that link" in text
    assert f'action="/t/{held.code}/offer"' in text


@pytest.mark.parametrize("status", ["valid", "suspended", "void"])
def test_the_join_url_is_there_while_the_ticket_is_valid(acme, show, status):
    event = acme.event(type="hybrid", online_join_url=JOIN_URL)
    (held,) = bought(acme, acme.ticket(event, **admissions.FREE))
    write(held, status=status)
    text = show(held)
    assert (f'href="{JOIN_URL}"' in text) == (status == "valid")
    assert ("There is no link at the moment." in text) == (status != "valid")


def test_a_used_ticket_says_when_and_where(acme, event, held, show):
    at = datetime(2026, 6, 5, 17, 2, tzinfo=UTC)
    write(held, redeemed_at=at, redeemed_gate="Main gate")
    text = show(held)
    assert "Used at 19:02 (Europe/Berlin) at <bdi>Main gate</bdi>" in text and not has_qr(text)
    assert "This ticket has been used at the door." in text and "<form" not in text
    write(held, redeemed_gate=None)
    assert "Used at 19:02 (Europe/Berlin)<" in show(held)


def test_a_scan_at_the_door_is_seen_on_the_page(acme, show):
    door = Door(acme)
    admission = door.admission()
    assert door.gate(gate="North").outcome(qr=door.qr(admission)) == "admitted"
    assert "at <bdi>North</bdi>" in show(Held(acme, admission.id, admission.code))


def test_a_suspended_ticket_keeps_its_qr_code_and_its_name(held, show):
    write(held, status="suspended")
    text = show(held)
    assert "not valid at the moment" in text and has_qr(text)
    assert "suspended, because its payment is missing" in text
    assert "/offer" not in text and f'action="/t/{held.code}/holder"' in text


def test_a_void_ticket_has_no_qr_code_and_says_who_is_paid_back(acme, held, show):
    voided = admissions.void(acme, held.id, reason="A secret of the organizer.")
    assert voided.status_code == 200
    text = show(held)
    assert "The organizer has taken this ticket back." in text
    assert "the buyer of the order gets it" in text and "A secret" not in text
    assert not has_qr(text) and "<form" not in text and "pass-on" not in text


def test_the_ticket_of_a_guest_owes_nobody_anything(acme, free, show):
    guest = admissions.invite(acme, free, {"name": "Press"}).json
    held = Held(acme, guest["admissions"][0]["id"], guest["codes"][0])
    assert "Press" in show(held)
    assert admissions.void(acme, held.id).status_code == 200
    assert "nothing is paid back" in show(held)


def test_the_ticket_of_a_canceled_event_says_so(acme, event, held, show):
    cancel(acme, event)
    text = show(held)
    assert "This event is canceled." in text and "the buyer of the order gets it" in text
    assert not has_qr(text) and ".ics" not in text and "/acme/summer-concert" not in text


def test_the_ticket_of_a_canceled_event_has_no_qr_code_even_before_it_is_void(event, held, show):
    Event.update(status="canceled").where(Event.id == event["id"]).execute()
    text = show(held)
    assert "This event is canceled." in text and not has_qr(text)


@pytest.mark.parametrize(
    ("model", "change", "sentence"),
    [
        (TicketType, {"transferable": False}, "cannot be given to somebody else"),
        (Event, {"transfers_end_at": clock.now()}, "can no longer be given to somebody else"),
    ],
)
def test_a_ticket_that_cannot_be_passed_on_says_why(held, show, model, change, sentence):
    model.update(change).execute()
    text = show(held)
    assert sentence in text and "/offer" not in text and has_qr(text)
    assert "everybody who has it can use the ticket" in text


def test_a_name_that_can_be_set_once_has_no_form_after_that(held, show):
    TicketType.update(transferable=False).execute()
    assert "only once" in show(held)
    assert held.name(name="Grace").status_code == 200
    assert "/holder" not in show(held)


def test_an_open_offer_is_shown_in_full(held, show):
    offer = held.offer(name="Grace").json["offer"]
    text = show(held)
    assert f"http://localhost/x/{offer}<" in text and "Offered to <bdi>Grace</bdi>" in text
    assert f'action="/t/{held.code}/offer/cancel"' in text
    assert f'action="/t/{held.code}/offer"' not in text
    write(held, redeemed_at=clock.now())
    assert offer not in show(held) and "/offer/cancel" in show(held)


def test_links_have_the_public_address(environ, held):
    app = new_app({**environ, "PUBLIC_URL": "https://tickets.example.org"})
    offer = held.offer().json["offer"]
    headers = {"Host": "tickets.example.org"}
    page = Api(app.test_client()).get(f"/t/{held.code}", headers=headers)
    assert f">https://tickets.example.org/x/{offer}<" in page.text


def test_text_of_people_is_text(acme, show):
    event = acme.event(title=HOSTILE, venue=HOSTILE, type="hybrid", online_join_url=JOIN_URL)
    ticket = acme.ticket(event, name=HOSTILE, **admissions.FREE)
    (held,) = bought(acme, ticket, buyer={"name": HOSTILE, "email": "ada@example.org"})
    held.offer(name=HOSTILE)
    write(held, redeemed_at=clock.now(), redeemed_gate=HOSTILE)
    text = show(held)
    assert "<script>" not in text and '" onload="' not in text
    body = text.partition("<body>")[2]
    assert body.count("\u202e") >= 5
    outside = re.sub(r"<bdi>.*?</bdi>|<input[^>]*>", "", body, flags=re.DOTALL)
    assert "\u202e" not in outside and "alert(1)" not in outside


@pytest.mark.parametrize("code", ODD_CODES.values(), ids=ODD_CODES.keys())
def test_a_code_that_opens_nothing_is_not_found(held, api, code):
    page = api.get(f"/t/{code}")
    assert (page.status_code, page.mimetype) == (404, "text/html")
    assert code not in page.text and "Seat" not in page.text


def test_nobody_else_sees_it(held, show, api):
    show(held)
    for wrong in (held.code[:-1] + ("0" if held.code[-1] != "0" else "1"), held.id, held.code * 2):
        assert api.get(f"/t/{wrong}").status_code == 404


def test_its_pages_are_secret(held, api, send):
    offer = held.offer().json["offer"]
    answers = [
        api.get(f"/t/{held.code}"),
        api.get(f"/x/{offer}"),
        api.get("/t/none"),
        api.get("/x/none"),
        send(f"/t/{held.code}/holder", {"email": "nobody@"}),
        send(f"/t/{held.code}/holder", {"name": "Grace"}),
        send(f"/t/{held.code}/offer/cancel"),
        api.get(f"/x/{offer}"),
        api.client.post(f"/t/{held.code}/holder"),
    ]
    found = [answer.status_code for answer in answers]
    assert found == [200, 200, 404, 404, 422, 303, 303, 410, 403]
    for answer in answers:
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Referrer-Policy"] == "same-origin"
        assert answer.headers["X-Robots-Tag"] == "noindex"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in answer.headers


def test_a_look_changes_nothing(acme, event, held, free, api):
    """Mail servers and chats open the links that people send."""
    old = held.offer().json["offer"]
    new = held.offer().json["offer"]
    (other,) = bought(acme, free)
    accepted = other.offer().json["offer"]
    other.transferred()
    before = list(rows())
    looks = (f"/t/{held.code}", f"/x/{old}", f"/x/{new}", f"/t/{other.code}", f"/x/{accepted}")
    for path in (*looks, *(f"/t/{held.code}/{each}" for each in ("holder", "offer/cancel"))):
        for method in ("GET", "HEAD", "OPTIONS"):
            api.client.open(path, method=method)
    assert list(rows()) == before
    assert Admission.get_by_id(held.id).generation == 1


def test_a_long_event_is_read_in_its_own_zone(acme, show):
    times = [in_days(3), in_days(4)]
    event = acme.event(timezone="Pacific/Auckland", start_at=times[0], end_at=times[1])
    (held,) = bought(acme, acme.ticket(event, **admissions.FREE))
    page = show(held)
    assert page.count("(Pacific/Auckland)") == 1
    for each in times:
        assert formats.day(datetime.fromisoformat(each), "Pacific/Auckland") in page
