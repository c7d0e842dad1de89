"""The usages of a voucher are scarce: nobody keeps them from others without paying."""

import pytest

from tests.support.factories import Api, Buyer
from ticketing.models.events import Event
from ticketing.models.vouchers import Voucher
from ticketing.services.payments import settlement

pytestmark = [pytest.mark.sql, pytest.mark.usefixtures("time")]

CODE = "EARLYBIRD"
ATTACKER, HONEST = "192.0.2.1", "198.51.100.7"
MINUTE = 60


@pytest.fixture
def environ(environ):
    limits = {"UNPAID_PER_ADDRESS": "100", "RATE_LIMIT_GUESS": "10", "HOLD_SECONDS": "900"}
    return {**environ, **limits}


@pytest.fixture
def ticket(acme):
    return acme.ticket(capacity=1000, max_per_order=10)


def voucher(acme, ticket, **fields):
    body = {"code": CODE, "price_mode": "percent", "value": 100, **fields}
    path = f"{acme.path}/events/{ticket['event_id']}/vouchers"
    made = acme.api().post(path, body)
    assert made.status_code == 201, made.json
    return made.json


def order(acme, ticket, address, quantity=10, code=CODE):
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "quantity": quantity}
    api = Api(acme.app.test_client())
    overrides = {"REMOTE_ADDR": address}
    path = f"{acme.checkout}/preflight"
    return api.post(path, {**body, "voucher": code}, environ_overrides=overrides)


def refused(answer, code, status=409):
    assert (answer.status_code, answer.json["code"]) == (status, code)
    return int(answer.headers.get("Retry-After", 0))


def test_one_client_has_its_share_of_the_usages(acme, ticket):
    """5 percent of them or max_per_order, as of seats. 40 are below the share of 1,000 seats."""
    made = voucher(acme, ticket, max_usages=40)
    assert order(acme, ticket, ATTACKER).status_code == 201
    refused(order(acme, ticket, ATTACKER), "too_much_unpaid", 429)
    assert order(acme, ticket, HONEST).status_code == 201
    assert Voucher.get_by_id(made["id"]).held == 20


def test_orders_that_ended_unpaid_halve_it_while_usages_are_scarce(acme, ticket):
    voucher(acme, ticket, max_usages=400)
    mine = [order(acme, ticket, ATTACKER) for _ in range(2)]  # 5 percent are 20
    refused(order(acme, ticket, ATTACKER), "too_much_unpaid", 429)
    for each in mine:
        assert Buyer(acme, each.json).cancel().status_code == 200
    for number in range(21):
        assert order(acme, ticket, f"198.51.100.{number}").status_code == 201
    # More than half are held: two orders of this client ended unpaid, so a quarter of 20 is left.
    assert order(acme, ticket, ATTACKER).status_code == 201
    refused(order(acme, ticket, ATTACKER, 1), "too_much_unpaid", 429)


def test_who_typed_the_code_reads_when_usages_come_back(acme, ticket, time):
    """It is no guess: somebody who tries again is not kept from the event."""
    made = voucher(acme, ticket, max_usages=10)
    assert order(acme, ticket, ATTACKER).status_code == 201
    for _ in range(12):
        wait = refused(order(acme, ticket, HONEST, 1), "voucher_held")
        assert wait == 15 * MINUTE
    path = f"/acme/{Event.get_by_id(ticket['event_id']).slug}"
    page = acme.app.test_client().get(f"{path}?voucher={CODE}").text
    assert "All uses of this code are in orders that are not paid yet. Try again at 10:15" in page
    time.forward(seconds=15 * MINUTE + 1)
    settlement.expire_free()
    assert order(acme, ticket, HONEST, 1).status_code == 201
    assert Voucher.get_by_id(made["id"]).held == 1


def test_a_code_that_is_over_is_a_wrong_one(acme, ticket):
    made = voucher(acme, ticket, max_usages=1)
    free = order(acme, ticket, HONEST, 1)
    assert Buyer(acme, free.json).purchase().status_code == 200
    refused(order(acme, ticket, ATTACKER, 1), "voucher_invalid")
    other = voucher(acme, ticket, code="OTHER-CODE", max_usages=1)
    assert order(acme, ticket, HONEST, 1, "OTHER-CODE").status_code == 201
    path = f"{acme.path}/events/{ticket['event_id']}/vouchers"
    assert acme.api().post(f"{path}/{other['id']}/disable").status_code == 200
    refused(order(acme, ticket, ATTACKER, 1, "OTHER-CODE"), "voucher_invalid")
    assert Voucher.get_by_id(made["id"]).redeemed == 1
