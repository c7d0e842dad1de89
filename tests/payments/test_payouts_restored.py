"""After a restored backup, nobody is paid twice by lists that it does not know."""

import pytest

from tests.support.backups import Backup
from tests.support.factories import CHAIN, cli, worker_once
from tests.support.payouts import (
    OTHER,
    OWNER,
    PAYER,
    STRANGER,
    answers_no,
    ask,
    blocked,
    end_lists,
    fund,
    listed,
    owed,
    pass_over,
    refund,
    sign,
    with_address,
    worthless,
)
from tests.support.refunds import account, pass_hours, settled, state
from tests.support.relayer import held
from tests.support.wallets import use_address
from ticketing.chain import address, refunded_events
from ticketing.models.admissions import Admission
from ticketing.models.chains import ChainState
from ticketing.models.payouts import Payout, PayoutCursor, PayoutEvent
from ticketing.services.money import payout_checks
from ticketing.worker import witness_check
from tools import anvil

REFUSED = r"revert|failed"

pytestmark = [pytest.mark.usefixtures("node"), pytest.mark.exhaustive]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Nodes that lag and disagree are asked again at once."""
    monkeypatch.setattr(payout_checks, "BEHIND_SECONDS", 0.0)
    monkeypatch.setattr(witness_check, "AGAIN_SECONDS", 0.0)


@pytest.fixture
def two_urls(environ, bad_node, node):
    """The first URL lies when a test says so, the second one is honest."""
    environ["RPC_URL_31337"] = f"{bad_node.url} {node.url}"
    return bad_node


@pytest.fixture
def venue(app, node):
    venue = with_address(app, node)
    for index in (OWNER, PAYER, OTHER):
        fund(node, 50_000_000, index)
    return venue


def due(buyer):
    return buyer.now()["refund_due"]


def void(venue, buyer):
    """Void the only ticket of an order, so that its price is owed."""
    (admission,) = Admission.select().where(Admission.intent == buyer.intent["id"])
    path = f"{venue.path}/admissions/{admission.id}/void"
    assert venue.api().post(path, {"reason": "ill", "refund": True}).status_code == 200


def test_after_a_restore_a_buyer_cannot_use_up_the_id_of_the_refund(app, node, venue):
    (buyer,) = owed(venue, node, 7)
    worker_once(app)
    cli(app, "db", "restored")
    pass_hours(node, 0.1)
    worker_once(app)
    first = listed(venue, node, OWNER)
    (payment,) = first["payments"]
    refund(node, STRANGER, worthless(node), (payment["id"], anvil.BUYER, 1))
    worker_once(app)
    assert PayoutCursor.get().restored_at is not None
    second = listed(venue, node, OWNER)
    assert second["payments"] == [payment]
    before = held(node, anvil.BUYER)
    sign(node, {"transactions": first["transactions"][1:]}, OWNER)
    with pytest.raises(RuntimeError, match=REFUSED):
        sign(node, {"transactions": second["transactions"][-1:]}, OWNER)
    worker_once(app)
    assert (due(buyer), held(node, anvil.BUYER) - before) == (0, 7)


def test_after_a_restore_real_money_to_another_address_holds_the_order_back(
    app, node, venue, monkeypatch
):
    (buyer,) = owed(venue, node, 7)
    payment = listed(venue, node, OWNER)["payments"][0]
    worker_once(app)
    cli(app, "db", "restored")
    pass_hours(node, 0.1)
    worker_once(app)
    fund(node, 100, STRANGER)
    refund(node, STRANGER, anvil.TOKEN_ADDRESS, (payment["id"], account(node, OTHER), 1))
    worker_once(app)
    of_list = listed(venue, node, OWNER)
    assert blocked(of_list) == [("paid_elsewhere", 7)]
    (held_back,) = of_list["blocked"]
    word = {"payer": held_back["payer"], "payment_id": held_back["payment_id"]}
    assert pass_over(venue, buyer, **word).status_code == 200
    assert listed(venue, node, OWNER)["payments"] == [payment]


def test_after_a_restore_money_to_the_buyer_is_booked_whoever_paid(app, node, venue):
    (buyer,) = owed(venue, node, 7)
    payment = listed(venue, node, OWNER)["payments"][0]
    worker_once(app)
    cli(app, "db", "restored")
    pass_hours(node, 0.1)
    fund(node, 100, STRANGER)
    refund(node, STRANGER, anvil.TOKEN_ADDRESS, (payment["id"], payment["to"], 2))
    worker_once(app)
    worker_once(app)
    assert due(buyer) == 5
    (rest,) = listed(venue, node, OWNER)["payments"]
    assert (rest["amount"], rest["id"]) == (5, payment["id"])


def test_after_a_restore_a_payment_that_is_not_final_yet_holds_the_order_back(
    three_deep, app, node, venue
):
    """Its list is not in the backup, and another owner asks for one."""
    ticket = venue.ticket()
    buyer = venue.buyer(ticket)
    buyer.pay(node, buyer.intent["amount"] + 7)
    node.rpc("anvil_mine", "0x2")
    worker_once(app)
    assert state(buyer, anvil.BUYER).status_code == 200
    id_ = refunded_events.payment_id(CHAIN, buyer.intent["token_address"], buyer.intent["id"], 0)
    cli(app, "db", "restored")
    pass_hours(node, 0.1)
    node.rpc("anvil_mine", "0x3")
    worker_once(app)
    paid = refund(node, PAYER, anvil.TOKEN_ADDRESS, (id_, anvil.BUYER, 7))
    of_list = listed(venue, node, OWNER)
    assert (of_list["payments"], blocked(of_list)) == ([], [("already_paid", 7)])
    assert of_list["blocked"][0]["tx_hash"] == paid
    node.rpc("anvil_mine", "0x3")
    worker_once(app)
    assert due(buyer) == 0


def test_after_a_restore_every_url_is_asked_what_was_paid(two_urls, app, node, venue):
    """The list and its payer are not in the backup, and one node hides what was paid."""
    (buyer,) = owed(venue, node, 7)
    worker_once(app)
    backup = Backup()
    before = held(node, anvil.BUYER)
    sign(node, listed(venue, node))
    backup.restore(app, node)
    two_urls.rules.append(answers_no)
    worker_once(app)
    assert (due(buyer), held(node, anvil.BUYER) - before) == (0, 7)
    assert listed(venue, node, OWNER)["payments"] == []


def test_after_a_restore_nobody_gets_a_list_before_every_url_has_answered(
    two_urls, app, node, venue, monkeypatch
):
    """The silent one may be the honest one."""
    owed(venue, node, 7)
    Backup().restore(app, node)
    monkeypatch.setattr("ticketing.chain.endpoint.SILENT_SECONDS", 0.0)
    two_urls.go_away()
    worker_once(app)
    assert ask(venue, node, OWNER).status_code == 503
    two_urls.come_back()
    worker_once(app)
    assert listed(venue, node, OWNER)["sum"] == 7


def test_after_a_restore_every_url_is_asked_for_payments_that_are_not_final(
    three_deep, two_urls, app, node, venue
):
    ticket = venue.ticket()
    buyer = venue.buyer(ticket)
    buyer.pay(node, buyer.intent["amount"] + 7)
    node.rpc("anvil_mine", "0x2")
    worker_once(app)
    assert state(buyer, anvil.BUYER).status_code == 200
    id_ = refunded_events.payment_id(CHAIN, buyer.intent["token_address"], buyer.intent["id"], 0)
    cli(app, "db", "restored")
    pass_hours(node, 0.1)
    node.rpc("anvil_mine", "0x3")
    worker_once(app)
    two_urls.rules.append(answers_no)
    paid = refund(node, PAYER, anvil.TOKEN_ADDRESS, (id_, anvil.BUYER, 7))
    of_list = listed(venue, node, OWNER)
    assert (of_list["payments"], blocked(of_list)) == ([], [("already_paid", 7)])
    assert of_list["blocked"][0]["tx_hash"] == paid


def test_a_node_that_invents_a_late_block_does_not_end_the_time_after_a_restore(
    app, node, venue, monkeypatch
):
    owed(venue, node, 7)
    worker_once(app)
    cli(app, "db", "restored")
    pass_hours(node, 73)
    worker_once(app)
    assert ask(venue, node).json["errors"].keys() == {"payer"}
    end_lists(node, monkeypatch)
    assert ask(venue, node).status_code == 200


def test_after_a_restore_nobody_gets_a_list_before_all_was_read(app, node, venue):
    """A second owner must not pay again what the first one paid since the backup."""
    (buyer,) = owed(venue, node, 7)
    use_address(venue.id, address.checksum(account(node, OTHER)), CHAIN)
    backup = Backup()
    sign(node, listed(venue, node, OWNER), OWNER)
    worker_once(app)
    backup.restore(app, node)
    for payer in (OWNER, OTHER):
        answer = ask(venue, node, payer)
        assert (answer.status_code, answer.json["code"]) == (503, "chain_unavailable")
    worker_once(app)
    assert due(buyer) == 0
    assert listed(venue, node, OTHER)["payments"] == []
    assert "right" in cli(app, "reconcile")


def test_after_a_restore_the_payments_of_any_account_are_found(app, node, venue, monkeypatch):
    """The account is no owner, and its list is not in the backup."""
    (buyer,) = owed(venue, node, 7)
    backup = Backup()
    before = held(node, anvil.BUYER)
    sign(node, listed(venue, node))
    worker_once(app)
    backup.restore(app, node)
    worker_once(app)
    assert (due(buyer), held(node, anvil.BUYER) - before) == (0, 7)
    assert listed(venue, node, OWNER)["payments"] == []
    # Others may hold lists that are not known here.
    assert ask(venue, node).json["errors"].keys() == {"payer"}
    end_lists(node, monkeypatch)
    worker_once(app)
    assert ask(venue, node).status_code == 200


def test_after_a_restore_a_payment_of_a_newer_debt_is_found(app, node, venue, monkeypatch):
    """The ticket was voided after the backup, and is voided once more after the restore."""
    (buyer,) = owed(venue, node, 7)
    sign(node, listed(venue, node))
    worker_once(app)
    backup = Backup()
    void(venue, buyer)
    before = held(node, anvil.BUYER)
    sign(node, listed(venue, node, OWNER), OWNER)
    worker_once(app)
    assert (due(buyer), held(node, anvil.BUYER) - before) == (0, buyer.intent["amount"])
    backup.restore(app, node)
    worker_once(app)
    void(venue, buyer)
    assert listed(venue, node, OWNER)["payments"] == []
    worker_once(app)
    assert due(buyer) == 0
    end_lists(node, monkeypatch)
    worker_once(app)
    assert listed(venue, node, OTHER)["payments"] == []


def test_after_a_restore_a_payment_that_was_settled_first_still_counts_for_a_newer_debt(
    app, node, venue
):
    """Somebody names the transaction before the worker has read it: only a part is due then."""
    (buyer,) = owed(venue, node, 7)
    backup = Backup()
    void(venue, buyer)
    paid = sign(node, listed(venue, node, OWNER), OWNER)[-1]
    worker_once(app)
    backup.restore(app, node)
    assert settled(venue, buyer, paid) == 7
    worker_once(app)
    void(venue, buyer)
    assert listed(venue, node, OWNER)["payments"] == []
    PayoutEvent.update(tried_at=None).execute()
    worker_once(app)
    assert due(buyer) == 0
    assert listed(venue, node, OWNER)["unbooked"] == []
    assert "right" in cli(app, "reconcile")


def test_after_a_restore_a_worker_that_was_away_for_days_finds_all(app, node, venue, monkeypatch):
    (buyer,) = owed(venue, node, 7)
    backup = Backup()
    sign(node, listed(venue, node))
    worker_once(app)
    backup.restore(app, node)
    end_lists(node, monkeypatch)
    assert ask(venue, node, OTHER).status_code == 503
    worker_once(app)
    assert due(buyer) == 0
    assert listed(venue, node, OTHER)["payments"] == []


def test_after_a_restore_what_was_paid_before_lists_is_not_read(app, node, venue):
    """The cursor of events stays where it is while nobody has a list: it may be old."""
    owed(venue, node, 7)
    listed(venue, node)
    Payout.delete().execute()
    PayoutCursor.update(block_number=0).execute()
    node.rpc("anvil_mine", "0x10")
    worker_once(app)
    cli(app, "db", "restored")
    assert PayoutCursor.get().block_number == ChainState.get().block_number
