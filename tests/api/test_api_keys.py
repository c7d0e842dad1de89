"""API keys: create, list, read, revoke. The plaintext is shown once."""

import logging
import re
from datetime import UTC, datetime, timedelta

import pytest

from ticketing import credentials
from ticketing.db.connection import database
from ticketing.ids import ALPHABET
from ticketing.models.api_keys import ApiKey

FIELDS = {
    "id",
    "name",
    "role",
    "prefix",
    "status",
    "created_at",
    "expires_at",
    "last_used_at",
    "revoked_at",
    "previous_expires_at",
}
YEAR = 31_536_000
UNKNOWN_ID = "key_" + "0" * 26


@pytest.fixture
def path(acme):
    return f"{acme.path}/apikeys"


@pytest.fixture
def make(admin, path):
    """Create a key and return the API's response."""

    def make(**fields):
        made = admin.post(path, {"name": "storefront", "role": "read", **fields})
        assert made.status_code == 201, made.json
        return made.json

    return make


@pytest.fixture
def expire():
    """Make a key expired."""

    def expire(key):
        past = datetime.now(UTC) - timedelta(seconds=1)
        ApiKey.update(expires_at=past).where(ApiKey.id == key["id"]).execute()

    return expire


def seconds_alive(key):
    born, dies = (datetime.fromisoformat(key[name]) for name in ("created_at", "expires_at"))
    return (dies - born).total_seconds()


def everything_stored():
    """Return every value of every row of every table, as text."""
    return "\n".join(
        str(value)
        for table in database.get_tables()
        for row in database.execute_sql(f'SELECT * FROM "{table}"').fetchall()
        for value in row
    )


def ids(answer):
    return [key["id"] for key in answer.json["data"]]


def test_a_new_key_has_exactly_the_fields_of_the_contract(make):
    key = make(name="box office", role="write", ttl_seconds=3600)
    assert key.keys() == FIELDS | {"key"}
    assert (key["name"], key["role"], key["status"]) == ("box office", "write", "active")
    assert key["last_used_at"] is key["revoked_at"] is None
    assert key["id"].startswith("key_")
    assert key["key"].startswith(key["prefix"])
    assert all(key[name].endswith("Z") for name in ("created_at", "expires_at"))
    assert seconds_alive(key) == 3600


def test_a_key_has_a_recognisable_shape_and_enough_random_bits(make):
    key = make()
    random = key["key"].removeprefix(key["prefix"] + "_")[:-7]
    assert key["prefix"] == "ticketing_" + key["id"].removeprefix("key_")
    assert re.fullmatch(f"[{ALPHABET}]+", random) and len(random) * 5 >= 160


def test_the_plaintext_is_in_the_answer_that_creates_it_and_nowhere_else(admin, path, make):
    secret = make()["key"].rsplit("_", 1)[1]
    body = {"name": "repeated", "role": "read"}
    repeated = admin.post(path, body, headers={"Idempotency-Key": "a" * 40}).json["key"]
    for each in (secret, repeated.rsplit("_", 1)[1]):
        assert each not in admin.get(path).text
        assert all(each not in admin.get(f"{path}/{key}").text for key in ids(admin.get(path)))
        assert each not in everything_stored()


def test_a_key_lives_90_days_unless_told_otherwise(make):
    assert seconds_alive(make()) == 90 * 24 * 3600


@pytest.mark.parametrize("seconds", [60, YEAR])
def test_it_takes_a_lifetime_within_the_bounds(make, seconds):
    assert seconds_alive(make(ttl_seconds=seconds)) == seconds


REFUSED = {
    "ttl_seconds": (59, YEAR + 1, 0, -60, 60.0, 1e3, True, "3600", None, 10**30, [60]),
    "name": ("", "x" * 101, 1, None, "a\0b", "\ud800"),
    "role": ("owner", "", "READ", None, 1, ["read"]),
    "scopes": (["everything"],),
    "key": ("ticketing_mine",),
}


@pytest.mark.parametrize("field", REFUSED)
def test_it_refuses_a_field_that_breaks_a_rule_and_names_it(admin, path, field):
    for value in REFUSED[field]:
        answer = admin.post(path, {"name": "x", "role": "read", field: value})
        assert (answer.status_code, set(answer.json["errors"])) == (422, {field}), value
    assert len(ids(admin.get(path))) == 1


def test_it_names_every_missing_field(admin, path):
    answer = admin.post(path, {})
    assert answer.status_code == 422
    assert set(answer.json["errors"]) == {"name", "role"}


@pytest.mark.parametrize("name", ["x", "x" * 100, "Kasse № 7 🎟"])
def test_it_takes_a_name_within_the_bounds(admin, path, make, name):
    assert admin.get(f"{path}/{make(name=name)['id']}").json["name"] == name


def test_a_key_reads_as_it_was_created(admin, path, make):
    made = make()
    del made["key"]
    assert admin.get(f"{path}/{made['id']}").json == made
    assert admin.get(path).json["data"][-1] == made


def test_keys_are_listed_in_pages_in_the_order_they_were_made(admin, path, make):
    made = [make(name=str(number))["id"] for number in range(4)]
    first = admin.get(f"{path}?limit=3")
    second = admin.get(f"{path}?limit=3&cursor={first.json['next_cursor']}")
    assert (ids(first) + ids(second))[1:] == made
    assert second.json["next_cursor"] is None


def test_the_status_filter_finds_active_expired_and_revoked_keys(admin, path, make, expire):
    active, expired, revoked, both = (make(ttl_seconds=60) for _ in range(4))
    expire(expired)
    expire(both)
    for key in (revoked, both):
        admin.post(f"{path}/{key['id']}/revoke")
    first = ids(admin.get(path))[0]
    expected = {
        "active": [first, active["id"]],
        "expired": [expired["id"]],
        "revoked": [revoked["id"], both["id"]],
    }
    for status, keys in expected.items():
        answer = admin.get(f"{path}?status={status}")
        assert ids(answer) == keys
        assert {key["status"] for key in answer.json["data"]} == {status}
    assert admin.get(f"{path}?status=deleted").status_code == 422


def test_revoking_twice_gives_the_same_answer_with_the_first_moment(admin, path, make):
    key = make()
    first = admin.post(f"{path}/{key['id']}/revoke")
    again = admin.post(f"{path}/{key['id']}/revoke")
    assert first.status_code == again.status_code == 200
    assert first.json == again.json
    assert first.json.keys() == FIELDS
    assert first.json["status"] == "revoked" and first.json["revoked_at"]


def test_an_unknown_key_is_404(admin, path):
    for key_id in (UNKNOWN_ID, "key_", "x", "%00"):
        for answer in (admin.get(f"{path}/{key_id}"), admin.post(f"{path}/{key_id}/revoke")):
            assert (answer.status_code, answer.json["code"]) == (404, "not_found")


def test_a_key_of_another_tenant_is_404_and_stays_good(admin, path, neighbour):
    headers = {"X-API-Key": neighbour.admin_key}
    theirs = neighbour.with_headers(headers)
    key_id = ids(theirs.get(f"{neighbour.path}/apikeys"))[0]
    assert admin.get(f"{path}/{key_id}").status_code == 404
    assert admin.post(f"{path}/{key_id}/revoke").status_code == 404
    assert key_id not in ids(admin.get(path))
    assert theirs.get(f"{neighbour.path}/events").status_code == 200


def test_revoking_ends_the_key_and_its_jwts_at_once(admin, acme, api, path, make):
    key = make()
    token = api.post("/v1/auth/token", {"api_key": key["key"]}).json["access_token"]
    ways = [{"X-API-Key": key["key"]}, {"Authorization": f"Bearer {token}"}]
    events = f"{acme.path}/events"
    assert [api.get(events, headers=way).status_code for way in ways] == [200, 200]
    admin.post(f"{path}/{key['id']}/revoke")
    assert [api.get(events, headers=way).status_code for way in ways] == [401, 401]
    assert api.post("/v1/auth/token", {"api_key": key["key"]}).status_code == 401


def test_a_key_may_revoke_itself(acme, api, path):
    headers = {"X-API-Key": acme.admin_key}
    own = ids(api.get(path, headers=headers))[0]
    assert api.post(f"{path}/{own}/revoke", headers=headers).status_code == 200
    assert api.post(f"{path}/{own}/revoke", headers=headers).status_code == 401


@pytest.mark.parametrize("way", ["key", "exchange"])
def test_the_moment_of_its_use_is_noted(admin, acme, api, path, make, way):
    key = make()
    assert admin.get(f"{path}/{key['id']}").json["last_used_at"] is None
    if way == "key":
        api.get(f"{acme.path}/events", headers={"X-API-Key": key["key"]})
    else:
        api.post("/v1/auth/token", {"api_key": key["key"]})
    used = admin.get(f"{path}/{key['id']}").json["last_used_at"]
    age = datetime.now(UTC) - datetime.fromisoformat(used)
    assert timedelta(0) <= age < timedelta(minutes=1)


def test_a_wrong_key_with_a_good_id_is_refused_and_not_noted_as_use(admin, api, path, make):
    key = make()
    guessed = credentials.new_api_key(key["id"])
    assert guessed.startswith(key["prefix"])
    assert api.post("/v1/auth/token", {"api_key": guessed}).status_code == 401
    assert admin.get(f"{path}/{key['id']}").json["last_used_at"] is None


def test_a_typo_anywhere_in_a_key_is_refused_without_asking_the_database(api, make, caplog):
    key = make()["key"]
    caplog.set_level(logging.DEBUG, "peewee")
    for place, character in enumerate(key):
        for wrong in ("0" if character != "0" else "1", character.upper(), ""):
            typo = key[:place] + wrong + key[place + 1 :]
            if typo != key:
                assert api.post("/v1/auth/token", {"api_key": typo}).status_code == 401, typo
    assert not [record for record in caplog.records if record.name == "peewee"]
    assert api.post("/v1/auth/token", {"api_key": key}).status_code == 200
    assert [record for record in caplog.records if record.name == "peewee"]
