"""The page that accepts a transfer: what it says, who wins, and what stays secret."""

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.pages.conftest import SAME_ORIGIN, key_in
from tests.pages.test_ticket_forms import OTHER_SITES
from tests.support import admissions
from tests.support.apps import new_app
from tests.support.factories import Api
from tests.support.holders import Held, accept, bought, write
from tests.support.stopped_clock import StoppedClock
from tests.support.stored_rows import rows
from ticketing import clock, credentials, ids
from ticketing.db.connection import database
from ticketing.models.admissions import Admission, Transfer

HOSTILE = '\u202e<script>alert(1)</script>" onload="x'


@pytest.fixture
def offer(held):
    """An open offer of the ticket."""
    return held.offer(name="Grace").json["offer"]


@pytest.fixture
def path(offer):
    return f"/x/{offer}"


@pytest.fixture
def form(api, path):
    """The fields of a new form on the page."""

    def form(**fields):
        return {"idempotency_key": key_in(api.get(path)), **fields}

    return form


def code_in(answer):
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"].removeprefix("/t/")


def row(held):
    return Admission.get_by_id(held.id)


def at_once(app, *posts):
    """Send these forms at the same time, and return the answers."""
    start = Barrier(len(posts))

    def run(post):
        path, data = post
        try:
            start.wait()
            return app.test_client().post(path, data=data, headers=SAME_ORIGIN)
        finally:
            database.close()

    with ThreadPoolExecutor(len(posts)) as pool:
        return list(pool.map(run, posts))


def test_it_says_what_is_offered_and_what_accepting_means(path, api):
    page = api.get(path)
    assert page.status_code == 200
    for shown in (
        "Summer Concert",
        "Main Hall",
        "(Europe/Berlin)",
        "Seat",
        "Acme",
        "The old ticket ends at once.",
        "the buyer of the order, not to you",
        "You can accept it until",
    ):
        assert shown in page.text, shown


def test_it_shows_nothing_of_the_sender_nor_of_the_ticket(held, path, api):
    text = api.get(path).text
    for secret in (
        held.code,
        held.get().json["qr"],
        "Ada",
        "ada@example.org",
        "Grace",
        'class="qr"',
    ):
        assert secret not in text, secret


def test_the_ticket_of_a_guest_is_offered_without_a_promise(acme, free, api):
    guest = admissions.invite(acme, free, {"name": "Press"}).json
    held = Held(acme, guest["admissions"][0]["id"], guest["codes"][0])
    text = api.get(f"/x/{held.offer().json['offer']}").text
    assert "gift of the organizer" in text and "buyer of the order" not in text


def test_accepting_leads_to_the_new_ticket_and_ends_the_old_one(held, path, form, api, send):
    code = code_in(send(path, form(name=" Bob ", email="bob@example.org")))
    assert code == row(held).code != held.code
    assert row(held).holder == {"name": "Bob", "email": "bob@example.org"}
    assert row(held).generation == 2
    assert "Bob" in api.get(f"/t/{code}").text
    old, unknown = api.get(f"/t/{held.code}"), api.get(f"/t/{'0' * 20}")
    assert old.status_code == unknown.status_code == 404
    without_id = [page.text.partition('class="small"')[0] for page in (old, unknown)]
    assert without_id[0] == without_id[1]
    assert api.get(path).status_code == 410


def test_a_name_is_not_needed_and_the_senders_words_are_not_kept(held, path, form, send):
    code_in(send(path, form(name="", email="")))
    assert row(held).holder == {"name": None, "email": None}


def test_a_double_click_leads_to_the_same_ticket(app, held, path, form):
    filled_in = form(name="Bob")
    codes = {code_in(each) for each in at_once(app, *[(path, filled_in)] * 4)}
    assert codes == {row(held).code} and row(held).generation == 2


def test_a_repeat_shows_the_code_only_while_the_ticket_has_not_changed_hands(
    acme, held, path, form, send
):
    filled_in = form(name="Bob")
    new = Held(acme, held.id, code_in(send(path, filled_in)))
    assert code_in(send(path, filled_in)) == new.code
    newest = new.transferred()
    answer = send(path, filled_in)
    assert answer.status_code == 410 and "This offer has ended" in answer.text
    assert "Location" not in answer.headers and newest.code not in answer.text


def test_a_repeat_after_a_reissue_shows_nothing(acme, held, path, form, send):
    filled_in = form()
    code_in(send(path, filled_in))
    assert admissions.reissue(acme, row(held)).status_code == 200
    assert send(path, filled_in).status_code == 410


def test_of_two_people_who_accept_at_once_one_gets_the_ticket(app, acme, free, api):
    for _ in range(6):
        (held,) = bought(acme, free)
        path = f"/x/{held.offer().json['offer']}"
        forms = [{"idempotency_key": key_in(api.get(path)), "name": name} for name in "AB"]
        answers = at_once(app, *((path, each) for each in forms))
        assert sorted(each.status_code for each in answers) == [303, 410]
        (won,) = (each for each in answers if each.status_code == 303)
        assert code_in(won) == row(held).code
        assert row(held).holder_name == "AB"[answers.index(won)] and row(held).generation == 2


def replaced(held, offer):
    held.offer()


def taken_back(held, offer):
    held.cancel()


def accepted(held, offer):
    accept(held.organizer, offer)


def too_old(held, offer):
    Transfer.update(expires_at=clock.now()).execute()


def forgotten(held, offer):
    Transfer.delete().execute()


def reissued(held, offer):
    write(held, generation=2, code=credentials.new_admission_code())


@pytest.mark.parametrize("end", [replaced, taken_back, accepted, too_old, forgotten, reissued])
def test_an_offer_that_has_ended_says_so(held, offer, path, form, api, send, end):
    filled_in = form(name="Late")
    end(held, offer)
    before = list(rows())
    for page in (api.get(path), send(path, filled_in)):
        assert page.status_code == 410 and "This offer has ended" in page.text
        assert "Ask its sender for a new one." in page.text and "Summer" not in page.text
    assert list(rows()) == before


def test_a_ticket_that_cannot_be_accepted_has_no_form(held, path, form, api, send):
    filled_in = form()
    write(held, redeemed_at=clock.now())
    for page in (api.get(path), send(path, filled_in)):
        assert "You cannot accept this ticket" in page.text and "<form" not in page.text


def test_a_wrong_field_is_said_at_the_field_and_the_offer_stays_open(held, path, form, send):
    answer = send(path, form(name="Bob", email="nobody@"))
    assert answer.status_code == 422 and "Summer Concert" in answer.text
    assert 'value="Bob"' in answer.text and 'id="email-error"' in answer.text
    for wrong in (
        {"name": "Bob"},
        {"idempotency_key": "short"},
        form(unknown="1"),
        form(name="\0"),
    ):
        assert send(path, wrong).status_code == 422, wrong
    assert row(held).generation == 1
    assert send(path, form(name="Bob")).status_code == 303


def test_a_wrong_offer_says_nothing(acme, neighbour, held, offer, api, send, form):
    filled_in = form()
    other = credentials.transfer_offer("another-secret", ids.TRANSFER + offer[3:29])
    wrong = (
        "x",
        "to_",
        offer[:-1],
        offer + "0",
        offer.upper(),
        offer + "%0A",
        offer + "%00",
        offer[:-1] + ("0" if offer[-1] != "0" else "1"),
        other,
        held.code,
        held.id,
        f"to_{'0' * 26}_{'0' * 40}",
        "%FF",
        "%E2%80%AE",
        "x" * 5000,
    )
    for each in wrong:
        for page in (api.get(f"/x/{each}"), send(f"/x/{each}", filled_in)):
            assert (page.status_code, page.mimetype) == (404, "text/html"), each
            assert each not in page.text.replace('"x"', "") or len(each) < 4
    assert row(held).generation == 1


def test_a_form_of_another_site_accepts_nothing(held, path, form, send):
    filled_in = form(name="Mallory")
    before = list(rows())
    for headers in OTHER_SITES:
        assert send(path, filled_in, **headers).status_code == 403, headers
    assert list(rows()) == before
    assert send(path, filled_in, Origin="http://localhost").status_code == 303


def test_text_of_people_is_text(acme, api):
    event = acme.event(title=HOSTILE, venue=HOSTILE)
    (held,) = bought(acme, acme.ticket(event, name=HOSTILE, **admissions.FREE))
    text = api.get(f"/x/{held.offer(name=HOSTILE).json['offer']}").text
    assert "<script>" not in text and '" onload="' not in text
    assert text.partition("<body>")[2].count("<bdi>\u202e") == 3


def test_no_code_and_no_offer_is_in_a_log_or_in_another_place(
    acme, held, offer, path, form, api, send, caplog
):
    caplog.set_level(logging.DEBUG)
    filled_in = form(name="Bob")
    new = code_in(send(path, filled_in))
    for page in (path, f"/t/{held.code}", f"/t/{new}"):
        api.get(page)
        api.client.delete(page)
        send(page, filled_in)
    send(f"/t/{new}/offer", form_of(api, new))
    third = Held(acme, held.id, new).offer().json["offer"]
    api.get(f"/t/{new}")
    logged = "\n".join(f"{each.getMessage()} {vars(each)}" for each in caplog.records)
    assert "/x/<offer>" in logged and "/t/<code>" in logged
    for secret in (offer, third, held.code, new, filled_in["idempotency_key"]):
        assert secret not in logged
    stored = list(rows())
    for secret in (offer, third, held.code, filled_in["idempotency_key"]):
        assert not [each for each in stored if secret in each[1]]
    assert {table for table, text in stored if new in text} == {"admissions"}


def form_of(api, code):
    return {"idempotency_key": key_in(api.get(f"/t/{code}"))}


def test_offers_are_counted_by_address_and_tickets_by_their_order(environ, held, path, monkeypatch):
    StoppedClock(monkeypatch, clock.now())  # one minute
    limits = {"RATE_LIMIT_CHECKOUT": "2", "RATE_LIMIT_ORDER": "3"}
    api = Api(new_app({**environ, **limits}).test_client())

    def looks(path, *addresses):
        at = ({"REMOTE_ADDR": each} for each in addresses)
        return [api.get(path, environ_overrides=each).status_code for each in at]

    here, there = "203.0.113.7", "203.0.113.8"
    assert looks(path, here, here, here, there) == [200, 200, 429, 200]
    assert looks(f"/t/{held.code}", here, here, there, there) == [200, 200, 200, 429]
    assert looks(f"/t/{'0' * 20}", here, there, there) == [429, 404, 429]
