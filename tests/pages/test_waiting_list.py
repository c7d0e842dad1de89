"""Join a waiting list on a page, and what the page of a place says, without JavaScript."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import admissions_of, given, void
from tests.support.questions import ask as ask_question
from tests.support.waiting import MAIL, buyer_of, entry_of, offer, page_of, press, status, wait
from ticketing.models.questions import Answer
from ticketing.models.waiting_list import WaitingListEntry

EVENT = "/acme/summer-concert"
PATH = f"{EVENT}/waiting-list"


@pytest.fixture
def environ(environ):
    return {**environ, **MAIL}


@pytest.fixture
def seat(acme, event):
    """A free ticket type of one seat with a waiting list."""
    return acme.ticket(
        event, name="Seat", capacity=1, price_amount=0, chain_id=None, allow_waitinglist=True
    )


@pytest.fixture
def holder(acme, seat):
    return given(acme, seat)


def free(acme, holder):
    (ticket,) = admissions_of(holder)
    assert void(acme, ticket).status_code == 200


def shown(app, entry, query=""):
    answer = app.test_client().get(page_of(entry) + query)
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert "noindex" in answer.headers["X-Robots-Tag"]
    return answer.text


def test_the_page_of_the_event_leads_to_the_list_once_it_is_sold_out(api, acme, seat):
    assert PATH not in api.get(EVENT).text
    given(acme, seat)
    link = f'href="{PATH}?ticket_id={seat["id"]}"'
    assert link in api.get(EVENT).text
    german = api.get(f"{EVENT}?lang=de").text
    assert f'href="{PATH}?lang=de&amp;ticket_id={seat["id"]}"' in german
    form = api.get(f"{PATH}?ticket_id={seat['id']}")
    assert form.status_code == 200 and 'name="email"' in form.text and "Seat" in form.text
    assert "up to 24 hours" in form.text and "noindex" in form.headers["X-Robots-Tag"]


def test_somebody_joins_confirms_and_leaves(app, send, seat, holder):
    fields = {"ticket_id": seat["id"], "email": "ada@example.org", "name": "Ada", "quantity": "1"}
    answer = send(f"{PATH}?lang=de", fields)
    assert answer.status_code == 303, answer.text
    assert answer.headers["Location"] == f"{PATH}?lang=de&ticket_id={seat['id']}#sent"
    entry = entry_of("ada@example.org")
    assert (entry.locale, entry.name, status(entry)) == ("de", "Ada", "unconfirmed")
    page = shown(app, entry)
    assert '<html lang="de">' in page and "/confirm" in page
    assert "/confirm" in shown(app, entry, "?lang=en")
    assert press(app, entry, "confirm").status_code == 303
    assert "You are number 1" in shown(app, entry, "?lang=en")
    assert press(app, entry, "leave").status_code == 303
    page = shown(app, entry, "?lang=en")
    assert "You do not wait any more" in page and "/leave" not in page


def test_what_is_wrong_is_said_at_its_field(send, seat, holder):
    fields = {"ticket_id": seat["id"], "email": "ada", "quantity": "9"}
    answer = send(PATH, fields)
    assert answer.status_code == 422
    assert 'id="email-error"' in answer.text and 'id="quantity-error"' in answer.text
    assert 'value="ada"' in answer.text
    assert send(PATH, {"email": "ada@example.org"}).status_code in (404, 422)
    assert send(PATH, {**fields, "ticket_id": "tkt_x"}).status_code == 404


def test_a_ticket_that_is_on_sale_has_no_list(api, send, seat):
    page = api.get(f"{PATH}?ticket_id={seat['id']}").text
    assert "Nobody can wait for this ticket at the moment" in page and "<form" not in page
    refused = send(PATH, {"ticket_id": seat["id"], "email": "ada@example.org"})
    assert refused.status_code == 409
    for path in (PATH, f"{PATH}?ticket_id=", f"{PATH}?ticket_id=%00", "/acme/none/waiting-list"):
        assert api.get(path).status_code == 404


def test_an_offer_is_shown_until_it_ends(app, acme, seat, holder):
    entry = wait(acme, seat, "ada@example.org")
    free(acme, holder)
    offer(app)
    page = shown(app, entry)
    order = buyer_of(acme, entry)
    assert f"/o/{order.intent['id']}." in page and "Your turn" in page
    assert "If you have paid already" in page
    order.purchase()
    offer(app)
    page = shown(app, entry)
    assert "You have your tickets" in page and f"/o/{order.intent['id']}." in page
    assert press(app, entry, "leave").status_code == 409


def test_an_offer_that_was_not_taken_says_so(app, acme, seat, holder):
    entry = wait(acme, seat, "ada@example.org")
    free(acme, holder)
    offer(app)
    buyer_of(acme, entry).cancel()
    WaitingListEntry.update(status="expired").where(WaitingListEntry.id == entry.id).execute()
    assert "were not taken in time" in shown(app, entry)


def test_the_questions_of_the_order_are_asked_and_block_nothing(app, acme, seat, holder):
    asked = ask_question(acme, seat["event_id"], question="Meal?", required=True, ask="order")
    entry = wait(acme, seat, "ada@example.org")
    free(acme, holder)
    offer(app)
    page = shown(app, entry)
    field = f"answers.{asked['identifier']}"
    assert "Meal?" in page and f'name="{field}"' in page
    refused = press(app, entry, "answers", **{field: ""})
    assert refused.status_code == 422 and Answer.select().count() == 0
    assert buyer_of(acme, entry).purchase().status_code == 200
    for value in ("Soup", "Cake"):  # only the first time counts
        assert press(app, entry, "answers", **{field: value}).status_code == 303
    assert Answer.get().value == "Soup"
    assert "Meal?" not in shown(app, entry)


def test_who_has_no_secret_sees_no_place(api, app, acme, seat, holder):
    entry = wait(acme, seat, "ada@example.org")
    path = page_of(entry)
    for wrong in (path[:-1], path[:-1] + "x", f"/_w/{entry.id}", f"/_w/{entry.id}.", "/_w/x.y"):
        assert api.get(wrong).status_code == 404
    assert api.client.post(f"{path}/leave").status_code == 403  # another site's form
    assert status(entry) == "waiting"


def test_the_place_moves_up(app, acme, seat, holder):
    first, second = wait(acme, seat, "ada@example.org"), wait(acme, seat, "bob@example.org")
    assert "You are number 2" in shown(app, second)
    assert press(app, first, "leave").status_code == 303
    assert "You are number 1" in shown(app, second)


def test_a_list_that_has_closed_says_so(app, acme, seat, holder):
    entry = wait(acme, seat, "ada@example.org")
    soon = (datetime.now(UTC) + timedelta(minutes=50)).isoformat()
    path = f"{acme.path}/events/{seat['event_id']}/tickets/{seat['id']}"
    assert acme.api().patch(path, {"sales_end_at": soon}).status_code == 200
    offer(app)
    assert "The waiting list is closed" in shown(app, entry)
