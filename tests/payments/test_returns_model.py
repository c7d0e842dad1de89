"""The model of seats that are given back holds, and needs each of its guards."""

from random import Random

import pytest

from tests.support.returns_model import GUARDS, Breach, World

RUNS, STEPS = 3_000, 60


def test_no_run_breaches_it():
    swaps = conflicts = 0
    for seed in range(RUNS):
        world = World(Random(seed))
        world.run(STEPS)
        swaps += world.moves.count("swap")
        conflicts += world.conflicts
    assert swaps > RUNS and conflicts > 100  # it did what it is for


@pytest.mark.parametrize("guard", GUARDS)
def test_without_a_guard_a_run_breaches_it(guard):
    with pytest.raises(Breach):
        for seed in range(RUNS):
            World(Random(seed), without=guard).run(STEPS)
