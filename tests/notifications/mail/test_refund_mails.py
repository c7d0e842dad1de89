"""Mails about money that goes back: owed, to which address, sent."""

import pytest

from tests.support.books import home_of
from tests.support.factories import CHAIN, PRICE, worker_once
from tests.support.mails import ADA, change_intent, html_of, order_link, send, tell, text_of
from tests.support.refunds import FRIEND, FRIEND_ADDRESS, pay_from
from ticketing import clock
from ticketing.models.refunds import RefundAddress
from tools.anvil import SECOND_CHAIN_ID as SECOND

ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TX = "0x" + "ab" * 32


def test_money_that_is_owed_is_announced_with_a_question_for_the_address(acme, server, buyer):
    change_intent(buyer, due=4_990_000)
    tell(acme.id, ("refund.due", {"intent_id": buyer.intent["id"]}))
    send(acme.app)
    mail = server.only()
    assert mail["Subject"] == "You get 4.99 USDC back: Launch Night"
    for part in (text_of(mail), html_of(mail)):
        assert "4.99 USDC" in part and "Local" in part and "do not pay again" in part
        assert "Tell us where to send it" in part and order_link(buyer) in part


@pytest.mark.parametrize(
    ("amount", "shown"), [(1, "0.000001"), (5_000_000, "5.00"), (1_234_500_000, "1234.50")]
)
def test_amounts_are_exact(acme, server, buyer, amount, shown):
    change_intent(buyer, due=amount + 3, pending=3, refund_address=ADDRESS)
    tell(acme.id, ("refund.due", {"intent_id": buyer.intent["id"]}))
    send(acme.app)
    assert f"{shown} USDC" in text_of(server.only())
    assert "0x709979…dc79C8" in text_of(server.only())


def test_a_refund_that_was_paid_meanwhile_is_not_announced(acme, server, buyer):
    tell(acme.id, ("refund.due", {"intent_id": buyer.intent["id"]}))
    send(acme.app)
    assert not server.mails


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("signer", "It goes back to the wallet that paid, 0x709979…dc79C8. Not yours?"),
        ("wallet", "It goes back to the wallet that paid, 0x709979…dc79C8. Not yours?"),
        ("stated", "It goes to the address that you gave, 0x709979…dc79C8. Not yours?"),
        ("entered", "It goes to the address that you gave, 0x709979…dc79C8. Not yours?"),
    ],
)
def test_the_payee_is_named_whatever_its_source(acme, server, buyer, source, said):
    columns = {"id": "rad_1", "stated_at": clock.now(), "effective_at": clock.now()}
    order = {"intent": buyer.intent["id"], "address": ADDRESS}
    account = home_of(buyer.intent["id"])
    RefundAddress.insert(**columns, **order, account=account, source=source).execute()
    change_intent(buyer, due=5_000_000, refund_address=ADDRESS, payees_version=1)
    tell(acme.id, ("refund.due", {"intent_id": buyer.intent["id"]}))
    send(acme.app)
    for part in (text_of(server.only()), html_of(server.only())):
        assert said in part and "Tell us where to send it" in part


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
    assert "to go to this address on Local 2" in told and FRIEND_ADDRESS[-6:] in told
