"""The members surface: who is invited, what they may do, and how their access ends."""

import pytest

from tests.support.apps import new_app
from tests.support.factories import Api, cli
from tests.support.members import PASSWORD, accept, first_member, invite
from ticketing.limits import CallClass

EMAIL = "ada@example.org"
OTHER_PASSWORD = "another horse, another staple"
FIELDS = {"id", "email", "role", "event_ids", "has_second_factor", "status", "created_at"}
FIELDS |= {"disabled_at"}


@pytest.fixture
def ada(acme):
    """An active administrator of acme: the member, and a client with her JWT."""
    invited = invite(acme, EMAIL, "admin")
    return invited, bearer(acme, accept(acme, invited["invitation_url"]))


def bearer(organizer, answer):
    assert answer.status_code == 200, answer.json
    return organizer.with_headers({"Authorization": f"Bearer {answer.json['access_token']}"})


def sign_in(organizer, email=EMAIL, password=PASSWORD):
    body = {"tenant": organizer.slug, "email": email, "password": password}
    return Api(organizer.app.test_client()).post("/v1/auth/login", body)


def test_a_person_is_invited_and_shown_without_the_link_from_then_on(acme, admin):
    made = admin.post(f"{acme.path}/members", {"email": "Ada@Example.org", "role": "write"})
    assert made.status_code == 201
    assert made.json.keys() == FIELDS | {"invitation_url"}
    assert (made.json["email"], made.json["role"]) == (EMAIL, "write")
    assert (made.json["status"], made.json["disabled_at"]) == ("invited", None)
    listed = admin.get(f"{acme.path}/members").json["data"]
    assert [each.keys() for each in listed] == [FIELDS] * 2
    assert [each["email"] for each in listed] == [None, EMAIL]


def test_the_link_leads_to_the_console_of_this_service(environ, acme):
    app = new_app({**environ, "PUBLIC_URL": "https://tickets.example.org"})
    admin = Api(app.test_client(), {"X-API-Key": acme.admin_key})
    made = admin.post(f"{acme.path}/members", {"email": EMAIL, "role": "read"})
    link = made.json["invitation_url"]
    assert link.startswith("https://tickets.example.org/console/invitation/in_")
    assert invite(acme, "bob@example.org")["invitation_url"].startswith("/console/invitation/in_")


def test_a_repeat_of_the_request_does_not_show_the_link(acme, admin):
    body, headers = {"email": EMAIL, "role": "read"}, {"Idempotency-Key": "k"}
    made = admin.post(f"{acme.path}/members", body, headers=headers).json
    again = admin.post(f"{acme.path}/members", body, headers=headers)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json == {**made, "invitation_url": None}


def test_accepting_signs_in(acme):
    link = invite(acme, EMAIL, "read")["invitation_url"]
    accepted = accept(acme, link)
    assert accepted.json.keys() == {"access_token", "token_type", "expires_in", "role", "tenant"}
    assert bearer(acme, accepted).get(f"{acme.path}/events").status_code == 200
    assert sign_in(acme).json["role"] == "read"


def test_a_wrong_invitation_is_not_found_and_counts_as_an_attempt(acme, environ):
    assert accept(acme, "in_x").status_code == 404
    limits = {f"RATE_LIMIT_{CallClass.LOGIN.upper()}": "3"}
    limited = new_app({**environ, **limits})
    body = {"invitation": "in_x", "password": PASSWORD}
    client = Api(limited.test_client())
    codes = [client.post("/v1/auth/invitation", body).status_code for _ in range(4)]
    assert codes == [404, 404, 404, 429]


def test_a_role_is_changed_at_once(acme, admin, ada):
    member, her = ada
    invited = invite(acme, "bob@example.org", "read")
    bob = bearer(acme, accept(acme, invited["invitation_url"]))
    assert bob.get(f"{acme.path}/members").status_code == 403
    path = f"{acme.path}/members/{invited['id']}"
    assert her.patch(path, {"role": "admin"}).json["role"] == "admin"
    assert bob.get(f"{acme.path}/members").status_code == 200
    own = f"{acme.path}/members/{member['id']}"
    assert her.patch(own, {"role": "read"}).status_code == 200
    assert her.get(f"{acme.path}/members").status_code == 403


def test_an_administrator_who_cannot_sign_in_yet_is_not_needed(acme, admin, ada):
    first = f"{acme.path}/members/{first_member(acme)}"
    assert admin.patch(first, {"role": "read"}).status_code == 200
    assert admin.post(f"{first}/disable").status_code == 200


def test_to_disable_ends_jwts_and_the_invitation_and_an_invitation_ends_that(acme, admin):
    invited = invite(acme, EMAIL, "write")
    path = f"{acme.path}/members/{invited['id']}"
    her = bearer(acme, accept(acme, invited["invitation_url"]))
    open_link = admin.post(f"{path}/invite").json["invitation_url"]
    disabled = admin.post(f"{path}/disable")
    assert (disabled.status_code, disabled.json["status"]) == (200, "disabled")
    assert admin.post(f"{path}/disable").json == disabled.json
    assert her.get(f"{acme.path}/events").status_code == 401
    assert sign_in(acme).status_code == 401
    assert accept(acme, open_link).json["code"] == "invitation_ended"
    back = admin.post(f"{path}/invite")
    assert (back.status_code, back.json["status"]) == (200, "disabled")
    accept(acme, back.json["invitation_url"], OTHER_PASSWORD)
    assert sign_in(acme, password=OTHER_PASSWORD).status_code == 200
    assert her.get(f"{acme.path}/events").status_code == 401


def test_a_new_password_ends_the_jwts_of_the_one_before(acme, admin, ada):
    member, her = ada
    link = admin.post(f"{acme.path}/members/{member['id']}/invite").json["invitation_url"]
    assert her.get(f"{acme.path}/events").status_code == 200
    now = bearer(acme, accept(acme, link, OTHER_PASSWORD))
    assert her.get(f"{acme.path}/events").status_code == 401
    assert now.get(f"{acme.path}/events").status_code == 200
    assert sign_in(acme).status_code == 401


def test_the_audit_log_says_who_invited_whom_and_that_a_password_was_set(acme, admin):
    invited = invite(acme, EMAIL, "write")
    secret = invited["invitation_url"].rpartition("/")[2]
    accept(acme, invited["invitation_url"])
    path = f"{acme.path}/members/{invited['id']}"
    admin.patch(path, {"role": "read"})
    admin.post(f"{path}/disable")
    admin.post(f"{path}/invite")
    log = admin.get(f"{acme.path}/audit-log", query_string={"subject": invited["id"]}).json["data"]
    assert [each["action"] for each in reversed(log)] == [
        "members_invite_member",
        "tokens_accept_invitation",
        "members_change_member",
        "members_disable_member",
        "members_invite_member_again",
    ]
    accepted = log[-2]
    assert accepted["actor"] == invited["id"]
    assert accepted["before"] == {"status": "invited", "password_set_at": None}
    assert accepted["after"].keys() == {"status", "password_set_at"}
    assert not any(each in str(log) for each in (secret, PASSWORD, "invitation_url", "argon2"))


def test_members_of_another_tenant_do_not_exist(acme, neighbour, ada):
    member, _ = ada
    theirs = neighbour.api()
    path = f"{neighbour.path}/members/{member['id']}"
    answers = [
        theirs.patch(path, {"role": "read"}),
        theirs.post(f"{path}/disable"),
        theirs.post(f"{path}/invite"),
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert [each["email"] for each in theirs.get(f"{neighbour.path}/members").json["data"]] == [
        None
    ]


@pytest.mark.parametrize("role", ["read", "paywall", "write"])
def test_only_administrators_see_and_change_members(acme, role):
    api = acme.api(role)
    assert api.get(f"{acme.path}/members").status_code == 403
    body = {"email": EMAIL, "role": "admin"}
    assert api.post(f"{acme.path}/members", body).status_code == 403


def test_a_member_who_was_added_by_the_operator_has_the_same_rights(app, acme):
    arguments = ("acme", EMAIL, "--role", "admin", "--password-stdin")
    cli(app, "members", "add", *arguments, stdin=PASSWORD)
    her = bearer(acme, sign_in(acme))
    assert her.get(f"{acme.path}/members").json["data"][1]["status"] == "active"
