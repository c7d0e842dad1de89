"""The log has one line for each request, as text or JSON, and never a secret."""

import io
import json
import logging
import re
import uuid

import pytest

from tests.support.apps import new_app
from tests.support.factories import Api, cli
from tests.support.order_pages import payment_link
from tests.support.stored_rows import rows
from ticketing import logs

pytestmark = pytest.mark.one_database

PASSWORD = "correct horse battery staple"


@pytest.fixture
def lines(caplog):
    """The log lines, as the service writes them, in both formats."""
    caplog.set_level(logging.DEBUG)
    forms = logs.PlainFormatter(), logs.JsonFormatter()

    def written(name=None):
        records = [each for each in caplog.records if name is None or each.name == name]
        return [[form.format(record) for record in records] for form in forms]

    return written


def requests_of(lines):
    return [json.loads(line) for line in lines("ticketing.requests")[1]]


def test_a_request_leaves_one_line(api, acme, lines):
    path = f"{acme.path}/events/evt_{'0' * 26}"
    headers = {"X-API-Key": acme.admin_key, "X-Request-ID": "mine-1"}
    api.get(path, headers=headers, environ_overrides={"REMOTE_ADDR": "203.0.113.7"})
    (line,) = requests_of(lines)
    assert line.pop("duration_ms") > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    assert line == {
        "level": "INFO",
        "logger": "ticketing.requests",
        "message": "request",
        "request_id": "mine-1",
        "method": "GET",
        "route": "/v1/admin/tenants/<tenant>/events/<event_id>",
        "status": 404,
        "tenant": "acme",
        "credential": "key_" + acme.admin_key.split("_")[1],
        "address": "203.0.113.7",
    }
    (plain,) = lines("ticketing.requests")[0]
    assert " INFO ticketing.requests: request request_id=mine-1 method=GET" in plain
    assert "route=/v1/admin/tenants/<tenant>/events/<event_id> status=404 duration_ms=" in plain


def test_what_a_stranger_puts_in_a_path_is_not_repeated(api, acme, lines):
    for path in (
        f"/v1/public/tenants/{acme.admin_key}/events",
        f"/{acme.admin_key}",
        "/v1/public/tenants/a%0Ainjected/events",
    ):
        assert api.get(path).status_code == 404
    assert [(line["tenant"], line["status"]) for line in requests_of(lines)] == [(None, 404)] * 3
    everything = "\n".join(lines()[0])
    assert "injected" not in everything
    assert acme.admin_key not in everything


@pytest.mark.parametrize("form", ["plain", "json"])
def test_the_configuration_chooses_the_form(environ, form, monkeypatch):
    root, stream = logging.getLogger(), io.StringIO()
    monkeypatch.setattr(root, "handlers", [])
    new_app({**environ, "LOG_FORMAT": form})
    (handler,) = root.handlers
    handler.setStream(stream)
    logging.getLogger("ticketing").error("it's %s", "down\nnow")
    written = stream.getvalue()
    if form == "json":
        assert json.loads(written)["message"] == "it's down\nnow"
        assert written.count("\n") == 1
    else:
        assert written.endswith("ERROR ticketing: it's down\nnow\n")


@pytest.mark.exhaustive
def test_no_secret_is_in_any_line_error_or_row(app, acme, lines):
    """Send every secret through every kind of path, in valid and invalid places."""
    api, secrets = Api(app.test_client()), {acme.admin_key, PASSWORD}
    member = ("acme", "a@example.org", "--role", "admin", "--password-stdin")
    cli(app, "members", "add", *member, stdin=PASSWORD)
    login = {"tenant": "acme", "email": "a@example.org", "password": PASSWORD}
    jwt = api.post("/v1/auth/login", login).json["access_token"]
    made = acme.api().post(f"{acme.path}/apikeys", {"name": "k", "role": "admin"}).json
    rotated = acme.api().post(f"{acme.path}/apikeys/{made['id']}/rotate", {}).json
    free = acme.ticket(price_amount=0, chain_id=None)
    buyer = acme.buyer(free)
    code = buyer.purchase().json["admissions"][0]["code"]
    client_secret, idempotency_key = buyer.intent["client_secret"], uuid.uuid4().hex
    pay_secret = payment_link(buyer).partition(".")[2]
    assert api.get(payment_link(buyer)).status_code == 404  # nothing is due
    secrets |= {jwt, made["key"], rotated["key"], client_secret, pay_secret, idempotency_key}
    answers = []
    for secret in sorted(secrets | {code}):
        for headers in (
            {"Authorization": f"Bearer {secret}"},
            {"Authorization": f"Basic {secret}"},
            {"Authorization": secret},
            {"X-API-Key": secret},
            {"X-Request-ID": secret + " "},
            {"Idempotency-Key": idempotency_key},
            {"If-None-Match": secret},
            {"Cookie": secret},
            {"Origin": secret},
        ):
            for method, path in (
                ("GET", f"{acme.path}/events/{secret}"),
                ("GET", f"{acme.path}/events?q={secret}"),
                ("GET", f"{acme.public}/events?cursor={secret}"),
                ("GET", f"/v1/public/tenants/{secret}/events"),
                ("GET", f"/{secret}?{secret}"),
                ("POST", "/v1/auth/token"),
                ("POST", "/v1/auth/login"),
                ("POST", f"{acme.checkout}/preflight"),
                ("POST", f"{acme.checkout}/intents/{secret}/purchase"),
                ("GET", f"{acme.checkout}/intents/{buyer.intent['id']}/payment"),
                ("GET", f"/_p/{buyer.intent['id']}.{secret}"),
                ("POST", f"{acme.path}/apikeys"),
                ("PUT", f"{acme.path}/wallet"),
                ("DELETE", f"{acme.path}/events"),
            ):
                body = {"api_key": secret, "password": secret, "secret": secret}
                body = None if method == "GET" else body
                answers.append(api.client.open(path, method=method, headers=headers, json=body))
    assert {answer.status_code // 100 for answer in answers} == {2, 4}
    logged = "\n".join("\n".join(form) for form in lines())
    assert "ticketing.requests" in logged
    stored = [row for _, row in rows()]
    assert [row for row in stored if free["id"] in row]
    for secret in sorted(secrets):
        assert secret not in logged
        assert not [row for row in stored if secret in row]
        told = [each.text for each in answers if each.status_code >= 400]
        assert not [text for text in told if secret in text]
    assert code not in logged
