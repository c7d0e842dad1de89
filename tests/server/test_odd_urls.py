"""Paths and queries with difficult bytes: the same response everywhere.

They come from the routing table and the OpenAPI document, so new ones are included.
"""

import re
from urllib.parse import unquote, urlencode

import pytest

from schemas.base import EXAMPLE_PAYER
from tests.support.holders import bought
from tests.support.odd_values import fits
from tests.support.routes import UNKNOWN, endpoints, operations_of, pages, sent_to
from ticketing.web import auth

pytestmark = pytest.mark.exhaustive

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

OF_CURSORS = 1000
"""The longest cursor. Only our own are accepted."""

NEVER_WERE = {"question_id": 404, "voucher": 409}
"""How an endpoint that needs it answers a name that never was."""


@pytest.fixture
def secrets_of_pages(acme):
    """What is secret in the paths of pages: of an order, a ticket and an offer."""
    ticket = acme.ticket(price_amount=0, chain_id=None)
    buyer = acme.buyer(ticket)
    (held,) = bought(acme, ticket)
    return {
        "link": f"{buyer.intent['id']}.{buyer.intent['client_secret']}",
        "code": held.code,
        "offer": held.offer().json["offer"],
    }


def ask(app, method, path, query="", **options):
    """Send a path and a query without any encoding."""
    environ = {"QUERY_STRING": query, "PATH_INFO": unquote(path, "latin-1")}
    return app.test_client().open("/", method=method, environ_overrides=environ, **options)


def outcome(answer):
    return answer.status_code, answer.content_type, (answer.get_json(silent=True) or {}).get("code")


def test_an_odd_id_in_a_path_is_an_id_that_never_was(app, acme, here):
    headers = {"X-API-Key": acme.admin_key}
    operations = operations_of(app.test_client().get("/openapi.json").json)
    for endpoint in endpoints(app):
        sent = sent_to(operations, endpoint, here)
        options = {"headers": headers, "query": urlencode(sent.pop("query_string")), **sent}
        for name in endpoint.arguments:
            never = {**UNKNOWN, "tenant": "nobody-here"}[name]
            unknown = ask(app, endpoint.method, endpoint.path(**{**here, name: never}), **options)
            wrong_tenant = name == "tenant" and not isinstance(endpoint.guard, auth.Open)
            is_refused = wrong_tenant or endpoint.needs_secret
            assert unknown.status_code == (403 if is_refused else 404), endpoint
            for what, segment in SEGMENTS.items():
                path = endpoint.path(**{**here, name: segment.replace("{id}", here[name])})
                answer = ask(app, endpoint.method, path, **options)
                assert outcome(answer) == outcome(unknown), (endpoint, name, what)


def test_an_odd_secret_in_the_path_of_a_page_is_one_that_never_was(app, secrets_of_pages):
    tried = 0
    for rule in pages(app):
        for name in rule.arguments & secrets_of_pages.keys():
            for method in sorted(rule.methods - {"OPTIONS"}):
                for what, segment in SEGMENTS.items():
                    odd = segment.replace("{id}", secrets_of_pages[name])
                    path = rule.rule.replace(f"<{name}>", odd)
                    answer = ask(app, method, path, headers={"Sec-Fetch-Site": "same-origin"})
                    case = (rule.rule, method, what)
                    assert (answer.status_code, answer.mimetype) == (404, "text/html"), case
                    assert secrets_of_pages[name] not in answer.text, case
                    tried += 1
    assert tried >= 8 * len(SEGMENTS)


NAMED = {"chain_id": "1", "payer": EXAMPLE_PAYER}
"""What a query needs, besides ids."""


def test_an_odd_value_of_a_query_is_taken_as_text_or_refused_by_its_name(app, acme, here):
    headers = {"X-API-Key": acme.admin_key}
    document = app.test_client().get("/openapi.json").json
    tried = 0
    for path, item in document["paths"].items():
        declared = item.get("get", {}).get("parameters", [])
        needed = [each for each in declared if each.get("required") and each["in"] == "query"]
        others = {each["name"]: {**NAMED, **here}[each["name"]] for each in needed}
        for parameter in (each for each in declared if each["in"] == "query"):
            name, schema = parameter["name"], parameter["schema"]
            for what, value in QUERIES.items():
                rest = urlencode({key: each for key, each in others.items() if key != name})
                query = f"{rest}&{name}={value}".removeprefix("&")
                answer = ask(app, "GET", path.format(**here), query, headers=headers)
                case = (path, name, what, answer.text)
                refused = set() if _takes(document, schema, value) else {name}
                # That network is not enabled, which is found out last.
                refused = refused or others.keys() & {"chain_id"}
                taken = NEVER_WERE[name] if name in others and not refused else 200
                assert answer.status_code == (422 if refused else taken), case
                if refused:
                    assert answer.json["errors"].keys() == refused, case
                tried += 1
    assert tried > 500


def _takes(document, schema, value):
    raw = value.replace("+", " ").encode("latin-1")
    text = unquote(raw.decode(errors="surrogateescape"), errors="surrogateescape")
    if schema["type"] == "integer":
        return bool(re.fullmatch("-?[0-9]{1,19}", text)) and fits(document, schema, int(text))
    if schema["type"] == "boolean":
        return text in ("true", "false")
    return fits(document, schema, text) and schema.get("maxLength") != OF_CURSORS


def test_an_odd_name_in_a_query_is_named_or_not_looked_at(app, acme, here):
    headers = {"X-API-Key": acme.admin_key}
    for endpoint in endpoints(app):
        if endpoint.reads:
            plain = ask(app, endpoint.method, endpoint.path(**here), headers=headers)
            for query in ("\xff=\xff", "%FF=%FF", "%00=1", "=", "&&", "%", ";", "\xff", "?", "#"):
                answer = ask(app, endpoint.method, endpoint.path(**here), query, headers=headers)
                assert answer.status_code in (plain.status_code, 422), (endpoint, query)
