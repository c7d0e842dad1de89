"""Who may receive a refund, and how much of a transfer counts; each odd rule closes a hole."""

import pytest

from tests.support.factories import PRICE, worker_once
from tests.support.refunds import (
    FRIEND,
    FRIEND_ADDRESS,
    STRANGER,
    STRANGER_ADDRESS,
    give_back,
    listed,
    overpay,
    pass_hours,
    pay_from,
    settle,
    settled,
    state,
)
from tools import anvil


def test_a_stated_address_counts_beside_the_payer(acme, node, overpaid):
    state(overpaid, FRIEND_ADDRESS)
    assert settled(acme, overpaid, give_back(node, 3)) == 3
    assert settled(acme, overpaid, give_back(node, 4, to=FRIEND_ADDRESS)) == 7


def test_a_buyer_who_paid_from_an_exchange_states_where_the_money_goes(acme, node, overpaid):
    """The exchange's address counts for 72 hours more, because the money may be on its way."""
    state(overpaid, FRIEND_ADDRESS)
    pass_hours(node, 71)
    assert settled(acme, overpaid, give_back(node, 3)) == 3
    pass_hours(node, 2)
    late = give_back(node, 4)
    assert settled(acme, overpaid, late) == 0
    # The organizer may still answer for it.
    assert settled(acme, overpaid, late, recipient=anvil.BUYER) == 7


def test_another_statement_does_not_give_the_payers_more_time(acme, node, overpaid):
    state(overpaid, FRIEND_ADDRESS)
    pass_hours(node, 73)
    state(overpaid, STRANGER_ADDRESS)
    assert settled(acme, overpaid, give_back(node, 7)) == 0


@pytest.mark.parametrize(("hours", "counted"), [(71, 7), (73, 0)])
def test_a_replaced_address_counts_for_72_hours(acme, node, overpaid, hours, counted):
    """Who has just sent the money is not told that it went astray."""
    state(overpaid, FRIEND_ADDRESS)
    state(overpaid, STRANGER_ADDRESS)
    pass_hours(node, hours)
    assert settled(acme, overpaid, give_back(node, 7, to=FRIEND_ADDRESS)) == counted


def test_the_transfers_block_counts_and_not_the_day_of_the_settle(acme, node, overpaid):
    state(overpaid, FRIEND_ADDRESS)
    state(overpaid, STRANGER_ADDRESS)
    tx_hash = give_back(node, 7, to=FRIEND_ADDRESS)
    pass_hours(node, 100)
    assert settled(acme, overpaid, tx_hash) == 7


def test_an_address_that_was_replaced_and_stated_again_counts(acme, node, overpaid):
    for address in (FRIEND_ADDRESS, STRANGER_ADDRESS, FRIEND_ADDRESS):
        state(overpaid, address)
    pass_hours(node, 100)
    assert settled(acme, overpaid, give_back(node, 7, to=FRIEND_ADDRESS)) == 7


def test_a_stranger_who_sends_dust_is_a_payee_of_the_dust_only(acme, node, overpaid):
    """A transfer to the stranger for something else does not settle the buyer's refund."""
    pay_from(node, STRANGER, overpaid, 1)
    worker_once(acme.app)
    (refund,) = listed(acme)
    assert refund["payers"] == [
        {"sender": anvil.BUYER, "amount": PRICE + 7},
        {"sender": STRANGER_ADDRESS, "amount": 1},
    ]
    assert settled(acme, overpaid, give_back(node, 8, to=STRANGER_ADDRESS)) == 1
    assert settled(acme, overpaid, give_back(node, 8, to=STRANGER_ADDRESS)) == 0
    assert settled(acme, overpaid, give_back(node, 7)) == 8


def test_a_payer_gets_back_no_more_than_they_sent(acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    pay_from(node, FRIEND, buyer, 3)
    buyer.pay(node, PRICE + 4)
    worker_once(acme.app)
    assert buyer.now()["refund_due"] == 7
    assert settled(acme, buyer, give_back(node, 2, to=FRIEND_ADDRESS)) == 2
    assert settled(acme, buyer, give_back(node, 5, to=FRIEND_ADDRESS)) == 3
    assert settled(acme, buyer, give_back(node, 4)) == 7


def test_an_older_transfer_settles_no_newer_debt(acme, node):
    older = give_back(node, 7)
    buyer = overpay(acme, node)
    assert settled(acme, buyer, older) == 0
    assert settled(acme, buyer, give_back(node, 7)) == 7


def test_a_transfer_from_between_two_debts_settles_the_older_one(acme, node, overpaid):
    between = give_back(node, 100)
    overpaid.pay(node, 5)
    worker_once(acme.app)
    assert overpaid.now()["refund_due"] == 12
    assert settled(acme, overpaid, between) == 7
    assert overpaid.now()["refund_due"] == 5


def test_later_payments_and_later_refunds_do_not_hinder_an_older_transfer(acme, node, overpaid):
    between = give_back(node, 7)
    overpaid.pay(node, 5)
    worker_once(acme.app)
    assert settled(acme, overpaid, give_back(node, 5)) == 5
    assert settled(acme, overpaid, between) == 12
    assert overpaid.now()["refund_due"] == 0


def test_what_a_stranger_sends_later_opens_no_older_transfer_to_them(acme, node, overpaid):
    older = give_back(node, 7, to=STRANGER_ADDRESS)
    pay_from(node, STRANGER, overpaid, 7)
    worker_once(acme.app)
    assert settled(acme, overpaid, older) == 0


def test_a_minted_payment_is_refunded_to_a_stated_address_or_a_recipient(acme, node):
    """Its sender is the zero address, which nobody can pay back."""
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, buyer.intent["address"], PRICE + 7)
    worker_once(acme.app)
    (refund,) = listed(acme)
    assert (refund["amount"], refund["payers"]) == (7, [])
    assert settled(acme, buyer, give_back(node, 7)) == 0
    tx_hash = give_back(node, 3, to=STRANGER_ADDRESS)
    assert settled(acme, buyer, tx_hash, recipient=STRANGER_ADDRESS) == 3
    state(buyer, FRIEND_ADDRESS)
    assert settled(acme, buyer, give_back(node, 4, to=FRIEND_ADDRESS)) == 7


def test_a_recipient_is_the_organizers_word_and_is_in_the_audit_log(acme, node, overpaid):
    tx_hash = give_back(node, 9, to=STRANGER_ADDRESS)
    assert settled(acme, overpaid, tx_hash) == 0
    answer = settle(acme, overpaid, tx_hash, recipient=STRANGER_ADDRESS.lower())
    assert (answer.status_code, answer.json["refunded"]) == (200, 7)
    assert settle(acme, overpaid, tx_hash, recipient=STRANGER_ADDRESS).json == answer.json
    query = {"subject": overpaid.intent["id"]}
    (entry,) = acme.api().get(f"{acme.path}/audit-log", query_string=query).json["data"]
    assert entry["before"] == {"refunded": 0}
    named = {"tx_hash": tx_hash, "recipient": STRANGER_ADDRESS}
    assert entry["after"] == {"refunded": 7, **named}


def test_a_recipient_is_no_address_of_ours(acme, neighbour, node, overpaid):
    theirs = neighbour.buyer(neighbour.ticket())
    tx_hash = give_back(node, 7, to=theirs.intent["address"])
    for recipient in (
        theirs.intent["address"],
        overpaid.intent["address"].lower(),
        anvil.TOKEN_ADDRESS,
        "0x" + "0" * 40,
        FRIEND_ADDRESS[:-1] + "7",
        "0x12",
    ):
        answer = settle(acme, overpaid, tx_hash, recipient=recipient)
        assert answer.status_code == 422, recipient
        assert answer.json["errors"].keys() == {"recipient"}
    assert overpaid.now()["refund_due"] == 7
