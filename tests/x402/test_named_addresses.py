"""An organizer's x402 cannot be used up: how many addresses are named to one client, and by GET."""

from functools import partial

import pytest

from tests.support.factories import worker_once
from tests.support.payouts import with_address
from tests.support.races import at_once, meeting_before_writes
from tests.support.x402 import required
from ticketing.errors import TooManyAddresses
from ticketing.models.daily_amounts import DailyAmount
from ticketing.models.wallets import Wallet
from ticketing.services.wallets import named_addresses
from ticketing.services.x402 import pricing

pytestmark = pytest.mark.sql

NOBODY = "0x" + "0" * 40


@pytest.fixture
def venue(app, node):
    return with_address(app, node)


@pytest.fixture
def path(venue):
    ticket = venue.ticket(capacity=10)
    worker_once(venue.app)
    return f"/v1/x402/tenants/{venue.slug}/tickets/{ticket['id']}/orders"


def ask(api, path, address="192.0.2.1"):
    return api.post(path, environ_overrides={"REMOTE_ADDR": address})


def is_refused(answer):
    refused = answer.status_code == 429 and answer.json["code"] == "too_many_addresses"
    return refused and 0 < int(answer.headers["Retry-After"]) <= 24 * 3600


def test_one_address_uses_up_its_own_share_and_others_are_told_a_price(api, path, wallet):
    asked = [ask(api, path) for _ in range(200)]
    assert {each.status_code for each in asked} == {402}
    assert is_refused(ask(api, path))
    other = ask(api, path, "198.51.100.7")
    assert other.status_code == 402
    assert api.post(path, headers=wallet.header(required(other))).status_code == 200
    # What was named before can be paid.
    assert api.post(path, headers=wallet.header(required(asked[-1]))).status_code == 200


def test_a_wide_network_has_three_times_as_many(api, path, monkeypatch):
    monkeypatch.setattr(pricing, "NAMED_PER_CLIENT", 2)
    subnets = [f"2001:db8:1:{n:x}::1" for n in range(5)]
    statuses = [ask(api, path, each).status_code for each in subnets for _ in range(3)]
    assert statuses == [402, 402, 429] * 3 + [429] * 6
    assert ask(api, path, "2001:db8:2::1").status_code == 402


def test_requests_at_once_are_counted_one_after_another(api, path, monkeypatch):
    monkeypatch.setattr(pricing, "NAMED_PER_CLIENT", 3)
    answers = at_once(*[partial(ask, api, path)] * 8)
    assert sorted(each.status_code for each in answers) == [402] * 3 + [429] * 5


def test_a_wrong_payment_is_counted_too(api, path, monkeypatch, wallet):
    """It is answered with another price, and another address."""
    monkeypatch.setattr(pricing, "NAMED_PER_CLIENT", 3)
    header = wallet.header(required(ask(api, path)), validBefore=1)
    client = {"environ_overrides": {"REMOTE_ADDR": "192.0.2.1"}}
    statuses = [api.post(path, headers=header, **client).status_code for _ in range(3)]
    assert statuses == [402, 402, 429]


def test_a_get_names_no_address(api, path, venue):
    before = Wallet.get().next_index
    for _ in range(3):
        answer = api.get(path)
        assert answer.status_code == 402
        (accepted,) = required(answer)["accepts"]
        assert accepted["payTo"] == NOBODY and "claim" not in accepted["extra"]
        assert "POST" in required(answer)["error"]
    assert Wallet.get().next_index == before
    assert DailyAmount.select().count() == 0


def test_processes_pass_the_limit_of_a_wallet_by_nothing(venue, path, database_url, monkeypatch):
    monkeypatch.setattr(named_addresses, "NAMED_PER_WALLET", 2 * named_addresses.BLOCK)
    row = Wallet.get()

    def take():
        try:
            return named_addresses.take_block(row.id)
        except TooManyAddresses:
            return None

    taken = meeting_before_writes(database_url, "wallets", *[take] * 5)
    assert sum(each is not None for each in taken) == 2
