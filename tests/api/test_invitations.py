"""Invitations of members: once, in 48 hours, the newest only; and the last administrator."""

from datetime import timedelta

import pytest

from tests.conftest import SECRET_KEY
from tests.support.factories import cli
from tests.support.races import at_once
from ticketing import clock
from ticketing.credentials import Keyring
from ticketing.errors import (
    Invalid,
    InvitationEnded,
    LastAdmin,
    MemberExists,
    NotFound,
    TicketingError,
)
from ticketing.models.members import Invitation
from ticketing.roles import MemberStatus, Role
from ticketing.services.access import invitations, members, passwords

EMAIL, PASSWORD = "ada@example.org", "correct horse battery staple"
OTHER_PASSWORD = "another horse, another staple"
KEYRING = Keyring(SECRET_KEY)


@pytest.fixture
def moved_clock(monkeypatch):
    """Move the service's clock."""
    real = clock.now

    def move(by):
        monkeypatch.setattr(clock, "now", lambda: real() + by)

    return move


@pytest.fixture
def invited(acme):
    """A member of acme who has not accepted yet."""
    return invitations.create(acme.id, EMAIL, Role.WRITE, KEYRING)


def accept(invitation, password=PASSWORD, email=None):
    return invitations.accept(invitation, password, email, KEYRING)


def outcome(call):
    """Run a call, and return its error's code or None."""

    def run():
        try:
            call()
        except TicketingError as error:
            return error.code
        return None

    return run


def test_an_invited_member_signs_in_after_setting_a_password_not_before(acme, invited):
    assert invited.status is MemberStatus.INVITED
    for guess in (PASSWORD, "", "x"):
        assert members.sign_in(acme.id, EMAIL, guess) is None
    found = invitations.find(invited.invitation, KEYRING)
    assert (found.member.email, found.member.tenant.slug) == (EMAIL, "acme")
    accepted = accept(invited.invitation)
    assert (accepted.status, accepted.tenant.slug) == (MemberStatus.ACTIVE, "acme")
    assert members.sign_in(acme.id, EMAIL, PASSWORD).role == Role.WRITE


def test_of_two_who_accept_at_the_same_time_one_does(acme, invited, monkeypatch):
    # One hash at a time is the rule of a process. The two may be in different ones.
    monkeypatch.setattr(passwords, "hashed", lambda password: f"hash of {password}")
    calls = [
        outcome(lambda: accept(invited.invitation, PASSWORD)),
        outcome(lambda: accept(invited.invitation, OTHER_PASSWORD)),
    ]
    assert sorted(at_once(*calls), key=str) == [None, "invitation_ended"]


def test_only_the_newest_invitation_works(acme, invited):
    again = invitations.invite(acme.id, invited.id, KEYRING)
    with pytest.raises(InvitationEnded):
        accept(invited.invitation)
    accept(again.invitation)


def test_an_invitation_ends_after_48_hours(invited, moved_clock):
    moved_clock(timedelta(hours=47, minutes=59))
    invitations.find(invited.invitation, KEYRING)
    moved_clock(timedelta(hours=48))
    with pytest.raises(InvitationEnded):
        accept(invited.invitation)


def test_a_wrong_secret_is_not_found(invited):
    other = invited.invitation[:-1] + ("0" if invited.invitation[-1] != "0" else "1")
    for wrong in ("", "x", other, invited.invitation.upper(), invited.invitation + "0", "in_\0"):
        with pytest.raises(NotFound):
            accept(wrong)
    with pytest.raises(NotFound):
        invitations.find(invited.invitation, Keyring(SECRET_KEY[::-1]))


def test_an_invitation_is_not_stored_and_outlives_a_changed_secret_key(invited):
    (row,) = Invitation.select().where(Invitation.member == invited.id).dicts()
    assert invited.invitation not in str(row)
    changed = Keyring("another-key-0123456789abcdefghijklmnopqrstuvwxyz", SECRET_KEY)
    assert invitations.find(invited.invitation, changed).id == row["id"]


@pytest.mark.parametrize("password", ["short", "x" * 129, "twelve char\0s"])
def test_a_bad_password_leaves_the_invitation_open(invited, password):
    with pytest.raises(Invalid) as refused:
        accept(invited.invitation, password)
    assert set(refused.value.extensions["errors"]) == {"password"}
    accept(invited.invitation)


def test_a_member_without_an_address_states_one(acme):
    first = invitations.create(acme.id, None, Role.ADMIN, KEYRING)
    invitations.create(acme.id, "taken@example.org", Role.READ, KEYRING)
    for wrong in (None, "", "ada"):
        with pytest.raises(Invalid):
            accept(first.invitation, email=wrong)
    with pytest.raises(MemberExists):
        accept(first.invitation, email="Taken@example.org")
    accept(first.invitation, email="Ada@Example.org")
    assert members.sign_in(acme.id, EMAIL, PASSWORD).id == first.id


def test_an_invitation_for_an_address_is_for_no_other(invited):
    with pytest.raises(Invalid):
        accept(invited.invitation, email="mallory@example.org")
    assert accept(invited.invitation, email=EMAIL.upper()).email == EMAIL


def test_an_address_can_be_invited_by_two_tenants(neighbour, invited):
    invitations.create(neighbour.id, EMAIL, Role.READ, KEYRING)


def test_a_reset_keeps_the_old_password_until_it_is_accepted(acme, invited):
    accept(invited.invitation)
    reset = invitations.invite(acme.id, invited.id, KEYRING)
    assert members.sign_in(acme.id, EMAIL, PASSWORD) is not None
    accept(reset.invitation, OTHER_PASSWORD)
    assert members.sign_in(acme.id, EMAIL, PASSWORD) is None
    assert members.sign_in(acme.id, EMAIL, OTHER_PASSWORD) is not None


def test_to_disable_a_member_ends_the_invitation_and_a_new_one_brings_the_member_back(
    acme, invited
):
    disabled = members.disable(acme.id, invited.id)
    assert disabled.status is MemberStatus.DISABLED
    with pytest.raises(InvitationEnded):
        accept(invited.invitation)
    again = invitations.invite(acme.id, invited.id, KEYRING)
    assert again.status is MemberStatus.DISABLED
    assert accept(again.invitation).status is MemberStatus.ACTIVE


def test_the_last_active_administrator_keeps_role_and_access(acme):
    ada = members.add(acme.id, EMAIL, Role.ADMIN, PASSWORD)
    invitations.create(acme.id, "later@example.org", Role.ADMIN, KEYRING)
    gone = members.add(acme.id, "gone@example.org", Role.ADMIN, PASSWORD)
    members.disable(acme.id, gone.id)
    members.add(acme.id, "bob@example.org", Role.WRITE, PASSWORD)
    with pytest.raises(LastAdmin):
        members.disable(acme.id, ada.id)
    with pytest.raises(LastAdmin):
        members.change(acme.id, ada.id, {"role": Role.WRITE})
    members.change(acme.id, ada.id, {"role": Role.ADMIN})


@pytest.mark.parametrize(
    "lose",
    [members.disable, lambda *member: members.change(*member, {"role": Role.READ})],
    ids=["disable", "change"],
)
def test_of_two_administrators_who_lose_access_at_the_same_time_one_stays(acme, lose):
    two = [members.add(acme.id, f"{name}@example.org", Role.ADMIN, PASSWORD) for name in ("a", "b")]
    calls = [outcome(lambda each=each: lose(acme.id, each.id)) for each in two]
    assert sorted(at_once(*calls), key=str) == [None, "last_admin"]


def test_an_operator_may_disable_the_last_administrator(app, acme):
    members.add(acme.id, EMAIL, Role.ADMIN, PASSWORD)
    assert cli(app, "members", "disable", "acme", EMAIL) == f"disabled {EMAIL}\n"


def test_housekeeping_deletes_old_invitations(app, invited, moved_clock):
    moved_clock(timedelta(days=31))
    cli(app, "worker", "--once", exit_code=1)
    assert Invitation.select().count() == 2
    moved_clock(timedelta(days=33))
    cli(app, "worker", "--once", exit_code=1)
    assert Invitation.select().count() == 0
    with pytest.raises(InvitationEnded):
        invitations.find(invited.invitation, KEYRING)
