"""The operator blocks a network: its requests are refused everywhere, without a restart."""

import json
from datetime import timedelta

import pytest

from tests.support.factories import Api, cli
from ticketing import clock
from ticketing.services import client_networks
from ticketing.services.access import blocked_networks

BAD, NEIGHBOR = "2001:db8:7:1::5", "2001:db9::5"
BLOCKED = "2001:db8::/32"


@pytest.fixture(autouse=True)
def reads_at_once(monkeypatch):
    monkeypatch.setattr(blocked_networks, "READ_SECONDS", 0.0)


@pytest.fixture
def event(acme):
    return acme.event(status="published")


def statuses(acme, event, address):
    """What a client of this address gets: a page, the API, a file, an order."""
    client = acme.app.test_client()
    here = {"environ_overrides": {"REMOTE_ADDR": address}}
    found = []
    for path in (
        f"/{acme.slug}/{event['slug']}",
        f"{acme.public}/events",
        "/v1/admin/tenants/acme/events",
        "/static/docs.js",
        "/nothing",
    ):
        with client.get(path, **here) as answer:
            found.append(answer.status_code)
    found.append(Api(client).post(f"{acme.checkout}/preflight", {}, **here).status_code)
    return found


def test_a_network_is_blocked_and_its_neighbors_are_not(acme, event):
    before = statuses(acme, event, BAD)
    assert statuses(acme, event, BAD) == before and 403 not in before  # from the cache, too
    said = json.loads(cli(acme.app, "networks", "block", "2001:db8::1/32", "--json"))
    assert said["network"] == BLOCKED
    assert statuses(acme, event, BAD) == [403] * len(before)
    assert statuses(acme, event, NEIGHBOR) == before
    assert statuses(acme, event, "192.0.2.1") == before
    page = acme.app.test_client().get(
        f"/{acme.slug}/{event['slug']}", environ_overrides={"REMOTE_ADDR": BAD}
    )
    assert "Your network is blocked" in page.text
    assert BLOCKED in cli(acme.app, "networks", "list")
    cli(acme.app, "networks", "unblock", BLOCKED)
    assert statuses(acme, event, BAD) == before
    assert cli(acme.app, "networks", "list") == ""
    cli(acme.app, "networks", "unblock", BLOCKED, exit_code=1)


def test_a_check_of_health_reads_no_list(acme, monkeypatch):
    """It must answer while the database hangs, from whatever network it comes."""
    cli(acme.app, "networks", "block", BLOCKED)
    listed, reads = blocked_networks.listed, []
    monkeypatch.setattr(blocked_networks, "listed", lambda: reads.append(1) or listed())
    here = {"environ_overrides": {"REMOTE_ADDR": BAD}}
    client = acme.app.test_client()
    assert client.get("/healthz", **here).status_code == 200 and not reads
    assert client.get("/readyz", **here).status_code == 403 and reads


def test_it_ends_by_itself(acme, event, monkeypatch):
    cli(acme.app, "networks", "block", "192.0.2.7", "--hours", "2")
    assert set(statuses(acme, event, "192.0.2.7")) == {403}
    later = clock.now() + timedelta(hours=2, seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert 403 not in statuses(acme, event, "192.0.2.7")
    assert cli(acme.app, "networks", "list") == ""


def test_a_process_reads_the_list_again_after_some_seconds(acme, event, monkeypatch):
    monkeypatch.setattr(blocked_networks, "READ_SECONDS", 5.0)
    now = clock.monotonic()
    monkeypatch.setattr(clock, "monotonic", lambda: now)
    assert 403 not in statuses(acme, event, BAD)
    cli(acme.app, "networks", "block", BLOCKED)
    assert 403 not in statuses(acme, event, BAD)
    monkeypatch.setattr(clock, "monotonic", lambda: now + 5.0)
    assert set(statuses(acme, event, BAD)) == {403}


def test_an_address_of_ipv6_is_its_64(app):
    said = json.loads(cli(app, "networks", "block", "2001:db8:1:2::3", "--json"))
    assert said["network"] == "2001:db8:1:2::/64"


@pytest.mark.parametrize(
    "network", ["everybody", "0.0.0.0/0", "10.0.0.0/7", "::/0", "2001:db8::/15", "2001:db8::/65"]
)
def test_what_is_no_network_or_too_wide_is_refused(app, network):
    assert "network:" in cli(app, "networks", "block", network, exit_code=1)


@pytest.mark.parametrize("hours", ["0", "721"])
def test_a_block_has_an_end(app, hours):
    assert "hours:" in cli(app, "networks", "block", BLOCKED, "--hours", hours, exit_code=1)


def test_the_names_of_the_console_are_found_among_addresses(acme, event):
    ticket = acme.ticket(event)
    body = {"event_id": event["id"], "ticket_id": ticket["id"]}
    addresses = ("192.0.2.7", BAD)
    for address in addresses:
        here = {"environ_overrides": {"REMOTE_ADDR": address}}
        answer = Api(acme.app.test_client()).post(f"{acme.checkout}/preflight", body, **here)
        assert answer.status_code == 201
    config = acme.app.extensions["ticketing"]
    shown = {each.name for each in client_networks.of_event(acme.id, event["id"], config)}
    listed = cli(acme.app, "networks", "name", *addresses, "192.0.2.8").splitlines()
    names = dict(reversed(line.split("  ")) for line in listed)
    assert {names[each] for each in addresses} == shown and names["192.0.2.8"] not in shown
    with pytest.raises(AssertionError):
        cli(acme.app, "networks", "name", "192.0.2.0/24")
