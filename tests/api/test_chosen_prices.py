"""The price that a buyer chooses: at least the lowest one, and never a few micro-units."""

import pytest

from tests.support.factories import PRICE, Api
from ticketing.constants import LEAST_FREE_PRICE, MAX_PRICE


@pytest.fixture
def choose(acme):
    def ordered(ticket, price_amount, **fields):
        items = [{"ticket_id": ticket["id"], "price_amount": price_amount}]
        body = {"event_id": ticket["event_id"], "items": items, **fields}
        return Api(acme.app.test_client()).post(f"{acme.checkout}/preflight", body)

    return ordered


def is_refused(answer):
    return answer.status_code == 422 and list(answer.json["errors"]) == ["items.0.price_amount"]


def test_a_few_micro_units_do_not_get_around_the_limit_of_free_seats(acme, choose):
    """An order that costs something does not count for FREE_PER_CLIENT."""
    ticket = acme.ticket(free_price=True, price_amount=0, capacity=None)
    for too_little in (1, LEAST_FREE_PRICE - 1):
        assert is_refused(choose(ticket, too_little))
    for possible in (0, LEAST_FREE_PRICE, MAX_PRICE):
        assert choose(ticket, possible).json["amount"] == possible
    assert choose(ticket, MAX_PRICE + 1).status_code == 422


def test_the_lowest_price_of_a_voucher_can_be_chosen_however_low(acme, choose):
    ticket = acme.ticket(free_price=True, capacity=None)
    voucher = {"code": "NEARLY-FREE", "price_mode": "set", "value": 3, "max_usages": 9}
    path = f"{acme.path}/events/{ticket['event_id']}/vouchers"
    assert acme.api().post(path, voucher).status_code == 201
    for price, code in ((3, 201), (2, 422), (4, 422), (LEAST_FREE_PRICE, 201), (PRICE, 201)):
        assert choose(ticket, price, voucher="NEARLY-FREE").status_code == code, price
