"""Idempotency-Key: a repeated request has no second effect."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from tests.support.factories import Api, event_body
from tests.support.stopped_clock import START, StoppedClock
from ticketing.db.connection import database
from ticketing.models.events import Event
from ticketing.models.idempotency import IdempotencyKey
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import idempotency
from ticketing.services.catalog import events
from ticketing.web.operation import of as operation_of

pytestmark = pytest.mark.sql

EVENT = event_body()
SECRETS = {"key", "client_secret", "code", "qr", "offer", "pairing_code", "pairing_url"}
LONG_KEY = "0f8fad5b-d9cb-469f-a165-70867728950e"


def keyed(key):
    return {"headers": {"Idempotency-Key": key}}


@pytest.mark.parametrize("key", ["k", '"k"', "k" * 255, "with space inside"])
def test_a_repeat_gets_the_first_answer_and_makes_nothing_new(acme, key):
    write = acme.api("write")
    first = write.post(f"{acme.path}/events", EVENT, **keyed(key))
    second = write.post(f"{acme.path}/events", EVENT, **keyed(key))
    assert first.status_code == second.status_code == 201
    assert first.json == second.json
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert Event.select().count() == 1


def test_quoted_and_bare_are_the_same_key(acme):
    write = acme.api("write")
    write.post(f"{acme.path}/events", EVENT, **keyed("k"))
    write.post(f"{acme.path}/events", EVENT, **keyed('"k"'))
    assert Event.select().count() == 1


@pytest.mark.parametrize("key", ["", '""', '"open', '"', "k" * 256, "ü", "tab\tinside", " leading"])
def test_what_is_no_key_is_refused(acme, key):
    answer = acme.api("write").post(f"{acme.path}/events", EVENT, **keyed(key))
    if key == " leading":
        # HTTP strips white space around a value, so the key is "leading".
        assert answer.status_code in (201, 422)
    else:
        assert answer.status_code == 422
        assert list(answer.json["errors"]) == ["Idempotency-Key"]


def test_the_same_key_with_another_body_is_422(acme):
    write = acme.api("write")
    write.post(f"{acme.path}/events", EVENT, **keyed("k"))
    other = write.post(f"{acme.path}/events", {**EVENT, "title": "Other"}, **keyed("k"))
    assert (other.status_code, other.json["code"]) == (422, "idempotency_key_reused")


def test_a_key_is_bound_to_credential_method_and_path(acme, neighbour):
    first, second = acme.api("write"), acme.api("write")
    first.post(f"{acme.path}/events", EVENT, **keyed("k"))
    assert second.post(f"{acme.path}/events", EVENT, **keyed("k")).status_code == 201
    theirs = neighbour.api("write").post(f"{neighbour.path}/events", EVENT, **keyed("k"))
    assert theirs.status_code == 201
    assert Event.select().count() == 3


def test_a_replayed_key_creation_never_carries_the_secret_again(acme):
    body = {"name": "x", "role": "read"}
    first = acme.api().post(f"{acme.path}/apikeys", body, **keyed("k"))
    # The second client uses the same credential: acme's only admin key.
    second = acme.api().post(f"{acme.path}/apikeys", body, **keyed("k"))
    assert second.json == {**first.json, "key": None}
    assert first.json["key"] not in IdempotencyKey.get().body


def test_a_repeated_preflight_gets_its_client_secret_again_but_it_is_not_stored(acme):
    ticket = acme.ticket()
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
    buyer = Api(acme.app.test_client())
    first = buyer.post(f"{acme.checkout}/preflight", body, **keyed(LONG_KEY))
    second = buyer.post(f"{acme.checkout}/preflight", body, **keyed(LONG_KEY))
    assert first.json == second.json
    assert acme.stock(ticket) == (1, 0)
    kept = IdempotencyKey.get()
    assert first.json["client_secret"] not in kept.body
    assert LONG_KEY not in (kept.digest, kept.body)


def test_every_view_says_which_secrets_of_its_answer_are_not_stored(app):
    document = Api(app.test_client()).get("/openapi.json").json
    for rule in app.url_map.iter_rules():
        path = rule.rule.replace("<", "{").replace(">", "}")
        operation = document["paths"].get(path, {}).get("post", {})
        names = {each["name"] for each in operation.get("parameters", ())}
        is_stored = operation_of(app.view_functions[rule.endpoint]).is_idempotent
        if "POST" not in rule.methods or "Idempotency-Key" not in names or not is_stored:
            continue  # an x402 order is found by its key again: its answer is not stored
        for status in (each for each in operation["responses"] if each.startswith("2")):
            if "content" not in operation["responses"][status]:
                continue
            shown = operation["responses"][status]["content"]["application/json"]["example"]
            hidden = operation_of(app.view_functions[rule.endpoint]).never_stored
            for path in secrets_in(shown):
                assert any(f"{path}.".startswith(f"{each}.") for each in hidden), (rule, path)


def secrets_in(value, path=""):
    """Yield the paths of secrets in an example, as `never_stored` takes them."""
    if isinstance(value, list):
        for each in value:
            yield from secrets_in(each, path)
    elif isinstance(value, dict):
        for name, inner in value.items():
            of_member = f"{path}.{name}".removeprefix(".")
            yield from [of_member] if name in SECRETS else secrets_in(inner, of_member)


def test_the_code_of_a_voucher_is_not_stored_and_is_shown_again(acme):
    ticket = acme.ticket(price_amount=0, chain_id=None)
    vouchers, write = f"{acme.path}/events/{ticket['event_id']}/vouchers", acme.api("write")
    made = twice(lambda: write.post(vouchers, {"code": "SPONSOR-7K4D"}, **keyed("one")))
    batch = twice(lambda: write.post(f"{vouchers}/batch", {"count": 3}, **keyed("many")))
    of_order = {name: ticket[name] for name in ("event_id",)} | {"ticket_id": ticket["id"]}
    body = {**of_order, "voucher": "sponsor-7k4d"}
    api = Api(acme.app.test_client())
    order = twice(lambda: api.post(f"{acme.checkout}/preflight", body, **keyed(LONG_KEY)))
    assert order["voucher"] == {"id": made["id"], "code": "SPONSOR-7K4D"}
    buyer = acme.with_headers({"Authorization": f"Bearer {order['client_secret']}"})
    here = f"{acme.checkout}/intents/{order['id']}"
    bought = twice(lambda: buyer.post(f"{here}/purchase", **keyed(LONG_KEY)))
    assert bought["voucher"] == order["voucher"] and bought["admissions"]
    off = twice(lambda: write.post(f"{vouchers}/{made['id']}/disable", **keyed("off")))
    assert off["code"] == made["code"] == "SPONSOR-7K4D"
    kept = "".join(each.body for each in IdempotencyKey.select())
    assert order["id"] in kept and made["id"] in kept
    assert not [each for each in (made, *batch["vouchers"]) if each["code"] in kept]


def twice(ask):
    """Ask the same twice. Return the answer, which must be the same."""
    first, second = ask(), ask()
    assert second.headers["Idempotent-Replayed"] == "true"
    assert first.json == second.json
    return first.json


def test_without_a_credential_a_short_key_is_refused(acme):
    ticket = acme.ticket()
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
    answer = Api(acme.app.test_client()).post(f"{acme.checkout}/preflight", body, **keyed("k" * 31))
    assert answer.status_code == 422
    assert acme.stock(ticket) == (0, 0)


def test_an_invalid_request_and_a_conflict_are_not_stored(acme):
    write = acme.api("write")
    for _ in range(2):
        bad = write.post(f"{acme.path}/events", {"title": ""}, **keyed("bad"))
        assert bad.status_code == 422
        assert "Idempotent-Replayed" not in bad.headers
    assert bad.content_type == "application/problem+json"
    assert write.post(f"{acme.path}/events", EVENT, **keyed("bad")).status_code == 201
    taken = acme.event(slug="taken")
    body = {**EVENT, "slug": "taken"}
    assert write.post(f"{acme.path}/events", body, **keyed("slug")).status_code == 409
    acme.api().patch(f"{acme.path}/events/{taken['id']}", {"title": "x"})
    Event.update(slug="moved").where(Event.id == taken["id"]).execute()
    assert write.post(f"{acme.path}/events", body, **keyed("slug")).status_code == 201


def test_an_unpaid_purchase_is_looked_at_again_and_a_paid_one_replayed(acme, node):
    buyer = acme.buyer(acme.ticket())
    path = f"{buyer.path}/purchase"
    assert buyer.api.post(path, **keyed(LONG_KEY)).status_code == 402
    buyer.pay(node)
    first = buyer.api.post(path, **keyed(LONG_KEY))
    second = buyer.api.post(path, **keyed(LONG_KEY))
    assert first.status_code == second.status_code == 200
    assert first.json == second.json
    assert second.headers["Idempotent-Replayed"] == "true"


def test_identical_requests_at_once_have_one_effect(acme):
    ticket = acme.ticket(capacity=None)
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}

    def send(_):
        try:
            client = Api(acme.app.test_client())
            return client.post(f"{acme.checkout}/preflight", body, **keyed(LONG_KEY))
        finally:
            database.close()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(16)))

    assert {answer.status_code for answer in answers} <= {201, 409}
    for answer in answers:
        if answer.status_code == 409:
            assert answer.json["code"] == "idempotency_still_running"
            assert answer.headers["Retry-After"]
    assert PaymentIntent.select().count() == 1


def test_a_failure_leaves_neither_effect_nor_answer(acme, monkeypatch):
    write = acme.api("write")
    create = events.create

    def create_and_fail(*args):
        create(*args)
        raise RuntimeError("in the middle")

    monkeypatch.setattr(events, "create", create_and_fail)
    assert write.post(f"{acme.path}/events", EVENT, **keyed("k")).status_code == 500
    assert Event.select().count() == 0
    monkeypatch.undo()
    assert write.post(f"{acme.path}/events", EVENT, **keyed("k")).status_code == 201


def test_a_claim_left_behind_by_a_kill_lapses(acme):
    write = acme.api("write")
    write.post(f"{acme.path}/events", EVENT, **keyed("k"))
    Event.delete().execute()
    IdempotencyKey.update(status=None, body=None).execute()
    running = write.post(f"{acme.path}/events", EVENT, **keyed("k"))
    assert (running.status_code, running.json["code"]) == (409, "idempotency_still_running")
    left = IdempotencyKey.get().claimed_at - timedelta(seconds=61)
    IdempotencyKey.update(claimed_at=left).execute()
    assert write.post(f"{acme.path}/events", EVENT, **keyed("k")).status_code == 201


def test_an_answer_is_kept_for_a_day(acme):
    write = acme.api("write")
    write.post(f"{acme.path}/events", EVENT, **keyed("k"))
    made = IdempotencyKey.get().created_at - timedelta(hours=24, seconds=1)
    IdempotencyKey.update(created_at=made).execute()
    again = write.post(f"{acme.path}/events", {**EVENT, "title": "B"}, **keyed("k"))
    assert again.status_code == 201
    assert Event.select().count() == 2


def test_a_key_is_free_after_a_failure_also_if_the_clock_was_set_back(app, monkeypatch):
    clock = StoppedClock(monkeypatch, START)
    claims = [idempotency.Claim("d" * 64, "r" * 64)]
    assert idempotency.claim(claims) is None
    clock.forward(seconds=-30)
    idempotency.give_up(["d" * 64])
    assert idempotency.claim(claims) is None
