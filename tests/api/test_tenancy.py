"""For others, a tenant's resources do not exist: not in responses, and not in effects.

The endpoints come from the routing table, bodies and parameters from the OpenAPI document. A new
one is included automatically, or fails until its ids are listed here.
"""

from functools import partial
from itertools import product

import pytest

from tests.support.counted_work import watched
from tests.support.factories import Api, event_body
from tests.support.members import invite
from tests.support.one_of_each import made_for
from tests.support.routes import UNKNOWN, endpoints, operations_of, same, sent_to
from tests.support.webhook_endpoints import new_webhook

IN_BODIES = {"event_id", "ticket_id"}
IN_QUERIES = {
    "event_id": "event_id",
    "question_id": "question_id",
    "subject": "event_id",
    "actor": "key_id",
}
"""Where requests contain ids, and of which kind. `chain_id` is not such an id."""

NO_IDS = {
    "payer",
    "chain_id",
    "series",
    "token",
    "owner_confirmed",
    "since",
    "after",
    "unsynced",
    "limit",
    "cursor",
    "sort",
    "status",
    "return",
    "type",
    "flag",
    "q",
    "redeemed",
    "by",
    "min_amount",
    "tag",
    "voucher",
    "only_failed",
}


class World:
    """Resources of one tenant: of each kind, published, drafted and canceled."""

    def __init__(self, organizer):
        self.organizer = organizer
        self.admin = organizer.with_headers({"X-API-Key": organizer.admin_key})
        self.event = organizer.event(slug=f"{organizer.slug}-night")
        self.ticket = organizer.ticket(self.event, price_amount=0)
        organizer.ticket(self.event)
        organizer.event(slug=f"{organizer.slug}-day")
        self.draft = organizer.event(status="draft", slug=f"{organizer.slug}-draft")
        self.canceled = organizer.event(slug=f"{organizer.slug}-canceled")
        self.admin.post(
            f"{organizer.path}/events/{self.canceled['id']}/status", {"status": "canceled"}
        )
        self.draft_ticket = organizer.ticket(self.event, status="draft")
        organizer.buyer(self.ticket)
        buyer = organizer.buyer(self.ticket, quantity=2)
        self.admission = buyer.purchase().json["admissions"][0]
        self.key = self.admin.post(f"{organizer.path}/apikeys", {"name": "k", "role": "read"}).json
        # The first time it is saved, a warning ends.
        self.admin.get(f"{organizer.path}/wallet/recovery")
        self.ids = {
            "event_id": self.event["id"],
            "ticket_id": self.ticket["id"],
            "intent_id": buyer.intent["id"],
            "admission_id": self.admission["id"],
            "key_id": self.key["id"],
            "member_id": invite(organizer, "grace@example.org")["id"],
            "webhook_id": new_webhook(organizer).id,
            **made_for(organizer, self.event["id"], self.ticket["id"]),
        }

    def books(self):
        """Return all that the tenant can read of its own, without the last use of its keys."""
        found = {}
        for endpoint in endpoints(self.organizer.app, "/v1/admin/"):
            if endpoint.method == "GET":
                path = endpoint.path(tenant=self.organizer.slug, **self.ids)
                answer = self.admin.get(path)
                if not answer.is_json:
                    found[endpoint.rule] = answer.text
                    continue
                body = answer.json
                body.pop("request_id", None)  # of a refusal
                if body.get("kind") == "ticketing-recovery":
                    del body["created_at"]
                for row in [body, *body.get("data", [])]:
                    row.pop("last_used_at", None)
                found[endpoint.rule] = body
        return found


@pytest.fixture
def ours(acme):
    return World(acme)


@pytest.fixture
def theirs(neighbour):
    return World(neighbour)


@pytest.fixture
def operations(api):
    """Return the operations of the OpenAPI document, by method and path."""
    return operations_of(api.get("/openapi.json").json)


def ask(world, endpoint, known, **sent):
    """Return the response to the admin of this world, and its cost."""
    path = endpoint.path(tenant=world.organizer.slug, **known)
    with watched() as work:
        answer = world.admin.client.open(
            path, method=endpoint.method, headers=world.admin.headers, **sent
        )
    return same(answer), work


def choices(names, own, others):
    """Yield each combination of `names` with at least one foreign name."""
    for taken in product((own, others), repeat=len(names)):
        known = {name: of[name] for name, of in zip(names, taken, strict=True)}
        if any(of is others for of in taken):
            yield known


@pytest.mark.exhaustive
def test_an_id_of_another_tenant_in_a_path_is_an_id_that_never_was(app, ours, theirs, operations):
    before = theirs.books()
    tried = 0
    for endpoint in endpoints(app):
        if not endpoint.ids or endpoint.surface == "public" or endpoint.needs_secret:
            continue
        sent = sent_to(operations, endpoint, ours.ids)
        pairs = zip(
            choices(endpoint.ids, ours.ids, theirs.ids),
            choices(endpoint.ids, ours.ids, UNKNOWN),
            strict=True,
        )
        for foreign, never in pairs:
            ask(ours, endpoint, never, **sent)
            expected = ask(ours, endpoint, never, **sent)
            assert ask(ours, endpoint, foreign, **sent) == expected, (endpoint, foreign)
            assert expected[0][0] == 404, (endpoint, expected)
            tried += 1
    assert tried >= 25
    assert theirs.books() == before


@pytest.mark.exhaustive
def test_an_id_of_another_kind_or_of_another_event_is_an_id_that_never_was(app, ours, operations):
    elsewhere = ours.organizer.ticket()
    for endpoint in endpoints(app):
        if not endpoint.ids or endpoint.surface == "public" or endpoint.needs_secret:
            continue
        sent = sent_to(operations, endpoint, ours.ids)
        for name in endpoint.ids:
            never = ask(ours, endpoint, {**ours.ids, name: UNKNOWN[name]}, **sent)
            strange = {value for other, value in ours.ids.items() if other != name}
            if name == "ticket_id" and "event_id" in endpoint.arguments:
                strange.add(elsewhere["id"])
            for value in strange:
                known = {**ours.ids, name: value}
                assert ask(ours, endpoint, known, **sent)[0] == never[0], (endpoint, known)


def test_an_id_of_another_tenant_in_a_body_is_an_id_that_never_was(app, ours, theirs, operations):
    tried = set()
    for endpoint in endpoints(app):
        body = sent_to(operations, endpoint, ours.ids).get("json", {})
        names = sorted(IN_BODIES & body.keys())
        # `payment_id` is a number of the order in the path: tests/payments/test_passed_ids.py.
        others = {"chain_id", "tax_id", "payment_id"}
        assert {name for name in body if name.endswith("_id")} <= IN_BODIES | others
        if not names or endpoint.view == "sell":  # devices only: tests/door/test_box_office.py
            continue
        tried.add(endpoint.view)
        # Who waits must say where to write. Other required fields are names of ids.
        plain = {name: value for name, value in body.items() if name in {*names, "email"}}
        pairs = zip(
            choices(names, ours.ids, theirs.ids), choices(names, ours.ids, UNKNOWN), strict=True
        )
        for foreign, never in pairs:
            ask(ours, endpoint, {}, json={**plain, **never})
            expected = ask(ours, endpoint, {}, json={**plain, **never})
            assert ask(ours, endpoint, {}, json={**plain, **foreign}) == expected, foreign
            assert expected[0][0] == 404
    assert tried == {"preflight", "join_waiting_list"}


def test_what_is_not_published_cannot_be_told_from_what_never_was(app, ours):
    visitor = Api(app.test_client())
    public, checkout = ours.organizer.public, ours.organizer.checkout

    def told(request):
        request()
        with watched() as work:
            answer = request()
        assert answer.status_code == 404
        return same(answer), work

    for path in ("", "/tickets", ".ics"):
        for name in ("id", "slug"):
            never = {"id": UNKNOWN["event_id"], "slug": "never-was"}[name]
            told_of = [
                told(partial(visitor.get, f"{public}/events/{value}{path}"))
                for value in (never, ours.draft[name], ours.canceled[name])
            ]
            assert told_of[0] == told_of[1] == told_of[2]
    for never, hidden in (
        ({"event_id": UNKNOWN["event_id"]}, {"event_id": ours.draft["id"]}),
        ({"event_id": UNKNOWN["event_id"]}, {"event_id": ours.canceled["id"]}),
        ({"ticket_id": UNKNOWN["ticket_id"]}, {"ticket_id": ours.draft_ticket["id"]}),
    ):
        order = {"event_id": ours.event["id"], "ticket_id": ours.ticket["id"]}
        told_of = [
            told(partial(visitor.post, f"{checkout}/preflight", {**order, **part}))
            for part in (never, hidden)
        ]
        assert told_of[0] == told_of[1]


def test_the_public_pages_of_one_tenant_show_nothing_of_another(app, ours, theirs):
    for endpoint in endpoints(app, "/v1/public/"):
        if not endpoint.ids:
            continue
        for name, never in (("id", UNKNOWN["event_id"]), ("slug", "never-was")):
            told = [
                ask(ours, endpoint, {"event_id": value})
                for value in (never, never, theirs.event[name], theirs.draft[name])
            ]
            assert told[1] == told[2] == told[3]
            assert told[1][0][0] == 404


@pytest.mark.exhaustive
def test_filters_and_cursors_of_another_tenant_find_nothing(app, ours, theirs, operations):
    cursors = {}
    for endpoint in endpoints(app):
        declared = operations.get(endpoint.operation, {}).get("parameters", [])
        asked = {each["name"] for each in declared if each["in"] == "query"}
        assert asked <= IN_QUERIES.keys() | NO_IDS
        for name in asked & IN_QUERIES.keys():
            needed = sent_to(operations, endpoint, ours.ids)["query_string"]
            never, foreign = (
                ask(ours, endpoint, ours.ids, query_string={**needed, name: of[IN_QUERIES[name]]})
                for of in (UNKNOWN, theirs.ids)
            )
            assert foreign[0] == never[0]
            assert never[0][0] == (404 if name in needed else 200), (endpoint, name)
        if "cursor" in asked and endpoint.method == "GET":
            path = endpoint.path(tenant=theirs.organizer.slug, **theirs.ids)
            needed = sent_to(operations, endpoint, theirs.ids)["query_string"]
            page = theirs.admin.get(path, query_string={**needed, "limit": 1}).json
            cursor = page["next_cursor"] or cursors["/v1/admin/tenants/<tenant>/events"]
            cursors[endpoint.rule] = cursor
            own = sent_to(operations, endpoint, ours.ids)["query_string"]
            told = [
                ask(ours, endpoint, ours.ids, query_string={**own, "cursor": each})[0]
                for each in ("x", cursor)
            ]
            assert told[0] == told[1] and told[0][0] == 422, endpoint
    assert len(cursors) >= 8 and len(set(cursors.values())) >= 7


def test_what_another_tenant_calls_its_own_is_free(ours, theirs):
    for event in (theirs.event, theirs.draft):
        body = {**event_body(), "slug": event["slug"]}
        made = ours.admin.post(f"{ours.organizer.path}/events", body)
        assert made.status_code == 201 and made.json["slug"] == event["slug"]
    for world in (theirs, ours):
        key = {"headers": {**world.admin.headers, "Idempotency-Key": "k"}}
        made = world.admin.post(f"{world.organizer.path}/events", event_body(), **key)
        assert made.status_code == 201 and "Idempotent-Replayed" not in made.headers
