"""Secrets of webhook endpoints: stored encrypted, rotated, and known to no one but the receiver.

The receivers verify with the package `standardwebhooks`.
"""

import base64
import json
from datetime import timedelta

import pytest
from standardwebhooks import Webhook as Receiver
from standardwebhooks.webhooks import WebhookVerificationError

from tests.conftest import SECRET_KEY
from tests.support.apps import new_app
from tests.support.factories import cli, new_organizer, worker_once
from tests.support.webhook_endpoints import Webhook, new_webhook
from ticketing import clock, encryption
from ticketing.credentials import Keyring, secret_key_id
from ticketing.db.connection import database
from ticketing.encryption import SecretUnreadable
from ticketing.models.api_keys import ApiKey
from ticketing.models.idempotency import IdempotencyKey
from ticketing.models.notifications import WebhookEndpoint
from ticketing.services.notifications import webhook_secrets

OLD, NEW = SECRET_KEY, "the-new-one-0123456789abcdefghijklmnopqrstuvwxyz"
BODY = json.dumps({"type": "webhook.test", "data": {"sequence": 1, "name": "Grüße 🎟"}}).encode()
KEYRING = Keyring(OLD)
PURPOSE = "webhook-secrets"


@pytest.fixture
def environ(environ):
    """The configuration without a chain."""
    return {name: value for name, value in environ.items() if name != "RPC_URL_31337"}


def signed(webhook, keyring=KEYRING):
    """Return the headers of a delivery that is sent now."""
    now = int(clock.now().timestamp())
    keys = webhook_secrets.signing_keys(webhook.row, keyring)
    return webhook_secrets.sign(keys, "ntf_1", now, BODY)


def accepts(secret, headers, body=BODY):
    try:
        Receiver(secret).verify(body, headers)
    except WebhookVerificationError:
        return False
    return True


def test_a_receiver_verifies_what_is_signed_and_nothing_else(acme, webhook):
    headers = signed(webhook)
    secret = webhook.created["secret"]
    assert Receiver(secret).verify(BODY, headers) == json.loads(BODY)
    assert headers["webhook-id"] == "ntf_1"
    assert len(headers["webhook-signature"].split(" ")) == 1
    assert not accepts(secret, headers, BODY + b" ")
    assert not accepts(secret, {**headers, "webhook-id": "ntf_2"})
    later = str(int(headers["webhook-timestamp"]) + 1)
    assert not accepts(secret, {**headers, "webhook-timestamp": later})
    assert not accepts(new_webhook(acme).created["secret"], headers)


def test_a_secret_is_32_random_bytes_and_never_the_same(acme):
    made = [new_webhook(acme).created["secret"] for _ in range(3)]
    raw = {base64.b64decode(each.removeprefix("whsec_"), validate=True) for each in made}
    assert [len(each) for each in raw] == [32] * 3


def test_what_is_stored_says_nothing_about_the_secret(webhook):
    secret = webhook.created["secret"]
    webhook.api.post(f"{webhook.path}/rotate", headers={"Idempotency-Key": "k"})
    rows = [*WebhookEndpoint.select().tuples(), *IdempotencyKey.select().tuples()]
    written = json.dumps([list(row) for row in rows], default=str)
    assert "whsec" not in written and secret.removeprefix("whsec_") not in written
    first, second = webhook.row.secret, webhook.row.previous_secret
    assert first[:16] != second[:16], "the nonce is random"
    # The same secret, encrypted again, cannot be recognized.
    assert encryption.encrypt(secret, PURPOSE, webhook.id, KEYRING) != second


def test_a_stored_secret_is_of_no_use_elsewhere_and_cannot_be_changed(acme, webhook):
    stored = webhook.row.secret
    assert encryption.decrypt(stored, PURPOSE, webhook.id, KEYRING) == webhook.created["secret"]
    other = new_webhook(acme).row
    for text, endpoint_id in (
        (stored, other.id),
        (other.secret, webhook.id),
        ("", webhook.id),
        ("AAAA", webhook.id),
        ("no base64", webhook.id),
        (stored[:-8], webhook.id),
        (("B" if stored[0] == "A" else "A") + stored[1:], webhook.id),
    ):
        with pytest.raises(SecretUnreadable):
            encryption.decrypt(text, PURPOSE, endpoint_id, KEYRING)


def test_both_secrets_verify_until_the_overlap_ends(webhook, monkeypatch):
    first = webhook.created["secret"]
    rotated = webhook.done("rotate", overlap_seconds=600)
    second = rotated["secret"]
    assert rotated["previous_expires_at"] == webhook.now()["previous_expires_at"]
    headers = signed(webhook)
    assert len(headers["webhook-signature"].split(" ")) == 2
    assert accepts(first, headers) and accepts(second, headers)
    end = webhook.row.previous_expires_at
    assert end - timedelta(seconds=610) < clock.now() < end

    webhook.set(previous_expires_at=clock.now() - timedelta(seconds=1))
    headers = signed(webhook)
    assert len(headers["webhook-signature"].split(" ")) == 1
    assert accepts(second, headers) and not accepts(first, headers)


def test_a_rotation_without_an_overlap_ends_the_old_secret_at_once(webhook):
    rotated = webhook.done("rotate", overlap_seconds=0)
    headers = signed(webhook)
    assert accepts(rotated["secret"], headers)
    assert not accepts(webhook.created["secret"], headers)


def test_an_overlap_is_an_hour_unless_the_request_says_otherwise(webhook):
    assert webhook.api.post(f"{webhook.path}/rotate").status_code == 200
    left = webhook.row.previous_expires_at - clock.now()
    assert timedelta(minutes=59) < left <= timedelta(hours=1)


def test_only_the_last_two_secrets_are_valid(webhook):
    first, second = webhook.created["secret"], webhook.done("rotate")["secret"]
    third = webhook.done("rotate")["secret"]
    headers = signed(webhook)
    assert [accepts(each, headers) for each in (first, second, third)] == [False, True, True]


def test_a_repeated_rotation_shows_no_secret(webhook):
    answers = [
        webhook.api.post(f"{webhook.path}/rotate", headers={"Idempotency-Key": "k"})
        for _ in range(2)
    ]
    assert answers[1].json == {**answers[0].json, "secret": None}
    assert accepts(answers[0].json["secret"], signed(webhook))


@pytest.fixture
def host(environ):
    """Start the application with these secrets, the current one first."""

    def host(current, previous=None):
        secrets = {"SECRET_KEY": current}
        secrets |= {} if previous is None else {"SECRET_KEY_PREVIOUS": previous}
        return new_app({**environ, **secrets})

    yield host
    database.close()


def at(host, webhook):
    """The same endpoint, at another host."""
    acme = webhook.organizer
    return Webhook(type(acme)(host, acme.slug, acme.id, acme.admin_key), webhook.created)


def under_previous(app, exit_code):
    return json.loads(cli(app, "keys", "under-previous", "--json", exit_code=exit_code))


def test_a_changed_secret_key_breaks_no_receiver(host):
    before = new_webhook(new_organizer(host(OLD), "acme"))
    first, second = before.created["secret"], before.done("rotate")["secret"]
    keyring = Keyring(NEW, OLD)
    headers = signed(before, keyring)
    assert accepts(first, headers) and accepts(second, headers)

    here = at(host(NEW, OLD), before)
    ApiKey.update(last_used_at=None).execute()
    here.api.get(here.path)  # stores the key's digest under the new SECRET_KEY
    assert under_previous(here.organizer.app, 1)["webhooks"] == [{"tenant": "acme", "id": here.id}]
    listed = cli(here.organizer.app, "keys", "under-previous", exit_code=1)
    assert listed == f"acme  {here.id}  webhook secret\n"
    worker_once(here.organizer.app)
    assert under_previous(here.organizer.app, 0)["webhooks"] == []
    # SECRET_KEY_PREVIOUS is no longer needed.
    headers = signed(here, Keyring(NEW))
    assert accepts(first, headers) and accepts(second, headers)
    with pytest.raises(SecretUnreadable):
        signed(here, Keyring(OLD))


def test_hosts_at_different_steps_sign_what_the_other_has_stored(host):
    webhook = new_webhook(new_organizer(host(OLD, NEW), "acme"))
    for keyring in (Keyring(OLD, NEW), Keyring(NEW, OLD)):
        assert accepts(webhook.created["secret"], signed(webhook, keyring))
    there = at(host(NEW, OLD), webhook)
    rotated = there.done("rotate")
    for keyring in (Keyring(OLD, NEW), Keyring(NEW, OLD)):
        headers = signed(there, keyring)
        assert accepts(rotated["secret"], headers) and accepts(webhook.created["secret"], headers)


def test_a_secret_rotated_meanwhile_is_not_put_back(host, monkeypatch):
    webhook = new_webhook(new_organizer(host(OLD), "acme"))
    here = at(host(NEW, OLD), webhook)
    store, rotated = webhook_secrets.store, []

    def store_after_a_rotation(*arguments):
        if not rotated:
            rotated.append(None)
            rotated[0] = here.done("rotate")["secret"]
        store(*arguments)

    monkeypatch.setattr(webhook_secrets, "store", store_after_a_rotation)
    assert webhook_secrets.renew(Keyring(NEW, OLD)) == 0
    headers = signed(here, Keyring(NEW))
    assert accepts(*rotated, headers) and accepts(webhook.created["secret"], headers)


def test_an_old_secret_whose_overlap_has_ended_is_not_kept(host):
    webhook = new_webhook(new_organizer(host(OLD), "acme"))
    webhook.done("rotate", overlap_seconds=0)
    here = at(host(NEW, OLD), webhook)
    worker_once(here.organizer.app)
    assert here.row.previous_secret is None
    assert here.row.secret_key_id == secret_key_id(NEW)


def test_without_the_old_secret_key_a_rotation_repairs_an_endpoint(host):
    # Not of keys: one is made below.
    before = new_webhook(new_organizer(host(OLD), "acme"), types=["refund.due"])
    app = host(NEW)
    acme = type(before.organizer)(app, "acme", before.organizer.id, "")
    key = json.loads(
        cli(app, "keys", "create", "acme", "--name", "k", "--role", "admin", "--json")
    )["key"]
    here = Webhook(type(acme)(app, "acme", acme.id, key), before.created)
    with pytest.raises(SecretUnreadable):
        signed(here, Keyring(NEW))
    worker_once(app)
    assert here.now()["status"] == "enabled"
    assert here.done("test")["status"] == "waiting"
    assert under_previous(app, 1)["webhooks"] == [{"tenant": "acme", "id": here.id}]

    rotated = here.done("rotate")
    assert rotated["previous_expires_at"] is None
    headers = signed(here, Keyring(NEW))
    assert len(headers["webhook-signature"].split(" ")) == 1
    assert accepts(rotated["secret"], headers)
    assert not accepts(before.created["secret"], headers)


def test_a_damaged_secret_stops_neither_the_worker_nor_the_others(host):
    acme = new_organizer(host(OLD), "acme")
    damaged, good = new_webhook(acme), new_webhook(acme)
    damaged.set(secret="AAAA")
    app = host(NEW, OLD)
    worker_once(app)
    assert at(app, good).row.secret_key_id == secret_key_id(NEW)
    assert at(app, damaged).now()["status"] == "enabled"
    assert at(app, damaged).done("rotate")["secret"].startswith("whsec_")
