"""Transfers: an offer, its acceptance, and every refusal."""

import json
import re
from datetime import datetime, timedelta

import pytest

from tests.support.apps import new_app
from tests.support.factories import Api
from tests.support.holders import ADA, JOIN_URL, NOBODY, Held, accept, bought, refused, write
from tests.support.routes import same
from tests.support.stopped_clock import StoppedClock
from ticketing import clock, credentials, ids
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.events import Event
from ticketing.models.ticket_types import TicketType

OFFER = re.compile(r"to_[0-9a-z]{26}_[0-9a-f]{40}")


@pytest.fixture
def ticket(acme):
    event = acme.event(online_join_url=JOIN_URL)
    return acme.ticket(event, price_amount=0, chain_id=None)


@pytest.fixture
def held(acme, ticket):
    (found,) = bought(acme, ticket, buyer=ADA)
    return found


def test_the_new_holder_gets_another_code_and_the_old_code_ends(acme, held):
    before = held.get().json
    write(held, change_number=7)
    offer = held.offer()
    assert offer.status_code == 201
    assert offer.json.keys() == {"id", "offer", "url", "expires_at"}
    assert OFFER.fullmatch(offer.json["offer"]) and offer.json["url"] is None
    left = datetime.fromisoformat(offer.json["expires_at"]) - clock.now()
    assert timedelta(hours=47) < left <= timedelta(hours=48)

    taken = accept(acme, offer.json["offer"], name="Bob")

    assert taken.status_code == 200
    assert taken.json["holder"] == {"name": "Bob", "email": None}
    assert (taken.json["generation"], taken.json["transferred"]) == (2, True)
    assert taken.json["code"] != held.code and taken.json["qr"] not in (None, before["qr"])
    assert (taken.json["refund_recipient"], taken.json["transfer"]) == ("order_buyer", None)
    assert taken.json["online_join_url"] == JOIN_URL
    refused(held.get(), 404, "not_found")
    new = Held(acme, held.id, taken.json["code"])
    assert new.get().json == taken.json
    row = Admission.get_by_id(held.id)
    assert row.change_number is None and row.transferred_at is not None
    assert new.transferred().get().json["holder"] == NOBODY
    refused(new.get(), 404, "not_found")


def test_the_sender_names_whom_the_offer_is_for_but_not_the_new_holder(acme, held):
    offer = held.offer(name="Bob", email="seller@example.org").json["offer"]
    assert held.get().json["transfer"]["holder"]["name"] == "Bob"
    # Else the seller's address would get the mails about the new ticket.
    assert accept(acme, offer).json["holder"] == NOBODY


def test_a_link_needs_the_address_of_the_service(environ, acme, held):
    app = new_app({**environ, "PUBLIC_URL": "https://tickets.example.org"})
    other = Held(type(acme)(app, acme.slug, acme.id, acme.admin_key), held.id, held.code)
    made = other.offer().json
    assert made["url"] == f"https://tickets.example.org/x/{made['offer']}"


def test_an_offer_is_used_once(acme, held):
    offer = held.offer().json["offer"]
    assert accept(acme, offer).status_code == 200
    refused(accept(acme, offer), 410, "offer_ended")


def test_a_second_offer_replaces_the_first(acme, held):
    first, second = (held.offer().json["offer"] for _ in range(2))
    refused(accept(acme, first), 410, "offer_ended")
    assert accept(acme, second).status_code == 200


def test_an_offer_can_be_taken_back(acme, held):
    offer = held.offer().json["offer"]
    for _ in range(2):
        canceled = held.cancel()
        assert (canceled.status_code, canceled.json["transfer"]) == (200, None)
    refused(accept(acme, offer), 410, "offer_ended")
    assert held.get().json["generation"] == 1


def test_an_offer_expires(acme, held):
    offer = held.offer().json["offer"]
    Transfer.update(expires_at=clock.now()).execute()
    refused(accept(acme, offer), 410, "offer_ended")


def test_an_offer_ends_when_the_admission_is_reissued(acme, held):
    offer = held.offer().json["offer"]
    write(held, generation=2, code=credentials.new_admission_code())
    refused(accept(acme, offer), 410, "offer_ended")


def test_an_offer_that_a_restored_backup_does_not_know_has_ended(acme, held):
    offer = held.offer().json["offer"]
    Transfer.delete().execute()
    refused(accept(acme, offer), 410, "offer_ended")


def test_a_wrong_offer_tells_nothing_more(acme, neighbour, held):
    offer = held.offer().json["offer"]
    other = credentials.transfer_offer("another-secret", ids.TRANSFER + offer[3:29])
    wrong = (
        "x",
        "to_",
        offer[:-1],
        offer + "0",
        offer.upper(),
        offer + "\n",
        "é" * 70,
        "\u202e",
        offer[:-1] + ("0" if offer[-1] != "0" else "1"),
        other,
        held.code,
        held.id,
        f"to_{'0' * 26}_{'0' * 40}",
    )
    told = [accept(acme, each) for each in wrong] + [accept(neighbour, offer)]
    assert len({same(answer) for answer in told}) == 1
    refused(told[0], 404, "not_found")
    assert accept(acme, offer).status_code == 200


PAST = "2020-01-01T00:00:00Z"
STATES = {
    "admission_void": lambda held: write(held, status="void"),
    "admission_suspended": lambda held: write(held, status="suspended"),
    "already_redeemed": lambda held: write(held, redeemed_at=clock.now()),
    "not_transferable": lambda held: TicketType.update(transferable=False).execute(),
    "transfers_closed": lambda held: Event.update(transfers_end_at=PAST_TIME).execute(),
}
PAST_TIME = datetime.fromisoformat(PAST)


@pytest.mark.parametrize("code", STATES)
def test_an_offer_that_could_not_be_accepted_has_not_ended(acme, held, code):
    offer = held.offer().json["offer"]
    STATES[code](held)
    refused(accept(acme, offer), 409, code)
    write(held, status="valid", redeemed_at=None)
    TicketType.update(transferable=True).execute()
    Event.update(transfers_end_at=None).execute()
    assert accept(acme, offer).status_code == 200


def test_an_open_offer_of_a_voided_admission_says_so_and_an_ended_one_does_not(acme, held):
    canceled = held.offer().json["offer"]
    held.cancel()
    offer = held.offer().json["offer"]
    body = {"reason": "asked for it", "refund": False}
    voided = acme.api("write").post(f"{acme.path}/admissions/{held.id}/void", body)
    assert voided.status_code == 200
    refused(accept(acme, offer), 409, "admission_void")
    refused(accept(acme, canceled), 410, "offer_ended")
    assert held.get().json["transfer"] is None


def test_an_offer_that_was_used_does_not_tell_what_became_of_the_ticket(acme, held):
    offer = held.offer().json["offer"]
    accept(acme, offer)
    for code in STATES:
        STATES[code](held)
        refused(accept(acme, offer), 410, "offer_ended")


def test_transfers_end_when_the_doors_open_unless_the_organizer_says_otherwise(acme, held, ticket):
    path = f"{acme.path}/events/{ticket['event_id']}"
    acme.api().patch(path, {"doors_open_at": PAST})
    refused(held.offer(), 409, "transfers_closed")
    assert acme.api().patch(path, {"transfers_end_at": "2099-01-01T00:00:00Z"}).status_code == 200
    assert held.offer().status_code == 201


def test_an_admission_is_offered_three_times_a_day(acme, held):
    new = held.transferred()
    assert [new.offer().status_code for _ in range(2)] == [201, 201]
    answer = new.offer()
    refused(answer, 429, "too_many_transfers")
    assert 86_000 < int(answer.headers["Retry-After"]) <= 86_400
    assert new.get().json["transfer"] is not None  # the newest one is still open
    first = Transfer.select().order_by(Transfer.id).first()
    Transfer.update(created_at=clock.now() - timedelta(hours=24)).where(
        Transfer.id == first.id
    ).execute()
    assert new.offer().status_code == 201
    assert new.offer().status_code == 429


def test_an_offer_of_one_secret_key_is_accepted_under_the_next(environ, acme, held):
    offer = held.offer().json["offer"]
    new = {"SECRET_KEY": "n" * 32, "SECRET_KEY_PREVIOUS": environ["SECRET_KEY"]}
    gone = {"SECRET_KEY": "n" * 32}

    def at(settings):
        app = new_app({**environ, **settings})
        return type(acme)(app, acme.slug, acme.id, acme.admin_key)

    refused(accept(at(gone), offer), 404, "not_found")
    assert accept(at(new), offer).status_code == 200


def test_a_body_is_needed_to_accept_but_not_to_offer(acme, held):
    assert held.api.post(f"{held.path}/transfer").status_code == 201
    api = Api(acme.app.test_client())
    answer = api.post(f"{acme.checkout}/transfers/accept", {})
    assert answer.status_code == 422 and answer.json["errors"].keys() == {"offer"}


def test_names_are_kept_as_sent_and_bad_ones_refused(acme, held):
    odd = "\u202egpj.exe 🎟"
    assert held.transferred(name=odd).get().json["holder"]["name"] == odd
    for name in ("", "x" * 201, "a\0b", "\ud800", 1):
        body = json.dumps({"offer": "x", "holder": {"name": name}})
        answer = acme.app.test_client().post(
            f"{acme.checkout}/transfers/accept", data=body, content_type="application/json"
        )
        assert answer.status_code == 422 and answer.json["errors"].keys() == {"holder.name"}


def test_acceptances_count_for_their_address(environ, acme, held, monkeypatch):
    StoppedClock(monkeypatch, clock.now())  # one minute
    app = new_app({**environ, "RATE_LIMIT_CHECKOUT": "2"})
    other = type(acme)(app, acme.slug, acme.id, acme.admin_key)
    told = [accept(other, "x").status_code for _ in range(3)]
    assert told == [404, 404, 429]


def test_scripts_of_any_website_may_use_both_surfaces(acme, held):
    for path in (held.path, f"{acme.checkout}/transfers/accept"):
        answer = acme.app.test_client().options(path)
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "PATCH" in acme.app.test_client().options(held.path).headers["Allow"]


def test_an_unknown_tenant_is_not_there(acme, held):
    offer = held.offer().json["offer"]
    api = Api(acme.app.test_client())
    for tenant in ("nobody", "%00", "ten_" + "0" * 26):
        answer = api.post(f"/v1/checkout/tenants/{tenant}/transfers/accept", {"offer": offer})
        refused(answer, 404, "not_found")
    assert len(bought(acme, acme.ticket(price_amount=0))) == 1
