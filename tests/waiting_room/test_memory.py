"""What the service stores for people who wait: their number by second, and nothing for each."""

import tracemalloc

from tests.support.databases import only_once

PEOPLE = 20_000
MOST_BYTES = 50


@only_once
def test_a_person_who_waits_costs_less_than_50_bytes(opened, app, event, person):
    person().open()
    room = app.extensions["waiting_rooms"].of_event(event["id"])
    keyring = app.extensions["ticketing"].keyring
    tracemalloc.start()
    try:
        for number in range(PEOPLE):
            room.visit(None, [f"network {number}"], keyring)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert used < MOST_BYTES * PEOPLE / 2
