"""Nodes that omit data: the payment is still found, and nothing is removed."""

import pytest

from tests.support.factories import PRICE, worker_once
from ticketing.models.payments import Payment
from tools import anvil

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.usefixtures("unforgetting", "three_deep"),
    pytest.mark.one_database,
]


@pytest.fixture
def look(acme, node):
    """Return a function that mines a block and lets the worker look."""

    def look():
        node.rpc("anvil_mine", "0x1")
        worker_once(acme.app)

    return look


def take_out(node, buyer):
    """Move the money of an order's address elsewhere, as its owner would."""
    address = buyer.intent["address"]
    node.rpc("anvil_impersonateAccount", address)
    node.rpc("anvil_setBalance", address, hex(10**18))
    data = f"0xa9059cbb{anvil.BUYER[2:].lower():0>64}{PRICE:064x}"
    transaction = {"from": address, "to": anvil.TOKEN_ADDRESS, "data": data}
    node.rpc("eth_sendTransaction", transaction)


def money(buyer):
    intent = buyer.now()
    return intent["status"], intent["amount_received"], intent["flags"]


GAPS = {
    "no logs of the newest block": lambda bad: bad.omit_tip_logs(1),
    "no logs of the two newest blocks": lambda bad: bad.omit_tip_logs(2),
    "each log one look late": lambda bad: bad.omit_new_logs(),
    "every other list is empty": lambda bad: bad.omit_logs(every=2),
    "a node that lags answers every other item": lambda bad: bad.scatter(2),
    "a node that lags answers every third item": lambda bad: bad.scatter(2, every=3),
}


@pytest.mark.parametrize("gap", GAPS)
def test_what_the_first_list_lacks_is_found_though_the_address_was_emptied(
    bad_node, acme, node, gap
):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    GAPS[gap](bad_node)
    buyer.pay(node)
    try_to_look(acme)
    take_out(node, buyer)
    for _ in range(4):
        node.rpc("anvil_mine", "0x1")
        try_to_look(acme)
    assert money(buyer) == ("confirmed", PRICE, [])
    assert acme.stock(ticket) == (0, 1)


def try_to_look(acme):
    """Look. The look may fail: a node that contradicts itself may be refused."""
    acme.app.test_cli_runner().invoke(args=["worker", "--once"])


@pytest.mark.parametrize("depth", [1, 2, 3, 8])
def test_a_booked_payment_stays_though_no_list_has_it(bad_node, acme, node, look, depth):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    worker_once(acme.app)
    for _ in range(depth - 1):
        look()
    before = buyer.now()
    bad_node.omit_logs()
    worker_once(acme.app)
    look()
    after = buyer.now()
    assert (after["amount_received"], after["flags"]) == (PRICE, [])
    assert after["confirmations"] >= before["confirmations"]
    buyer.purchase()
    assert buyer.now()["amount_received"] == PRICE


def test_a_booked_payment_goes_if_its_block_has_another_hash(bad_node, acme, node, look):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    worker_once(acme.app)
    bad_node.omit_logs()
    node.rpc("anvil_reorg", 1, [])
    look()
    assert money(buyer) == ("awaiting_payment", 0, ["reorged"])


def test_a_payment_stays_while_the_header_of_its_block_is_missing(bad_node, acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    worker_once(acme.app)
    paid = Payment.get().block_number
    bad_node.answer(
        "eth_getBlockByNumber", lambda block: None if int(block["number"], 16) == paid else block
    )
    node.rpc("anvil_mine", "0x3")
    try_to_look(acme)
    buyer.purchase()
    assert buyer.now()["amount_received"] == PRICE


def test_a_purchase_finds_what_the_worker_was_not_shown(bad_node, acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    bad_node.omit_logs()
    worker_once(acme.app)
    bad_node.well()
    assert buyer.purchase().status_code == 202
    assert money(buyer) == ("processing", PRICE, [])


def test_balances_are_asked_at_the_block_that_was_read(bad_node, acme, node):
    asked = []
    address = acme.buyer(acme.ticket()).intent["address"]
    bad_node.rules.append(lambda question, answer: note_tag(asked, address, question, answer))
    worker_once(acme.app)
    asked.clear()
    expire(node)
    worker_once(acme.app)
    assert asked == [node.rpc("eth_blockNumber")]


def note_tag(asked, address, question, answer):
    """Note at which block the balance of an address is asked for."""
    if question["method"] == "eth_call":
        call, block = question["params"]
        if call["data"].startswith("0x70a08231") and call["data"].endswith(address[2:].lower()):
            asked.append(block)
    return answer


def expire(node):
    node.rpc("evm_increaseTime", 1000)
    node.rpc("anvil_mine", "0x1")


def test_a_node_that_takes_no_block_number_for_balances_lets_orders_expire(bad_node, acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    bad_node.prune_state()
    expire(node)
    worker_once(acme.app)
    assert buyer.now()["status"] == "expired"


@pytest.mark.parametrize("takes_numbers", [True, False])
def test_no_hold_is_dropped_while_the_balance_shows_money(bad_node, acme, node, takes_numbers):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    bad_node.omit_logs()
    if not takes_numbers:
        bad_node.prune_state()
    for _ in range(4):
        node.rpc("anvil_mine", "0x1")
        worker_once(acme.app)
    expire(node)
    # The search of its logs begins, and finds nothing while they are omitted.
    bad_node.refuse("eth_getLogs")
    try_to_look(acme)
    assert buyer.now()["status"] == "awaiting_payment"
    bad_node.well()
    for _ in range(2):
        expire(node)
        worker_once(acme.app)
    assert money(buyer) == ("confirmed", PRICE, [])
