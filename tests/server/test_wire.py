"""What all requests and responses have in common."""

import io
import json

import psycopg
import pytest

from tests.support.factories import event_body
from ticketing.constants import MAX_NAME_SHOWN
from ticketing.services.catalog import events

PROBLEM = "application/problem+json"
JSON = {"Content-Type": "application/json"}
LIMIT = 64 * 1024
NOT_JSON = (
    b"",
    b" ",
    b"{",
    b"{}}",
    b"{} {}",
    b"nonsense",
    b"{'title': 1}",
    b'{"title": 01}',
    b"[1,]",
    b'{"title": NaN}',
    b'{"title": Infinity}',
    b'{"title": -Infinity}',
    b'{"title": "\n"}',
    b'{"title": "a", "title": "b"}',
    b'{"a": {"b": 1, "b": 1}}',
    b'{"title": "\xff"}',
    b"\xff",
    b"\xef\xbb\xbf{}",
    '{"title": "a"}'.encode("utf-16"),
    '{"title": "a"}'.encode("utf-32-le"),
    b"[" * 60_000,
    b'{"a":' * 10_000,
    b"[" * 30_000 + b"]" * 30_000,
    b"1" * 60_000,
)


@pytest.fixture
def events_path(acme):
    return f"{acme.path}/events"


def problem(answer, status, code):
    """Check that a response is a problem of this status and code. Return its body."""
    assert answer.status_code == status, answer.text
    assert answer.content_type == PROBLEM
    body = answer.json
    known = {"type", "title", "status", "detail", "code", "request_id"}
    assert body.keys() - {"errors"} == known
    assert ("errors" in body) == (status == 422)
    assert body["status"] == status and body["code"] == code
    assert body["request_id"] == answer.headers["X-Request-ID"]
    assert body["type"].startswith("urn:") and body["title"] and body["detail"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    return body


def test_an_unknown_path_is_a_problem(api):
    for path in (
        "/v1",
        "/v1/none",
        "/v1/chains/",
        "/v1/%00",
        "/v1/admin/tenants",
        "/v1" + "/x" * 4500,
    ):
        problem(api.get(path), 404, "not_found")
        problem(api.post(path, {}), 404, "not_found")


def test_a_wrong_method_is_told_the_right_ones(acme, admin, events_path):
    expected = {
        events_path: {"GET", "HEAD", "OPTIONS", "POST"},
        f"{events_path}/x": {"GET", "HEAD", "OPTIONS", "PATCH"},
        f"{events_path}/x/status": {"OPTIONS", "POST"},
        "/v1/auth/token": {"OPTIONS", "POST"},
        "/v1/chains": {"GET", "HEAD", "OPTIONS"},
        f"{acme.public}/events": {"GET", "HEAD", "OPTIONS"},
    }
    for path, methods in expected.items():
        for method in ("DELETE", "PUT", "TRACE", "BREW"):
            answer = admin.client.open(path, method=method)
            problem(answer, 405, "method_not_allowed")
            assert set(answer.headers["Allow"].split(", ")) == methods


def test_a_body_of_64_kib_is_read_and_a_byte_more_is_not(admin, events_path):
    for size in (LIMIT, LIMIT + 1):
        body = json.dumps({"title": ""})
        body = body.replace('""', '"' + "x" * (size - len(body)) + '"')
        assert len(body) == size
        whole = admin.post(events_path, data=body, headers=JSON)
        streamed = admin.post(
            events_path,
            input_stream=io.BytesIO(body.encode()),
            headers=JSON,
            environ_overrides={"wsgi.input_terminated": True},
        )
        for answer in (whole, streamed):
            if size == LIMIT:
                assert "title" in problem(answer, 422, "invalid_request")["errors"]
            else:
                problem(answer, 413, "body_too_large")


def test_a_body_that_nobody_reads_has_the_same_limit(acme, admin):
    made = admin.post(f"{acme.path}/apikeys", {"name": "x", "role": "read"}).json
    path = f"{acme.path}/apikeys/{made['id']}/revoke"
    problem(admin.post(path, data=b" " * (LIMIT + 1)), 413, "body_too_large")
    assert admin.get(f"{acme.path}/apikeys/{made['id']}").json["status"] == "active"


def test_a_parameter_that_comes_twice_is_refused(acme, admin):
    answer = admin.get(f"{acme.path}/events?limit=1&limit=2")
    assert problem(answer, 422, "invalid_request")["errors"] == {"limit": ["Must not be repeated."]}


def test_a_body_must_say_that_it_is_json(admin, events_path):
    for kind in (
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "json",
    ):
        answer = admin.post(
            events_path, data=json.dumps(event_body()), headers={"Content-Type": kind}
        )
        problem(answer, 415, "unsupported_media_type")
    problem(admin.post(events_path), 415, "unsupported_media_type")
    for kind in ("application/json; charset=utf-8", "Application/JSON"):
        answer = admin.post(
            events_path, data=json.dumps(event_body()), headers={"Content-Type": kind}
        )
        assert answer.status_code == 201


def test_a_body_that_is_not_json_is_refused(admin, events_path):
    for body in NOT_JSON:
        problem(admin.post(events_path, data=body, headers=JSON), 400, "malformed_json")


def test_a_body_must_be_an_object(admin, events_path):
    for body in ("[]", '"text"', "1", "null", "true", "[{}]"):
        answer = admin.post(events_path, data=body, headers=JSON)
        assert problem(answer, 422, "invalid_request")["errors"]


def test_unknown_fields_are_named(admin, events_path):
    strange = ("nonsense", "Title", "__proto__", "", "a.b", "🎟", "\ud800", "x" * 1000, "_schema")
    answer = admin.post(events_path, {**event_body(), **dict.fromkeys(strange, 1)})
    shown = {name[:MAX_NAME_SHOWN] for name in strange}
    assert problem(answer, 422, "invalid_request")["errors"].keys() == shown


def test_it_refuses_who_does_not_say_who_they_are_before_it_reads_anything(api, events_path):
    answer = api.post(events_path, data=b"nonsense")
    problem(answer, 401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_sane_request_id_is_kept(acme, admin, api):
    tag = api.get(f"{acme.public}/events").headers["ETag"]
    for sane in ("a", "A-b_c.9", "x" * 128, "6f1c1b0e-3b1d-4f0e-9a53-0a2c6f6f7e11"):
        headers = {"X-Request-ID": sane}
        for answer in (
            api.get("/healthz", headers=headers),
            api.get("/v1/nothing", headers=headers),
            api.get(f"{acme.path}/events", headers=headers),
            api.get(f"{acme.public}/events", headers={**headers, "If-None-Match": tag}),
            api.client.options(f"{acme.checkout}/preflight", headers=headers),
            admin.post(f"{acme.path}/events", event_body(), headers=headers),
            admin.post(f"{acme.path}/events", {}, headers=headers),
        ):
            assert answer.headers.getlist("X-Request-ID") == [sane], answer.status


def test_any_other_request_id_is_replaced(api):
    seen = set()
    for strange in ("", "x" * 129, "a b", "a,b", "<script>", "a;b", "\u00e9", "a\tb", "a/b"):
        given = api.get("/v1/nothing", headers={"X-Request-ID": strange})
        seen.add(problem(given, 404, "not_found")["request_id"])
        assert strange not in seen
    forged = {"HTTP_X_REQUEST_ID": "a\r\nSet-Cookie: b=c"}
    answer = api.get("/healthz", environ_overrides=forged)
    assert "Set-Cookie" not in answer.headers
    seen.add(answer.headers["X-Request-ID"])
    assert len(seen) == 10


def test_every_answer_has_an_id_and_forbids_guessing_its_type(acme, admin, api):
    tag = api.get(f"{acme.public}/events").headers["ETag"]
    answers = (
        api.get("/healthz"),
        api.get("/openapi.json"),
        api.client.head(f"{acme.public}/events"),
        api.get(f"{acme.public}/events", headers={"If-None-Match": tag}),
        api.client.options(f"{acme.path}/events"),
        api.client.options("/v1/nothing"),
        admin.get(f"{acme.path}/events"),
    )
    assert [answer.status_code for answer in answers] == [200, 200, 200, 304, 200, 404, 200]
    assert all(answer.headers["X-Content-Type-Options"] == "nosniff" for answer in answers)
    assert len({answer.headers["X-Request-ID"] for answer in answers}) == len(answers)


def test_what_is_behind_a_credential_is_never_stored(acme, admin):
    for path in ("events", "apikeys", "wallet", "intents", "admissions"):
        answer = admin.get(f"{acme.path}/{path}")
        assert answer.status_code == 200 and answer.content_type == "application/json"
        assert answer.headers["Cache-Control"] == "no-store"
    made = admin.post(f"{acme.path}/apikeys", {"name": "k", "role": "read"})
    assert made.headers["Cache-Control"] == "no-store"


def test_a_surprise_tells_nothing_of_the_inside(acme, admin, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("secret detail of /srv/ticketing")

    monkeypatch.setattr(events, "get", fail)
    answer = admin.get(f"{acme.path}/events/evt_x", headers={"X-Request-ID": "mine"})
    assert problem(answer, 500, "internal_error")["request_id"] == "mine"
    for inside in ("secret", "RuntimeError", "Traceback", "srv", ".py"):
        assert inside not in answer.text


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_lost_connection_costs_one_request_at_most(acme, admin, database_url):
    path = f"{acme.path}/events"
    assert admin.get(path).status_code == 200
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    lost = admin.get(path)
    if lost.status_code != 200:
        problem(lost, 503, "database_unavailable")
        assert int(lost.headers["Retry-After"]) > 0
    assert admin.get(path).status_code == 200
    assert admin.post(path, event_body()).status_code == 201


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_database_that_is_away_is_a_problem_that_passes(acme, admin, api, database_url):
    name = database_url.rsplit("/", 1)[1]
    base = database_url.rsplit("/", 1)[0] + "/postgres"

    def allow(connections):
        with psycopg.connect(base, autocommit=True) as other:
            other.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS {connections}')
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )

    allow("false")
    for _ in range(2):
        away = admin.get(f"{acme.path}/events")
        body = problem(away, 503, "database_unavailable")
        assert int(away.headers["Retry-After"]) > 0
        assert name not in json.dumps(body)
        assert api.get("/readyz").status_code == 503
        assert api.get("/healthz").status_code == 200

    allow("true")

    assert api.get("/readyz").status_code == 200
    assert admin.get(f"{acme.path}/events").status_code == 200
