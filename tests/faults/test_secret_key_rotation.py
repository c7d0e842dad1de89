"""SECRET_KEY changes host by host, and no credential ends on the way."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from tests.support.apps import new_app
from tests.support.factories import Api, cli, event_body, new_organizer
from ticketing.db.connection import database
from ticketing.models.api_keys import ApiKey
from ticketing.models.events import Event
from ticketing.models.idempotency import IdempotencyKey
from ticketing.services import idempotency

pytestmark = pytest.mark.long

OLD = "the-old-one-0123456789abcdefghijklmnopqrstuvwxyz"
NEW = "the-new-one-0123456789abcdefghijklmnopqrstuvwxyz"
STEPS = [(OLD, None), (OLD, NEW), (NEW, OLD), (NEW, None)]
"""SECRET_KEY and SECRET_KEY_PREVIOUS of a host at each step of docs/operations.md."""
SIDE_BY_SIDE = [*pairwise(STEPS), *pairwise(reversed(STEPS))]
"""Pairs of steps that two hosts may have at the same time."""
EVENT = event_body()
LONG_KEY = "0f8fad5b-d9cb-469f-a165-70867728950e"
WHERE = [f"{STEPS.index(here)}-{STEPS.index(there)}" for here, there in SIDE_BY_SIDE]


@pytest.fixture
def host(environ):
    """Start a host with these two secrets."""

    def host(step):
        current, previous = step
        secrets = {"SECRET_KEY": current}
        if previous is not None:
            secrets["SECRET_KEY_PREVIOUS"] = previous
        return new_app({**environ, **secrets})

    yield host
    database.close()


def at(host, organizer):
    """The same organizer, at another host."""
    return type(organizer)(host, organizer.slug, organizer.id, organizer.admin_key)


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}


def an_hour_later():
    """Set the last use of all keys to an hour ago."""
    past = datetime.now(UTC) - timedelta(hours=1)
    ApiKey.update(last_used_at=past).execute()


def under_previous(host):
    """Return the command's exit code and its keys."""
    done = host.test_cli_runner().invoke(args=["keys", "under-previous", "--json"])
    told = json.loads(done.output)
    assert told["count"] == len(told["keys"])
    return done.exit_code, told["keys"]


@pytest.mark.parametrize(("here", "there"), SIDE_BY_SIDE, ids=WHERE)
def test_what_one_host_hands_out_is_good_at_its_neighbour(host, here, there):
    a, b = host(here), host(there)
    acme = new_organizer(a, "acme")
    events, key = f"{acme.path}/events", {"X-API-Key": acme.admin_key}
    token = Api(a.test_client()).post("/v1/auth/token", {"api_key": acme.admin_key}).json
    ticket = acme.ticket(price_amount=0, chain_id=None)
    acme.event()
    buyer = acme.buyer(ticket)
    cursor = Api(a.test_client(), key).get(f"{events}?limit=1").json["next_cursor"]
    kept = {**key, "Idempotency-Key": "k"}
    first = Api(a.test_client(), kept).post(events, EVENT)

    other = Api(b.test_client())
    assert other.get(events, headers=key).status_code == 200
    assert other.get(events, headers=bearer(token["access_token"])).status_code == 200
    assert other.post("/v1/auth/token", {"api_key": acme.admin_key}).status_code == 200
    assert other.get(f"{events}?limit=1&cursor={cursor}", headers=key).status_code == 200
    again = other.post(events, EVENT, headers=kept)
    assert (again.status_code, again.json) == (first.status_code, first.json)
    bought = other.post(f"{buyer.path}/purchase", headers=bearer(buyer.intent["client_secret"]))
    assert bought.json["status"] == "confirmed"


@pytest.mark.parametrize("secret", [OLD, NEW])
def test_without_the_other_secret_nothing_is_good(host, secret):
    """This shows that every step is necessary."""
    a, b = host((secret, None)), host((NEW if secret == OLD else OLD, None))
    acme = new_organizer(a, "acme")
    events, key = f"{acme.path}/events", {"X-API-Key": acme.admin_key}
    token = Api(a.test_client()).post("/v1/auth/token", {"api_key": acme.admin_key}).json
    buyer = acme.buyer(acme.ticket())
    other = Api(b.test_client())
    assert other.get(events, headers=key).status_code == 401
    assert other.get(events, headers=bearer(token["access_token"])).status_code == 401
    assert other.get(buyer.path, headers=bearer(buyer.intent["client_secret"])).status_code == 404


def test_a_key_that_is_used_on_the_way_outlives_the_old_secret(host):
    acme = new_organizer(host(STEPS[0]), "acme")
    used, idle = acme.key("read"), acme.key("read")
    for step, good in zip(STEPS[1:], ([200, 200], [200, None], [200, 401]), strict=True):
        an_hour_later()
        here = at(host(step), acme)
        for key, status in zip((used, idle), good, strict=True):
            if status is not None:
                answer = here.with_headers({"X-API-Key": key}).get(f"{acme.path}/events")
                assert answer.status_code == status


def test_both_secrets_of_a_rotated_key_are_kept_anew(host):
    acme = new_organizer(host(STEPS[0]), "acme")
    first = acme.key("read")
    key_id = "key_" + first.split("_")[1]
    rotated = cli(acme.app, "keys", "rotate", "acme", key_id, "--json")
    both = [first, json.loads(rotated)["key"]]
    for step in STEPS[2:]:
        here = at(host(step), acme)
        for key in both:
            an_hour_later()
            answer = here.with_headers({"X-API-Key": key}).get(f"{acme.path}/events")
            assert answer.status_code == 200


def test_a_secret_rotated_meanwhile_is_not_put_back(host, monkeypatch):
    acme = new_organizer(host(STEPS[0]), "acme")
    key = acme.key("read")
    key_id = "key_" + key.split("_")[1]
    here = at(host(STEPS[2]), acme)
    read = ApiKey.end_of
    new = []

    def rotated_after_it_was_read(self, generation):
        if not new:
            new.append(None)
            new[0] = json.loads(cli(here.app, "keys", "rotate", "acme", key_id, "--json"))["key"]
        return read(self, generation)

    monkeypatch.setattr(ApiKey, "end_of", rotated_after_it_was_read)
    opens = lambda key: here.with_headers({"X-API-Key": key}).get(f"{acme.path}/events")  # noqa: E731
    assert opens(key).status_code == opens(*new).status_code == 200


def test_hosts_that_disagree_do_not_write_at_every_use(host):
    a, b = host(STEPS[1]), host(STEPS[2])
    acme = new_organizer(a, "acme")
    key = {"X-API-Key": acme.admin_key}
    seen = set()
    for _ in range(5):
        for each in (a, b):
            assert Api(each.test_client(), key).get(f"{acme.path}/events").status_code == 200
            kept = ApiKey.get()
            seen.add((kept.digest, kept.last_used_at))
    assert len(seen) == 1


def test_the_command_tells_which_keys_would_end_without_the_old_secret(host):
    acme = new_organizer(host(STEPS[0]), "acme")
    keys = {role: acme.key(role) for role in ("read", "write", "paywall")}
    cli(acme.app, "keys", "revoke", "acme", "key_" + keys["paywall"].split("_")[1])
    assert under_previous(host(STEPS[1])) == (0, [])

    here = at(host(STEPS[2]), acme)
    status, told = under_previous(here.app)
    assert status == 1
    assert [(key["tenant"], key["name"], key["status"]) for key in told] == [
        ("acme", "first admin key", "active"),
        ("acme", "read", "active"),
        ("acme", "write", "active"),
    ]
    for key in (acme.admin_key, keys["read"]):
        here.with_headers({"X-API-Key": key}).get(f"{acme.path}/events")
    here.key("read")
    assert [key["name"] for key in under_previous(here.app)[1]] == ["write"]

    # The old secret of a rotated key counts while it is valid.
    key_id = "key_" + keys["write"].split("_")[1]
    cli(here.app, "keys", "rotate", "acme", key_id)
    assert [key["name"] for key in under_previous(here.app)[1]] == ["write"]
    cli(here.app, "keys", "rotate", "acme", key_id, "--overlap", "0")
    assert under_previous(here.app) == (0, [])
    assert under_previous(host(STEPS[3])) == (0, [])


@pytest.mark.parametrize(("here", "there"), SIDE_BY_SIDE[:3], ids=WHERE[:3])
def test_identical_requests_at_two_hosts_at_once_have_one_effect(host, here, there):
    hosts = [host(here), host(there)]
    acme = new_organizer(hosts[0], "acme")
    headers = {"X-API-Key": acme.admin_key, "Idempotency-Key": LONG_KEY}

    def send(number):
        try:
            client = Api(hosts[number % 2].test_client(), headers)
            return client.post(f"{acme.path}/events", EVENT)
        finally:
            database.close()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(16)))
    statuses = {answer.status_code for answer in answers}
    assert statuses <= {201, 409} and 201 in statuses
    assert Event.select().count() == 1


def test_two_hosts_claim_in_the_same_order(host, monkeypatch):
    """Otherwise each host could hold one claim of the same request, and both would refuse it."""
    asked = []
    claim_one = idempotency._claim_one

    def noted(digest, request_digest, owner):
        asked[-1].append(digest)
        return claim_one(digest, request_digest, owner)

    monkeypatch.setattr(idempotency, "_claim_one", noted)
    hosts = [host(STEPS[1]), host(STEPS[2])]
    acme = new_organizer(hosts[0], "acme")
    for number in range(8):
        headers = {"X-API-Key": acme.admin_key, "Idempotency-Key": f"k{number}"}
        for each in hosts:
            asked.append([])
            answer = Api(each.test_client(), headers).post(f"{acme.path}/events", EVENT)
            assert answer.status_code == 201
        # The second request gets its response from the first claim that it finds.
        assert len(asked[-2]) == 2 and asked[-1] == asked[-2][:1]


def test_an_answer_from_before_is_given_as_often_as_it_is_asked_for(host):
    before, after = host(STEPS[0]), host(STEPS[1])
    acme = new_organizer(before, "acme")
    for number in range(8):
        headers = {"X-API-Key": acme.admin_key, "Idempotency-Key": f"k{number}"}
        told = [
            Api(each.test_client(), headers).post(f"{acme.path}/events", EVENT)
            for each in (before, after, after)
        ]
        assert [answer.status_code for answer in told] == [201] * 3
        assert len({answer.json["id"] for answer in told}) == 1
    assert IdempotencyKey.select().where(IdempotencyKey.status.is_null()).count() == 0


def test_another_body_and_a_failure_are_the_same_under_two_secrets(host):
    a, b = host(STEPS[1]), host(STEPS[2])
    acme = new_organizer(a, "acme")
    acme.event(slug="taken")
    kept = {"X-API-Key": acme.admin_key, "Idempotency-Key": "k"}
    events, taken = f"{acme.path}/events", {**EVENT, "slug": "taken"}
    for each in (a, b):
        assert Api(each.test_client(), kept).post(events, taken).status_code == 409
    # A conflict is not stored: none of the two claims remains.
    assert IdempotencyKey.select().count() == 0
    assert Api(b.test_client(), kept).post(events, EVENT).status_code == 201
    other = Api(a.test_client(), kept).post(events, {**EVENT, "title": "Other"})
    assert other.json["code"] == "idempotency_key_reused"


def test_a_repeated_preflight_at_the_next_step_tells_a_secret_that_is_good(host):
    a, b = host(STEPS[1]), host(STEPS[2])
    acme = new_organizer(a, "acme")
    ticket = acme.ticket()
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
    headers = {"Idempotency-Key": LONG_KEY}
    first, again = (
        Api(each.test_client(), headers).post(f"{acme.checkout}/preflight", body) for each in (a, b)
    )
    assert first.json["id"] == again.json["id"]
    path = f"{acme.checkout}/intents/{first.json['id']}"
    for answer in (first, again):
        for each in (a, b):
            secret = bearer(answer.json["client_secret"])
            assert Api(each.test_client(), secret).get(path).status_code == 200
