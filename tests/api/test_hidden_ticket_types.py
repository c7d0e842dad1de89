"""What is hidden without a voucher is nowhere to be seen without one."""

import re

import pytest

from tests.support.factories import Api
from tests.support.mcp import message
from tests.support.x402 import Facilitator

CODE, NAME, CLOSED = "OPEN-SESAME", "Invisible Lounge", "Members"


@pytest.fixture
def facilitator():
    with Facilitator() as running:
        yield running


@pytest.fixture
def environ(environ, facilitator):
    x402 = {"X402_FACILITATOR_URL_31337": facilitator.url}
    return {**environ, **x402, "PUBLIC_URL": "http://localhost"}


@pytest.fixture
def shop(acme):
    event = acme.event()
    acme.ticket(event, name="Standing")
    closed = acme.ticket(event, name=CLOSED, price_amount=0, chain_id=None, require_voucher=True)
    hidden = acme.ticket(event, name=NAME, hide_without_voucher=True)
    voucher = {"code": CODE, "price_mode": "set", "value": 1_000_000, "max_usages": 9}
    path = f"{acme.path}/events/{event['id']}/vouchers"
    made = acme.api().post(path, {**voucher, "ticket_ids": [hidden["id"], closed["id"]]})
    assert made.status_code == 201, made.json
    return event, closed, hidden


def call(api, tool, arguments, **options):
    sent = message("tools/call", {"name": tool, "arguments": arguments})
    return api.post("/mcp", sent, **options)


def page(acme, event, query=""):
    return acme.app.test_client().get(f"/{acme.slug}/{event['slug']}{query}")


def surfaces(acme, event, closed, hidden):
    """Yield each answer to somebody without a code."""
    anybody = Api(acme.app.test_client())
    for reference in (event["id"], event["slug"]):
        for path in (
            f"events/{reference}",
            f"events/{reference}.ics",
            f"events/{reference}/tickets",
        ):
            yield anybody.get(f"{acme.public}/{path}")
            yield anybody.get(f"{acme.public}/{path}?voucher={CODE}")
    yield anybody.get(f"{acme.public}/events")
    for path in ("/", f"/{acme.slug}", "/llms.txt", "/robots.txt", "/openapi.json"):
        yield anybody.get(path)
    yield page(acme, event)
    yield page(acme, event, "?other=x")
    yield page(acme, event, "?voucher=WRONG-CODE")
    yield page(acme, event, "?voucher=")
    for tool, arguments in (
        ("list_events", {}),
        ("get_event", {"event_id": event["id"]}),
        ("list_tickets", {"event_id": event["id"]}),
    ):
        yield call(anybody, tool, {"tenant": acme.slug, **arguments})


def test_it_is_on_no_surface(acme, shop):
    hidden = shop[-1]
    for _ in range(2):
        for answer in surfaces(acme, *shop):
            assert answer.status_code < 500
            text = answer.get_data(as_text=True)
            assert NAME not in text and hidden["id"] not in text, answer.request.url


def test_its_id_is_that_of_an_unknown_one(acme, shop):
    event, closed, hidden = shop
    anybody = Api(acme.app.test_client())

    def asked(ticket_id):
        x402 = f"/v1/x402/tenants/{acme.slug}/tickets/{ticket_id}/orders"
        order = {"event_id": event["id"], "ticket_id": ticket_id}
        headers = {"X-Request-ID": "same"}
        yield anybody.post(f"{acme.checkout}/preflight", order, headers=headers)
        yield anybody.get(x402, headers=headers)
        yield anybody.post(x402, {}, headers=headers)
        for tool in ("quote", "order_ticket"):
            yield call(anybody, tool, {"tenant": acme.slug, **order}, headers=headers)

    unknown = "tkt_" + "0" * 26
    same = [answer.get_data() for answer in asked(hidden["id"])]
    assert same == [answer.get_data() for answer in asked(unknown)]
    answers = [answer.get_data(as_text=True) for answer in asked(closed["id"])]
    assert ["voucher_required" in each for each in answers] == [True, False, True, True, True]


def test_a_page_that_was_made_with_a_code_is_for_its_visitor_only(acme, shop):
    event, _, _ = shop
    other_names = ("?voucher=", "?%76oucher=", "?a=b&voucher=", "?vouche%72=")
    for _ in range(2):
        for begin in other_names:
            opened = page(acme, event, begin + CODE)
            assert (opened.status_code, opened.headers["Cache-Control"]) == (200, "no-store")
            assert opened.headers["X-Robots-Tag"] == "noindex"
            assert NAME in opened.text
            assert NAME not in re.findall(r"ld\+json\">(.*?)</script>", opened.text)[0]
            plain = page(acme, event)
            assert NAME not in plain.text
            assert plain.headers["Cache-Control"] == "private, no-cache"


def test_a_page_with_a_code_shows_both_prices_and_keeps_the_code(acme, shop):
    event, _, _ = shop
    plain, opened = page(acme, event).text, page(acme, event, f"?voucher={CODE.lower()}").text
    assert "Only with a code" in plain
    assert "I have a code</summary>" in plain
    assert "Only with a code" not in opened
    assert len(re.findall("<s>.*?</s>", opened)) == 1
    assert f'<input type="hidden" name="voucher" value="{CODE}">' in opened

    wrong = page(acme, event, "?voucher=WRONG-CODE")
    assert wrong.status_code == 409
    assert '<p class="field-error" id="voucher-error">' in wrong.text
    assert '<details class="more" open>' in wrong.text
    assert 'value="WRONG-CODE"' in wrong.text


def test_a_page_without_vouchers_asks_for_no_code(acme):
    event = acme.event()
    acme.ticket(event)
    assert "I have a code" not in page(acme, event).text
    acme.api().post(f"{acme.path}/events/{event['id']}/vouchers", {})
    assert "I have a code" in page(acme, event).text


def test_what_only_vouchers_open_is_told_to_its_organizer(acme, admin):
    ticket = acme.ticket(price_amount=0, chain_id=None, hide_without_voucher=True)
    assert ticket["require_voucher"]
    assert ticket["obstacles"] == ["voucher_only"]
    path = f"{acme.path}/events/{ticket['event_id']}"
    assert admin.get(path).json["obstacles"] == ["voucher_only"]
    admin.patch(f"{path}/tickets/{ticket['id']}", {"require_voucher": False})
    assert admin.get(f"{path}/tickets/{ticket['id']}").json["require_voucher"]
    both = {"require_voucher": False, "hide_without_voucher": False}
    assert admin.patch(f"{path}/tickets/{ticket['id']}", both).json["obstacles"] == []
