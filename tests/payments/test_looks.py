"""How often a purchase looks at the chain, and how many slots one client has for it."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from tests.support.factories import Api
from ticketing.constants import LOOK_SECONDS
from ticketing.db.connection import database
from ticketing.services import node_slots
from ticketing.services.payments import chain_view


@pytest.fixture
def monotonic(monkeypatch):
    """The clock that paces looks, as by default. Only the test moves it."""

    class Time:
        now = 1000.0

        def monotonic(self):
            return self.now

    found = Time()
    monkeypatch.setattr(node_slots, "time", found)
    monkeypatch.setattr(node_slots, "LOOK_SECONDS", LOOK_SECONDS)
    return found


def test_an_unpaid_order_is_looked_for_every_two_seconds(acme, node, bad_node, monotonic):
    buyer, other = (acme.buyer(acme.ticket()) for _ in range(2))
    assert [buyer.purchase().status_code for _ in range(2)] == [402, 402]
    bad_node.requests = 0
    for _ in range(20):
        early = buyer.purchase()
        assert (early.status_code, early.json["code"]) == (503, "chain_unavailable")
        assert early.headers["Retry-After"] == "2"
    assert bad_node.requests == 0
    assert other.purchase().status_code == 402
    for _ in range(3):
        monotonic.now += 2.0
        assert [buyer.purchase().status_code for _ in range(2)] == [402, 503]
    buyer.pay(node)
    monotonic.now += 2.0
    assert [buyer.purchase().status_code for _ in range(3)] == [200, 200, 200]


def test_who_asks_and_pays_and_asks_again_does_not_wait(acme, node, monotonic):
    buyer = acme.buyer(acme.ticket())
    assert buyer.purchase().status_code == 402
    buyer.pay(node)
    assert buyer.purchase().status_code == 200


@pytest.fixture
def slow(monkeypatch):
    """Each look waits until the test ends it. Yields the event that ends them."""
    go, look = Event(), chain_view.look

    def wait(*args, **options):
        assert go.wait(60)
        return look(*args, **options)

    monkeypatch.setattr(chain_view, "look", wait)
    yield go
    go.set()


def purchase(acme, buyer, address, headers=None):
    headers = headers or {"Authorization": f"Bearer {buyer.intent['client_secret']}"}
    api = Api(acme.app.test_client(), headers)
    try:
        overrides = {"REMOTE_ADDR": address}
        return api.post(f"{buyer.path}/purchase", environ_overrides=overrides)
    finally:
        database.close()


@pytest.mark.parametrize(
    ("addresses", "stranger"),
    [
        (["192.0.2.1"] * 6, "192.0.2.2"),
        ([f"2001:db8:1:{number}::1" for number in range(6)], "2001:db8:2::1"),
    ],
    ids=["IPv4", "IPv6 /48"],
)
def test_a_client_waits_for_one_node_at_a_time(acme, node, slow, addresses, stranger):
    buyers = [acme.buyer(acme.ticket()) for _ in addresses]
    victim = acme.buyer(acme.ticket())
    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(purchase, acme, *each) for each in zip(buyers, addresses, strict=True)]
        while sum(each.done() for each in sent) < len(sent) - 1:
            pass
        bought = pool.submit(purchase, acme, victim, stranger)
        refused = [each.result() for each in sent if each.done()]
        slow.set()
        assert bought.result().status_code == 402
        assert {each.status_code for each in refused} == {503}
        assert sorted(each.result().status_code for each in sent) == [402] + [503] * 5


def test_a_storefront_has_all_slots(acme, node, slow):
    buyers = [acme.buyer(acme.ticket()) for _ in range(2)]
    headers = {"X-API-Key": acme.key("paywall")}
    with ThreadPoolExecutor(2) as pool:
        sent = [pool.submit(purchase, acme, buyer, "192.0.2.1", headers) for buyer in buyers]
        slow.set()
        assert [each.result().status_code for each in sent] == [402, 402]
