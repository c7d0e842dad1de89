"""Door devices: paired once, for one event, until they expire or are revoked."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from tests.conftest import SECRET_KEY
from tests.support.apps import new_app
from tests.support.doors import Door, Gate, moment, redeem
from tests.support.factories import Api, in_days
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.db.connection import database
from ticketing.models.door import DoorDevice

UNAUTHENTICATED = (401, "invalid_credentials")


def pair(api, code):
    return api.post("/v1/door/pair", {"pairing_code": code})


def told(answer):
    return answer.status_code, answer.json["code"]


def test_a_device_is_created_paired_and_scans(door, api):
    device = door.new_device(gate="North", show_names=True)
    assert device["status"] == "unpaired" and device["pairing_url"] is None
    assert device["last_seen_at"] is device["unsynced"] is None
    paired = pair(api, device["pairing_code"])
    assert paired.status_code == 200
    shown = dict(paired.json)
    token = shown.pop("token")
    assert shown == {
        "device_id": device["id"],
        "tenant_id": door.organizer.id,
        "event_id": door.event["id"],
        "name": "phone",
        "gate": "North",
        "show_names": True,
        "sells": False,
        "expires_at": device["expires_at"],
    }
    gate = Gate(door.organizer.with_headers({"Authorization": f"Bearer {token}"}), door.path)
    assert gate.send(redeem(code="x"), unsynced=3).status_code == 200
    (listed,) = door.admin.get(door.devices).json["data"]
    assert listed["status"] == "paired" and listed["paired_at"] and listed["last_seen_at"]
    assert listed["unsynced"] == 3
    assert not {"token", "pairing_code", "token_digest"} & listed.keys()
    stored = DoorDevice.get()
    assert token not in repr(vars(stored)) and stored.pairing_digest is None


def test_a_device_lives_until_a_day_after_the_event(door):
    start = datetime.fromisoformat(door.event["start_at"])
    expires = datetime.fromisoformat(door.new_device()["expires_at"])
    assert expires == start + timedelta(days=2)
    ends = door.organizer.event(start_at=in_days(1), end_at=in_days(2))
    other = door.admin.post(
        f"{door.organizer.path}/events/{ends['id']}/door-devices", {"name": "x"}
    )
    expires = datetime.fromisoformat(other.json["expires_at"])
    assert expires == datetime.fromisoformat(ends["end_at"]) + timedelta(days=1)
    past = door.admin.post(door.devices, {"name": "x", "expires_at": moment(-1)})
    assert past.status_code == 422 and past.json["errors"].keys() == {"expires_at"}
    later = in_days(400)
    assert door.new_device(expires_at=later)["expires_at"] == later


def test_a_device_for_an_event_that_is_over_lives_for_a_day(acme):
    door = Door(acme, start_at=in_days(-30))
    expires = datetime.fromisoformat(door.new_device()["expires_at"])
    assert expires > datetime.now(UTC) + timedelta(hours=23)


def test_the_pairing_code_can_be_typed(door, api):
    code = door.new_device()["pairing_code"]
    typed = f" {code[:4].upper()}-{code[4:8]} {code[8:]}".replace("0", "O").replace("1", "l")
    assert pair(api, typed).status_code == 200


def test_the_pairing_code_works_once_and_for_ten_minutes(door, api):
    device = door.new_device()
    assert pair(api, device["pairing_code"]).status_code == 200
    used = pair(api, device["pairing_code"])
    late = door.new_device()
    DoorDevice.update(pairing_expires_at=datetime.now(UTC)).execute()
    revoked = door.new_device()
    door.admin.post(f"{door.devices}/{revoked['id']}/revoke")
    answers = [used, *(pair(api, each["pairing_code"]) for each in (late, revoked))]
    answers += [pair(api, code) for code in ("0" * 12, "x", "é", " ", "a\\b")]
    assert {told(each) for each in answers} == {UNAUTHENTICATED}
    assert DoorDevice.get_by_id(late["id"]).paired_at is None


def test_of_two_that_pair_at_once_one_gets_the_token(app, door):
    code, together, answers = door.new_device()["pairing_code"], threading.Barrier(8), []

    def ask():
        together.wait()
        answers.append(pair(Api(app.test_client()), code).status_code)
        database.close()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200] + [401] * 7


def test_guesses_of_the_pairing_code_are_limited(environ, monkeypatch):
    StoppedClock(monkeypatch, clock.now())  # one minute
    app = new_app({**environ, "RATE_LIMIT_TOKEN": "3"})
    api = Api(app.test_client())
    statuses = [pair(api, "0" * 12).status_code for _ in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    database.close()


def test_the_pairing_url_needs_a_public_url(environ, acme):
    door = Door(acme)
    app = new_app({**environ, "PUBLIC_URL": "https://tickets.example.org/"})
    api = Api(app.test_client(), {"X-API-Key": acme.admin_key})
    made = api.post(door.devices, {"name": "x"}).json
    assert made["pairing_url"] == f"https://tickets.example.org/door/#{made['pairing_code']}"


def test_a_repeat_of_the_creation_shows_no_code(door):
    headers = {**door.admin.headers, "Idempotency-Key": "k"}
    api = Api(door.admin.client, headers)
    first, again = (api.post(door.devices, {"name": "x"}) for _ in range(2))
    assert first.json["pairing_code"] and again.headers["Idempotent-Replayed"] == "true"
    assert again.json["pairing_code"] is None and again.json["id"] == first.json["id"]


def test_a_revoked_or_expired_device_gets_nothing_at_once(door, app, environ):
    """On every process: the second one has served the device before."""
    other = new_app(environ)
    for end in (
        lambda device: door.admin.post(f"{door.devices}/{device['id']}/revoke"),
        lambda device: (
            DoorDevice.update(expires_at=datetime.now(UTC))
            .where(DoorDevice.id == device["id"])
            .execute()
        ),
    ):
        gate = door.gate()
        elsewhere = Gate(Api(other.test_client(), gate.api.headers), gate.path)
        for each in (gate, elsewhere):
            assert each.send(redeem(code="x")).status_code == 200
        end(gate.device)
        for each in (gate, elsewhere):
            refused = each.send(redeem(code="x"))
            assert told(refused) == (401, "unauthenticated")


def test_a_repeated_revocation_changes_nothing(door):
    device = door.new_device()
    path = f"{door.devices}/{device['id']}/revoke"
    first, again = (door.admin.post(path).json for _ in range(2))
    assert first["status"] == "revoked" and first == again


def test_creation_and_revocation_are_in_the_audit_log_without_secrets(door):
    device = door.new_device(gate="North")
    door.admin.post(f"{door.devices}/{device['id']}/revoke")
    log = door.admin.get(f"{door.organizer.path}/audit-log?subject={device['id']}")
    revoked, created = log.json["data"]
    assert created["action"] == "door_devices_create_door_device"
    assert revoked["after"]["status"] == "revoked" and created["after"]["gate"] == "North"
    assert device["pairing_code"] not in log.text


def test_a_device_sees_nothing_of_other_events_and_tenants(door, gate, neighbour):
    elsewhere, theirs = Door(door.organizer), Door(neighbour)
    for path, expected in (
        (elsewhere.path, (404, "not_found")),
        (f"/v1/door/tenants/{door.organizer.slug}/events/evt_{'0' * 26}", (404, "not_found")),
        (theirs.path, (403, "wrong_tenant")),
        (f"/v1/door/tenants/nobody/events/{door.event['id']}", (403, "wrong_tenant")),
    ):
        assert told(Gate(gate.api, path).send(redeem(code="x"))) == expected
    by_id = f"/v1/door/tenants/{door.organizer.id}/events/{door.event['id']}"
    assert Gate(gate.api, by_id).send(redeem(code="x")).status_code == 200


def test_a_device_opens_nothing_but_the_door(door, gate):
    for path in (f"{door.organizer.path}/events", door.devices):
        assert gate.api.get(path).status_code == 401
    assert gate.api.get(f"{door.organizer.checkout}/intents/pi_{'0' * 26}").status_code == 404


@pytest.mark.parametrize(
    ("role", "status"), [("read", 403), ("paywall", 403), ("write", 200), ("admin", 200)]
)
def test_a_credential_needs_the_role_write(door, role, status):
    key = door.organizer.with_headers({"X-API-Key": door.organizer.key(role)})
    assert Gate(key, door.path).send(redeem(code="x")).status_code == status


def test_a_token_with_a_typo_or_of_nobody_is_refused(door, gate):
    token = gate.api.headers["Authorization"]
    for text in (
        token[:-1],
        token + "0",
        token.upper(),
        token[:-1] + "0",
        "Bearer door_",
        "Bearer",
    ):
        if text == token:
            continue
        answer = Gate(door.organizer.with_headers({"Authorization": text}), door.path).send(
            redeem(code="x")
        )
        assert told(answer) == (401, "unauthenticated"), text


def test_it_is_noted_once_a_minute_when_a_device_was_seen(door, gate):
    def seen():
        return DoorDevice.get_by_id(gate.device["id"])

    gate.send(redeem(code="x"), unsynced=0)
    first = seen().last_seen_at
    gate.send(redeem(code="x"), unsynced=0)
    gate.send(redeem(code="x"))
    assert seen().last_seen_at == first
    gate.send(redeem(code="x"), unsynced=7)
    assert seen().unsynced == 7 and seen().last_seen_at > first
    past = datetime.now(UTC) - timedelta(seconds=61)
    DoorDevice.update(last_seen_at=past).execute()
    gate.send(redeem(code="x"))
    assert seen().last_seen_at > past and seen().unsynced == 7


def test_a_device_outlives_a_changed_secret_key(door, gate, environ):
    changed = {"SECRET_KEY": "n" * 40, "SECRET_KEY_PREVIOUS": SECRET_KEY}
    code = door.new_device()["pairing_code"]
    app = new_app({**environ, **changed})
    assert pair(Api(app.test_client()), code).status_code == 200
    moved = Gate(Api(app.test_client(), gate.api.headers), gate.path)
    assert moved.send(redeem(code="x")).status_code == 200
    # Its digest is now one of the new SECRET_KEY, so the old one can go.
    alone = new_app({**environ, "SECRET_KEY": "n" * 40})
    assert (
        Gate(Api(alone.test_client(), gate.api.headers), gate.path)
        .send(redeem(code="x"))
        .status_code
        == 200
    )


def test_the_list_has_pages(door):
    made = [door.new_device()["id"] for _ in range(3)]
    first = door.admin.get(f"{door.devices}?limit=2").json
    rest = door.admin.get(f"{door.devices}?limit=2&cursor={first['next_cursor']}").json
    assert [each["id"] for each in first["data"] + rest["data"]] == made
