"""The operator's commands for API keys."""

import json

import pytest

from tests.support.factories import Api, cli
from ticketing.models.api_keys import ApiKey


def statuses(organizer, *keys):
    """Return the status for each key."""
    path = f"{organizer.path}/events"
    return [organizer.with_headers({"X-API-Key": key}).get(path).status_code for key in keys]


def id_of(key):
    return "key_" + key.split("_")[1]


def listed(app, slug):
    told = json.loads(cli(app, "keys", "list", slug, "--json"))
    assert told["count"] == len(told["keys"])
    return told["keys"]


def test_keys_are_listed_with_their_last_use_and_no_secret(app, acme):
    key = acme.key("read")
    first, second = listed(app, "acme")
    assert [each["name"] for each in (first, second)] == ["first admin key", "read"]
    told = acme.api().get(f"{acme.path}/apikeys/{id_of(key)}").json
    del told["prefix"]
    assert second == {"tenant": "acme", **told} and told["last_used_at"] is None
    lines = cli(app, "keys", "list", "acme").splitlines()
    assert id_of(key) in lines[1] and "never used" in lines[1]
    statuses(acme, key)
    assert listed(app, acme.id)[1]["last_used_at"].endswith("Z")
    assert key.rsplit("_")[-1] not in cli(app, "keys", "list", "acme")


def test_one_key_is_revoked(app, acme, neighbour):
    key = acme.key("read")
    assert "API key does not exist" in cli(
        app, "keys", "revoke", "neighbour", id_of(key), exit_code=1
    )
    assert statuses(acme, key) == [200]
    for _ in range(2):
        assert id_of(key) in cli(app, "keys", "revoke", "acme", id_of(key))
    assert statuses(acme, key, acme.admin_key) == [401, 200]


def test_a_key_is_rotated_and_its_new_secret_told_once(app, acme):
    key = acme.key("read")
    made = json.loads(cli(app, "keys", "rotate", "acme", id_of(key), "--json"))
    assert made.keys() == {"id", "name", "role", "key"} and made["id"] == id_of(key)
    assert statuses(acme, key, made["key"]) == [200, 200]
    again = ("keys", "rotate", "acme", id_of(key), "--overlap", "0", "--ttl", "60", "--json")
    last = json.loads(cli(app, *again))["key"]
    assert statuses(acme, key, made["key"], last) == [401, 401, 200]
    cli(app, "keys", "revoke", "acme", id_of(key))
    assert "revoked" in cli(app, "keys", "rotate", "acme", id_of(key), exit_code=1)


@pytest.mark.parametrize("option", [("--overlap", "86401"), ("--overlap", "-1"), ("--ttl", "59")])
def test_a_rotation_out_of_bounds_is_refused(app, acme, option):
    told = cli(app, "keys", "rotate", "acme", id_of(acme.admin_key), *option, exit_code=2)
    assert option[0] in told


def test_all_keys_of_a_tenant_end_at_once_with_their_jwts(app, acme, neighbour):
    keys = [acme.admin_key, acme.key("read"), acme.key("write")]
    exchange = Api(app.test_client()).post("/v1/auth/token", {"api_key": keys[2]}).json
    bearer = acme.with_headers({"Authorization": f"Bearer {exchange['access_token']}"})
    cli(app, "keys", "revoke", "acme", id_of(keys[1]))

    told = cli(app, "keys", "revoke-all", "acme", stdin="n\n", exit_code=1)
    assert "all API keys of acme" in told and statuses(acme, keys[0]) == [200]

    told = json.loads(cli(app, "keys", "revoke-all", "acme", "--yes", "--json"))
    assert told == {"tenant": "acme", "revoked": 2}
    assert statuses(acme, *keys) == [401] * 3
    assert bearer.get(f"{acme.path}/events").status_code == 401
    assert statuses(neighbour, neighbour.admin_key) == [200]
    assert "revoked  0" in cli(app, "keys", "revoke-all", "acme", stdin="y\n")
    assert statuses(acme, acme.key("read")) == [200]


def test_revoking_all_keeps_the_first_moment_of_those_that_were_revoked(app, acme):
    key = acme.key("read")
    cli(app, "keys", "revoke", "acme", id_of(key))
    before = ApiKey.get_by_id(id_of(key)).revoked_at
    cli(app, "keys", "revoke-all", "acme", "--yes")
    assert ApiKey.get_by_id(id_of(key)).revoked_at == before


@pytest.mark.parametrize("command", ["list", "rotate", "revoke", "revoke-all"])
def test_an_unknown_tenant_is_refused(app, command):
    arguments = ["key_x"] if command in ("rotate", "revoke") else []
    options = ["--yes"] if command == "revoke-all" else []
    told = cli(app, "keys", command, "nobody-here", *arguments, *options, exit_code=1)
    assert "tenant does not exist" in told


def test_without_a_previous_secret_nothing_would_end(app, acme):
    assert cli(app, "keys", "under-previous") == ""
