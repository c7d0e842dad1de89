"""The forms of an order's page: what they do, once, and what they refuse."""

import re

import pytest

from tests.support.admissions import FREE, admissions_of
from tests.support.factories import CHAIN, PRICE, Api, Buyer, worker_once
from tests.support.order_pages import (
    SAME_ORIGIN,
    key_in,
    link,
    press,
    read,
    show,
    status,
    text_of,
)
from tests.support.refunds import FRIEND_ADDRESS, pass_hours
from tests.support.stopped_clock import StoppedClock
from ticketing import clock, ids
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from tools import anvil
from tools.anvil import SECOND_CHAIN_ID

FORMS = (
    "purchase",
    "cancel",
    "hold",
    "chain",
    "refund-address",
    "email",
    "again",
    "demo-payment",
)
NEVER = "0x" + "0" * 40


@pytest.fixture
def buyer(acme, node):
    """A buyer with an order of 5 USDC. The worker has read the chain once."""
    buyer = acme.buyer(acme.ticket(), buyer={"name": "Ada", "email": "ada@example.org"})
    worker_once(acme.app)
    return buyer


@pytest.fixture
def owed(buyer, node):
    """A buyer who is owed 2 USDC."""
    buyer.pay(node, 2_000_000)
    pass_hours(node, 1)
    worker_once(buyer.organizer.app)
    return buyer


def buyer_at(acme, path):
    """The buyer whose page has this path."""
    intent_id, _, secret = path.removeprefix("/o/").partition(".")
    return Buyer(acme, {"id": intent_id, "client_secret": secret})


def balance(node, address):
    question = {"to": anvil.TOKEN_ADDRESS, "data": f"0x70a08231{address[2:].lower():0>64}"}
    return int(node.rpc("eth_call", question, "latest"), 16)


def test_i_have_paid_looks_at_the_chain_at_once(buyer, node):
    buyer.pay(node)
    answer = press(buyer, "purchase")
    assert (answer.status_code, answer.location) == (303, link(buyer))
    assert status(show(buyer)) == "Paid"


def test_i_have_paid_before_the_payment_is_seen_leads_back_to_the_page(buyer):
    answer = press(buyer, "purchase")
    assert (answer.status_code, answer.location) == (303, f"{link(buyer)}#looked")
    assert 'id="looked"' in show(buyer)


def test_i_have_paid_says_when_the_chain_cannot_be_seen(bad_node, acme):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    bad_node.go_away()
    answer = press(buyer, "purchase")
    assert answer.status_code == 503 and answer.headers["Retry-After"]
    said = text_of(answer.text)
    assert "We cannot see the network at the moment. Nothing is lost. Try again." in said
    assert f'content="10;url={link(buyer)}"' in answer.text


@pytest.mark.parametrize("ended", ["canceled", "expired"])
def test_i_have_paid_for_an_ended_order_leads_back_to_the_page(buyer, node, ended):
    if ended == "canceled":
        assert buyer.cancel().status_code == 200
    else:
        pass_hours(node, 1)
        worker_once(buyer.organizer.app)
    answer = press(buyer, "purchase")
    assert (answer.status_code, answer.location) == (303, link(buyer))


def test_it_cancels(acme, buyer):
    for _ in range(2):
        answer = press(buyer, "cancel")
        assert (answer.status_code, answer.location) == (303, link(buyer))
    assert buyer.now()["status"] == "canceled"


def test_it_orders_the_same_again_once(acme, buyer):
    press(buyer, "cancel")
    key = key_in(show(buyer))
    answers = [press(buyer, "again", idempotency_key=key) for _ in range(2)]
    assert [each.status_code for each in answers] == [303, 303]
    assert answers[0].location == answers[1].location != link(buyer)
    again = buyer_at(acme, answers[0].location)
    assert status(show(again)) == "Waiting for your payment"
    first, second = PaymentIntent.select().order_by(PaymentIntent.id)
    for name in ("event_id", "items", "quantity", "buyer_email", "buyer_name", "held_by"):
        assert getattr(second, name) == getattr(first, name)


def test_an_order_that_cannot_be_repeated_says_why(acme, buyer):
    press(buyer, "cancel")
    key = key_in(show(buyer))
    event, ticket = buyer.intent["event_id"], buyer.intent["ticket_id"]
    path = f"{acme.path}/events/{event}/tickets/{ticket}"
    assert acme.api().post(f"{path}/status", {"status": "canceled"}).status_code == 200
    answer = press(buyer, "again", idempotency_key=key)
    assert answer.status_code == 409
    assert "The sale of this ticket has ended." in text_of(answer.text)
    assert "/again" not in show(buyer)


class TestTwoNetworks:
    """The first network is the local one. The buyer chose the second one."""

    @pytest.fixture
    def ended(self, node, second_node, acme):
        ticket = acme.ticket()
        self.path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
        networks = {"chain_ids": [CHAIN, SECOND_CHAIN_ID]}
        assert acme.api("write").patch(self.path, networks).status_code == 200
        buyer = acme.buyer(ticket, chain_id=SECOND_CHAIN_ID)
        press(buyer, "cancel")
        return buyer

    def test_an_order_made_again_is_on_the_same_network(self, acme, ended):
        answer = press(ended, "again", idempotency_key=key_in(show(ended)))
        assert buyer_at(acme, answer.location).now()["chain_id"] == SECOND_CHAIN_ID

    def test_without_this_network_the_buyer_chooses_on_the_page_of_the_event(self, acme, ended):
        key = key_in(show(ended))
        networks = {"chain_ids": [CHAIN]}
        assert acme.api("write").patch(self.path, networks).status_code == 200
        answer = press(ended, "again", idempotency_key=key)
        assert (answer.status_code, answer.location) == (303, "/acme/launch-night")
        assert PaymentIntent.select().count() == 1


def test_orders_made_again_count_as_all_orders_of_an_address(environ, request, monkeypatch):
    StoppedClock(monkeypatch, clock.now())  # one minute
    environ["RATE_LIMIT_PREFLIGHT"] = "1"
    acme = request.getfixturevalue("acme")
    buyer = acme.buyer(acme.ticket(**FREE))
    answer = press(buyer, "again", idempotency_key="k" * 32)
    assert answer.status_code == 429
    assert "Too many people of your network are here." in text_of(answer.text)
    assert PaymentIntent.select().count() == 1


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("", "Please fill this in."),
        ("0x12", "This is not a complete address."),
        (FRIEND_ADDRESS.replace("b906", "B906"), "One character of this address is wrong"),
        ("vitalik.eth", "This is a name. Write the address behind it"),
        ("<script>", "This is not a complete address."),
        (NEVER, "Nobody owns this address."),
        (anvil.TOKEN_ADDRESS, "This is the address of the token"),
    ],
)
def test_a_wrong_address_is_refused_at_its_field(owed, address, said):
    answer = press(owed, "refund-address", address=address)
    assert answer.status_code == 422
    assert re.search(rf'id="address-error">{said}', answer.text)
    assert "<script>" not in answer.text
    assert owed.now()["refund_address"] is None


def test_the_address_of_an_order_is_refused(owed):
    answer = press(owed, "refund-address", address=owed.intent["address"])
    assert answer.status_code == 422
    assert "This is where an order is paid." in text_of(answer.text)


def test_the_address_can_be_changed(owed):
    for address in (FRIEND_ADDRESS, FRIEND_ADDRESS, anvil.BUYER):
        answer = press(owed, "refund-address", address=f" {address} ")
        assert (answer.status_code, answer.location) == (303, link(owed))
        assert address in read(owed)
    assert FRIEND_ADDRESS not in read(owed)


def test_the_demo_wallet_pays_what_is_due_once(buyer, node):
    buyer.pay(node, 2_000_000)
    worker_once(buyer.organizer.app)
    key = key_in(show(buyer))
    for _ in range(2):
        answer = press(buyer, "demo-payment", idempotency_key=key)
        assert (answer.status_code, answer.location) == (303, link(buyer))
    assert status(show(buyer)) == "Paid"
    assert balance(node, buyer.intent["address"]) == PRICE


def test_another_form_does_not_pay_a_paid_order_again(buyer, node):
    for number in range(2):
        assert press(buyer, "demo-payment", idempotency_key=f"{number:032}").status_code == 303
    assert balance(node, buyer.intent["address"]) == PRICE


def test_the_demo_wallet_pays_on_no_other_chain(buyer, node):
    key = key_in(show(buyer))
    PaymentIntent.update(chain_id=8453).execute()
    OrderAccount.update(chain_id=8453).execute()
    assert "demo" not in show(buyer)
    answer = press(buyer, "demo-payment", idempotency_key=key)
    assert answer.status_code == 404
    assert balance(node, buyer.intent["address"]) == 0


def test_the_demo_wallet_pays_by_no_node_of_another_chain(environ, starts_processes, request):
    with anvil.Anvil(chain_id=8453) as other:
        anvil.ensure_token(other.rpc)
        environ["RPC_URL_31337"] = other.url
        acme = request.getfixturevalue("acme")
        buyer = acme.buyer(acme.ticket())
        answer = press(buyer, "demo-payment", idempotency_key="k" * 32)
        assert answer.status_code == 503
        assert balance(other, buyer.intent["address"]) == 0


def test_there_is_no_demo_wallet_for_free_tickets(acme):
    buyer = acme.buyer(acme.ticket(**FREE))
    assert "demo" not in show(buyer)
    answer = press(buyer, "demo-payment", idempotency_key="k" * 32)
    assert answer.status_code == 404


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}])
def test_forms_of_other_sites_are_refused(acme, form, headers):
    buyer = acme.buyer(acme.ticket())
    before = buyer.now()
    fields = {"idempotency_key": "k" * 32, "address": FRIEND_ADDRESS}
    assert press(buyer, form, headers=headers, **fields).status_code == 403
    assert buyer.now() == before


@pytest.mark.parametrize("form", ["again", "demo-payment"])
def test_a_form_without_its_key_is_refused(buyer, form):
    assert press(buyer, form).status_code == 422
    assert press(buyer, form, idempotency_key="short").status_code == 422


def wrong_links(acme, neighbour):
    ours, theirs = (each.buyer(each.ticket(**FREE)) for each in (acme, neighbour))
    unknown = ids.new(ids.INTENT)
    return [
        f"/o/{ours.intent['id']}.{theirs.intent['client_secret']}",
        f"/o/{ours.intent['id']}.{ours.intent['client_secret'][:-1]}",
        f"/o/{ours.intent['id']}",
        f"/o/{unknown}.{ours.intent['client_secret']}",
        "/o/.",
        "/o/%00.%00",
    ]


def test_a_wrong_link_looks_like_an_unknown_order(acme, neighbour, api):
    shown = set()
    for path in wrong_links(acme, neighbour):
        for method, url in [("GET", path), *(("POST", f"{path}/{form}") for form in FORMS)]:
            page = api.client.open(url, method=method, headers=SAME_ORIGIN, data={})
            assert page.status_code == 404
            shown.add(re.sub("name the request [^.]*", "", page.text))
    assert len(shown) == 1
    assert "Acme" not in shown.pop()


def test_opening_the_page_changes_nothing_and_nobody_stores_it(acme):
    buyer = acme.buyer(acme.ticket(**FREE))
    client = Api(acme.app.test_client())
    for method in ("GET", "HEAD"):
        page = client.client.open(link(buyer), method=method)
        assert page.status_code == 200
        assert page.headers["Cache-Control"] == "no-store"
        assert page.headers["X-Robots-Tag"] == "noindex"
        assert page.headers["Referrer-Policy"] == "same-origin"
        assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    for form in FORMS:
        assert client.get(f"{link(buyer)}/{form}").status_code == 405
    assert buyer.now()["status"] == "awaiting_payment"
    assert admissions_of(buyer) == []


def test_the_page_is_small(buyer):
    page = show(buyer)
    files = set(re.findall(r'(?:src|href)="(/_assets/[^"]+)"', page))
    assert len(files) == 4
    total = len(page.encode())
    for path in files:
        with Api(buyer.organizer.app.test_client()).get(path) as file:
            total += len(file.data)
    assert total < 60 * 1024
