"""Every field of every body with difficult values: the same response on both databases.

The fields come from the OpenAPI document, so new fields are included automatically. What the
schema refuses reaches no database: it is sent once.
"""

import json
from typing import Any, NamedTuple

import pytest

from tests.support.apps import new_app
from tests.support.databases import only_once
from tests.support.factories import Organizer, new_organizer
from tests.support.field_values import SHOWN_AS_DEFAULT, shown
from tests.support.odd_values import NOT_JSON, fits, well_formed
from tests.support.one_of_each import made_for, one_of_each
from ticketing.db.connection import database, is_sqlite

pytestmark = pytest.mark.long

_INTENT = "/v1/admin/tenants/{tenant}/intents/{intent_id}"
READ_ELSEWHERE = {"/preflight": _INTENT, "/x402/": _INTENT}
NEEDED_TOO = {"price_amount": "chain_id"}
"""The errors of a body without the field."""


class Field(NamedTuple):
    """A field of a body, and its operation."""

    method: str
    path: str
    name: str
    schema: dict[str, Any]
    base: dict[str, Any]

    def body(self, text: bytes, *, twice: bool = False) -> bytes:
        """Return the body with this JSON text for the field. `a.b` is inside `a`."""
        outer, _, inner = self.name.partition(".")
        member = json.dumps(inner or outer).encode() + b":" + text
        if twice:
            member += b"," + member
        if inner:
            member = json.dumps(outer).encode() + b":{" + member + b"}"
        rest = json.dumps({name: value for name, value in self.base.items() if name != outer})
        return rest[:-1].encode() + (b"," if rest != "{}" else b"") + member + b"}"


class Door:
    """A tenant with a resource of each kind, and every way to write to it."""

    def __init__(self, organizer: Organizer) -> None:
        self.organizer = organizer
        self.headers = {"X-API-Key": organizer.admin_key}
        self.client = organizer.app.test_client()
        self.document = self.client.get("/openapi.json").json
        ticket = organizer.ticket(price_amount=0, capacity=None)
        draft = organizer.event(status="draft")
        self.draft_ids = {
            "event_id": draft["id"],
            "ticket_id": organizer.ticket(draft)["id"],
        }
        buyer = organizer.buyer(ticket)
        self.asking = ticket["event_id"]
        self.secret = {"Authorization": f"Bearer {buyer.intent['client_secret']}"}
        self.ids = {
            **one_of_each(organizer),
            "event_id": ticket["event_id"],
            "ticket_id": ticket["id"],
            "intent_id": buyer.intent["id"],
            "admission_id": buyer.purchase().json["admissions"][0]["id"],
            **made_for(organizer, ticket["event_id"], ticket["id"]),
        }

    def fields(self):
        """Yield every field of every body."""
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                if "requestBody" in operation:
                    yield from self._fields(method.upper(), path, operation)

    def _fields(self, method, path, operation):
        content = operation["requestBody"]["content"].get("application/json")
        if content is None:
            return  # a picture
        schema, example = self.resolved(content["schema"]), content["example"]
        needed = [*schema.get("required", ())]
        needed += [NEEDED_TOO[name] for name in needed if name in NEEDED_TOO]
        of_operation = {name: self.ids.get(name, example[name]) for name in needed}
        for name, each in schema["properties"].items():
            base = of_operation
            if "items" in schema["properties"] and "ticket_id" in schema["properties"]:
                # An order has either. Its schema can require neither.
                base = base if name == "items" else {**base, "ticket_id": self.ids["ticket_id"]}
            yield Field(method, path, name, self.resolved(each), base)
            for inner, within in self.resolved(each).get("properties", {}).items():
                yield Field(method, path, f"{name}.{inner}", self.resolved(within), base)

    def resolved(self, schema):
        if "$ref" not in schema:
            return schema
        return self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]

    def _ids_for(self, field):
        if field.method == "PATCH":
            # A change is tried on a draft: after publication the slug is fixed.
            return {**self.ids, **self.draft_ids}
        if field.path.endswith("/questions"):
            return {**self.ids, "event_id": self.asking}
        return self.ids

    def send(self, field, body):
        ids = self._ids_for(field)
        security = self.document["paths"][field.path][field.method.lower()]["security"]
        headers = self.secret if security == [{"clientSecret": []}] else self.headers
        return self.client.open(
            field.path.format(**ids),
            method=field.method,
            headers={**headers, "Content-Type": "application/json"},
            data=body,
        )

    def read(self, field, answer):
        """Return the field's value, as another request reads it. KeyError if none does."""
        path = field.path.removesuffix("/status")
        for part, elsewhere in READ_ELSEWHERE.items():
            if part in path:
                path = elsewhere
        ids = dict(self._ids_for(field))
        below = [each for each in self.document["paths"] if each.startswith(f"{path}/{{")]
        if field.method == "POST" and below:
            path = min(below, key=len)
        if field.method == "POST":
            ids[path.rsplit("{", 1)[1].rstrip("}")] = answer.json["id"]
        now = self.client.get(path.format(**ids), headers=self.headers).json
        if field.path.endswith("/questions"):
            self.asking = self.organizer.event()["id"]  # an event has 20 questions at most
        for name in field.name.split("."):
            now = now[name]
        return now


@pytest.fixture
def on_both(environ, postgres, postgres_template):
    """Run a function with a client on SQLite, then on Postgres. Return both results."""
    other = postgres.create_database(
        postgres_template.replace("template", "odd"), postgres_template
    )

    def run(experiment):
        results = []
        for url in (environ["DATABASE_URL"], other):
            app = new_app({**environ, "DATABASE_URL": url})
            # No process is killed here, and waiting for the disk would take most of the time.
            database.execute_sql(
                "PRAGMA synchronous = OFF" if is_sqlite() else "SET synchronous_commit = off"
            )
            results.append(experiment(Door(new_organizer(app, "acme"))))
        database.close()
        return results

    return run


def is_shown_as_default(field):
    """Whether null gives the default. At a sign-in, the rest of the body is refused anyway."""
    return field.name in SHOWN_AS_DEFAULT and "/auth/" not in field.path


def outcome(answer):
    """Return a response without its ids."""
    refusal = answer.json if answer.status_code >= 400 else {}
    return answer.status_code, refusal.get("code"), sorted(refusal.get("errors", ())) or None


@only_once
def test_every_value_has_one_answer_and_what_is_taken_is_read_back(on_both):
    values = well_formed()

    def experiment(door):
        told, taken = {}, 0
        for field in door.fields():
            for name, text in values.items():
                value, case = json.loads(text), (field.method, field.path, field.name, name)
                if not fits(door.document, field.schema, value) and not is_sqlite():
                    continue
                answer = door.send(field, field.body(text.encode()))
                told[case] = outcome(answer)
                assert answer.status_code < 500, case
                if not fits(door.document, field.schema, value):
                    within = ".a" if value == {"a": 1} and "properties" in field.schema else ""
                    within = ".0" if value == ["a"] and "items" in field.schema else within
                    refused = (422, "invalid_request", [field.name + within])
                    assert told[case] == refused, (case, told[case])
                elif value is None and is_shown_as_default(field):
                    assert answer.status_code < 300, case
                elif answer.status_code < 300 and value != {}:
                    try:
                        now = door.read(field, answer)
                    except KeyError:
                        continue
                    expected = shown(field.name, value)
                    assert now == expected and type(now) is type(expected), (case, now)
                    taken += 1
        assert taken > 500
        return told

    sqlite, postgres = on_both(experiment)
    assert len(sqlite) > 3000
    assert len(postgres) > 1000
    assert {case: told for case, told in postgres.items() if told != sqlite[case]} == {}


@only_once
def test_what_is_not_json_and_a_member_that_comes_twice_is_400_in_every_body(acme):
    door = Door(acme)
    for field in door.fields():
        bodies = {name: field.body(text) for name, text in NOT_JSON.items()}
        good = field.body(b"null")
        bodies["a BOM first"] = b"\xef\xbb\xbf" + good
        bodies["UTF-16"] = good.decode().encode("utf-16")
        bodies["twice"] = field.body(b"null", twice=True)
        inner = field.name.rsplit(".", 1)[-1]
        escaped = f'"\\u{ord(inner[0]):04x}{inner[1:]}":null'.encode()
        whole = f'"{inner}":null'.encode()
        bodies["twice, once escaped"] = good.replace(whole, whole + b"," + escaped)
        for name, body in bodies.items():
            answer = outcome(door.send(field, body))
            assert answer == (400, "malformed_json", None), (field, name, answer, body)
