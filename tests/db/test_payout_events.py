"""The migration that keeps what was listed apart from what was paid, with rows in `payouts`."""

from datetime import timedelta

import pytest

from tests.support.factories import CHAIN
from ticketing import clock
from ticketing.db import migrate
from ticketing.db.connection import database
from ticketing.models.payouts import PassedId, Payout, PayoutEvent
from tools import anvil

MIGRATION = "0076_payout_events"
PAYER, OTHER, ADA, BOB = ("0x" + each * 20 for each in ("a1", "a2", "b1", "b2"))
FIRST, SECOND = "0x" + "01" * 32, "0x" + "02" * 32
TX, BLOCK = "0x" + "cd" * 32, "0x" + "ef" * 32
NOW = clock.now().replace(microsecond=0)

EVENT = {
    "tx_hash": TX,
    "log_index": 4,
    "transfer_log": 3,
    "block_number": 17,
    "block_hash": BLOCK,
    "block_time": NOW,
    "paid_to": ADA,
    "paid_amount": "7",
    "waits": False,
    "unbooked": None,
    "tried_at": NOW,
}
UNSEEN = {**dict.fromkeys(EVENT), "waits": False}
PAYS_NOTHING = {**EVENT, "transfer_log": None, "unbooked": "no_transfer"}
OF_ANOTHER_TOKEN = {**EVENT, "transfer_log": None, "unbooked": "other_token"}
TO_ANOTHER = {**EVENT, "waits": True, "unbooked": "other_payee", "paid_to": BOB}
SURPLUS = {**EVENT, "waits": True, "unbooked": "surplus"}


def go_back_before(migration):
    while migrate.downgrade() != [migration]:
        pass


def listed_before(buyer, payer, payment_id, seen):
    """Store a row of `payouts` as the version before does."""
    row = {
        "payer": payer,
        "payment_id": payment_id,
        "tenant_id": buyer.organizer.id,
        "intent_id": buyer.intent["id"],
        "chain_id": CHAIN,
        "token_address": anvil.TOKEN_ADDRESS,
        "recipient": ADA,
        "amount": 7,
        "atomic_amount": "7",
        "created_at": NOW,
        "valid_before": NOW,
        **seen,
    }
    mark = database.param
    values = [clock.rfc3339(each) if each is NOW else each for each in row.values()]
    database.execute_sql(
        f"INSERT INTO payouts ({', '.join(row)}) VALUES ({', '.join([mark] * len(row))})", values
    )


def before(payer, payment_id):
    """What the version before reads of a payout: who got what, and what was seen of it."""
    names = ["recipient", "atomic_amount", *EVENT]
    found = database.execute_sql(
        f"SELECT {', '.join(names)} FROM payouts"
        f" WHERE payer = {database.param} AND payment_id = {database.param}",
        (payer, payment_id),
    ).fetchall()
    return [dict(zip(names, row, strict=True)) for row in found]


def event_of(payer, payment_id):
    (found,) = (
        PayoutEvent.select()
        .where(PayoutEvent.payer == payer, PayoutEvent.payment_id == payment_id)
        .dicts()
    )
    return {name: found[name] for name in EVENT}


@pytest.fixture
def buyer(acme):
    return acme.buyer(acme.ticket())


def test_what_was_listed_and_what_was_seen_become_two_tables(app, buyer):
    go_back_before(MIGRATION)
    rows = {
        (PAYER, FIRST): EVENT,
        (PAYER, SECOND): UNSEEN,
        (OTHER, FIRST): PAYS_NOTHING,
        (OTHER, SECOND): OF_ANOTHER_TOKEN,
        (ADA, FIRST): TO_ANOTHER,
        (ADA, SECOND): SURPLUS,
    }
    for (payer, payment_id), seen in rows.items():
        listed_before(buyer, payer, payment_id, seen)
    migrate.upgrade()
    listed = Payout.select().dicts()
    assert {(row["payer"], row["payment_id"]) for row in listed} == rows.keys()
    for row in listed:
        assert (row["recipient"], row["atomic_amount"], row["amount"]) == (ADA, "7", 7)
        assert (row["intent"], row["chain_id"]) == (buyer.intent["id"], CHAIN)
        assert row["created_at"] == row["valid_before"] == NOW
    # An event without a Transfer of its token is no payment any more.
    events = PayoutEvent.select()
    assert {(row.payer, row.payment_id) for row in events} == {
        (PAYER, FIRST),
        (ADA, FIRST),
        (ADA, SECOND),
    }
    assert event_of(PAYER, FIRST) == EVENT
    assert event_of(ADA, SECOND) == SURPLUS
    # The worker finds out again whether it is what was listed.
    assert event_of(ADA, FIRST) == {**TO_ANOTHER, "unbooked": None}
    assert not any(row.restored for row in events)


def test_the_version_before_keeps_one_payment_of_each_id(app, buyer):
    go_back_before(MIGRATION)
    listed_before(buyer, PAYER, FIRST, EVENT)
    listed_before(buyer, PAYER, SECOND, UNSEEN)
    migrate.upgrade()
    first, second = (row for row in Payout.select().order_by(Payout.payment_id).dicts())
    # The debt has grown since, and another address was stated.
    newer = {"recipient": BOB, "atomic_amount": "9", "valid_before": NOW + timedelta(hours=1)}
    for row in (first, second):
        Payout.insert({**row, **newer}).execute()
    PayoutEvent.insert(
        PayoutEvent.select().dicts().get() | {"payment_id": SECOND, "unbooked": "other_payment"}
    ).execute()
    stranger = PayoutEvent.select().dicts().get() | {"payer": OTHER}
    PayoutEvent.insert(stranger).execute()
    PassedId.insert(
        payer=PAYER, payment_id=SECOND, intent=buyer.intent["id"], reason="x", created_at=NOW
    ).execute()
    go_back_before(MIGRATION)
    for payment_id, unbooked in ((FIRST, None), (SECOND, "other_payee")):
        (row,) = before(PAYER, payment_id)
        assert (row["recipient"], row["atomic_amount"]) == (BOB, "9")
        assert (row["tx_hash"], row["transfer_log"], row["paid_to"]) == (TX, 3, ADA)
        assert (row["unbooked"], bool(row["waits"])) == (unbooked, False)
    assert before(OTHER, FIRST) == []
    migrate.upgrade()
    assert Payout.select().count() == PayoutEvent.select().count() == 2
