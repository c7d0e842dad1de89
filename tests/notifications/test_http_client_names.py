"""Names that a webhook is sent to: looked up once, each address judged before it is called."""

import asyncio
from ipaddress import ip_address

import pytest

from tests.support.webhook_server import OK, Names, one, run, says
from ticketing.config import webhook_allow
from ticketing.notification_types import DeliveryError
from ticketing.services.notifications.name_lookup import SystemLookUp


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["93.184.215.14", "127.0.0.1"],
        ["93.184.215.14", "169.254.169.254"],
        ["::ffff:127.0.0.1"],
        ["2606:4700::1111", "fd00:ec2::254"],
        ["64:ff9b::7f00:1"],
    ],
)
def test_a_name_with_one_refused_address_is_not_called(addresses):
    outcomes, server = run(says(OK), allow=(), names=Names(addresses), url="https://name:8443/")
    assert outcomes[0].error is DeliveryError.ADDRESS_NOT_ALLOWED
    assert server.connections == 0


def test_a_name_that_rebinds_is_looked_up_once_and_only_the_judged_address_is_called():
    """The first answer is harmless, each later one is an address that must not be called."""
    allow = webhook_allow({"WEBHOOK_ALLOW": "127.0.0.2/32"})
    names = Names(["127.0.0.2"], ["127.0.0.1"])
    (first,), server = run(says(OK), allow=allow, names=names, url="http://name:{1}/")
    # Nobody listens at the judged address. The server at the other one was not called.
    assert (first.error, names.asked) == (DeliveryError.CONNECTION_REFUSED, 1)
    assert server.connections == 0
    outcomes, server = run(says(OK), allow=allow, names=names, times=2, url="http://name:{1}/")
    assert {each.error for each in outcomes} == {DeliveryError.ADDRESS_NOT_ALLOWED}
    assert server.connections == 0


def test_a_name_that_does_not_resolve_and_one_with_a_dead_address_first():
    (outcome,), _ = run(says(OK), names=Names([]), url="http://name:{1}/")
    assert outcome.error is DeliveryError.NAME_NOT_RESOLVED
    names = Names(["127.0.0.3", "127.0.0.1"])
    (outcome,), _ = run(says(OK), names=names, url="http://name:{1}/")
    assert outcome.status_code == 200


def test_the_systems_resolver():
    async def main():
        look_up = SystemLookUp()
        return [await look_up(each, 443) for each in ("localhost", "127.0.0.1", "nobody.invalid")]

    local, literal, nobody = asyncio.run(main())
    assert ip_address("127.0.0.1") in local
    assert literal == [ip_address("127.0.0.1")] and nobody == []


def test_proxy_variables_are_ignored(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert one(says(OK)).status_code == 200
