"""Deposits from the door to the wallets of who came, on both databases."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import admissions_of
from tests.support.doors import Door, moment, redeem, undo
from tests.support.factories import PRICE, cli, worker_once
from tests.support.payouts import fund, listed, sign, with_address
from tests.support.refunds import state
from ticketing.models.door import DoorDevice
from ticketing.models.events import Event
from ticketing.services.payments import deposits
from tools import anvil

pytestmark = [pytest.mark.sql, pytest.mark.long]

DEPOSIT = PRICE // 2


def test_a_hundred_pay_a_deposit_eighty_come_and_one_signature_pays_them(app, node):
    """Two doors are offline, three entries undone, three copies shown: eighty are paid."""
    venue = with_address(app, node)
    door = Door(venue)
    ticket = venue.ticket(door.event, deposit_amount=DEPOSIT, capacity=100)
    buyers = [venue.buyer(ticket) for _ in range(100)]
    for buyer in buyers:
        buyer.pay(node)
    worker_once(app)
    assert {buyer.now()["status"] for buyer in buyers} == {"confirmed"}
    north, south = door.gate(gate="North"), door.gate(gate="South")
    DoorDevice.update(unsynced=40).execute()

    came = buyers[:80]
    seats = [seat for buyer in came for seat in admissions_of(buyer)]
    offline = [redeem(qr=door.qr(seat), at=moment(-30)) for seat in seats]
    # Three were let in by mistake and sent back, then they came again. Three showed a copy.
    wrong, copies = offline[:3], [redeem(qr=each["qr"], at=moment(-20)) for each in offline[40:43]]
    undone = [undo(each) for each in wrong]
    again = [redeem(qr=each["qr"], at=moment(-10)) for each in wrong]

    yesterday = datetime.now(UTC) - timedelta(hours=25)
    Event.update(start_at=yesterday - timedelta(hours=3), end_at=yesterday).execute()
    assert deposits.begin_due() == 0  # it waits for the phones
    for gate, scans in ((north, [*offline[:40], *undone, *again]), (south, offline[40:])):
        gate.send(*scans, unsynced=0)
    north.send(*copies, unsynced=0)
    assert deposits.begin_due() == 1
    while deposits.run_some():
        pass
    owed = [buyer.now()["refund_due"] for buyer in buyers]
    assert owed == [DEPOSIT] * 80 + [0] * 20

    for buyer in came:
        assert state(buyer, anvil.BUYER).status_code == 200
    fund(node, 80 * DEPOSIT)
    of_list = listed(venue, node)
    steps = [(each["purpose"], each["orders"], each["amount"]) for each in of_list["transactions"]]
    assert steps[-1] == ("refund", 80, 80 * DEPOSIT)
    tx_hash = sign(node, of_list)[-1]
    worker_once(app)
    assert [buyer.now()["refund_due"] for buyer in buyers] == [0] * 100
    paid = [
        [(each["amount"], each["tx_hash"]) for each in buyer.now()["refunds"]] for buyer in came
    ]
    assert paid == [[(DEPOSIT, tx_hash)]] * 80
    assert {buyer.now()["status"] for buyer in buyers} == {"confirmed"}
    assert "right" in cli(app, "reconcile")
