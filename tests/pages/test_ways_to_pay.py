"""The three ways to pay on the page of an order, without a script."""

import re

import pytest

from tests.support.factories import Api, new_organizer, worker_once
from tests.support.order_pages import SAME_ORIGIN, link, press, show, status, text_of
from tests.support.refunds import pass_hours
from ticketing.chain.registry import REGISTRY
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType

BASE = REGISTRY[8453]


@pytest.fixture
def buyer(acme, node):
    """A buyer with an order of 5 USDC. The worker has read the chain once."""
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    return buyer


def shown(buyer, way):
    page = Api(buyer.organizer.app.test_client()).get(f"{link(buyer)}?way={way}")
    assert page.status_code == 200
    return page.text


def current(page):
    """The ids of the ways that are chosen, of all in their order."""
    ways = re.findall(r'id="to-(\w+)"[^>]*?( aria-current="true")?>', page)
    assert [name for name, _ in ways] == ["browser", "phone", "exchange"]
    return [name for name, is_chosen in ways if is_chosen]


def on_base(buyer, **columns):
    """Let an order be one on Base, which exchanges and wallets know."""
    chain = {"chain_id": 8453, "token_address": BASE.token_address}
    PaymentIntent.update(**chain, **columns).execute()
    OrderAccount.update(chain).execute()


def test_each_way_has_an_address_of_its_own(buyer):
    assert current(show(buyer)) == current(shown(buyer, "phone")) == ["phone"]
    assert current(shown(buyer, "browser")) == ["browser"]
    assert current(shown(buyer, "exchange")) == ["exchange"]
    assert current(shown(buyer, "nonsense")) == ["phone"]
    for way in ("browser", "phone", "exchange"):
        refresh = f'content="10;url={link(buyer)}?way={way}"'
        assert refresh in shown(buyer, way)


def test_an_exchange_gets_four_steps_and_the_late_rule(buyer):
    on_base(buyer)
    said = text_of(shown(buyer, "exchange"))
    steps = (
        "choose USDC",
        "not USDC.e or USDT",
        BASE.token_address,
        "Choose the network Base",
        "Some exchanges write: Base Mainnet .",
        "Paste this address",
        "Let exactly 5.00 USDC arrive",
        "so that exactly 5.00 USDC arrives",
        "Slow is fine.",
        "while some are left at this price",
    )
    places = [said.index(each) for each in steps]
    assert places == sorted(places)
    page = shown(buyer, "exchange")
    assert page.count("<li><h3>") == 4
    assert f'data-copy="{buyer.intent["address"]}"' in page and 'data-copy="5.00"' in page
    assert "Pay by hand" not in said


def test_the_late_rule_ends_with_the_sale_and_is_not_said_after_it(buyer):
    intent = PaymentIntent.get()
    later = re.search(
        r'<time datetime="([^"]+)" data-local data-with-day', shown(buyer, "exchange")
    )[1]
    day_after = intent.expires_at.isoformat()[:10]
    assert later[:10] > day_after
    TicketType.update(sales_end_at=intent.expires_at).execute()
    assert "Slow is fine" not in shown(buyer, "exchange")


def test_a_late_rest_buys_nothing_so_slow_is_not_said_to_be_fine(buyer, node):
    buyer.pay(node, 2_000_000)
    worker_once(buyer.organizer.app)
    page = shown(buyer, "exchange")
    assert status(page) == "Received 2.00, still to pay 3.00"
    assert "Slow is fine" not in page


def test_choosing_the_exchange_holds_the_order_longer_once(buyer):
    page = show(buyer)
    assert f'action="{link(buyer)}/hold"' in page
    before = PaymentIntent.get().expires_at
    answer = press(buyer, "hold")
    assert (answer.status_code, answer.location) == (303, f"{link(buyer)}?way=exchange")
    after = PaymentIntent.get().expires_at
    assert after > before
    page = shown(buyer, "exchange")
    assert "/hold" not in page and current(page) == ["exchange"]
    press(buyer, "hold")
    assert PaymentIntent.get().expires_at == after


def test_opening_a_way_holds_nothing(buyer):
    before = PaymentIntent.get().expires_at
    for way in ("browser", "phone", "exchange"):
        shown(buyer, way)
    assert PaymentIntent.get().expires_at == before


def test_it_says_when_the_order_cannot_be_held_longer(acme, node):
    ticket = acme.ticket(capacity=4)
    client = Api(acme.app.test_client())
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "quantity": 1}
    made = client.post(f"{acme.checkout}/preflight", body)
    acme.buyer(ticket, quantity=3)
    path = f"/o/{made.json['id']}.{made.json['client_secret']}"
    answer = client.client.post(f"{path}/hold", data={}, headers=SAME_ORIGIN)
    assert answer.status_code == 409
    assert "These tickets cannot be held longer." in text_of(answer.text)
    assert current(answer.text) == ["exchange"] and "Let exactly" in answer.text
    assert 'data-query="?way=exchange"' in answer.text  # the script shows the same way again


def test_an_order_that_has_ended_leads_to_its_page(buyer, node):
    pass_hours(node, 1)
    worker_once(buyer.organizer.app)
    answer = press(buyer, "hold")
    assert answer.status_code == 409 and status(answer.text) == "Expired"


def test_looking_again_keeps_the_way(buyer):
    page = shown(buyer, "exchange")
    action = re.search(r'action="([^"]+/purchase[^"]*)"', page)[1]
    answer = buyer.organizer.app.test_client().post(action, data={}, headers=SAME_ORIGIN)
    assert answer.location == f"{link(buyer)}?way=exchange#looked"


def test_links_of_wallets_carry_the_payment_and_no_secret(buyer):
    on_base(buyer)
    urls = re.findall(r'href="(https://link\.[^"]+)" rel="noopener noreferrer"', show(buyer))
    token, address = BASE.token_address, buyer.intent["address"]
    assert [each.replace("&amp;", "&") for each in urls] == [
        f"https://link.metamask.io/send/{token}@8453/transfer?address={address}&uint256=5000000",
        f"https://link.trustwallet.com/send?asset=c8453_t{token}&address={address}&amount=5.00",
    ]
    secret = buyer.intent["client_secret"]
    assert not any(secret in each or buyer.intent["id"] in each for each in urls)


def test_a_wallet_is_told_of_the_public_node_of_the_registry(buyer):
    assert "data-network" not in shown(buyer, "browser")
    on_base(buyer)
    page = shown(buyer, "browser")
    assert "https://mainnet.base.org" in page and "https://basescan.org" in page
    assert "0x2105" in page


def test_a_wallet_is_told_of_the_public_node_of_the_operator(environ, node, request):
    environ["WALLET_RPC_URL_31337"] = "https://node.example.org/public"
    acme = request.getfixturevalue("acme")
    page = shown(acme.buyer(acme.ticket()), "browser")
    assert "https://node.example.org/public" in page
    assert node.url not in page, "the operator's own node is nobody's business"


def test_the_summary_says_what_is_bought(acme):
    buyer = acme.buyer(acme.ticket(), quantity=2)
    said = text_of(show(buyer))
    assert "Launch Night 2 tickets" in said
    assert re.search("2 \u00d7 .*? 10.00 Total 10.00 USDC", said)
    assert "USDC is a digital dollar: 1 USDC is worth about 1 US dollar." in said


def test_the_ways_of_another_organizer_are_none_of_ours(app, acme):
    other = new_organizer(app, "other")
    buyer = other.buyer(other.ticket())
    path = f"{acme.checkout}/intents/{buyer.intent['id']}/hold"
    assert buyer.api.post(path).status_code == 404


def test_without_a_facilitator_nobody_is_offered_to_pay_without_a_fee(buyer):
    assert "gasless" not in show(buyer) and "without network fee" not in show(buyer)
