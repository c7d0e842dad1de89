"""The console's pages of people."""

import re

import pytest

from tests.support.console import PASSWORD, SAME_ORIGIN, sign_in, signed_in
from ticketing.models.members import Member

PEOPLE = "/console/people"
LINK = re.compile(r'data-copy="http://localhost(/console/invitation/[0-9a-z_]+)"')
FORM = {"email": "Grace@example.org", "role": "write"}


@pytest.fixture
def me(console):
    """The row of the administrator."""
    return Member.get(Member.email == console.email)


def invited():
    return Member.get(Member.email == "grace@example.org")


def test_an_invitation_is_shown_once_and_sets_a_password(acme, console):
    (link,) = LINK.findall(console.send(PEOPLE, FORM).text)
    repeated = console.send(PEOPLE, FORM)
    assert repeated.status_code == 200 and not LINK.findall(repeated.text)
    listed = console.get(PEOPLE).text
    assert "grace@example.org" in listed and "Invited" in listed and link not in listed
    browser = acme.app.test_client()
    accepted = browser.post(link, data={"password": PASSWORD}, headers=SAME_ORIGIN)
    assert accepted.headers["Location"] == "/console"
    assert signed_in(acme, "grace@example.org").get("/console/account").status_code == 200


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"email": "nobody"}, 'id="email-error"'),
        ({"email": ""}, 'id="email-error"'),
        ({"role": "owner"}, 'id="role-error"'),
    ],
)
def test_a_wrong_invitation_is_shown_again(console, form, said):
    answer = console.send(PEOPLE, {**FORM, **form})
    assert answer.status_code == 422 and said in answer.text


def test_a_role_is_changed_and_it_is_recorded(acme, console, writer):
    member = Member.get(Member.email == writer.email)
    path = f"{PEOPLE}/{member.id}"
    answer = console.send(f"{path}/role", {"role": "read"})
    assert answer.headers["Location"] == f"{path}#changed"
    assert Member.get_by_id(member.id).role == "read"
    (entry, *_) = acme.api().get(f"{acme.path}/audit-log?subject={member.id}").json["data"]
    assert entry["action"] == "members_change_member"
    assert (entry["before"], entry["after"]) == ({"role": "write"}, {"role": "read"})


def test_a_disabled_person_is_out_until_a_new_invitation(acme, console, writer):
    member = Member.get(Member.email == writer.email)
    path = f"{PEOPLE}/{member.id}"
    assert console.send(f"{path}/disable").headers["Location"] == f"{path}#disabled"
    assert writer.get("/console/account").status_code == 303
    assert "Disabled" in console.get(path).text
    (link,) = LINK.findall(console.send(f"{path}/invite").text)
    assert not LINK.findall(console.send(f"{path}/invite").text)
    form = {"password": "another password"}
    acme.app.test_client().post(link, data=form, headers=SAME_ORIGIN)
    assert Member.get_by_id(member.id).status == "active"


def test_an_administrator_who_disables_themselves_is_signed_out(acme, console, me):
    sign_in(acme, "admin", "second@example.org")
    console.send(f"{PEOPLE}/{me.id}/disable")
    assert console.get(PEOPLE).headers["Location"].startswith("/console/sign-in")


def test_people_are_for_administrators_of_their_tenant(neighbour, console, writer, me):
    theirs = Member.get(Member.email == sign_in(neighbour, "read", "x@example.org").email).id
    for path in (PEOPLE, f"{PEOPLE}/{me.id}"):
        assert writer.get(path).status_code == 403
    assert writer.send(PEOPLE, FORM).status_code == 403
    assert console.get(f"{PEOPLE}/{theirs}").status_code == 404
    for action, form in (("role", {"role": "read"}), ("disable", {}), ("invite", {})):
        assert console.send(f"{PEOPLE}/{theirs}/{action}", form).status_code == 404
    assert "x@example.org" not in console.get(PEOPLE).text
    assert Member.get_by_id(theirs).role == "read"
