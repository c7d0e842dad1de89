"""Whatever everybody does, no debt is paid twice by lists, and none is stuck without a reason.

Each number is a walk of its own, and the same each time. HUNT=1 goes through others, from
HUNT_FROM on, until it is stopped.
"""

import os

import pytest

from tests.support.factories import cli
from tests.support.payout_walk import Walk
from tests.support.payouts import with_address
from ticketing.services.money import payout_checks
from ticketing.worker import witness_check

pytestmark = pytest.mark.long

FIRST = int(os.environ.get("HUNT_FROM", "0"))
WALKS = range(FIRST, FIRST + 100_000) if "HUNT" in os.environ else range(4)
STEPS = 40


@pytest.mark.parametrize("walk", WALKS)
def test_nobody_is_paid_twice_and_nothing_is_stuck(
    environ, bad_node, node, request, monkeypatch, walk
):
    monkeypatch.setattr(payout_checks, "BEHIND_SECONDS", 0.0)
    monkeypatch.setattr(witness_check, "AGAIN_SECONDS", 0.0)
    environ["RPC_URL_31337"] = f"{bad_node.url} {node.url}"
    app = request.getfixturevalue("app")
    one = Walk(with_address(app, node), node, bad_node, walk, monkeypatch)
    one.run(STEPS)
    if not one.has_invented:
        assert "right" in cli(app, "reconcile")
