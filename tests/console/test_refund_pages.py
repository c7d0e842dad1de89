"""The console's pages of refunds."""

import html
import re
from urllib.parse import urlencode

import pytest

from tests.support.admissions import FREE, given
from tests.support.console import sign_in
from tests.support.factories import CHAIN, worker_once
from tests.support.payouts import OTHER, end_lists, fund, listed, pay_with_id, with_address
from tests.support.payouts import owed as owed_by
from tests.support.refunds import (
    FRIEND_ADDRESS,
    STRANGER_ADDRESS,
    account,
    give_back,
    overpay,
    state,
)
from ticketing import formats
from ticketing.models.wallets import Wallet
from tools.anvil import BUYER

REFUNDS = "/console/refunds"
SURPLUS = 990_000


@pytest.fixture
def owed(acme, node):
    """A buyer who paid 0.99 USDC too much."""
    return overpay(acme, node, SURPLUS, buyer={"name": "Ada Lovelace"})


def path_of(buyer):
    return f"{REFUNDS}/{buyer.intent['id']}"


def test_what_is_due_is_listed_with_where_it_goes(owed, reader):
    page = reader.get(REFUNDS).text
    assert "Ada Lovelace" in page and "0.99 USDC" in page and "who paid" in page
    state(owed, FRIEND_ADDRESS)
    assert formats.shortened(FRIEND_ADDRESS) in reader.get(REFUNDS).text
    assert path_of(owed) not in reader.get(f"{REFUNDS}?status=settled").text
    assert path_of(owed) in reader.get(f"{REFUNDS}?status=none").text


def test_a_reader_sees_a_refund_and_can_settle_nothing(owed, reader, writer):
    page = reader.get(path_of(owed)).text
    assert BUYER in page and "I have sent it" not in page
    for member in (reader, writer):
        for action in ("settle", "waive"):
            assert member.send(f"{path_of(owed)}/{action}").status_code == 403


def test_a_pasted_transaction_settles_a_refund(acme, node, owed, console):
    sent = give_back(node, SURPLUS)
    for _ in range(2):
        answer = console.send(f"{path_of(owed)}/settle", {"tx_hash": f" {sent} ", "recipient": ""})
        assert answer.headers["Location"] == f"{path_of(owed)}#settled"
    page = console.get(path_of(owed)).text
    assert sent in page and "Paid back" in page and "I have sent it" not in page
    assert "0.99 USDC" in console.get(f"{REFUNDS}?status=settled").text
    (entry, *_) = acme.api().get(f"{acme.path}/audit-log").json["data"]
    assert entry["action"] == "refunds_settle_refund" and entry["after"]["tx_hash"] == sent


def test_a_transfer_to_a_stranger_counts_only_on_the_organizers_word(node, owed, console):
    sent = give_back(node, SURPLUS, to=STRANGER_ADDRESS)
    refused = console.send(f"{path_of(owed)}/settle", {"tx_hash": sent})
    assert refused.status_code == 409
    assert sent in refused.text and "does not count" in refused.text
    form = {"tx_hash": sent, "recipient": STRANGER_ADDRESS}
    assert console.send(f"{path_of(owed)}/settle", form).status_code == 303


@pytest.mark.parametrize(
    "form", [{}, {"tx_hash": "0x12"}, {"tx_hash": "0x" + "ab" * 32, "recipient": "me"}]
)
def test_a_wrong_transaction_is_shown_again(owed, console, form):
    answer = console.send(f"{path_of(owed)}/settle", form)
    assert answer.status_code == 422 and "field-error" in answer.text


def test_a_refund_is_waived_with_the_amount_that_was_shown(owed, console):
    form = {"amount": str(SURPLUS), "reason": "Less than the fee"}
    missing = console.send(f"{path_of(owed)}/waive", {"amount": str(SURPLUS)})
    assert missing.status_code == 422 and 'id="reason-error"' in missing.text
    for _ in range(2):
        answer = console.send(f"{path_of(owed)}/waive", form)
        assert answer.headers["Location"] == f"{path_of(owed)}#waived"
    assert "0.99 USDC" in console.get(f"{REFUNDS}?status=waived").text


def test_an_order_that_owes_nothing_has_a_page_without_forms(acme, console):
    free = given(acme, acme.ticket(**FREE))
    page = console.get(path_of(free))
    assert page.status_code == 200 and "I have sent it" not in page.text


def test_refunds_of_a_neighbour_are_not_found(neighbour, node, console):
    theirs = overpay(neighbour, node)
    assert path_of(theirs) not in console.get(REFUNDS).text
    form = {"tx_hash": "0x" + "ab" * 32, "amount": "7", "reason": "Ours."}
    assert console.get(path_of(theirs)).status_code == 404
    for action in ("settle", "waive"):
        fields = {"settle": ("tx_hash",), "waive": ("amount", "reason")}[action]
        sent = {name: form[name] for name in fields}
        assert console.send(f"{path_of(theirs)}/{action}", sent).status_code == 404


WAITS = "Paid by hand, waiting for the transaction"
PRESS = "I pay it by hand"
TAKE_BACK = "I did not pay it"


@pytest.fixture
def venue(app, node):
    """An organizer whose wallet is an ordinary address."""
    return with_address(app, node)


@pytest.fixture
def boss(venue):
    """An administrator of venue."""
    return sign_in(venue, email="boss@example.org")


def mark(member, buyer, by_hand, key):
    """Press one of the two buttons, of a page that was opened just now."""
    form = {"by_hand": "on" if by_hand else "", "idempotency_key": key * 32}
    return member.send(f"{path_of(buyer)}/by-hand", form)


@pytest.mark.parametrize("is_exchange", [True, False])
def test_a_refund_that_is_paid_by_hand_waits_for_its_transaction(node, venue, boss, is_exchange):
    (buyer,) = owed_by(venue, node, SURPLUS)
    Wallet.update(is_exchange=is_exchange).execute()
    page = boss.get(path_of(buyer)).text
    assert PRESS in page and WAITS not in page
    assert ("Another way: pay it by hand" not in page) is is_exchange
    for _ in range(2):
        answer = mark(boss, buyer, True, "a")
        assert answer.headers["Location"] == f"{path_of(buyer)}#by-hand"
    page = boss.get(path_of(buyer)).text
    assert WAITS in page and TAKE_BACK in page and PRESS not in page
    terms = buyer.intent
    link = f"ethereum:{terms['token_address']}@{terms['chain_id']}/transfer?address={BUYER}"
    assert f'href="{link}&amp;uint256={SURPLUS}"' in page
    assert 'data-copy="0.99"' in page and f'data-copy="{BUYER}"' in page
    assert "I have sent it" in page
    assert "Paid by hand" in boss.get(REFUNDS).text
    assert "You pay 0.99 USDC by hand" in boss.get("/console/money/pay-back").text
    log = boss.get("/console/audit-log").text
    assert "Refund marked as paid by hand, or not" in log
    assert mark(boss, buyer, False, "b").status_code == 303
    page = boss.get(path_of(buyer)).text
    assert PRESS in page and WAITS not in page
    assert "Paid by hand" not in boss.get(REFUNDS).text


def test_the_transaction_of_a_refund_by_hand_ends_the_waiting(node, venue, boss):
    (buyer,) = owed_by(venue, node, SURPLUS)
    mark(boss, buyer, True, "a")
    sent = {"tx_hash": give_back(node, SURPLUS), "recipient": ""}
    assert boss.send(f"{path_of(buyer)}/settle", sent).status_code == 303
    page = boss.get(path_of(buyer)).text
    assert WAITS not in page and PRESS not in page and "Paid back" in page


def test_a_refund_on_a_list_is_not_marked_and_the_page_says_why(node, venue, boss):
    (buyer,) = owed_by(venue, node, SURPLUS)
    fund(node, SURPLUS, OTHER)
    assert len(listed(venue, node, OTHER)["payments"]) == 1
    refused = mark(boss, buyer, True, "a")
    assert refused.status_code == 409 and "on a list that can still be paid" in refused.text
    assert WAITS not in boss.get(path_of(buyer)).text


def test_a_refund_without_an_address_has_no_link(node, venue, boss):
    (buyer,) = owed_by(venue, node, SURPLUS, to=None)
    mark(boss, buyer, True, "a")
    page = boss.get(path_of(buyer)).text
    assert WAITS in page and "ethereum:" not in page


def test_a_reader_sees_that_a_refund_is_paid_by_hand(node, venue, boss):
    (buyer,) = owed_by(venue, node, SURPLUS)
    mark(boss, buyer, True, "a")
    reader = sign_in(venue, "read", "eve@example.org")
    page = reader.get(path_of(buyer)).text
    assert "Paid by hand" in page and TAKE_BACK not in page
    assert mark(reader, buyer, False, "b").status_code == 403


def test_an_address_that_the_buyer_told_is_entered(node, venue, boss):
    (buyer,) = owed_by(venue, node, SURPLUS, to=None)
    form = {"address": FRIEND_ADDRESS, "reason": "Ada called from the number that we know."}
    wrong = boss.send(f"{path_of(buyer)}/payee", {**form, "address": "0x12"})
    assert wrong.status_code == 422 and 'id="address-error"' in wrong.text
    for _ in range(2):
        answer = boss.send(f"{path_of(buyer)}/payee", form)
        assert answer.headers["Location"] == f"{path_of(buyer)}#entered"
    page = boss.get(path_of(buyer)).text
    assert FRIEND_ADDRESS in page and "boss@example.org" in page
    assert "Address for a refund entered for the buyer" in boss.get("/console/audit-log").text


@pytest.fixture
def doubt(node, venue, monkeypatch):
    """A refund whose number an account has used for a payment to somebody else, and that payment.

    The list that had it has ended.
    """
    (buyer,) = owed_by(venue, node, SURPLUS)
    fund(node, 2 * SURPLUS, OTHER)
    pay_with_id(node, listed(venue, node, OTHER), OTHER, to=STRANGER_ADDRESS)
    end_lists(node, monkeypatch)
    worker_once(venue.app)
    (waiting,) = listed(venue, node, OTHER)["blocked"]
    assert waiting["reason"] == "paid_elsewhere"
    named = {name: waiting[name] for name in ("payer", "payment_id")}
    return buyer, named


def test_an_admin_says_what_a_payment_was_that_holds_a_refund_back(node, venue, doubt, boss):
    buyer, named = doubt
    asked = {"chain_id": CHAIN, "payer": account(node, OTHER), "accept_unwitnessed": "on"}
    page = boss.send("/console/money/pay-back", asked).text
    (link,) = re.findall(r'href="(/console/refunds/[^"]+/pass-over[^"]+)"', page)
    page = boss.get(html.unescape(link))
    assert page.status_code == 200
    assert named["payer"] in page.text and named["payment_id"] in page.text
    path = f"{path_of(buyer)}/pass-over"
    missing = boss.send(path, named)
    assert missing.status_code == 422 and 'id="reason-error"' in missing.text
    assert named["payment_id"] in missing.text
    sent = boss.send(path, {**named, "reason": "A gift to a friend."})
    assert sent.headers["Location"] == f"{path_of(buyer)}#passed-over"
    assert listed(venue, node, OTHER)["sum"] == SURPLUS


def test_only_an_admin_says_so_and_only_of_an_id_of_the_order(node, venue, doubt, boss):
    buyer, named = doubt
    finance = sign_in(venue, "finance", email="money@example.org")
    path = f"{path_of(buyer)}/pass-over"
    assert finance.get(f"{path}?{urlencode(named)}").status_code == 403
    assert finance.send(path, {**named, "reason": "A gift."}).status_code == 403
    asked = {"chain_id": CHAIN, "payer": account(node, OTHER), "accept_unwitnessed": "on"}
    assert "/pass-over" not in finance.send("/console/money/pay-back", asked).text
    for wrong in ({}, {**named, "payer": "me"}, {**named, "payment_id": "0x12"}):
        assert boss.get(f"{path}?{urlencode(wrong)}").status_code == 404
    foreign = {**named, "payment_id": "0x" + "ab" * 32, "reason": "A gift."}
    assert boss.send(path, foreign).status_code == 404


def test_while_a_list_can_be_paid_nothing_is_passed_over_and_the_page_says_why(node, venue, boss):
    (buyer,) = owed_by(venue, node, SURPLUS)
    fund(node, SURPLUS, OTHER)
    of_list = listed(venue, node, OTHER)
    form = {"payer": account(node, OTHER), "payment_id": of_list["payments"][0]["id"]}
    refused = boss.send(f"{path_of(buyer)}/pass-over", {**form, "reason": "A gift."})
    assert refused.status_code == 409 and "on a list that can still be paid" in refused.text
