"""Which address counts as the client's, behind proxies."""

import secrets

import pytest

from tests.support.apps import new_app
from tests.support.databases import only_once
from tests.support.factories import Api
from ticketing.models.rate_counts import RateCount

pytestmark = pytest.mark.one_database


@pytest.fixture
def environ(environ):
    """The database counts every request, which shows the address: the limit is below ten."""
    return {**environ, "RATE_LIMIT_PUBLIC": "10", "RATE_LIMIT_TOKEN": "9"}


def ask(api, path, address, forwarded):
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    return api.get(path, environ_overrides={"REMOTE_ADDR": address}, headers=headers)


@only_once
@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "counted"),
    [
        ("", "192.0.2.1", "203.0.113.9", "192.0.2.1"),
        ("192.0.2.1", "192.0.2.1", "203.0.113.9", "203.0.113.9"),
        ("192.0.2.0/24", "192.0.2.1", "198.51.100.1, 203.0.113.9, 192.0.2.7", "203.0.113.9"),
        ("192.0.2.0/24", "192.0.2.1", "203.0.113.9, what", "192.0.2.1"),
        ("192.0.2.0/24", "192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.0/24", "203.0.113.5", "203.0.113.9", "203.0.113.5"),
        ("192.0.2.0/24", "::ffff:192.0.2.1", "203.0.113.9", "203.0.113.9"),
        ("", "", "203.0.113.9", "203.0.113.9"),
        ("::1", "::1", "2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("", "2001:db8:1:2:3::4", "", "2001:db8:1:2::/64"),
        ("10.0.0.0/8", "10.0.0.1", "203.0.113.9:4711", "203.0.113.9"),
        ("10.0.0.0/8", "10.0.0.1", "[2001:db8:1:2::4]:443", "2001:db8:1:2::/64"),
    ],
)
def test_a_forwarded_address_is_believed_from_a_trusted_proxy_alone(
    environ, acme, proxies, peer, forwarded, counted
):
    api = Api(new_app({**environ, "TRUSTED_PROXIES": proxies}).test_client())
    assert ask(api, f"{acme.path}/events", peer, forwarded).status_code == 401
    callers = {each.caller for each in RateCount.select()}
    wide = {"token 2001:db8:1::/48"} if ":" in counted else set()
    assert callers == {f"token {counted}"} | wide


def test_a_proxy_that_nobody_named_is_told_of_once(api, acme, caplog):
    proxy = f"10.{secrets.randbelow(256)}.{secrets.randbelow(256)}.{secrets.randbelow(256)}"
    for peer in (proxy, proxy, "9.9.9.9"):
        ask(api, f"{acme.public}/events", peer, "203.0.113.9")
    told = [each.getMessage() for each in caplog.records if "TRUSTED_PROXIES" in each.getMessage()]
    assert told == [f"{proxy} forwards requests, but is not in TRUSTED_PROXIES"]
