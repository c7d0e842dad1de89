"""The receipt of an order, on a real chain: every amount adds up, whatever became of the money."""

from tests.support.admissions import admissions_of, sold, void
from tests.support.books import change_home
from tests.support.carts import buyer_of, family, sold_to
from tests.support.factories import CHAIN, PRICE, worker_once
from tests.support.refunds import (
    FRIEND,
    dust,
    give_back,
    overpay,
    pass_hours,
    pay_from,
    settled,
    state,
    waive,
)
from ticketing.services.payments import reconciliation
from tools import anvil
from tools.anvil import SECOND_CHAIN_ID as SECOND

PARTS = ("kept", "open", "refund_due", "out_of_reach", "refunded", "waived")


def receipt_of(buyer):
    """The receipt, after every sum of it was checked."""
    answer = buyer.api.get(f"{buyer.path}/receipt")
    assert answer.status_code == 200, answer.json
    found = answer.json
    assert found["amount"] == sum(each["amount"] for each in found["items"])
    assert found["list_total"] - found["discount_amount"] == found["amount"]
    for each in found["accounts"]:
        assert each["received"] == sum(each[part] for part in PARTS)
        listed = sum(payment["amount"] for payment in each["payments"])
        assert each["received"] == listed + each["other_payments_amount"]
        assert each["refunded"] == sum(refund["amount"] for refund in each["refunds"])
    assert reconciliation.reconcile(None) == []
    return found


def parts_of(account):
    """What is not 0 of an account, besides what was received."""
    return {part: account[part] for part in PARTS if account[part]}


def test_a_paid_order_names_its_transaction(acme, node):
    buyer = sold(acme, node, acme.ticket(), quantity=2, buyer={"name": "Ada"})
    found = receipt_of(buyer)
    assert (found["number"], found["notice"]) == (buyer.intent["id"], "Receipt, not a tax invoice")
    assert (found["status"], found["amount"]) == ("confirmed", 2 * PRICE)
    assert found["seller"] == {"name": "Acme", "legal_address": None, "tax_id": None}
    assert found["buyer"] == {"name": "Ada", "address": None, "tax_id": None}
    (account,) = found["accounts"]
    assert parts_of(account) == {"kept": 2 * PRICE}
    (payment,) = account["payments"]
    block = node.rpc("eth_getBlockByNumber", hex(payment["block_number"]), False)
    assert (payment["chain_id"], payment["block_hash"]) == (CHAIN, block["hash"])
    (log,) = node.rpc("eth_getTransactionReceipt", payment["tx_hash"])["logs"]
    assert payment["log_index"] == int(log["logIndex"], 16)
    assert payment["block_time"].endswith("Z") and found["as_of"].endswith("Z")


def test_a_void_with_refund_is_owed_and_then_paid_back(acme, node):
    buyer = sold(acme, node, acme.ticket(), quantity=2)
    assert void(acme, admissions_of(buyer)[0]).status_code == 200
    found = receipt_of(buyer)
    assert found["released_amount"] == PRICE
    assert parts_of(found["accounts"][0]) == {"kept": PRICE, "refund_due": PRICE}
    assert state(buyer, anvil.BUYER).status_code == 200
    tx_hash = give_back(node, PRICE)
    assert settled(acme, buyer, tx_hash) == PRICE
    found = receipt_of(buyer)
    (account,) = found["accounts"]
    assert parts_of(account) == {"kept": PRICE, "refunded": PRICE}
    (refund,) = account["refunds"]
    assert (refund["tx_hash"], refund["chain_id"]) == (tx_hash, CHAIN)
    block = node.rpc("eth_getBlockByNumber", hex(refund["block_number"]), False)
    assert refund["block_hash"] == block["hash"]


def test_a_void_without_refund_stays_paid(acme, node):
    buyer = sold(acme, node, acme.ticket())
    assert void(acme, admissions_of(buyer)[0], refund=False).status_code == 200
    found = receipt_of(buyer)
    assert found["released_amount"] == 0 and parts_of(found["accounts"][0]) == {"kept": PRICE}


def test_a_surplus_is_owed_and_may_be_written_off(acme, node):
    buyer = overpay(acme, node, surplus=7)
    assert parts_of(receipt_of(buyer)["accounts"][0]) == {"kept": PRICE, "refund_due": 7}
    assert waive(acme, buyer, 7).status_code == 200
    assert parts_of(receipt_of(buyer)["accounts"][0]) == {"kept": PRICE, "waived": 7}


def test_what_was_forgiven_was_not_received(acme, node):
    body = {"payment_tolerance_percent": 5}
    assert acme.api().patch(acme.path, body).status_code == 200
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node, PRICE - 5)
    worker_once(acme.app)
    found = receipt_of(buyer)
    assert (found["status"], found["amount"]) == ("confirmed", PRICE)
    assert found["accounts"][0]["received"] == PRICE - 5
    assert parts_of(found["accounts"][0]) == {"kept": PRICE - 5}
    assert "forgiven" not in str(found)  # buyers never see it


def test_several_items_a_voucher_and_its_discount(acme, node):
    adult, child, shirt = family(acme)
    path = f"{acme.path}/events/{adult['event_id']}/vouchers"
    body = {"code": "SPONSOR", "price_mode": "percent", "value": 20, "max_usages": 9}
    assert acme.api().post(path, body).status_code == 201
    buyer = sold_to(acme, node, (adult, 2), (child, 1), (shirt, 1), voucher="SPONSOR")
    found = receipt_of(buyer)
    assert found["voucher_code"] == "SPONSOR" and found["discount_amount"] > 0
    assert [each["name"] for each in found["items"]] == ["Adult", "Child", "Shirt"]
    assert parts_of(found["accounts"][0]) == {"kept": found["amount"]}


def test_a_reversed_order_says_so(acme, node):
    buyer = sold(acme, node, acme.ticket())
    node.rpc("anvil_reorg", 2, [])
    worker_once(acme.app)
    found = receipt_of(buyer)
    assert (found["status"], found["final"]) == ("reversed", False)
    assert found["accounts"][0]["received"] == 0 and not found["accounts"][0]["payments"]


def test_an_order_that_is_not_paid_decides_nothing(acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node, PRICE - 1)
    worker_once(acme.app)
    assert parts_of(receipt_of(buyer)["accounts"][0]) == {"open": PRICE - 1}
    pass_hours(node, 1)
    for _ in range(2):
        worker_once(acme.app)
    found = receipt_of(buyer)
    assert found["status"] == "expired"
    assert parts_of(found["accounts"][0]) == {"refund_due": PRICE - 1}


def test_money_on_another_network_has_an_account_of_its_own(acme, node, second_node):
    worker_once(acme.app)
    ticket = acme.ticket(chain_ids=[CHAIN, SECOND])
    buyer = acme.buyer(ticket)
    for each, amount in ((second_node, PRICE - 2), (node, PRICE)):
        pay_from(each, FRIEND, buyer, amount)
        worker_once(acme.app)
    home, stray = receipt_of(buyer)["accounts"]
    assert (home["chain_id"], home["is_home"], parts_of(home)) == (CHAIN, True, {"kept": PRICE})
    assert (stray["chain_id"], stray["is_home"]) == (SECOND, False)
    assert parts_of(stray) == {"refund_due": PRICE - 2}
    assert [each["chain_id"] for each in stray["payments"]] == [SECOND]


def test_a_free_order_has_a_receipt_without_money(acme):
    buyer = acme.buyer(acme.ticket(price_amount=0, chain_id=None))
    assert buyer.purchase().status_code == 200
    found = receipt_of(buyer)
    assert (found["amount"], found["accounts"]) == (0, [])


def test_thousands_of_tiny_payments_are_one_line(acme):
    buyer = acme.buyer(acme.ticket())
    dust(buyer, 30)
    change_home(buyer.intent["id"], received=30)
    (account,) = buyer.api.get(f"{buyer.path}/receipt").json["accounts"]
    assert len(account["payments"]) == 25
    assert (account["other_payments"], account["other_payments_amount"]) == (5, 5)


def test_only_the_buyer_and_the_organizer_s_checkout_read_it(acme, neighbour):
    buyer = buyer_of(acme, (acme.ticket(), 1))
    path = f"{buyer.path}/receipt"
    assert acme.api("paywall").get(path).status_code == 200
    assert acme.api("read").get(path).status_code == 403
    assert neighbour.api().get(path).status_code in (403, 404)
    assert acme.with_headers({"Authorization": "Bearer cs_wrong"}).get(path).status_code == 404
