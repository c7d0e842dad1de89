"""Money on another network than the order's: it pays for the order there, or it is owed there."""

from datetime import timedelta

import pytest

from tests.support import wallets
from tests.support.carts import carts_of
from tests.support.factories import CHAIN, PRICE, cli, worker_once
from tests.support.refunds import FRIEND, FRIEND_ADDRESS, STRANGER_ADDRESS, pass_hours, pay_from
from ticketing import clock
from ticketing.chain.address import checksum
from ticketing.chain.registry import REGISTRY
from ticketing.models.chains import ChainState
from ticketing.models.wallets import Wallet
from ticketing.services import metrics
from ticketing.services.money import figures
from ticketing.services.payments import reconciliation, waivers
from tools import anvil
from tools.anvil import SECOND_CHAIN_ID as SECOND
from tools.anvil import SELLER

pytestmark = pytest.mark.sql

BOTH = [CHAIN, SECOND]


@pytest.fixture
def nodes_of(node, second_node):
    """Both local chains, with their nodes."""
    return {CHAIN: node, SECOND: second_node}


@pytest.fixture
def shop(nodes_of, acme):
    """An organizer whose tickets are sold on both chains. The worker has looked at each."""
    worker_once(acme.app)
    return acme


def order(shop, *chain_ids, **fields):
    """An order of one ticket that is sold on these chains. Its home is the first."""
    ticket = shop.ticket(carts_of(shop), chain_ids=chain_ids or BOTH, **fields)
    return shop.buyer(ticket)


def pay(nodes_of, buyer, chain_id, amount=PRICE, sender=FRIEND):
    """Send money to an order's address on one chain, and let the worker look."""
    pay_from(nodes_of[chain_id], sender, buyer, amount)
    worker_once(buyer.organizer.app)


def sound(buyer):
    """The order as it is now, after all rules of the books were checked."""
    assert reconciliation.reconcile(None) == []
    return buyer.now()


def books(intent):
    """What the home received and owes, and then each stray account: chain, received, due."""
    strays = [
        (each["chain_id"], each["amount_received"], each["unassigned"], each["refund_due"])
        for each in intent["strays"]
    ]
    return intent["status"], intent["chain_id"], intent["amount_received"], strays


def choose(buyer, chain_id):
    return buyer.api.post(f"{buyer.path}/chain", {"chain_id": chain_id})


def test_who_pays_on_another_option_gets_the_ticket(shop, nodes_of):
    buyer = order(shop)
    pay(nodes_of, buyer, SECOND)
    assert books(sound(buyer)) == ("confirmed", SECOND, PRICE, [])
    assert [each["status"] for each in buyer.purchase().json["admissions"]] == ["valid"]


def test_money_on_a_network_that_is_no_option_is_owed_there(shop, nodes_of):
    buyer = order(shop, CHAIN)
    pay(nodes_of, buyer, SECOND)
    assert books(sound(buyer)) == ("awaiting_payment", CHAIN, 0, [(SECOND, PRICE, 0, PRICE)])
    pay(nodes_of, buyer, CHAIN)
    assert books(sound(buyer)) == ("confirmed", CHAIN, PRICE, [(SECOND, PRICE, 0, PRICE)])


def test_half_here_and_half_there_pays_nothing_and_is_owed_at_the_end(shop, nodes_of):
    buyer = order(shop)
    pay(nodes_of, buyer, CHAIN, PRICE // 2)
    pay(nodes_of, buyer, SECOND, PRICE // 2)
    half = PRICE // 2
    assert books(sound(buyer)) == ("awaiting_payment", CHAIN, half, [(SECOND, half, half, 0)])
    for each in nodes_of.values():
        pass_hours(each, 1)
    worker_once(shop.app)
    worker_once(shop.app)
    intent = sound(buyer)
    assert books(intent) == ("expired", CHAIN, half, [(SECOND, half, 0, half)])
    assert intent["refund_due"] == half


def test_the_rest_can_be_paid_where_most_of_it_is(shop, nodes_of):
    buyer = order(shop)
    pay(nodes_of, buyer, SECOND, PRICE - 1)
    assert choose(buyer, SECOND).status_code == 200
    assert books(sound(buyer)) == ("awaiting_payment", SECOND, PRICE - 1, [])
    pay(nodes_of, buyer, SECOND, 1)
    assert books(sound(buyer)) == ("confirmed", SECOND, PRICE, [])


def test_dust_and_a_part_at_home_do_not_keep_an_order_there(shop, nodes_of):
    buyer = order(shop)
    pay(nodes_of, buyer, CHAIN, 1)
    pay(nodes_of, buyer, SECOND)
    assert books(sound(buyer)) == ("confirmed", SECOND, PRICE, [(CHAIN, 1, 0, 1)])


def test_both_networks_paid_in_full_owe_one_of_them(shop, nodes_of):
    buyer = order(shop)
    for node in nodes_of.values():
        pay_from(node, FRIEND, buyer, PRICE)
    worker_once(shop.app)
    status, home, received, strays = books(sound(buyer))
    (other,) = {CHAIN, SECOND} - {home}
    assert (status, received, strays) == ("confirmed", PRICE, [(other, PRICE, 0, PRICE)])


def test_what_a_buyer_asks_back_never_pays_for_the_order(shop, nodes_of):
    buyer = order(shop)
    pay(nodes_of, buyer, SECOND, PRICE - 1)
    asked = {"address": FRIEND_ADDRESS, "chain_id": SECOND}
    answer = buyer.api.post(f"{buyer.path}/refund-address", asked)
    assert answer.status_code == 200, answer.json
    assert books(sound(buyer))[3] == [(SECOND, PRICE - 1, 0, PRICE - 1)]
    assert answer.json["strays"][0]["payee"]["waiting_address"] == FRIEND_ADDRESS
    assert choose(buyer, SECOND).json["code"] == "network_unavailable"
    pay(nodes_of, buyer, SECOND)
    assert books(sound(buyer))[:3] == ("awaiting_payment", CHAIN, 0)
    pay(nodes_of, buyer, CHAIN)
    both = 2 * PRICE - 1
    assert books(sound(buyer)) == ("confirmed", CHAIN, PRICE, [(SECOND, both, 0, both)])


def test_a_late_payment_on_another_option_is_honoured_as_at_home(shop, nodes_of):
    buyer = order(shop)
    for each in nodes_of.values():
        pass_hours(each, 1)
    worker_once(shop.app)
    worker_once(shop.app)
    assert buyer.now()["status"] == "expired"
    pay(nodes_of, buyer, SECOND)
    assert books(sound(buyer)) == ("confirmed", SECOND, PRICE, [])


def test_a_late_payment_is_owed_if_anything_of_the_order_is_owed_already(shop, nodes_of):
    buyer = order(shop)
    pay(nodes_of, buyer, CHAIN, 1)
    for each in nodes_of.values():
        pass_hours(each, 1)
    worker_once(shop.app)
    worker_once(shop.app)
    pay(nodes_of, buyer, SECOND)
    assert books(sound(buyer)) == ("expired", CHAIN, 1, [(SECOND, PRICE, 0, PRICE)])


def test_switch_and_back_again(shop, nodes_of):
    buyer = order(shop)
    pay(nodes_of, buyer, CHAIN, 5)
    assert books(choose(buyer, SECOND).json) == ("awaiting_payment", SECOND, 0, [(CHAIN, 5, 5, 0)])
    worker_once(shop.app)
    assert books(choose(buyer, CHAIN).json) == ("awaiting_payment", CHAIN, 5, [])
    pay(nodes_of, buyer, CHAIN, PRICE - 5)
    assert books(sound(buyer)) == ("confirmed", CHAIN, PRICE, [])


def test_an_order_moves_only_to_its_own_networks_and_only_while_it_waits(shop, nodes_of):
    buyer = order(shop, CHAIN)
    refused = choose(buyer, SECOND)
    assert (refused.status_code, [*refused.json["errors"]]) == (422, ["chain_id"])
    buyer = order(shop)
    pay(nodes_of, buyer, CHAIN)
    refused = choose(buyer, SECOND)
    assert (refused.status_code, refused.json["code"]) == (409, "already_paying")


def test_an_outage_elsewhere_stops_no_order_from_expiring(shop, nodes_of):
    buyer = order(shop)
    nodes_of[SECOND].stop()
    ChainState.update(looked_at=clock.now() - timedelta(minutes=2)).execute()
    pass_hours(nodes_of[CHAIN], 1)
    cli(shop.app, "worker", "--once", exit_code=1)
    assert buyer.now()["status"] == "expired"


def test_the_option_link_pays_what_is_missing_there(shop, nodes_of):
    buyer = order(shop)
    pay(nodes_of, buyer, SECOND, PRICE - 7)
    home, other = buyer.now()["payment_options"]
    assert home["available"] and home["payment_uri"].endswith(f"uint256={PRICE}")
    assert other["available"] and other["payment_uri"].endswith("uint256=7")
    assert f"@{SECOND}/" in other["payment_uri"]


def test_nobody_else_can_be_paid_back(shop, nodes_of):
    buyer = order(shop, CHAIN)
    pay(nodes_of, buyer, SECOND)
    path = f"{shop.path}/refunds/{buyer.intent['id']}/settle"
    node = nodes_of[SECOND]
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, anvil.BUYER, PRICE)
    sent = anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, STRANGER_ADDRESS, PRICE)
    body = {"tx_hash": sent["transactionHash"], "chain_id": SECOND}
    assert shop.api().post(path, body).json["code"] == "refund_not_seen"
    sent = anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, FRIEND_ADDRESS, PRICE)
    body = {"tx_hash": sent["transactionHash"], "chain_id": SECOND}
    done = shop.api().post(path, body)
    assert done.status_code == 200, done.json
    assert (done.json["refunded"], done.json["chain_id"]) == (PRICE, SECOND)
    assert sound(buyer)["strays"][0]["refund_due"] == 0


def test_a_token_that_people_take_for_the_right_one_is_seen_and_owed(shop, nodes_of):
    node = nodes_of[CHAIN]
    other = checksum(anvil.deploy_token(node.rpc))
    assert other == REGISTRY[CHAIN].look_alikes[0].token_address
    buyer = order(shop)
    anvil.mint(node.rpc, other, FRIEND_ADDRESS, PRICE)
    anvil.transfer(node.rpc, other, buyer.intent["address"], PRICE, sender=FRIEND)
    worker_once(shop.app)
    assert books(sound(buyer)) == ("awaiting_payment", CHAIN, 0, [(CHAIN, PRICE, 0, PRICE)])
    (stray,) = buyer.now()["strays"]
    assert (stray["symbol"], stray["token_address"]) == ("USDC.e", other)
    pay(nodes_of, buyer, CHAIN)
    assert books(sound(buyer)) == ("confirmed", CHAIN, PRICE, [(CHAIN, PRICE, 0, PRICE)])


def test_a_payment_that_moved_an_order_may_leave_its_chain(shop, nodes_of, environ):
    buyer = order(shop)
    pay(nodes_of, buyer, CHAIN, 3)
    pay(nodes_of, buyer, SECOND)
    assert sound(buyer)["chain_id"] == SECOND
    nodes_of[SECOND].rpc("anvil_reorg", 1, [])
    worker_once(shop.app)
    intent = sound(buyer)
    assert (intent["status"], intent["chain_id"], intent["flags"]) == (
        "reversed",
        SECOND,
        ["reorged"],
    )
    assert books(intent)[3] == [(CHAIN, 3, 0, 3)]
    pay(nodes_of, buyer, SECOND)
    assert books(sound(buyer)) == ("confirmed", SECOND, PRICE, [(CHAIN, 3, 0, 3)])


def test_money_out_of_reach_is_owed_once_the_organizer_is_on_that_network(shop, nodes_of):
    wallets.use_address(shop.id, SELLER, CHAIN)
    buyer = order(shop, CHAIN)
    pay(nodes_of, buyer, SECOND)
    (stray,) = sound(buyer)["strays"]
    assert (stray["out_of_reach"], stray["refund_due"]) == (PRICE, 0)
    Wallet.update(chain_ids={CHAIN, SECOND}, no_code_on={CHAIN, SECOND}).where(
        Wallet.owner == SELLER
    ).execute()
    worker_once(shop.app)
    (stray,) = sound(buyer)["strays"]
    assert (stray["out_of_reach"], stray["refund_due"]) == (0, PRICE)


def test_a_look_that_is_too_old_keeps_an_order_until_the_next_one(shop, nodes_of):
    """The worker reads the second chain, but not the balances there: as if that task was late.

    A late payment would be owed, because the price has risen.
    """
    ticket = shop.ticket(carts_of(shop), chain_ids=BOTH)
    buyer = shop.buyer(ticket)
    path = f"{shop.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
    assert shop.api().patch(path, {"price_amount": 2 * PRICE}).status_code == 200
    pay_from(nodes_of[SECOND], FRIEND, buyer, PRICE)
    pass_hours(nodes_of[CHAIN], 0.3)
    old = clock.now() - timedelta(minutes=3)
    ChainState.update(strays_looked_at=old).where(ChainState.chain_id == SECOND).execute()
    worker_once(shop.app)
    assert books(sound(buyer)) == ("confirmed", SECOND, PRICE, [])


def test_dollars_of_another_token_are_in_no_total(shop, nodes_of):
    node = nodes_of[CHAIN]
    other = checksum(anvil.deploy_token(node.rpc))
    buyer = order(shop)
    anvil.mint(node.rpc, other, FRIEND_ADDRESS, PRICE)
    anvil.transfer(node.rpc, other, buyer.intent["address"], PRICE, sender=FRIEND)
    worker_once(shop.app)
    assert sound(buyer)["strays"][0]["refund_due"] == PRICE
    money = figures.read(shop.id, {})
    assert [row.look_alike for row in money.rows if row.owed] == ["USDC.e"]
    assert money.totals.owed == 0
    assert waivers.small(shop.id, PRICE).count == 0
    assert metrics.read({}).refund_due == 0
