"""The commands that invite people: the first sign-in of a tenant, and what an operator can do."""

import json

import pytest

from tests.support.apps import new_app
from tests.support.factories import Api, cli, new_organizer
from tests.support.members import PASSWORD, accept, first_member

EMAIL = "ada@example.org"
PUBLIC_URL = "https://tickets.example.org"


def sign_in(app, email=EMAIL, password=PASSWORD):
    body = {"tenant": "acme", "email": email, "password": password}
    return Api(app.test_client()).post("/v1/auth/login", body)


def invite(app, *arguments):
    return cli(app, "members", "invite", "acme", *arguments).strip()


def refused(app, *arguments):
    return cli(app, "members", "invite", "acme", *arguments, exit_code=1)


def test_the_first_member_of_a_tenant_states_address_and_password_at_the_link(app):
    made = json.loads(cli(app, "tenants", "create", "acme", "--name", "Acme", "--json"))
    assert made["first_sign_in"].startswith("/console/invitation/in_")
    acme = new_organizer(app, "other")
    assert set(accept(acme, made["first_sign_in"]).json["errors"]) == {"email"}
    accepted = accept(acme, made["first_sign_in"], email=EMAIL)
    assert (accepted.json["role"], accepted.json["tenant"]) == ("admin", "acme")
    assert sign_in(app).status_code == 200


def test_the_address_may_be_stated_by_the_operator(environ):
    app = new_app({**environ, "PUBLIC_URL": PUBLIC_URL})
    arguments = ("tenants", "create", "acme", "--name", "Acme", "--email", EMAIL, "--json")
    link = json.loads(cli(app, *arguments))["first_sign_in"]
    assert link.startswith(f"{PUBLIC_URL}/console/invitation/in_")
    assert accept(new_organizer(app, "other"), link).json["tenant"] == "acme"
    assert sign_in(app).status_code == 200


def test_a_tenant_with_a_wrong_first_address_is_not_made(app):
    arguments = ("tenants", "create", "acme", "--name", "Acme", "--email", "ada")
    assert "email address" in cli(app, *arguments, exit_code=1)
    cli(app, "tenants", "create", "acme", "--name", "Acme")


def test_an_operator_invites_a_person_and_gives_the_link_again(app, acme):
    lost = invite(app, EMAIL, "--role", "write")
    link = invite(app, EMAIL)
    assert accept(acme, lost).json["code"] == "invitation_ended"
    assert accept(acme, link).json["role"] == "write"
    reset = invite(app, EMAIL.upper(), "--role", "read")
    assert accept(acme, reset, "another horse, another staple").json["role"] == "read"


def test_a_member_without_an_address_is_named_by_id(app, acme):
    link = invite(app, first_member(acme))
    assert accept(acme, link, email=EMAIL).status_code == 200


def test_an_operator_lets_the_last_administrator_back_in(app, acme):
    accept(acme, invite(app, EMAIL, "--role", "admin"))
    cli(app, "members", "disable", "acme", EMAIL)
    assert sign_in(app).status_code == 401
    assert accept(acme, invite(app, EMAIL)).json["role"] == "admin"
    assert sign_in(app).status_code == 200


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((EMAIL,), "role: A new member needs --role."),
        (("ada", "--role", "read"), "email: Must be an email address."),
    ],
)
def test_what_it_cannot_do_it_says_in_one_sentence(app, acme, arguments, reason):
    assert refused(app, *arguments) == f"Error: {reason}\n"


def test_the_audit_log_has_the_invitation_and_no_link(app, acme):
    link = invite(app, EMAIL, "--role", "read")
    invite(app, EMAIL)
    accept(acme, link)
    log = acme.api().get(f"{acme.path}/audit-log").json["data"]
    assert [each["action"] for each in log[:2]] == ["members invite"] * 2
    assert log[1]["after"] == {"email": EMAIL, "role": "read", "status": "invited"}
    assert link.rpartition("/")[2] not in str(log)
