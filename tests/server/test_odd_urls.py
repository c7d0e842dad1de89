"""Paths, queries and headers with difficult bytes: the same response everywhere.

They come from the routing table and the OpenAPI document, so new ones are included.
"""

import json
import re
import socket
from urllib.parse import unquote

import psycopg
import pytest

from app import create_app
from tests.conftest import NO_LIMITS, SECRET_KEY
from tests.support.endpoints import UNKNOWN, endpoints, same
from tests.support.factories import event_body, new_organizer, new_xpub
from tests.support.odd_values import is_unicode
from tests.support.remote import PATIENCE_SECONDS, RemoteOrganizer
from ticketing.config import load
from ticketing.db import migrate
from ticketing.db.connection import database
from ticketing.web import auth
from tools.stack import Stack, free_port

SEGMENTS = {
    "NUL": "%00",
    "a NUL after it": "{id}%00",
    "a line break after it": "{id}%0A",
    "a space before it": "%20{id}",
    "a BOM before it": "%EF%BB%BF{id}",
    "a mark within": "{id}%E2%80%8F",
    "override": "%E2%80%AE",
    "four bytes": "%F0%9F%8E%9F",
    "not UTF-8": "%FF",
    "not UTF-8, not encoded": "\xff",
    "overlong": "%C0%AF",
    "a surrogate": "%ED%A0%80",
    "half an encoding": "%",
    "an encoding that is none": "%zz",
    "encoded twice": "%2500",
    "dots": "..",
    "backslash": "%5C",
    "quote": "'%20OR%20'1'='1",
    "wildcard": "%25",
    "semicolon": "{id};a=b",
    "digits": "9" * 400,
    "long": "x" * 3000,
}
QUERIES = {
    "NUL": "%00",
    "not UTF-8": "%FF",
    "not UTF-8, not encoded": "\xff",
    "half a character": "%F0%9F%8E",
    "half a character, not encoded": "\xc3",
    "overlong": "%C0%AF",
    "a surrogate": "%ED%A0%80",
    "UTF-8, not encoded": "é🎟".encode().decode("latin-1"),
    "four bytes": "%F0%9F%8E%9F",
    "mark": "%E2%80%8F",
    "override": "%E2%80%AE",
    "BOM": "%EF%BB%BF1",
    "half an encoding": "%",
    "an encoding that is none": "%zz",
    "another encoding": "%u0041",
    "plus": "+1",
    "encoded plus": "%2B1",
    "wildcards": "%25_%5C",
    "quotes": "'%22;--",
    "400 digits": "9" * 400,
    "float": "1.0",
    "exponent": "1e0",
    "minus nothing": "-0",
    "hexadecimal": "0x1",
    "underscore": "1_0",
    "other digits": "%D9%A1",
    "boolean": "true",
    "null": "null",
    "nothing": "",
    "one": "1",
    "long": "x" * 3000,
}
STRANGE_TAGS = ("\xff", '"', '"\xff"', "W/", ",", '"' * 99, "a" * 4000, '"\0"', "\ud7ff\u200f")
STRANGE_KEYS = ("", '""', "\xff" * 40, "k" * 300, "a\tb" * 20, "\x7f" * 40, "é" * 40)
TITLES = (
    *("100%", "100 percent", "a_b", "axb", "a\\b", "a/b", "🎟 x", "\u200f\u05e9\u05dc\u05d5"),
    *("Über", "ÜBER", "u\u0308ber", "İstanbul", "\u0131s\u0131", "STRASSE", "Straße"),
    *("\u03a3\u0391\u03a3", "\u03c3\u03b1\u03c2", "ǅ"),
)
SOUGHT = (
    *("%", "%%", "_", "\\", "\\\\", "\\%", "a_", "A_B", "🎟", "\u200f", "\u05dc", "x", "[a-z]"),
    *("*", "K", "ü", "Ü", "über", "u", "i", "I", "İ", "\u0131", "ss", "ß", "ǆ", "ǅ", "\u212a"),
    *("\u03c3", "\u03a3", "\u03c2"),
)


@pytest.fixture
def here(acme):
    """The ids of one resource of each kind that acme has."""
    ticket = acme.ticket(price_amount=0)
    buyer = acme.buyer(ticket)
    devices = f"{acme.path}/events/{ticket['event_id']}/door-devices"
    owner = acme.with_headers({"X-API-Key": acme.admin_key})
    return {
        "tenant": acme.slug,
        "admission_id": buyer.purchase().json["admissions"][0]["id"],
        "device_id": owner.post(devices, {"name": "Phone"}).json["id"],
        "event_id": ticket["event_id"],
        "ticket_id": ticket["id"],
        "intent_id": acme.buyer(ticket).intent["id"],
        "key_id": "key_" + acme.key("read").split("_")[1],
    }


def ask(app, method, path, query="", **options):
    """Send a path and a query without any encoding."""
    environ = {"QUERY_STRING": query, "PATH_INFO": unquote(path, "latin-1")}
    return app.test_client().open("/", method=method, environ_overrides=environ, **options)


def outcome(answer):
    return answer.status_code, answer.content_type, (answer.get_json(silent=True) or {}).get("code")


def test_an_odd_id_in_a_path_is_an_id_that_never_was(app, acme, here):
    headers = {"X-API-Key": acme.admin_key}
    document = app.test_client().get("/openapi.json").json
    for endpoint in endpoints(app):
        item = document["paths"].get(endpoint.rule.replace("<", "{").replace(">", "}"), {})
        body = item.get(endpoint.method.lower(), {}).get("requestBody")
        example = body and body["content"]["application/json"]["example"]
        for name in endpoint.arguments:
            never = {**UNKNOWN, "tenant": "nobody-here"}[name]
            options = {"headers": headers} | ({"json": example} if example else {})
            unknown = ask(app, endpoint.method, endpoint.path(**{**here, name: never}), **options)
            wrong_tenant = name == "tenant" and not isinstance(endpoint.guard, auth.Open)
            is_refused = wrong_tenant or endpoint.needs_secret
            assert unknown.status_code == (403 if is_refused else 404), endpoint
            for what, segment in SEGMENTS.items():
                path = endpoint.path(**{**here, name: segment.replace("{id}", here[name])})
                answer = ask(app, endpoint.method, path, **options)
                assert outcome(answer) == outcome(unknown), (endpoint, name, what)


def test_an_odd_value_of_a_query_is_taken_as_text_or_refused_by_its_name(app, acme, here):
    headers = {"X-API-Key": acme.admin_key}
    document = app.test_client().get("/openapi.json").json
    tried = 0
    for path, item in document["paths"].items():
        declared = item.get("get", {}).get("parameters", [])
        for parameter in (each for each in declared if each["in"] == "query"):
            name, schema = parameter["name"], parameter["schema"]
            for what, value in QUERIES.items():
                answer = ask(app, "GET", path.format(**here), f"{name}={value}", headers=headers)
                case = (path, name, what, answer.text)
                if _takes(schema, value):
                    assert answer.status_code == 200, case
                else:
                    assert answer.status_code == 422, case
                    assert answer.json["errors"].keys() == {name}, case
                tried += 1
    assert tried > 500


def _takes(schema, value):
    raw = value.replace("+", " ").encode("latin-1")
    text = unquote(raw.decode(errors="surrogateescape"), errors="surrogateescape")
    if "\0" in text or not is_unicode(text):
        return False
    if schema["type"] == "integer":
        number = int(text) if re.fullmatch("-?[0-9]{1,19}", text) else None
        return number is not None and schema["minimum"] <= number <= schema["maximum"]
    if schema["type"] == "boolean":
        return text in ("true", "false")
    if "enum" in schema:
        return text in schema["enum"]
    fits = schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", len(text))
    # Only our own cursors are accepted.
    return (
        fits and "cursor" not in schema.get("description", "") and schema.get("maxLength") != 1000
    )


def test_an_odd_name_in_a_query_is_named_or_not_looked_at(app, acme, here):
    headers = {"X-API-Key": acme.admin_key}
    for endpoint in endpoints(app):
        if endpoint.reads:
            plain = ask(app, endpoint.method, endpoint.path(**here), headers=headers)
            for query in ("\xff=\xff", "%FF=%FF", "%00=1", "=", "&&", "%", ";", "\xff", "?", "#"):
                answer = ask(app, endpoint.method, endpoint.path(**here), query, headers=headers)
                assert answer.status_code in (plain.status_code, 422), (endpoint, query)


def test_odd_bytes_in_if_none_match_match_nothing(app, acme, here):
    for endpoint in endpoints(app, "/v1/public/"):
        path = endpoint.path(**here)
        plain = ask(app, endpoint.method, path)
        for strange in STRANGE_TAGS:
            environ = {"HTTP_IF_NONE_MATCH": strange, "PATH_INFO": path}
            answer = app.test_client().open("/", method=endpoint.method, environ_overrides=environ)
            assert same(answer) == same(plain) and plain.status_code == 200, strange


def test_odd_bytes_in_an_idempotency_key_are_refused_wherever_one_is_taken(app, acme, here):
    document = app.test_client().get("/openapi.json").json
    tried = 0
    for path, item in document["paths"].items():
        if path.endswith("/refund-address"):
            continue  # an API key does not open it
        operation = item.get("post", {})
        if "Idempotency-Key" not in {each["name"] for each in operation.get("parameters", ())}:
            continue
        for strange in STRANGE_KEYS:
            headers = {"X-API-Key": acme.admin_key}
            environ = {"HTTP_IDEMPOTENCY_KEY": strange}
            answer = app.test_client().post(
                path.format(**here), json={}, headers=headers, environ_overrides=environ
            )
            assert answer.status_code == 422, (path, strange, answer.text)
            assert answer.json["errors"].keys() == {"Idempotency-Key"}
            tried += 1
    assert tried >= 7 * len(STRANGE_KEYS)


def fold(text):
    """Return the text with ASCII letters in lower case: both databases can do that."""
    return re.sub("[A-Z]+", lambda match: match[0].lower(), text)


def check_search(organizer):
    for title in TITLES:
        organizer.event(title=title)
    admin = organizer.api()
    for sought in SOUGHT:
        query = {"q": sought, "limit": 100}
        page = admin.get(f"{organizer.path}/events", query_string=query)
        found = {event["title"] for event in page.json["data"]}
        assert found == {title for title in TITLES if fold(sought) in fold(title)}, sought


def test_what_is_sought_in_titles_means_itself(acme):
    check_search(acme)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_what_is_sought_means_the_same_in_whatever_locale_postgres_is(environ, database_url):
    base, _, name = database_url.rpartition("/")
    with psycopg.connect(f"{base}/postgres", autocommit=True) as server:
        known = {row[0] for row in server.execute("SELECT collname FROM pg_collation")}
        locale = next((each for each in ("C.utf8", "en_US.utf8") if each in known), "C")
        server.execute(
            f"CREATE DATABASE {name}_folding TEMPLATE template0 ENCODING 'UTF8' LOCALE '{locale}'"
        )
    app = create_app(load({**environ, "DATABASE_URL": f"{database_url}_folding"}))
    migrate.upgrade()
    check_search(new_organizer(app, "acme"))
    database.close()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_real_server_answers_raw_bytes_as_problems_and_lives(
    database_url, tmp_path, starts_processes
):
    variables = {"DATABASE_URL": database_url, "SECRET_KEY": SECRET_KEY, **NO_LIMITS}
    variables |= {"PORT": str(free_port()), "WEB_CONCURRENCY": "1"}
    with Stack(variables, log=tmp_path / "log") as stack:
        stack.start_web()
        acme = RemoteOrganizer(stack, "acme", new_xpub())
        key = acme.headers["X-API-Key"].encode()
        events = acme.path.encode() + b"/events"
        body = json.dumps(event_body()).encode()
        sized = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
        for line, headers, sent, expected in (
            (b"GET " + events + b"?q=\xff", b"", b"", 400),
            (b"GET " + events + b"?q=%ff", b"", b"", 422),
            (b"GET " + events + b"?q=%c3%a9", b"", b"", 200),
            (b"GET " + events + b"/\xff", b"", b"", 400),
            (b"GET " + events + b"/%ff", b"", b"", 404),
            (b"GET " + events + b"/%00", b"", b"", 404),
            (b"GET " + events, b"Authorization: Basic \xff\r\n", b"", 200),
            (b"GET " + events, b"Authorization: Bearer \xff\r\n", b"", 401),
            (b"GET " + events, b"X-Request-ID: \xff\xfe\r\n", b"", 200),
            (b"GET /v1/public/tenants/acme/events", b'If-None-Match: "\xff"\r\n', b"", 200),
            (b"POST " + events, sized + b"Idempotency-Key: \xff\xff\r\n", body, 422),
            (b"POST " + events, sized, body, 201),
            (b"POST " + events, sized, body.replace(b"Launch", b"La\xffnch")[: len(body)], 400),
        ):
            head = line + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-API-Key: " + key
            status, answer = _exchange(stack.port, head + b"\r\n" + headers + b"\r\n" + sent)
            assert status == expected, (line, headers, answer)
            assert status < 400 or (answer["status"] == status and answer["code"]), line


def _exchange(port, request):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(request)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)
