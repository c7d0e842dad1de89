"""The console's pages of API keys."""

import re

import pytest

from tests.support.factories import Api
from ticketing.models.api_keys import ApiKey

KEYS = "/console/keys"
KEY = re.compile(r'data-copy="(ticketing_[0-9a-z_]+)"')
FORM = {"name": "Shop <b>", "role": "paywall", "ttl_seconds": "86400"}


@pytest.fixture
def made(acme, console):
    """A key that was created in the console, with its plaintext."""
    (plaintext,) = KEY.findall(console.send(KEYS, FORM).text)
    key = ApiKey.select().order_by(ApiKey.id.desc()).first()
    return key, plaintext


def test_a_key_is_shown_once_and_works(acme, console, made):
    key, plaintext = made
    repeated = console.send(KEYS, FORM)
    assert repeated.status_code == 200 and "not shown again" in repeated.text
    assert ApiKey.select().where(ApiKey.name == FORM["name"]).count() == 1
    for page in (repeated.text, console.get(KEYS).text, console.get(f"{KEYS}/{key.id}").text):
        assert plaintext not in page
    assert "Shop &lt;b&gt;" in console.get(KEYS).text
    token = Api(acme.app.test_client()).post("/v1/auth/token", {"api_key": plaintext})
    assert token.status_code == 200


def test_a_wrong_key_is_shown_again(console):
    answer = console.send(KEYS, {**FORM, "name": "", "ttl_seconds": "5"})
    assert answer.status_code == 422
    assert 'id="name-error"' in answer.text and 'id="ttl_seconds-error"' in answer.text
    assert 'value="paywall" selected' in answer.text


def test_a_key_gets_a_new_secret_while_the_old_one_works(acme, console, made):
    key, old = made
    path = f"{KEYS}/{key.id}/rotate"
    (new,) = KEY.findall(console.send(path, {"overlap_seconds": "3600"}).text)
    assert not KEY.findall(console.send(path, {"overlap_seconds": "3600"}).text)
    for plaintext in (old, new):
        token = Api(acme.app.test_client()).post("/v1/auth/token", {"api_key": plaintext})
        assert token.status_code == 200
    assert "Earlier secret ends" in console.get(f"{KEYS}/{key.id}").text


def test_a_revoked_key_is_refused(acme, console, made):
    key, plaintext = made
    path = f"{KEYS}/{key.id}"
    assert console.send(f"{path}/revoke").headers["Location"] == f"{path}#revoked"
    token = Api(acme.app.test_client()).post("/v1/auth/token", {"api_key": plaintext})
    assert token.status_code == 401
    assert key.id in console.get(f"{KEYS}?status=revoked").text
    assert key.id not in console.get(f"{KEYS}?status=active").text


def test_changes_of_keys_are_recorded_without_their_secrets(acme, console, made):
    key, plaintext = made
    console.send(f"{KEYS}/{key.id}/rotate", {"overlap_seconds": "0"})
    console.send(f"{KEYS}/{key.id}/revoke")
    entries = acme.api().get(f"{acme.path}/audit-log?subject={key.id}")
    actions = [each["action"].removeprefix("api_keys_") for each in entries.json["data"]]
    assert actions == ["revoke_api_key", "rotate_api_key", "create_api_key"]
    assert plaintext not in entries.text


def test_keys_are_for_administrators_of_their_tenant(acme, neighbour, console, writer):
    own, theirs = (ApiKey.get(ApiKey.tenant == organizer.id).id for organizer in (acme, neighbour))
    for path in (KEYS, f"{KEYS}/{own}"):
        assert writer.get(path).status_code == 403
    assert writer.send(KEYS, FORM).status_code == 403
    assert console.get(f"{KEYS}/{theirs}").status_code == 404
    for action, form in (("rotate", {"overlap_seconds": "0"}), ("revoke", {})):
        assert console.send(f"{KEYS}/{theirs}/{action}", form).status_code == 404
    assert theirs not in console.get(KEYS).text
