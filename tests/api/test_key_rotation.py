"""A key gets a new secret. The old one stays valid for a while, with the JWTs made from it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import jwt
import pytest

from tests.conftest import SECRET_KEY
from tests.support.factories import Api
from tests.support.remote import PATIENCE_SECONDS
from ticketing.db.connection import database
from ticketing.models.api_keys import ApiKey

KEPT = ("id", "name", "role", "prefix", "created_at", "expires_at")
UNKNOWN_ID = "key_" + "0" * 26
DAY = 86_400


@pytest.fixture
def admin(acme):
    return acme.with_headers({"X-API-Key": acme.admin_key})


@pytest.fixture
def rotate(admin, acme, key):
    """Rotate that key, and return the API's response."""

    def rotate(**fields):
        answer = admin.post(f"{acme.path}/apikeys/{key['id']}/rotate", fields)
        assert answer.status_code == 200, answer.json
        return answer.json

    return rotate


@pytest.fixture
def jwt_of(acme, api):
    """Exchange a plaintext for a JWT. Return a function that checks whether it is valid."""

    def jwt_of(plaintext):
        token = api.post("/v1/auth/token", {"api_key": plaintext}).json["access_token"]
        bearer = acme.with_headers({"Authorization": f"Bearer {token}"})
        good = lambda: bearer.get(f"{acme.path}/events").status_code == 200  # noqa: E731
        good.token = token
        return good

    return jwt_of


def end_overlap(key):
    """End the overlap."""
    past = datetime.now(UTC) - timedelta(seconds=1)
    ApiKey.update(previous_expires_at=past).where(ApiKey.id == key["id"]).execute()


def expire(key):
    past = datetime.now(UTC) - timedelta(seconds=1)
    ApiKey.update(expires_at=past).where(ApiKey.id == key["id"]).execute()


def is_in(seconds, moment):
    """Return whether a moment, calculated during this test, was this many seconds ahead."""
    left = (datetime.fromisoformat(moment) - datetime.now(UTC)).total_seconds()
    return seconds - PATIENCE_SECONDS < left <= seconds


def test_a_rotated_key_is_the_same_key_with_another_secret(admin, acme, key, rotate):
    rotated = rotate()
    assert {name: rotated[name] for name in KEPT} == {name: key[name] for name in KEPT}
    assert rotated.keys() == key.keys()
    assert rotated["key"] != key["key"] and rotated["key"].startswith(key["prefix"])
    assert key["previous_expires_at"] is None
    assert is_in(3600, rotated["previous_expires_at"])
    del rotated["key"]
    assert admin.get(f"{acme.path}/apikeys/{key['id']}").json == rotated


def test_both_secrets_are_good_until_the_overlap_ends(key, rotate, opens):
    new = rotate()["key"]
    assert opens(new) and opens(key["key"])
    end_overlap(key)
    assert opens(new) and not opens(key["key"])


@pytest.mark.parametrize("seconds", [0, 1, DAY])
def test_the_overlap_may_be_nothing_to_a_day(key, rotate, opens, seconds):
    rotated = rotate(overlap_seconds=seconds)
    assert is_in(seconds, rotated["previous_expires_at"])
    assert opens(rotated["key"])
    if seconds != 1:
        assert opens(key["key"]) == (seconds == DAY)


@pytest.mark.parametrize("body", [None, {}])
def test_a_rotation_may_say_nothing(admin, acme, key, body):
    path = f"{acme.path}/apikeys/{key['id']}/rotate"
    assert admin.post(path, body).status_code == 200
    headers = {"Content-Type": "application/json"}
    assert admin.post(path, headers=headers).status_code == 200
    assert admin.client.post(path, headers=admin.headers, data="x").status_code == 415


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("overlap_seconds", value) for value in (-1, DAY + 1, 1.0, "60", None, True)),
        *(("ttl_seconds", value) for value in (59, 31_536_001, None)),
        ("name", "another"),
        ("role", "admin"),
        ("key", "mine"),
    ],
)
def test_it_refuses_a_field_that_breaks_a_rule(admin, acme, key, opens, field, value):
    answer = admin.post(f"{acme.path}/apikeys/{key['id']}/rotate", {field: value})
    assert (answer.status_code, set(answer.json["errors"])) == (422, {field})
    assert opens(key["key"])


def test_a_second_rotation_ends_the_oldest_secret_at_once(key, rotate, opens, jwt_of):
    oldest = jwt_of(key["key"])
    second = rotate()["key"]
    assert oldest()
    third = rotate()["key"]
    assert [opens(each) for each in (key["key"], second, third)] == [False, True, True]
    assert not oldest()


def test_what_ends_sooner_bounds_the_overlap(key, rotate):
    rotated = rotate(ttl_seconds=60, overlap_seconds=DAY)
    assert rotated["previous_expires_at"] == rotated["expires_at"]
    assert is_in(60, rotated["expires_at"])


def test_a_new_lifetime_counts_from_the_rotation(key, rotate):
    assert is_in(31_536_000, rotate(ttl_seconds=31_536_000)["expires_at"])


def test_a_jwt_made_before_a_rotation_ends_with_its_secret(key, rotate, jwt_of):
    before = jwt_of(key["key"])
    after = jwt_of(rotate()["key"])
    assert before() and after()
    end_overlap(key)
    assert after() and not before()


def test_without_an_overlap_earlier_jwts_end_at_once_and_new_ones_are_good(key, rotate, jwt_of):
    before = jwt_of(key["key"])
    after = jwt_of(rotate(overlap_seconds=0)["key"])
    assert after() and not before()


def test_a_jwt_made_from_the_old_secret_never_outlives_the_overlap(key, rotate, jwt_of):
    rotated = rotate(overlap_seconds=60)
    old = jwt_of(key["key"])
    told = jwt.decode(old.token, SECRET_KEY, ["HS256"], audience="ticketing-admin")
    ends = datetime.fromisoformat(rotated["previous_expires_at"]).timestamp()
    assert ends - 1 < told["exp"] <= ends
    assert old()
    rotate()
    assert not old()


def test_revoking_ends_both_secrets_and_all_jwts(admin, acme, key, rotate, opens, jwt_of):
    new = rotate()["key"]
    jwts = [jwt_of(key["key"]), jwt_of(new)]
    assert admin.post(f"{acme.path}/apikeys/{key['id']}/revoke").status_code == 200
    assert not any([opens(key["key"]), opens(new), *(good() for good in jwts)])


def test_a_key_that_has_expired_is_not_rotated(admin, acme, key, opens):
    path = f"{acme.path}/apikeys/{key['id']}"
    expire(key)
    answer = admin.post(f"{path}/rotate", {"ttl_seconds": 3600})
    assert (answer.status_code, answer.json["code"]) == (409, "key_not_active")
    assert not opens(key["key"]) and admin.get(path).json["status"] == "expired"


def test_only_an_admin_of_the_tenant_rotates_its_keys(admin, acme, neighbour, key, opens):
    theirs = neighbour.with_headers({"X-API-Key": neighbour.admin_key})
    for path in (f"{neighbour.path}/apikeys/{key['id']}", f"{acme.path}/apikeys/{UNKNOWN_ID}"):
        api = theirs if path.startswith(neighbour.path) else admin
        assert api.post(f"{path}/rotate", {}).status_code == 404
    path = f"{acme.path}/apikeys/{key['id']}/rotate"
    assert theirs.post(path, {}).json["code"] == "wrong_tenant"
    assert acme.api("write").post(path, {}).json["code"] == "insufficient_role"
    assert opens(key["key"])


def test_a_key_may_rotate_itself(acme, api, opens):
    own = ApiKey.get(ApiKey.tenant == acme.id).id
    headers = {"X-API-Key": acme.admin_key}
    answer = api.post(f"{acme.path}/apikeys/{own}/rotate", {"overlap_seconds": 0}, headers=headers)
    assert answer.status_code == 200
    assert opens(answer.json["key"]) and not opens(acme.admin_key)


def test_a_repeated_rotation_is_one_and_never_carries_the_secret_again(admin, acme, key, opens):
    path, headers = f"{acme.path}/apikeys/{key['id']}/rotate", {"Idempotency-Key": "k"}
    first, second = (admin.post(path, {}, headers=headers) for _ in range(2))
    assert second.headers["Idempotent-Replayed"] == "true"
    assert second.json == {**first.json, "key": None}
    assert opens(first.json["key"]) and opens(key["key"])


@pytest.mark.parametrize("with_key", [False, True])
def test_of_rotations_at_once_the_last_two_secrets_are_good(acme, key, opens, with_key):
    path = f"{acme.path}/apikeys/{key['id']}/rotate"

    def send(number):
        headers = {"X-API-Key": acme.admin_key}
        if with_key:
            headers["Idempotency-Key"] = f"k{number}"
        try:
            return Api(acme.app.test_client(), headers).post(path, {})
        finally:
            database.close()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))
    assert {answer.status_code for answer in answers} == {200}
    told = [answer.json["key"] for answer in answers]
    assert len(set(told)) == 8
    ends = sorted((answer.json["previous_expires_at"], answer.json["key"]) for answer in answers)
    good = {secret for secret in (key["key"], *told) if opens(secret)}
    assert good == {secret for _, secret in ends[-2:]}


def test_the_use_of_either_secret_is_noted(admin, acme, key, rotate, opens):
    rotate()
    path = f"{acme.path}/apikeys/{key['id']}"
    assert admin.get(path).json["last_used_at"] is None
    opens(key["key"])
    assert is_in(0, admin.get(path).json["last_used_at"])
