"""Questions in the order form and on the page of a ticket, and how many tickets lack answers."""

import re

import pytest
from playwright.sync_api import expect

from tests.pages.conftest import key_in
from tests.support.admissions import void
from tests.support.buying import event_path
from tests.support.factories import in_days
from tests.support.holders import bought
from tests.support.order_pages import show
from tests.support.questions import ANSWERS, ask, of_every_type
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.questions import Answer
from tools.headless import PHONE

PATH = "/acme/summer-concert"
BIDI = "\u202eevil <b>"


def fields(questions):
    """What a browser sends for ANSWERS."""
    sent = {}
    for each in questions:
        name, value = f"answers.{each['identifier']}", ANSWERS[each["identifier"]]
        by_label = {one["label"]: one["id"] for one in each["options"]}
        if each["type"] == "multiple_choice":
            sent |= {f"{name}.{by_label[label]}": "on" for label in value}
        elif each["type"] == "choice":
            sent[name] = by_label[value]
        elif each["type"] == "boolean":
            sent[name] = "yes" if value else "no"
        else:
            sent[name] = str(value).replace("\n", "\r\n")
    return sent


def order(api, send, ticket, **more):
    form = {"ticket_id": ticket["id"], "quantity": "1", "idempotency_key": key_in(api.get(PATH))}
    return send(f"{PATH}/order", {**form, **more})


def test_the_order_form_asks_and_saves_every_type(acme, event, free, api, send):
    questions = of_every_type(acme, event["id"])
    page = api.get(PATH).text
    for each in questions:
        assert f'name="answers.{each["identifier"]}' in page
    assert order(api, send, free, **fields(questions)).status_code == 303
    made = PaymentIntent.select().get()
    found = acme.api().get(f"{acme.path}/intents/{made.id}").json
    assert found["answers"] == ANSWERS


def test_a_wrong_answer_is_marked_and_the_rest_is_kept(acme, event, free, api, send):
    questions = of_every_type(acme, event["id"])
    sent = fields(questions) | {"answers.number": "many", "answers.text": ""}
    again = order(api, send, free, **sent)
    assert again.status_code == 422
    assert 'id="answers.number-error"' in again.text and "Please write a number." in again.text
    assert 'id="answers.text-error"' in again.text and 'value="many"' in again.text
    for name, value in sent.items():
        if value == "on":
            assert re.search(rf'name="{re.escape(name)}" value="on" checked', again.text)
    chosen = sent["answers.choice"]
    assert f'value="{chosen}" selected' in again.text
    assert "Two \u202e three</textarea>" in again.text
    assert not PaymentIntent.select().exists()


def test_a_question_for_other_tickets_is_not_in_the_way(acme, event, free, api, send):
    shirt = acme.ticket(event, name="Shirt", price_amount=0, chain_id=None)
    ask(acme, event["id"], identifier="size", required=True, ticket_ids=[shirt["id"]])
    page = api.get(PATH).text
    assert "only for" in page
    assert not re.search(r'<input id="answers\.size"[^>]* required', page)
    assert order(api, send, free, **{"answers.size": ""}).status_code == 303
    assert order(api, send, shirt, **{"answers.size": ""}).status_code == 422
    assert order(api, send, shirt, **{"answers.size": "M"}).status_code == 303


def test_what_people_wrote_cannot_change_the_page(acme, event, free, api):
    option = {"type": "choice", "options": [{"label": BIDI}]}
    ask(acme, event["id"], question=BIDI, help_text=BIDI, **option)
    ask(acme, event["id"], question=BIDI, type="multiple_choice", options=[{"label": BIDI}])
    page = api.get(PATH).text
    assert "evil <b>" not in page and page.count("<bdi>\u202eevil &lt;b&gt;</bdi>") == 4


def test_the_ticket_asks_first_and_lets_answers_be_changed(acme, event, free, api, send):
    (held,) = bought(acme, free)
    assert "questions" not in api.get(f"/t/{held.code}").text
    questions = of_every_type(acme, event["id"], ask="attendee")
    path = f"/t/{held.code}"
    page = api.get(path).text
    assert page.index('id="questions"') < page.index('class="pass ticket"')
    wrong = send(f"{path}/answers", fields(questions) | {"answers.date": ""})
    assert wrong.status_code == 422 and 'id="answers.date-error"' in wrong.text
    assert 'value="-1.5"' in wrong.text and not Answer.select().exists()
    saved = send(f"{path}/answers", fields(questions))
    assert (saved.status_code, saved.headers["Location"]) == (303, f"{path}#answered")
    assert held.get().json["answers"] == ANSWERS
    page = api.get(path).text
    assert page.index('class="pass ticket"') < page.index("Change answers")
    assert 'value="2000-02-29"' in page and 'value="no" checked' in page
    here = f"{acme.path}/events/{event['id']}"
    assert acme.api().patch(here, {"doors_open_at": in_days(-1)}).status_code == 200
    assert "Change answers" not in api.get(path).text
    late = send(f"{path}/answers", fields(questions))
    assert late.status_code == 409 and "until the doors open" in late.text


def test_the_order_says_how_many_tickets_lack_answers(acme, event, free, api, send):
    ask(acme, event["id"], ask="attendee", required=True, identifier="diet")
    buyer = acme.buyer(free, quantity=5)
    admissions = buyer.purchase().json["admissions"]
    assert "5 of 5 tickets still need answers." in show(buyer)
    send(f"/t/{admissions[0]['code']}/answers", {"answers.diet": "Cake"})
    assert "4 of 5 tickets still need answers." in show(buyer)
    void(acme, admissions[1]["id"])
    _transfer(acme, admissions[2])
    assert "2 of 3 tickets still need answers." in show(buyer)
    for each in admissions[3:]:
        send(f"/t/{each['code']}/answers", {"answers.diet": "Cake"})
    assert "still need answers" not in show(buyer)


def _transfer(acme, admission):
    api = acme.with_headers({"Authorization": f"Bearer {admission['code']}"})
    path = f"{acme.checkout}/admissions/{admission['id']}/transfer"
    offer = api.post(path).json["offer"]
    assert api.post(f"{acme.checkout}/transfers/accept", {"offer": offer}).status_code == 200


def test_an_order_again_has_the_answers_or_asks_for_the_new_ones(acme, event, free, api, send):
    ask(acme, event["id"], identifier="why", required=True)
    buyer = acme.buyer(free, answers={"why": "Fun"})
    buyer.cancel()
    page = show(buyer)
    again = re.search(r'action="(/o/[^"]+/again)"', page)[1]
    key = re.search(r'name="idempotency_key" value="([^"]+)"', page)[1]
    made = send(again, {"idempotency_key": key})
    assert made.status_code == 303 and made.headers["Location"].startswith("/o/")
    assert [each.value for each in Answer.select()] == ["Fun", "Fun"]
    ask(acme, event["id"], identifier="new", required=True)
    assert send(again, {"idempotency_key": "2" * 32}).headers["Location"] == PATH


@pytest.mark.parametrize("scripts", [False, True], ids=["no scripts", "scripts"])
def test_a_person_is_asked_in_a_browser(visit, stack, remote, scripts):
    ticket = remote.ticket(price_amount=0, chain_id=None)
    path = f"{remote.path}/events/{ticket['event_id']}/questions"
    body = {"type": "number", "required": True}
    remote.send("POST", path, {**body, "question": "Your age?", "ask": "order"})
    remote.send("POST", path, {**body, "question": "Your size?", "ask": "attendee"})
    page = visit(stack.url, **{**PHONE, "java_script_enabled": scripts})
    page.goto(event_path(remote, ticket))
    page.get_by_label("Your age?").fill("old")
    page.get_by_label("Name").fill("Ada")
    visit.expect("status of 422")
    page.get_by_role("button", name="Order").click()
    expect(page.get_by_text("Please write a number.")).to_be_in_viewport()
    expect(page.get_by_label("Name")).to_have_value("Ada")
    page.get_by_label("Your age?").fill("33")
    page.get_by_role("button", name="Order").click()
    page.wait_for_url("**/o/*")
    page.get_by_role("button").first.click()
    page.locator(".pass h2 a").first.click()
    expect(page.get_by_label("Your size?")).to_be_in_viewport()
    page.get_by_label("Your size?").fill("180,5")
    page.get_by_role("button", name="Save the answers").click()
    expect(page.get_by_text("Your answers are saved.")).to_be_in_viewport()
    expect(page.get_by_text("Change answers")).to_be_visible()
