"""Ticket types that are sold on several networks: the buyer chooses one, and pays there."""

import pytest

from tests.conftest import UNREACHABLE_RPC
from tests.support import wallets
from tests.support.admissions import FREE
from tests.support.carts import carts_of, order
from tests.support.factories import CHAIN, PRICE, Api, worker_once
from tests.support.refunds import pass_hours
from ticketing.chain.registry import REGISTRY
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.payments import reconciliation
from tools.anvil import SECOND_CHAIN_ID as SECOND
from tools.anvil import SELLER, TOKEN_ADDRESS

pytestmark = pytest.mark.sql

BOTH = [CHAIN, SECOND]
NOT_ENABLED = 8453


@pytest.fixture
def two_chains(environ):
    """The second local chain is enabled too, but has no node."""
    environ[f"RPC_URL_{SECOND}"] = UNREACHABLE_RPC


@pytest.fixture
def event(acme):
    return carts_of(acme)


def on(acme, event, *chain_ids, **fields):
    """A published ticket type that is sold on these networks."""
    return acme.ticket(event, chain_ids=chain_ids, **fields)


def change(acme, ticket, **fields):
    path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
    return acme.api("write").patch(path, fields)


def networks_of(ticket):
    return ticket["chain_id"], ticket["chain_ids"]


def refused(answer):
    return answer.status_code, answer.json["code"], [*answer.json.get("errors", {})]


def ids_of(intent):
    return [each["chain_id"] for each in intent["payment_options"]]


# Ticket types.


def test_the_first_network_is_the_proposed_one(acme, event):
    ticket = on(acme, event, 137, CHAIN, 8453)
    assert networks_of(ticket) == (137, [137, CHAIN, 8453])
    shown = Api(acme.app.test_client()).get(f"{acme.public}/events/{event['id']}/tickets").json
    assert networks_of(shown["data"][0]) == (137, [137, CHAIN, 8453])


def test_to_write_one_network_is_to_write_a_list_of_it(acme, event):
    ticket = on(acme, event, *BOTH)
    assert networks_of(change(acme, ticket, chain_id=CHAIN).json) == (CHAIN, [CHAIN])
    assert networks_of(change(acme, ticket, chain_ids=[8453]).json) == (8453, [8453])
    assert networks_of(change(acme, ticket, chain_ids=[1, 10]).json) == (1, [1, 10])
    assert networks_of(change(acme, ticket, name="Seat").json) == (1, [1, 10])
    assert networks_of(change(acme, ticket, **FREE).json) == (None, [])


@pytest.mark.parametrize(
    "wrong",
    [
        {"chain_ids": [1], "chain_id": 1},
        {"chain_ids": [1], "chain_id": None},
        {"chain_ids": [1, 10, 1]},
        {"chain_ids": list(range(1, 10))},
        {"chain_ids": []},
        {"chain_ids": [0]},
    ],
)
def test_networks_are_written_once_each_in_one_field(acme, event, wrong):
    answer = change(acme, on(acme, event, CHAIN), **wrong)
    assert (answer.status_code, answer.json["code"]) == (422, "invalid_request")
    assert {each.partition(".")[0] for each in answer.json["errors"]} == {"chain_ids"}


def test_one_network_that_can_be_used_is_enough_to_be_on_sale(acme, event):
    assert on(acme, event, NOT_ENABLED)["obstacles"] == ["chain_not_enabled"]
    assert on(acme, event, NOT_ENABLED, CHAIN)["obstacles"] == []
    wallets.use_address(acme.id, SELLER, NOT_ENABLED)
    of_none = on(acme, event, NOT_ENABLED, CHAIN)
    assert of_none["obstacles"] == ["chain_not_enabled"]
    assert on(acme, event, CHAIN)["obstacles"] == ["wallet_not_on_chain"]


# Orders.


def test_the_buyer_chooses_and_gets_the_terms_of_all(two_chains, acme, event):
    ticket = on(acme, event, *BOTH)
    proposed = acme.buyer(ticket).intent
    chosen = acme.buyer(ticket, chain_id=SECOND).intent
    assert (proposed["chain_id"], chosen["chain_id"]) == (CHAIN, SECOND)
    assert ids_of(proposed) == ids_of(chosen) == BOTH
    assert chosen["payment_options"] == [
        {
            "chain_id": chain_id,
            "name": REGISTRY[chain_id].name,
            "token_address": TOKEN_ADDRESS,
            "symbol": "USDC",
            "decimals": 6,
            "atomic_amount": PRICE,
            "payment_uri": chosen["payment_uri"] if chain_id == SECOND else None,
            "required_confirmations": 1,
            "available": chain_id == SECOND,
        }
        for chain_id in BOTH
    ]
    assert f"@{SECOND}/transfer" in chosen["payment_uri"]


def test_the_options_are_those_of_the_order(two_chains, acme, event):
    ticket = on(acme, event, *BOTH)
    buyer = acme.buyer(ticket)
    assert change(acme, ticket, chain_id=SECOND).status_code == 200
    assert ids_of(buyer.now()) == BOTH
    path = f"{acme.path}/intents"
    assert ids_of(acme.api().get(f"{path}/{buyer.intent['id']}").json) == BOTH
    assert ids_of(acme.api().get(path).json["data"][0]) == BOTH
    assert ids_of(acme.buyer(ticket).intent) == [SECOND]


def test_an_order_on_one_network_stores_no_options_and_a_free_one_has_none(acme, event):
    one = acme.buyer(acme.ticket()).intent
    assert ids_of(one) == [CHAIN]
    assert one["payment_options"][0]["payment_uri"] == one["payment_uri"]
    assert PaymentIntent.get_by_id(one["id"]).networks is None
    free = acme.ticket(**FREE)
    assert acme.buyer(free).intent["payment_options"] == []
    assert acme.buyer(free, chain_id=SECOND).intent["chain_id"] is None


def test_a_network_of_another_ticket_type_is_refused(two_chains, acme, event):
    ticket = on(acme, event, CHAIN)
    answer = acme.preflight(ticket, chain_id=SECOND)
    assert refused(answer) == (422, "invalid_request", ["chain_id"])


def test_a_network_that_cannot_be_used_is_left_out(two_chains, acme, event):
    ticket = on(acme, event, NOT_ENABLED, CHAIN, SECOND)
    answer = acme.preflight(ticket, chain_id=NOT_ENABLED)
    assert refused(answer) == (409, "network_unavailable", [])
    assert acme.stock(ticket) == (0, 0)
    made = acme.buyer(ticket).intent
    assert (made["chain_id"], ids_of(made)) == (CHAIN, BOTH)
    wallets.use_address(acme.id, SELLER, SECOND)
    made = acme.buyer(ticket).intent
    assert (made["chain_id"], ids_of(made)) == (SECOND, [SECOND])
    assert refused(acme.preflight(ticket, chain_id=CHAIN))[1] == "network_unavailable"
    wallets.use_address(acme.id, SELLER, NOT_ENABLED)
    assert refused(acme.preflight(ticket, chain_id=CHAIN))[1] == "not_payable"
    assert refused(acme.preflight(ticket))[1] == "not_payable"


def test_a_network_on_which_the_price_is_not_exact_is_left_out(environ, two_chains, acme, event):
    ChainState.update(decimals=2).where(ChainState.chain_id == CHAIN).execute()
    fits, does_not = (on(acme, event, *BOTH, price_amount=PRICE + more) for more in (0, 1))
    assert ids_of(acme.buyer(fits).intent) == BOTH
    made = acme.buyer(does_not).intent
    assert (made["chain_id"], ids_of(made)) == (SECOND, [SECOND])


def test_a_cart_is_paid_on_a_network_that_all_its_items_share(two_chains, acme, event):
    either, other, first, free = (
        on(acme, event, *BOTH),
        on(acme, event, SECOND),
        on(acme, event, CHAIN),
        acme.ticket(event, **FREE),
    )
    made = order(acme, (either, 1), (free, 1), (other, 2))
    assert made.status_code == 201, made.json
    assert (made.json["chain_id"], ids_of(made.json)) == (SECOND, [SECOND])
    assert order(acme, (either, 1), (free, 1)).json["chain_id"] == CHAIN
    assert refused(order(acme, (either, 1), (other, 1), chain_id=CHAIN))[2] == ["chain_id"]
    assert refused(order(acme, (first, 1), (other, 1)))[:2] == (409, "no_common_network")


def test_each_order_is_paid_on_the_network_that_its_buyer_chose(node, second_node, acme, event):
    ticket = on(acme, event, *BOTH)
    worker_once(acme.app)
    here, there = acme.buyer(ticket), acme.buyer(ticket, chain_id=SECOND)
    here.pay(node)
    there.pay(second_node)
    worker_once(acme.app)
    for buyer, chain_id in ((here, CHAIN), (there, SECOND)):
        now = buyer.now()
        assert (now["status"], now["chain_id"], ids_of(now)) == ("confirmed", chain_id, BOTH)
        assert not any(each["available"] for each in now["payment_options"])
    assert reconciliation.reconcile(None) == []


def test_a_late_payment_counts_on_each_network_that_is_still_sold(node, second_node, acme, event):
    ticket = on(acme, event, *BOTH)
    worker_once(acme.app)
    buyers = [acme.buyer(ticket, chain_id=SECOND) for _ in range(2)]
    pass_hours(second_node, 1)
    worker_once(acme.app)
    assert [each.now()["status"] for each in buyers] == ["expired"] * 2
    buyers[0].pay(second_node)
    worker_once(acme.app)
    assert buyers[0].now()["status"] == "confirmed"
    assert change(acme, ticket, chain_id=CHAIN).status_code == 200
    buyers[1].pay(second_node)
    worker_once(acme.app)
    now = buyers[1].now()
    assert (now["status"], now["refund_due"]) == ("expired", PRICE)
