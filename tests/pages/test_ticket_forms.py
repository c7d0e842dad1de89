"""The forms on a ticket's page: name the holder, pass the ticket on, take the offer back."""

import re

import pytest

from tests.pages.conftest import SAME_ORIGIN, key_in
from tests.support.apps import new_app
from tests.support.factories import Api
from tests.support.holders import accept, bought
from tests.support.stored_rows import rows
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.ticket_types import TicketType

OTHER_SITES = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"X-Nothing": "1"},
)
SMTP = {
    "SMTP_URL": "smtp://127.0.0.1:9",
    "MAIL_FROM": "tickets@example.org",
    "PUBLIC_URL": "https://tickets.example.org",
}


@pytest.fixture
def path(held):
    return f"/t/{held.code}"


@pytest.fixture
def form(api, path):
    """The fields of a new form on the ticket's page."""

    def form(**fields):
        return {"idempotency_key": key_in(api.get(path)), **fields}

    return form


def holder_of(held):
    return Admission.get_by_id(held.id).holder


def offer_on(page):
    return re.search(r"/x/(to_\w+)<", page.text)[1]


def test_the_holder_is_named_and_the_page_shows_it(held, path, api, send):
    answer = send(f"{path}/holder", {"name": " Grace ", "email": "grace@example.org"})
    assert (answer.status_code, answer.headers["Location"]) == (303, path)
    assert holder_of(held) == {"name": "Grace", "email": "grace@example.org"}
    assert "Grace" in api.get(path).text


def test_an_empty_field_removes_what_was_there(held, path, send):
    assert send(f"{path}/holder", {"name": "Grace", "email": ""}).status_code == 303
    assert holder_of(held) == {"name": "Grace", "email": None}


def test_a_wrong_address_is_said_at_its_field_and_changes_nothing(held, path, send):
    answer = send(f"{path}/holder", {"name": "Grace <b>", "email": "nobody@"})
    assert answer.status_code == 422
    assert 'value="Grace &lt;b&gt;"' in answer.text and 'value="nobody@"' in answer.text
    assert 'aria-invalid="true"' in answer.text and 'id="email-error"' in answer.text
    assert '<details class="card fold no-print" open>' in answer.text
    assert holder_of(held) == {"name": "Ada", "email": "ada@example.org"}


def test_why_a_ticket_is_not_passed_on_is_said_once(path, form, send):
    filled_in = form(name="Grace")
    TicketType.update(transferable=False).execute()
    answer = send(f"{path}/offer", filled_in)
    assert answer.text.count("This ticket cannot be given to somebody else.") == 1


def test_an_offer_is_shown_where_the_ticket_is_passed_on(acme, held, path, form, api, send):
    answer = send(f"{path}/offer", form(name="Grace", email="grace@example.org"))
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{path}#pass-on")
    (transfer,) = Transfer.select()
    assert transfer.holder == {"name": "Grace", "email": "grace@example.org"}
    assert accept(acme, offer_on(api.get(path))).status_code == 200
    assert api.get(path).status_code == 404


def test_a_name_is_not_needed(path, form, send):
    assert send(f"{path}/offer", form(name="", email="")).status_code == 303
    assert Transfer.get().holder == {"name": None, "email": None}


def test_a_double_click_is_one_offer(path, form, send):
    filled_in = form(name="Grace")
    assert {send(f"{path}/offer", filled_in).status_code for _ in range(3)} == {303}
    assert Transfer.select().count() == 1


def test_a_wrong_form_makes_no_offer(path, form, send):
    key = form()
    for wrong in (
        {"name": "Grace"},
        {"idempotency_key": "short"},
        {**key, "email": "nobody@"},
        {**key, "name": "x" * 201},
        {**key, "unknown": "1"},
        {**key, "name": "\0"},
    ):
        assert send(f"{path}/offer", wrong).status_code == 422, wrong
    assert Transfer.select().count() == 0


def test_what_is_wrong_is_said_at_the_field_of_its_own_form(path, form, send):
    answer = send(f"{path}/offer", form(name="x" * 201))
    assert 'id="to-name-error"' in answer.text and 'id="name-error"' not in answer.text
    assert 'value="Ada"' in answer.text
    ids = re.findall(r'\bid="([^"]+)"', answer.text)
    assert len(ids) == len(set(ids))


def test_after_three_offers_it_says_when_the_next_one_is_possible(held, path, form, send):
    for _ in range(3):
        assert send(f"{path}/offer", form()).status_code == 303
        assert send(f"{path}/offer/cancel").status_code == 303
    answer = send(f"{path}/offer", form(name="Grace"))
    assert answer.status_code == 429 and int(answer.headers["Retry-After"]) > 80_000
    assert "offered too often today" in answer.text and 'value="Grace"' in answer.text


def test_an_offer_is_taken_back(acme, held, path, form, api, send):
    send(f"{path}/offer", form())
    offer = offer_on(api.get(path))
    for _ in range(2):
        answer = send(f"{path}/offer/cancel")
        assert (answer.status_code, answer.headers["Location"]) == (303, f"{path}#pass-on")
    assert accept(acme, offer).status_code == 410 and offer not in api.get(path).text
    assert held.get().status_code == 200


@pytest.mark.parametrize("form_of", ["holder", "offer", "offer/cancel", "return", "return/cancel"])
def test_a_form_of_another_site_changes_nothing(held, path, form, send, form_of):
    filled_in = form(name="Mallory")
    held.offer()
    before = list(rows())
    for headers in OTHER_SITES:
        assert send(f"{path}/{form_of}", filled_in, **headers).status_code == 403, headers
    assert list(rows()) == before


def test_a_form_needs_the_code(held, path, form, send):
    filled_in = form(name="Mallory")
    before = list(rows())
    for each in ("holder", "offer", "offer/cancel", "return", "return/cancel"):
        for wrong in (held.id, "0" * 20, held.code[:-1]):
            assert send(f"/t/{wrong}/{each}", filled_in).status_code == 404
    assert list(rows()) == before


def test_the_old_page_ends_for_its_forms_too(acme, held, path, form, send):
    filled_in = form(name="Mallory")
    new = held.transferred(name="Grace")
    for each in ("holder", "offer", "offer/cancel", "return", "return/cancel"):
        assert send(f"{path}/{each}", filled_in).status_code == 404
    assert new.get().json["holder"]["name"] == "Grace"


def test_a_used_key_makes_no_offer_of_another_ticket(acme, free, path, form, send):
    (other,) = bought(acme, free)
    filled_in = form()
    assert send(f"{path}/offer", filled_in).status_code == 303
    assert send(f"/t/{other.code}/offer", filled_in).status_code == 303
    assert Transfer.select().count() == 2


def test_with_mail_the_page_asks_for_an_address_and_says_what_it_is_for(environ, held, path):
    app = new_app({**environ, **SMTP})
    api = Api(app.test_client(), {"Host": "tickets.example.org"})
    page = api.get(path)
    assert 'id="to-email"' in page.text
    filled_in = {"idempotency_key": key_in(page), "email": "grace@example.org"}
    headers = {**SAME_ORIGIN, "Host": "tickets.example.org"}
    api.client.post(f"{path}/offer", data=filled_in, headers=headers)
    assert "We send it to <bdi>grace@example.org</bdi> too." in api.get(path).text


def test_without_mail_it_asks_for_no_address_that_nobody_writes_to(api, path):
    assert "to-email" not in api.get(path).text
