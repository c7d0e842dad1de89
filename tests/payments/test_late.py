"""Money that arrives late, in parts, or twice. The chain's time counts, not when it was seen."""

from datetime import datetime, timedelta

import pytest

from tests.support.factories import PRICE, worker_once
from ticketing.models.chains import ChainBlock, ChainState


@pytest.fixture
def pass_time(acme, node):
    """Move the chain's clock forward by some seconds, and let the worker look."""

    def pass_time(seconds, *, look=True):
        node.rpc("evm_increaseTime", seconds)
        node.rpc("anvil_mine", "0x1")
        if look:
            worker_once(acme.app)

    return pass_time


def when(text):
    return datetime.fromisoformat(text)


def test_a_payment_in_time_is_in_time_however_late_it_is_seen(acme, node, pass_time):
    ticket = acme.ticket()
    worker_once(acme.app)
    buyer = acme.buyer(ticket)
    pass_time(800, look=False)
    buyer.pay(node)
    pass_time(5000)
    intent = buyer.now()
    assert (intent["status"], intent["flags"]) == ("confirmed", [])


def test_a_late_payment_is_honoured_while_seats_are_left(acme, node, pass_time):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket, quantity=2)
    worker_once(acme.app)
    pass_time(1000)
    assert buyer.now()["status"] == "expired"
    assert acme.stock(ticket) == (0, 0)
    buyer.pay(node)
    worker_once(acme.app)
    intent = buyer.now()
    assert (intent["status"], intent["flags"]) == ("confirmed", ["paid_late"])
    assert intent["refund_due"] == 0
    assert acme.stock(ticket) == (0, 2)
    assert len(buyer.purchase().json["admissions"]) == 2


def test_late_by_the_blocks_time_even_if_seen_before_the_expiry(acme, node, pass_time):
    ticket = acme.ticket()
    worker_once(acme.app)
    buyer = acme.buyer(ticket)
    pass_time(1000, look=False)
    buyer.pay(node)
    worker_once(acme.app)
    assert buyer.now()["flags"] == ["paid_late"]
    assert acme.stock(ticket) == (0, 1)


def test_a_late_payment_without_a_seat_is_refund_due_and_stays_so(acme, node, pass_time):
    ticket = acme.ticket(capacity=1)
    late = acme.buyer(ticket)
    worker_once(acme.app)
    pass_time(1000)
    other = acme.buyer(ticket)
    late.pay(node)
    worker_once(acme.app)
    intent = late.now()
    assert (intent["status"], intent["refund_due"]) == ("expired", PRICE)
    assert intent["flags"] == ["paid_late"]
    assert acme.stock(ticket) == (1, 0)
    other.cancel()
    assert acme.stock(ticket) == (0, 0)
    for _ in range(2):
        worker_once(acme.app)
        late.purchase()
    assert late.now() == intent
    assert acme.stock(ticket) == (0, 0)


@pytest.mark.parametrize("what", ["event", "ticket"])
def test_what_was_canceled_meanwhile_is_not_sold_late(acme, node, pass_time, what):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    pass_time(1000)
    path = f"{acme.path}/events/{ticket['event_id']}"
    path += f"/tickets/{ticket['id']}/status" if what == "ticket" else "/status"
    assert acme.api().post(path, {"status": "canceled"}).status_code == 200
    buyer.pay(node)
    worker_once(acme.app)
    assert (buyer.now()["status"], buyer.now()["refund_due"]) == ("expired", PRICE)
    assert acme.stock(ticket) == (0, 0)


def test_a_part_of_less_than_half_extends_nothing(acme, node, pass_time):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node, PRICE // 2 - 1)
    worker_once(acme.app)
    assert buyer.now()["expires_at"] == buyer.intent["expires_at"]


def test_a_first_part_of_half_or_more_extends_the_hold_once(acme, node, pass_time):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    before = when(buyer.now()["expires_at"])
    buyer.pay(node, PRICE // 2)
    worker_once(acme.app)
    extended = when(buyer.now()["expires_at"])
    assert extended - before == timedelta(minutes=10)
    buyer.pay(node, 1)
    worker_once(acme.app)
    assert when(buyer.now()["expires_at"]) == extended
    pass_time(1000)
    assert buyer.now()["status"] == "awaiting_payment"
    pass_time(1000)
    intent = buyer.now()
    assert (intent["status"], intent["refund_due"]) == ("expired", PRICE // 2 + 1)
    assert intent["flags"] == ["underpaid"]
    assert acme.stock(ticket) == (0, 0)


def test_a_part_that_came_late_extends_nothing(acme, node, pass_time):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    pass_time(1000, look=False)
    buyer.pay(node, 1)
    worker_once(acme.app)
    assert buyer.now()["expires_at"] == buyer.intent["expires_at"]
    assert buyer.now()["status"] == "expired"


def test_a_repeated_payment_sells_once_and_is_refund_due(acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    buyer.pay(node)
    buyer.purchase()
    buyer.pay(node)
    worker_once(acme.app)
    intent = buyer.now()
    assert (intent["status"], intent["refund_due"]) == ("confirmed", PRICE)
    assert intent["flags"] == ["duplicate"]
    assert acme.stock(ticket) == (0, 1)


def test_years_later_a_payment_is_still_found_by_its_balance(acme, node, pass_time):
    ticket = acme.ticket()
    confirmed, expired = acme.buyer(ticket), acme.buyer(ticket)
    confirmed.pay(node)
    worker_once(acme.app)
    pass_time(1000)
    pass_time(10 * 86_400)
    pass_time(10 * 86_400)
    expired.pay(node)
    confirmed.pay(node, 3)
    pass_time(3600)
    assert (expired.now()["status"], expired.now()["refund_due"]) == ("expired", PRICE)
    assert confirmed.now()["refund_due"] == 3
    assert acme.stock(ticket) == (0, 1)


def test_before_a_hold_is_dropped_the_chain_is_looked_at_once_more(acme, node, pass_time):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    buyer.pay(node)
    # As if the node had left out the logs of that block: the cursor is after it.
    head = node.rpc("eth_getBlockByNumber", "latest", False)
    moment = datetime.fromtimestamp(int(head["timestamp"], 16)).astimezone()
    place = {"block_number": int(head["number"], 16), "block_hash": head["hash"]}
    ChainState.update(**place, block_time=moment).execute()
    ChainBlock.delete().execute()
    pass_time(1000)
    assert (buyer.now()["status"], buyer.now()["flags"]) == ("confirmed", [])
    assert acme.stock(ticket) == (0, 1)
