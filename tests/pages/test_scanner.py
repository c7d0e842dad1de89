"""The scanner in a real browser: pairing, scanning by the field, undo, the overview."""

import pytest
from playwright.sync_api import expect

from tests.support.scanner import Doors

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def doors(remote, stack):
    return Doors(remote, stack.url)


def test_a_ticket_is_admitted_once(visit, doors):
    (ticket,) = doors.tickets()
    phone = doors.phone(visit)
    phone.check(ticket["qr"], "admitted")
    expect(phone.outcome).to_contain_text("Balcony")
    phone.expect_sent()
    phone.check(ticket["code"].upper(), "twice")
    assert phone.queue() == []
    assert doors.stats()["inside"] == 1
