"""Orders that ended: which late transfer honours one, and what stays owed."""

import pytest

from tests.support.factories import CHAIN, PRICE, in_days, worker_once
from ticketing.services import chains
from ticketing.services.payments import watched_orders

DAY = 86_400


@pytest.fixture
def pass_time(acme, node):
    """Move the chain's clock forward by some seconds, and let the worker look."""

    def pass_time(seconds):
        node.rpc("evm_increaseTime", seconds)
        node.rpc("anvil_mine", "0x1")
        worker_once(acme.app)

    return pass_time


@pytest.fixture
def expired(acme, pass_time):
    """A buyer with an expired order, and the ticket type."""
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    pass_time(1000)
    assert buyer.now()["status"] == "expired"
    return buyer, ticket


def books(buyer):
    intent = buyer.now()
    return intent["status"], intent["refund_due"]


def pay(buyer, node, amount=None):
    raw = node.rpc("eth_getRawTransactionByHash", buyer.pay(node, amount))
    worker_once(buyer.organizer.app)
    return raw


def change(acme, ticket, **fields):
    path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
    answer = acme.api().client.patch(path, json=fields, headers=acme.api().headers)
    assert answer.status_code == 200, answer.json


def test_the_last_cent_of_an_expired_order_buys_nothing(acme, node, pass_time):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    pay(buyer, node, PRICE - 1)
    pass_time(2000)
    assert books(buyer) == ("expired", PRICE - 1)
    pay(buyer, node, 1)
    assert books(buyer) == ("expired", PRICE)
    assert buyer.purchase().status_code == 410
    assert acme.stock(ticket) == (0, 0)


def test_what_is_owed_stays_owed_though_the_whole_amount_follows(acme, node, expired):
    buyer, ticket = expired
    pay(buyer, node, 1)
    pay(buyer, node)
    assert books(buyer) == ("expired", PRICE + 1)
    assert acme.stock(ticket) == (0, 0)


def test_a_late_transfer_that_was_removed_makes_no_part_count(acme, node, pass_time):
    """4.99 are owed. A late 5.00 is seen and removed. 0.01 follows."""
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    pay(buyer, node, PRICE - 1)
    pass_time(2000)
    pay(buyer, node)
    node.rpc("anvil_reorg", 1, [])
    worker_once(acme.app)
    assert books(buyer) == ("expired", PRICE - 1)
    pay(buyer, node, 1)
    assert books(buyer) == ("expired", PRICE)


def test_parts_do_not_add_up_for_an_order_that_lost_its_late_transfer(
    three_deep, acme, node, expired, pass_time
):
    buyer, ticket = expired
    pay(buyer, node)
    assert books(buyer) == ("processing", 0)
    node.rpc("anvil_reorg", 1, [])
    worker_once(acme.app)
    assert (buyer.now()["status"], buyer.now()["amount_due"]) == ("awaiting_payment", 0)
    assert acme.stock(ticket) == (1, 0)
    pay(buyer, node, PRICE - 1)
    pay(buyer, node, 1)
    node.rpc("anvil_mine", "0x3")
    worker_once(acme.app)
    assert buyer.now()["status"] == "awaiting_payment"
    pass_time(1000)
    assert books(buyer) == ("expired", PRICE)
    assert acme.stock(ticket) == (0, 0)


def test_a_late_transfer_that_comes_back_is_judged_again(three_deep, acme, node, expired):
    buyer, ticket = expired
    transaction = pay(buyer, node)
    node.rpc("anvil_reorg", 1, [])
    worker_once(acme.app)
    assert buyer.now()["status"] == "awaiting_payment"
    node.rpc("eth_sendRawTransaction", transaction)
    node.rpc("anvil_mine", "0x3")
    worker_once(acme.app)
    assert books(buyer) == ("confirmed", 0)
    assert acme.stock(ticket) == (0, 1)


def test_a_late_transfer_that_comes_back_at_a_higher_price_is_owed(
    three_deep, acme, node, expired, pass_time
):
    buyer, ticket = expired
    transaction = pay(buyer, node)
    node.rpc("anvil_reorg", 1, [])
    worker_once(acme.app)
    change(acme, ticket, price_amount=PRICE + 1)
    node.rpc("eth_sendRawTransaction", transaction)
    node.rpc("anvil_mine", "0x3")
    worker_once(acme.app)
    pass_time(1000)
    assert books(buyer) == ("expired", PRICE)
    assert acme.stock(ticket) == (0, 0)


@pytest.mark.parametrize(("seconds", "status"), [(DAY - 2000, "confirmed"), (DAY, "expired")])
def test_a_late_transfer_is_honoured_within_a_day_of_the_deadline(
    acme, node, expired, pass_time, seconds, status
):
    buyer, _ = expired
    pass_time(seconds)
    pay(buyer, node)
    pass_time(200)
    assert buyer.now()["status"] == status


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"price_amount": PRICE + 1}, "expired"),
        ({"price_amount": PRICE - 1}, "confirmed"),
        ({"sales_end_at": in_days(0)}, "expired"),
        ({"sales_start_at": in_days(1)}, "expired"),
        ({"chain_id": 8453}, "expired"),
        ({"price_amount": 0, "chain_id": None}, "expired"),
        ({"name": "Another name"}, "confirmed"),
    ],
)
@pytest.mark.long
def test_a_late_transfer_gets_what_a_new_order_would_have_got(acme, node, expired, fields, status):
    buyer, ticket = expired
    change(acme, ticket, **fields)
    pay(buyer, node)
    assert books(buyer) == (status, 0 if status == "confirmed" else PRICE)


def test_a_sale_that_ended_after_the_transfer_does_not_matter(acme, node, expired):
    buyer, ticket = expired
    buyer.pay(node)
    change(acme, ticket, sales_end_at=in_days(0.5))
    worker_once(acme.app)
    assert books(buyer) == ("confirmed", 0)


def test_nothing_is_sold_late_for_an_event_that_is_over(acme, node, pass_time):
    ticket = acme.ticket(acme.event(start_at=in_days(0.1), end_at=in_days(0.2)))
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    pass_time(DAY // 4)
    pay(buyer, node)
    assert books(buyer) == ("expired", PRICE)


@pytest.mark.parametrize(("hours", "status"), [(4, "confirmed"), (8, "expired")])
def test_without_an_end_it_is_sold_late_until_six_hours_after_its_start(
    acme, node, pass_time, hours, status
):
    ticket = acme.ticket(acme.event(start_at=in_days(1 / 24)))
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    pass_time(hours * 3600)
    pay(buyer, node)
    assert books(buyer) == (status, 0 if status == "confirmed" else PRICE)


def test_only_the_balance_of_an_unpaid_order_that_was_canceled_is_watched(acme, pass_time):
    ticket = acme.ticket(capacity=None)
    canceled, live = acme.buyer(ticket), acme.buyer(ticket)
    worker_once(acme.app)
    assert canceled.cancel().status_code == 200
    pass_time(100)
    cursor = chains.cursor(CHAIN)
    a_minute_later = cursor.time + watched_orders.SWEEP_EVERY
    by_logs = watched_orders.watched_addresses(CHAIN, live.intent["token_address"], cursor)
    by_balance = {each.address.lower() for each in watched_orders.to_sweep(CHAIN, a_minute_later)}
    assert {each.lower() for each in by_logs} == {live.intent["address"].lower()}
    assert by_balance == {canceled.intent["address"].lower()}


def test_a_canceled_order_is_never_honoured(acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    assert buyer.cancel().status_code == 200
    pay(buyer, node)
    node.rpc("evm_increaseTime", 120)
    node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    assert books(buyer) == ("canceled", PRICE)
    assert acme.stock(ticket) == (0, 0)


def test_two_late_transfers_buy_once(acme, node, expired):
    buyer, ticket = expired
    buyer.pay(node)
    buyer.pay(node)
    worker_once(acme.app)
    assert books(buyer) == ("confirmed", PRICE)
    assert acme.stock(ticket) == (0, 1)


@pytest.mark.parametrize("what", ["event", "ticket"])
def test_a_sale_that_is_canceled_takes_its_live_orders_along(three_deep, acme, node, what):
    ticket = acme.ticket()
    paid, part, idle, late = (acme.buyer(ticket) for _ in range(4))
    worker_once(acme.app)
    paid.pay(node)
    part.pay(node, 3)
    worker_once(acme.app)
    assert acme.stock(ticket) == (4, 0)
    path = f"{acme.path}/events/{ticket['event_id']}"
    path += f"/tickets/{ticket['id']}/status" if what == "ticket" else "/status"
    assert acme.api().post(path, {"status": "canceled"}).status_code == 200
    assert acme.stock(ticket) == (0, 0)
    assert [books(each) for each in (paid, part, idle)] == [
        ("canceled", PRICE),
        ("canceled", 3),
        ("canceled", 0),
    ]
    late.pay(node)
    node.rpc("evm_increaseTime", 120)
    node.rpc("anvil_mine", "0x3")
    worker_once(acme.app)
    assert books(late) == ("canceled", PRICE)
    assert books(paid) == ("canceled", PRICE)
    assert acme.stock(ticket) == (0, 0)


def test_money_that_is_not_deep_enough_is_owed_but_not_to_be_sent_back(
    three_deep, acme, node, expired
):
    buyer, _ = expired
    pay(buyer, node, 7)
    intent = buyer.now()
    assert (intent["refund_due"], intent["refund_pending"]) == (7, 7)
    refunds = f"{acme.path}/refunds"
    assert acme.api().get(refunds).json["data"] == []
    node.rpc("anvil_mine", "0x2")
    worker_once(acme.app)
    assert (buyer.now()["refund_due"], buyer.now()["refund_pending"]) == (7, 0)
    (owed,) = acme.api().get(refunds).json["data"]
    assert (owed["intent_id"], owed["amount"]) == (buyer.intent["id"], 7)
