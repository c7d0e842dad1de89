"""Mails about money that goes back: owed, to which address, sent."""

import pytest

from tests.support.factories import CHAIN, PRICE, worker_once
from tests.support.mails import ADA, change_intent, html_of, order_link, send, tell, text_of
from tests.support.refunds import FRIEND, FRIEND_ADDRESS, pay_from
from ticketing import clock
from ticketing.models.refunds import RefundAddress
from tools.anvil import SECOND_CHAIN_ID as SECOND

ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TX = "0x" + "ab" * 32


def test_money_that_is_owed_is_announced_with_a_question_for_the_address(acme, server, buyer):
    change_intent(buyer, refund_due=4_990_000)
    tell(acme.id, ("refund.due", {"intent_id": buyer.intent["id"]}))
    send(acme.app)
    mail = server.only()
    assert mail["Subject"] == "You get 4.99 USDC back: Launch Night"
    for part in (text_of(mail), html_of(mail)):
        assert "4.99 USDC" in part and "Local" in part and "do not pay again" in part
        assert "Where shall we send it?" in part and order_link(buyer) in part


@pytest.mark.parametrize(
    ("amount", "shown"), [(1, "0.000001"), (5_000_000, "5.00"), (1_234_500_000, "1234.50")]
)
def test_amounts_are_exact(acme, server, buyer, amount, shown):
    change_intent(buyer, refund_due=amount + 3, refund_pending=3, refund_address=ADDRESS)
    tell(acme.id, ("refund.due", {"intent_id": buyer.intent["id"]}))
    send(acme.app)
    assert f"{shown} USDC" in text_of(server.only())
    assert "0x709979…dc79C8" in text_of(server.only())


def test_a_refund_that_was_paid_meanwhile_is_not_announced(acme, server, buyer):
    tell(acme.id, ("refund.due", {"intent_id": buyer.intent["id"]}))
    send(acme.app)
    assert not server.mails


def state(buyer, *addresses):
    """Write down the addresses that the buyer stated for the home, one after another."""
    for number, address in enumerate(addresses):
        columns = {"id": f"rfa_{number}", "stray": "", "address": address, "stated_at": clock.now()}
        RefundAddress.insert(intent=buyer.intent["id"], **columns).execute()
        change_intent(buyer, refund_address=address)


def test_a_changed_refund_address_is_told(acme, server, buyer):
    state(buyer, FRIEND_ADDRESS, ADDRESS)
    tell(acme.id, ("refund.address_changed", {"intent_id": buyer.intent["id"]}))
    send(acme.app)
    mail = server.only()
    assert mail["Subject"] == "The address for your refund has changed: Launch Night"
    for part in (text_of(mail), html_of(mail)):
        assert "0x709979…dc79C8" in part and ADDRESS not in part
        assert "If it was not you" in part and order_link(buyer) in part


def test_the_first_refund_address_is_no_change(acme, server, buyer):
    state(buyer, ADDRESS)
    tell(acme.id, ("refund.address_changed", {"intent_id": buyer.intent["id"]}))
    send(acme.app)
    mail = server.only()
    assert mail["Subject"] == "Where we send your money back: Launch Night"
    for part in (text_of(mail), html_of(mail)):
        assert "0x709979…dc79C8" in part and "changed" not in part and "now goes" not in part


def test_a_settled_refund_has_its_amount_and_transaction(acme, server, buyer):
    data = {"amount": 2_500_000, "tx_hash": TX, "currency": "USDC", "chain_id": 8453}
    tell(acme.id, ("refund.settled", {"intent_id": buyer.intent["id"], **data}))
    send(acme.app)
    mail = server.only()
    assert mail["Subject"] == "We have sent you 2.50 USDC: Launch Night"
    assert TX in text_of(mail) and TX in html_of(mail) and "Base" in text_of(mail)


def test_money_on_another_network_is_announced_with_that_network(node, second_node, acme, server):
    buyer = acme.buyer(acme.ticket(chain_id=CHAIN), buyer=ADA)
    worker_once(acme.app)
    pay_from(second_node, FRIEND, buyer, PRICE - 1)
    worker_once(acme.app)
    send(acme.app)
    mail = server.only()
    assert mail["Subject"] == "You get 4.999999 USDC back: Launch Night"
    for part in (text_of(mail), html_of(mail)):
        assert "4.999999 USDC back on the network Local 2" in part
        assert "your own wallet on Local 2" in part and order_link(buyer) in part
    asked = {"address": FRIEND_ADDRESS, "chain_id": SECOND}
    assert buyer.api.post(f"{buyer.path}/refund-address", asked).status_code == 200
    worker_once(acme.app)
    send(acme.app)
    told = text_of(server.mails[-1])
    assert "goes to this address on the network Local 2" in told and FRIEND_ADDRESS[-6:] in told
