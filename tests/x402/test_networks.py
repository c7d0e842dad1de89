"""An order with several networks: one of them is paid, once, and it becomes the order's home."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial

import pytest

from tests.support.carts import CHILD, family, items_of
from tests.support.databases import only_once
from tests.support.factories import CHAIN, PRICE, Api, worker_once
from tests.support.gasless import address_of, signed
from tests.support.mcp import call
from tests.support.order_pages import SAME_ORIGIN, status, text_of
from tests.support.races import at_once
from tests.support.refunds import FRIEND, account
from tests.support.relayer import held
from tests.support.x402 import TOKEN, Facilitator, Wallet, decoded, encoded, required
from ticketing import clock
from ticketing.application import configure
from ticketing.backoff import Backoff
from ticketing.config import load
from ticketing.errors import AlreadyPaying
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.x402 import SettlementState, X402Settlement
from ticketing.services.payments import home_choice, reconciliation, settlement
from ticketing.services.x402 import claims, payment_header
from tools import anvil
from tools.anvil import SECOND_CHAIN_ID as SECOND

pytestmark = pytest.mark.long

BOTH = [CHAIN, SECOND]
FRIEND_KEY = "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6"
"""Of the node's account FRIEND."""

HERE = {"Host": "tickets.example.org"}
KEY = {"Idempotency-Key": "an-order-of-my-agent-" + "0" * 20}


@pytest.fixture
def second_facilitator(environ, second_node) -> Iterator[Facilitator]:
    with Facilitator(second_node) as running:
        environ[f"X402_FACILITATOR_URL_{SECOND}"] = running.url
        environ[f"X402_FACILITATOR_TOKEN_{SECOND}"] = TOKEN
        yield running


@pytest.fixture
def app(facilitator, second_facilitator, app):
    return app


@pytest.fixture
def nodes_of(node, second_node):
    """Both local chains, with their nodes."""
    return {CHAIN: node, SECOND: second_node}


@pytest.fixture
def ticket(app, acme):
    made = acme.ticket(capacity=100, chain_ids=BOTH)
    worker_once(app)
    return made


@pytest.fixture
def price(api, path):
    """The response to the first request. There is no order yet."""
    return api.post(path)


@pytest.fixture
def impatient(monkeypatch):
    """The worker goes on at once with a transfer whose outcome is not known."""
    monkeypatch.setattr(claims, "BACKOFF", Backoff((timedelta(0),)))


def code(answer):
    return answer.status_code, answer.json["code"]


def offered(answer):
    """The networks of a 402, and what each asks for."""
    return [(int(each["network"][7:]), int(each["amount"])) for each in required(answer)["accepts"]]


def address(answer):
    """The address in a 402 of a price or an order. It is the same on all networks."""
    (found,) = {each["payTo"] for each in required(answer)["accepts"]}
    return found


def stored(answer):
    """The order as it is now, after all rules of the books were checked."""
    assert reconciliation.reconcile(None) == []
    return PaymentIntent.get(PaymentIntent.address == address(answer))


def received(answer, *nodes):
    """What arrived at the order's address on each node."""
    return [held(each, address(answer)) for each in nodes]


def send(node, answer, amount):
    """Pay by a transfer, from an account that has no tokens yet."""
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, account(node, FRIEND), amount)
    anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, address(answer), amount, sender=FRIEND)


class OrderPage:
    """The page of an order."""

    def __init__(self, app, order):
        self.client = app.test_client()
        self.path = f"/o/{order.json['intent']['id']}.{order.json['client_secret']}"

    def get(self, query=""):
        page = self.client.get(self.path + query, headers=HERE)
        assert page.status_code == 200, page.text
        return page.text

    def press(self, form, **fields):
        headers = HERE | SAME_ORIGIN
        return self.client.post(f"{self.path}/{form}", data=fields, headers=headers)


def test_every_network_with_a_facilitator_is_accepted_its_home_first(api, path, price, order):
    for each in (price, order):
        assert offered(each) == [(CHAIN, PRICE), (SECOND, PRICE)]
        assert len({option["extra"]["claim"] for option in required(each)["accepts"]}) == 1
    assert address(order) == order.json["intent"]["address"]
    assert address(price) != address(order)
    offer = api.get(path).json["offer"]
    assert offer["network"] == f"eip155:{CHAIN}"
    assert [each["network"] for each in offer["networks"]] == [f"eip155:{each}" for each in BOTH]


@pytest.mark.sql
@pytest.mark.parametrize("has_order", [False, True])
def test_the_network_of_the_payment_becomes_the_home(
    api,
    path,
    wallet,
    node,
    second_node,
    facilitator,
    second_facilitator,
    acme,
    ticket,
    make_order,
    has_order,
):
    order = make_order(path, headers=KEY) if has_order else api.post(path, headers=KEY)
    assert not has_order or stored(order).chain_id == CHAIN
    payment = wallet.header(required(order), SECOND)
    answer = api.post(path, headers=KEY | payment)
    assert answer.status_code == 200, answer.json
    assert (answer.json["status"], answer.json["chain_id"]) == ("confirmed", SECOND)
    receipt = decoded(answer.headers["PAYMENT-RESPONSE"])
    assert (receipt["network"], receipt["payer"]) == (f"eip155:{SECOND}", wallet.address)
    assert received(order, node, second_node) == [0, PRICE]
    assert (len(facilitator.asked), len(second_facilitator.asked)) == (0, 1)
    (sent,) = second_facilitator.asked
    assert sent["paymentRequirements"]["network"] == f"eip155:{SECOND}"
    assert stored(order).chain_id == SECOND and acme.stock(ticket) == (0, 1)
    # A repeat, with the payment or the key, or signed for the former home, pays nothing more.
    for headers in (payment, KEY, wallet.header(required(order), CHAIN)):
        again = api.post(path, headers=headers)
        assert (again.status_code, again.json["admissions"]) == (200, answer.json["admissions"])
    assert (len(facilitator.asked), len(second_facilitator.asked)) == (0, 1)


def test_several_items_are_paid_on_any_network_that_they_share(api, acme, app, wallet):
    adult, child, _ = family(acme, capacity=100)
    for each in (adult, child):
        here = f"{acme.path}/events/{each['event_id']}/tickets/{each['id']}"
        changed = {"capacity": 100, "chain_ids": BOTH}
        assert acme.api().patch(here, changed).status_code == 200
    worker_once(app)
    path = f"/v1/x402/tenants/{acme.slug}/events/{adult['event_id']}/orders"
    body = {"items": items_of((adult, 1), (child, 1))}
    order = api.post(path, body)
    assert offered(order) == [(CHAIN, PRICE + CHILD), (SECOND, PRICE + CHILD)]
    bought = api.post(path, body, headers=wallet.header(required(order), SECOND))
    assert (bought.status_code, bought.json["chain_id"]) == (200, SECOND)


@pytest.mark.parametrize("has_order", [False, True])
def test_a_network_that_was_not_read_a_moment_ago_is_not_accepted(
    api, path, wallet, make_order, has_order
):
    order = make_order(path) if has_order else api.post(path)
    payment = wallet.header(required(order), SECOND)
    long_ago = {ChainState.looked_at: clock.now() - timedelta(minutes=2)}
    ChainState.update(long_ago).where(ChainState.chain_id == SECOND).execute()
    assert offered(api.post(path)) == [(CHAIN, PRICE)]
    refused = api.post(path, headers=payment)
    assert code(refused) == (402, "payment_required")
    assert offered(refused) == [(CHAIN, PRICE)]
    assert (address(refused) == address(order)) == has_order
    assert [each.chain_id for each in PaymentIntent.select()] == [CHAIN] * has_order


def test_a_first_network_without_a_facilitator_is_no_home(
    app, environ, api, path, acme, ticket, wallet
):
    of_first = {f"X402_FACILITATOR_{name}_{CHAIN}" for name in ("URL", "TOKEN")}
    configure(app, load({name: environ[name] for name in environ.keys() - of_first}))
    assert api.get(path).json["offer"]["network"] == f"eip155:{SECOND}"
    price = api.post(path)
    assert offered(price) == [(SECOND, PRICE)]
    bought = api.post(path, headers=wallet.header(required(price)))
    assert (bought.status_code, bought.json["chain_id"]) == (200, SECOND)
    # An agent that orders by MCP gets another first network, and is told of x402 all the same.
    wanted = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "quantity": 1}
    here = Api(app.test_client(), HERE)
    made = call(here, "order_ticket", tenant=acme.slug, **wanted)
    assert (made["chain_id"], made["x402_url"]) == (CHAIN, f"https://tickets.example.org{path}")
    assert [each["chain_id"] for each in made["payment_options"]] == BOTH


@pytest.mark.parametrize("has_order", [False, True])
def test_what_is_missing_on_a_network_is_asked_for_there(
    api, path, app, wallet, nodes_of, make_order, has_order
):
    """Also if it arrived, and was seen, before there was an order."""
    order = make_order(path) if has_order else api.post(path)
    send(nodes_of[SECOND], order, PRICE - 1_000_000)
    worker_once(app)
    first = api.post(path, headers=wallet.header(required(order), SECOND))
    assert code(first) == (402, "payment_required")
    due = [(CHAIN, PRICE), (SECOND, 1_000_000)]
    assert offered(first) == (due if has_order else due[::-1])
    bought = api.post(path, headers=wallet.header(required(first), SECOND))
    assert (bought.status_code, bought.json["chain_id"]) == (200, SECOND)
    assert stored(order).amount_received == PRICE


@pytest.mark.sql
def test_after_a_refusal_the_order_stays_there_and_can_be_paid_anywhere(
    api, path, order, wallet, facilitator, second_facilitator, node, second_node, acme, ticket
):
    second_facilitator.mode = "refuse"
    refused = api.post(path, headers=wallet.header(required(order), SECOND))
    assert code(refused) == (402, "payment_required")
    assert "insufficient_funds" in required(refused)["error"]
    assert offered(refused) == [(SECOND, PRICE), (CHAIN, PRICE)]
    assert stored(order).chain_id == SECOND and acme.stock(ticket) == (1, 0)
    bought = api.post(path, headers=wallet.header(required(refused), CHAIN))
    assert (bought.status_code, bought.json["chain_id"]) == (200, CHAIN)
    assert received(order, node, second_node) == [PRICE, 0]
    assert stored(order).status == "confirmed" and acme.stock(ticket) == (0, 1)


def test_the_facilitators_are_asked_three_times_for_an_order_in_all(
    api, path, price, wallet, facilitator, second_facilitator
):
    facilitator.mode = second_facilitator.mode = "refuse"
    for chain_id in (SECOND, CHAIN, SECOND):
        assert api.post(path, headers=wallet.header(required(price), chain_id)).status_code == 402
    last = api.post(path, headers=wallet.header(required(price), CHAIN))
    assert code(last) == (409, "x402_calls_used")
    assert (len(facilitator.asked), len(second_facilitator.asked)) == (1, 2)
    # The refused claim did not move the order.
    assert stored(price).chain_id == SECOND


@pytest.mark.sql
def test_while_a_transfer_settles_nothing_moves_the_order(
    app, api, path, order, wallet, facilitator, second_facilitator, nodes_of, acme
):
    second_facilitator.mode = "lie"
    payment = wallet.payment(required(order), SECOND)
    assert api.post(path, headers={"PAYMENT-SIGNATURE": encoded(payment)}).status_code == 202
    # Neither a payment on the other network, nor the buyer, nor money that arrives there.
    other = api.post(path, headers=wallet.header(required(order), CHAIN))
    assert other.status_code == 202 and facilitator.asked == []
    intent = f"{acme.checkout}/intents/{order.json['intent']['id']}"
    buyer = {"Authorization": f"Bearer {order.json['client_secret']}"}
    chosen = api.post(f"{intent}/chain", {"chain_id": CHAIN}, headers=buyer)
    assert code(chosen) == (409, "already_paying")
    send(nodes_of[CHAIN], order, PRICE)
    worker_once(app)
    now = stored(order)
    assert (now.status, now.chain_id) == ("awaiting_payment", SECOND)
    # It was submitted after all: it pays, and the other money is owed where it is.
    second_facilitator.submit(payment["payload"])
    answer = api.post(path, headers={"PAYMENT-SIGNATURE": encoded(payment)})
    assert (answer.status_code, answer.json["chain_id"]) == (200, SECOND)
    worker_once(app)
    assert stored(order).refund_due == 0
    (stray,) = api.get(intent, headers=buyer).json["strays"]
    assert (stray["chain_id"], stray["refund_due"]) == (CHAIN, PRICE)


@only_once
def test_while_a_transfer_settles_its_page_asks_for_no_other_payment(
    app, api, path, order, wallet, second_facilitator, nodes_of
):
    shown = OrderPage(app, order)
    assert "Pay on Local 2 instead" in shown.get()
    second_facilitator.mode = "lie"
    payment = wallet.header(required(order), SECOND)
    assert api.post(path, headers=payment).status_code == 202
    for way in ("browser", "phone", "exchange"):
        page = shown.get(f"?way={way}")
        assert "Do not pay again" in page and "/chain" not in page and 'id="demo"' not in page
        assert 'id="open-wallet"' not in page
    send(nodes_of[CHAIN], order, PRICE)
    worker_once(app)
    page = shown.get()
    said = text_of(page)
    assert "We see 5.00 USDC on Local. You chose Local 2. A payment is on its way" in said
    assert "We cannot see" not in said and "pay what is missing" not in said
    assert "/chain" not in page and "Get it back" in said
    assert status(page) == "We see 5.00 USDC on Local"


@only_once
def test_what_paid_elsewhere_while_a_transfer_failed_can_be_used(
    app, api, path, order, wallet, second_facilitator, nodes_of
):
    second_facilitator.mode = "lie"
    payment = wallet.header(required(order), SECOND)
    assert api.post(path, headers=payment).status_code == 202
    send(nodes_of[CHAIN], order, PRICE)
    worker_once(app)
    # The process dies before it settles the order again.
    row = X402Settlement.get(X402Settlement.chain_id == SECOND)
    claims.end(row, SettlementState.FAILED)
    shown = OrderPage(app, order)
    said = text_of(shown.get())
    assert "It is enough to pay for this order. Do not pay again." in said
    assert "Use it to pay on Local Get it back" in said and "Pay on Local instead" not in said
    assert shown.press("chain", chain_id=CHAIN).status_code == 303
    now = stored(order)
    assert (now.status, now.chain_id) == ("confirmed", CHAIN)


@pytest.mark.sql
@pytest.mark.usefixtures("impatient")
def test_after_a_transfer_has_failed_money_elsewhere_pays(
    app, api, path, order, wallet, second_facilitator, nodes_of
):
    second_facilitator.mode = "lie"
    soon = int(clock.now().timestamp()) + 30
    payment = wallet.header(required(order), SECOND, validBefore=soon)
    assert api.post(path, headers=payment).status_code == 202
    send(nodes_of[CHAIN], order, PRICE)
    worker_once(app)
    assert stored(order).status == "awaiting_payment"
    nodes_of[SECOND].rpc("evm_increaseTime", 60)
    nodes_of[SECOND].rpc("anvil_mine", "0x1")
    worker_once(app)
    now = stored(order)
    assert (now.status, now.chain_id) == ("confirmed", CHAIN)
    assert api.post(path, headers=payment).status_code == 200


@pytest.mark.sql
def test_a_transfer_that_failed_is_not_submitted_after_the_order_has_moved(
    app, api, path, price, wallet, facilitator, second_facilitator, node, second_node
):
    second_facilitator.mode = "lie"
    assert api.post(path, headers=wallet.header(required(price), SECOND)).status_code == 202
    held_by_a_sleeper = X402Settlement.get()
    claims.end(held_by_a_sleeper, SettlementState.FAILED)
    bought = api.post(path, headers=wallet.header(required(price), CHAIN))
    assert (bought.status_code, bought.json["chain_id"]) == (200, CHAIN)
    assert not claims.count_call(held_by_a_sleeper)
    second_facilitator.mode = "submit"
    worker_once(app)
    assert (len(facilitator.asked), len(second_facilitator.asked)) == (1, 1)
    assert received(price, node, second_node) == [PRICE, 0]


@pytest.fixture
def before_the_claim(monkeypatch):
    """A function that lets something happen after the checks of a payment, before its claim."""
    claim = claims.claim

    def let(happen):
        def claimed(*args, **options):
            happen()
            return claim(*args, **options)

        monkeypatch.setattr(claims, "claim", claimed)

    return let


@only_once
def test_a_signature_for_an_order_that_moves_meanwhile_is_not_said_to_be_on_its_way(
    acme, ticket, environ, facilitator, second_facilitator, before_the_claim
):
    config = load(environ)
    buyer = acme.buyer(ticket)
    before_the_claim(lambda: home_choice.choose(acme.id, buyer.intent["id"], SECOND, config))
    refused = buyer.api.post(f"{buyer.path}/gasless", signature_of(buyer))
    assert code(refused) == (409, "transfer_outdated")
    assert X402Settlement.select().count() == 0 and facilitator.asked == []
    paid = buyer.api.post(f"{buyer.path}/gasless", signature_of(buyer))
    assert (paid.status_code, buyer.now()["chain_id"]) == (200, SECOND)


@only_once
def test_a_signature_for_an_order_that_ends_meanwhile_is_refused(
    acme, ticket, facilitator, before_the_claim
):
    buyer = acme.buyer(ticket)
    before_the_claim(lambda: settlement.cancel(buyer.intent["id"]))
    refused = buyer.api.post(f"{buyer.path}/gasless", signature_of(buyer))
    assert code(refused) == (409, "intent_canceled") and facilitator.asked == []


@only_once
def test_an_agent_whose_order_moves_meanwhile_is_asked_again(
    api, path, order, wallet, acme, environ, facilitator, before_the_claim
):
    intent_id, config = order.json["intent"]["id"], load(environ)
    before_the_claim(lambda: home_choice.choose(acme.id, intent_id, SECOND, config))
    refused = api.post(path, headers=wallet.header(required(order), CHAIN))
    assert code(refused) == (402, "payment_required") and facilitator.asked == []
    assert offered(refused) == [(SECOND, PRICE), (CHAIN, PRICE)]
    assert "The order changed while this payment was checked." in required(refused)["error"]


def signature_of(buyer):
    """What pays an order without a network fee, on its home."""
    asked = buyer.api.get(f"{buyer.path}/gasless?payer={address_of()}")
    return signed(asked.json["typed_data"])


@pytest.mark.sql
@pytest.mark.parametrize("has_order", [False, True])
def test_requests_with_two_networks_at_once_settle_once(
    app,
    api,
    path,
    wallet,
    facilitator,
    second_facilitator,
    node,
    second_node,
    make_order,
    has_order,
):
    order = make_order(path) if has_order else api.post(path)
    payments = [wallet.header(required(order), each) for each in BOTH]
    answers = at_once(
        *(partial(Api(app.test_client()).post, path, headers=each) for each in payments * 2)
    )
    # While one request asks the node whether the payer has the money, the others get 503.
    assert {each.status_code for each in answers} <= ({200, 202} if has_order else {200, 202, 503})
    worker_once(app)
    worker_once(app)  # it books what the first one let settle
    repeats = [api.post(path, headers=each) for each in payments]
    assert {each.status_code for each in repeats} == {200}
    assert len({each.json["id"] for each in repeats}) == 1
    assert len(facilitator.asked) + len(second_facilitator.asked) == 1
    paid = received(order, node, second_node)
    assert sorted(paid) == [0, PRICE]
    now = stored(order)
    assert (now.status, now.chain_id) == ("confirmed", BOTH[paid.index(PRICE)])


@pytest.mark.sql
def test_of_claims_on_two_networks_at_once_one_holds_and_the_order_is_there(
    environ, path, wallet, acme, make_order
):
    """The claims themselves meet, and the buyer's choice: a request waits for its order's slot."""
    config = load(environ)
    # The claims of one payer take turns, so there are two.
    wallets = {CHAIN: wallet, SECOND: Wallet(FRIEND_KEY)}
    for _ in range(5):
        order = make_order(path)
        intent = PaymentIntent.get_by_id(order.json["intent"]["id"])
        is_settling = X402Settlement.state == SettlementState.SETTLING

        def claimed(chain_id, order=order, intent=intent):
            header = wallets[chain_id].header(required(order), chain_id)
            payment = payment_header.parse(header["PAYMENT-SIGNATURE"])
            signed, chain = payment.authorization, config.chains[chain_id]
            return claims.claim(intent, chain, signed, payment.signature, calls=1)

        def chosen(intent=intent):
            with suppress(AlreadyPaying):
                home_choice.choose(acme.id, intent.id, SECOND, config)

        rows = at_once(partial(claimed, CHAIN), partial(claimed, SECOND), chosen)[:2]
        (row,) = X402Settlement.select().where(X402Settlement.intent == intent.id, is_settling)
        (held_row,) = [each for each in rows if each is not None]
        assert held_row.chain_id == row.chain_id == stored(order).chain_id
