"""Members who are limited to events, on every route: with their own event, and with another."""

from typing import Any

import pytest

from tests.support.console import sign_in
from tests.support.databases import only_once
from tests.support.factories import in_days
from tests.support.members import accept, invite, limited
from tests.support.one_of_each import one_of_each
from tests.support.routes import endpoints, pages
from ticketing.pages.console.blueprint import SignedIn
from ticketing.roles import Role
from ticketing.web import auth, secret_guards

ROLES = ("read", "write", "finance", "door")
OTHER = "The other evening"
LIMITED = (403, "limited_to_events")


@pytest.fixture
def own(acme):
    """One resource of each kind, of the event to which somebody is limited."""
    return one_of_each(acme)


@pytest.fixture
def other(acme):
    """An order and a ticket of another event, whose title is OTHER."""
    ticket = acme.ticket(acme.event(title=OTHER), price_amount=0, capacity=None)
    paid = acme.buyer(ticket, buyer={"name": OTHER, "email": "eve@example.org"})
    admission = paid.purchase().json["admissions"][0]["id"]
    return {
        "event_id": ticket["event_id"],
        "ticket_id": ticket["id"],
        "intent_id": paid.intent["id"],
        "admission_id": admission,
    }


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json.get("code", "") if answer.is_json else ""


def test_lists_show_only_what_is_of_the_own_events(acme, own, other):
    for role in ("read", "write", "finance"):
        member = limited(acme, role, [own["event_id"]])
        listed = member.get(f"{acme.path}/events").json["data"]
        assert [each["id"] for each in listed] == [own["event_id"]]
        for path in ("admissions", "intents", "refunds"):
            whole = acme.api().get(f"{acme.path}/{path}").json["data"]
            shown = member.get(f"{acme.path}/{path}")
            assert shown.status_code == 200 and OTHER not in shown.text
            if path != "refunds":
                assert 0 < len(shown.json["data"]) < len(whole)
        # A search ignores the filters of the list, and finds nothing of others all the same.
        for text in ("eve@example.org", other["intent_id"], other["admission_id"]):
            found = member.get(f"{acme.path}/intents?q={text}&event_id={own['event_id']}")
            assert found.json["data"] == []
        assert code(member.get(f"{acme.path}/sales?by=day")) == LIMITED
        foreign = f"{acme.path}/sales?by=day&event_id={other['event_id']}"
        assert code(member.get(foreign)) == LIMITED
        of_own = f"{acme.path}/sales?by=day&event_id={own['event_id']}"
        assert member.get(of_own).status_code == 200


def test_they_make_no_other_events(acme, own):
    member = limited(acme, "write", [own["event_id"]])
    event = f"{acme.path}/events/{own['event_id']}"
    body = {"title": "New", "type": "online", "start_at": in_days(9), "timezone": "UTC"}
    for query in ("", f"?event_id={own['event_id']}"):
        assert code(member.post(f"{acme.path}/events{query}", body)) == LIMITED
    assert code(member.post(f"{event}/copy", {"starts": [in_days(60)]})) == LIMITED
    assert member.patch(event, {"title": "Renamed"}).status_code == 200


def test_a_limit_is_checked_and_an_administrator_has_none(acme, admin, neighbour):
    event, foreign = acme.event()["id"], neighbour.event()["id"]
    path, body = f"{acme.path}/members", {"email": "ada@example.org", "role": "write"}
    for bad in ([], ["evt_none"], [foreign], [event, foreign]):
        assert code(admin.post(path, {**body, "event_ids": bad})) == (422, "invalid_request"), bad
    refused = admin.post(path, {**body, "role": "admin", "event_ids": [event]})
    assert "administrator" in refused.json["errors"]["event_ids"][0]
    made = admin.post(path, {**body, "event_ids": [event]}).json
    assert made["event_ids"] == [event]
    # Another role keeps the limit, except for an administrator, who works on all.
    member = f"{path}/{made['id']}"
    assert admin.patch(member, {"role": "read"}).json["event_ids"] == [event]
    assert admin.patch(member, {"role": "admin"}).json["event_ids"] is None
    assert admin.patch(member, {"role": "read"}).json["event_ids"] is None
    limited_again = admin.patch(member, {"role": "door", "event_ids": [event]})
    assert limited_again.json["event_ids"] == [event]
    assert admin.patch(member, {"role": "door", "event_ids": None}).json["event_ids"] is None


def test_an_invitation_gives_what_the_member_may_at_that_time(acme, admin, own):
    """An old invitation gives no more than the member has by then."""
    event = own["event_id"]
    invited = invite(acme, "ada@example.org", "admin")
    member = f"{acme.path}/members/{invited['id']}"
    admin.patch(member, {"role": "door", "event_ids": [event]})
    answer = accept(acme, invited["invitation_url"])
    assert answer.json["role"] == "door"
    token = acme.with_headers({"Authorization": f"Bearer {answer.json['access_token']}"})
    assert code(token.get(f"{acme.path}/members")) == (403, "insufficient_role")
    assert token.get(f"/v1/door/tenants/{acme.slug}/events/{event}/stats").status_code == 200
    # Nobody but an administrator invites, or changes a role: not even the own one.
    for role in ROLES:
        them = limited(acme, role, [event])
        for answer in (
            them.post(f"{acme.path}/members", {"email": "eve@example.org", "role": "admin"}),
            them.patch(member, {"role": "admin"}),
            them.post(f"{member}/invite"),
        ):
            assert code(answer) == (403, "insufficient_role"), role


def test_a_changed_limit_counts_for_tokens_that_were_issued_before(acme, admin, own, other):
    member = limited(acme, "write", [own["event_id"]])
    (ada,) = (
        each
        for each in admin.get(f"{acme.path}/members").json["data"]
        if each["event_ids"] is not None
    )
    path = f"{acme.path}/events/{own['event_id']}"
    assert member.get(path).status_code == 200
    change = {"role": "write", "event_ids": [other["event_id"]]}
    admin.patch(f"{acme.path}/members/{ada['id']}", change)
    assert code(member.get(path)) == LIMITED


@pytest.mark.exhaustive
@only_once
def test_every_endpoint_refuses_what_is_of_another_event(app, acme, own, other):
    """The same answer for what is of another event, and for what does not exist."""
    foreign = {**own, **other}
    for role in ROLES:
        member = limited(acme, role, [own["event_id"]])
        for endpoint in endpoints(app, "/v1/"):
            guard = endpoint.guard
            if not isinstance(guard, auth.TenantRole | secret_guards.Door):
                continue
            scope = getattr(guard, "scope", None)
            case = (role, endpoint.method, endpoint.rule)
            for known in ({}, foreign):
                path = endpoint.path(**{**known, "tenant": acme.slug})
                answer = member.client.open(path, method=endpoint.method, headers=member.headers)
                assert OTHER not in answer.text, case
                if scope is not None and endpoint.view in scope.filtered:
                    continue
                assert answer.status_code == 403, case
                refused = () if endpoint.method == "HEAD" else (answer.json["code"],)
                assert {*refused} <= {"limited_to_events", "insufficient_role"}, case


@pytest.mark.exhaustive
@only_once
def test_every_endpoint_lets_them_work_on_their_own_event(app, acme, own):
    member = limited(acme, "write", [own["event_id"]])
    opened = set()
    for endpoint in endpoints(app, "/v1/"):
        guard: Any = endpoint.guard
        of_event = {"event_id", "intent_id", "admission_id"} & endpoint.arguments
        if not isinstance(guard, auth.TenantRole | secret_guards.Door) or not of_event:
            continue
        needed = {Role.WRITE}
        if isinstance(guard, auth.TenantRole):
            needed = guard.reads if endpoint.reads else guard.writes
        if endpoint.rule.partition("/box-office")[1]:
            continue  # for devices only: tests/door/test_box_office.py
        path = endpoint.path(**{**own, "tenant": acme.slug})
        answer = member.client.open(path, method=endpoint.method, headers=member.headers)
        is_open = Role.WRITE.holds(*needed) and endpoint.view != "copy_event"
        assert (answer.status_code != 403) == is_open, (endpoint.method, endpoint.rule)
        opened |= {endpoint.view} if is_open else set()
    assert {"read_manifest", "export_orders", "get_intent", "void_admission"} <= opened


@pytest.mark.exhaustive
@only_once
def test_every_page_refuses_what_is_of_another_event(app, acme, own, other):
    foreign = {**own, **other, "session_id": "ses_none"}
    for role in ROLES:
        console = sign_in(acme, role, f"{role}@example.org", [own["event_id"]])
        for rule in pages(app):
            guard = app.blueprints[rule.endpoint.rpartition(".")[0]].guard
            if not isinstance(guard, SignedIn) or rule.endpoint.startswith("pages_console_session"):
                continue
            path = rule.rule
            for name in rule.arguments:
                path = path.replace(f"<{name}>", foreign.get(name, "x"))
            view = rule.endpoint.rpartition(".")[2]
            is_filtered = guard.scope.every_view or view in guard.scope.filtered
            for method in sorted({"GET", "POST"} & rule.methods):
                send = console.get if method == "GET" else console.send
                answer = send(path)
                assert OTHER not in answer.text, (role, method, path)
                assert is_filtered or answer.status_code == 403, (role, method, path)
