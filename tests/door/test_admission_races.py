"""A void, a scan, a transfer and a reorganization of one admission at once: exactly one wins."""

import pytest

from tests.support.admissions import sold, void
from tests.support.doors import Door
from tests.support.factories import PRICE, in_days, worker_once
from tests.support.holders import Held, accept
from tests.support.races import at_once
from ticketing.models.admissions import Admission
from ticketing.services.payments.reconciliation import reconcile

pytestmark = [pytest.mark.sql, pytest.mark.long]

ROUNDS = 8
REFUSED = {
    "admitted": {"already_redeemed", "suspended"},
    "transferred": {"was_transferred", "superseded", "suspended"},
    "voided": {"admission_void", "admission_suspended", "void", "suspended", "offer_ended"},
}
"""With what the others may be refused, by who wins."""


@pytest.fixture
def door(acme, node):
    """A door whose tickets cost something, and can be transferred while it is open."""
    door = Door(acme, transfers_end_at=in_days(1 / 24))
    door.ticket = acme.ticket(door.event, capacity=None, transferable=True)
    worker_once(acme.app)
    return door


def test_of_a_void_a_scan_and_a_transfer_one_wins_while_the_payment_disappears(acme, node, door):
    gates = [door.gate(), door.gate()]
    for _ in range(ROUNDS):
        snapshot = node.rpc("evm_snapshot")
        buyer = sold(acme, node, door.ticket)
        (shown,) = buyer.purchase().json["admissions"]
        held = Held(acme, shown["id"], shown["code"])
        offer = held.offer().json["offer"]
        node.rpc("evm_revert", snapshot)
        node.rpc("anvil_mine", "0x5")

        def scan(gate, qr=shown["qr"]):
            return gate.outcome(qr=qr)

        voided, taken, *outcomes, _ = at_once(
            lambda held=held: void(acme, held.id),
            lambda offer=offer: accept(acme, offer),
            *(lambda gate=gate: scan(gate) for gate in gates),
            lambda: worker_once(acme.app),
        )
        won = [
            *(["voided"] if voided.status_code == 200 else []),
            *(["transferred"] if taken.status_code == 200 else []),
            *(outcome for outcome in outcomes if outcome == "admitted"),
        ]
        assert len(won) == 1
        refused = {each.json["code"] for each in (voided, taken) if each.status_code != 200}
        refused |= {outcome for outcome in outcomes if outcome != "admitted"}
        assert refused <= REFUSED[won[0]]
        worker_once(acme.app)
        check(held, won[0], status="suspended")
        # The buyer pays again: what is not void becomes valid again.
        buyer.pay(node)
        worker_once(acme.app)
        check(held, won[0], status="valid")
        assert buyer.now()["refund_due"] == (PRICE if won[0] == "voided" else 0)
        assert reconcile(None) == []


def check(held, won, status):
    """Check that only the effects of the winner are there."""
    now = Admission.get_by_id(held.id)
    assert now.status == ("void" if won == "voided" else status)
    assert now.generation == (2 if won == "transferred" else 1)
    assert (now.redeemed_at is not None) == (won == "admitted")
