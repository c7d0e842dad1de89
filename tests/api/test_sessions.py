"""Sessions of the console: their secret, their age, and what ends them."""

from datetime import timedelta

import pytest

from tests.conftest import SECRET_KEY
from tests.support.factories import cli
from ticketing import clock
from ticketing.credentials import Keyring
from ticketing.db.connection import database
from ticketing.errors import InvalidCredentials
from ticketing.models.members import Session
from ticketing.roles import Role
from ticketing.services.access import invitations, members, sessions

EMAIL, PASSWORD = "ada@example.org", "correct horse battery staple"
OTHER_PASSWORD = "another horse, another staple"
KEYRING = Keyring(SECRET_KEY)


@pytest.fixture
def ada(acme):
    """A member of acme who may sign in, as sign-in returns one."""
    members.add(acme.id, EMAIL, Role.WRITE, PASSWORD)
    return members.sign_in(acme.id, EMAIL, PASSWORD)


@pytest.fixture
def moved_clock(monkeypatch):
    """Move the service's clock."""
    real = clock.now

    def move(by):
        monkeypatch.setattr(clock, "now", lambda: real() + by)

    return move


def begin(member):
    return sessions.begin(member, "203.0.113.9", "Browser/1.0", KEYRING)


def test_a_session_finds_its_member_with_the_role_of_now(acme, ada):
    secret = begin(ada)
    found = sessions.find(secret, KEYRING)
    assert found.caller.credential_id == ada.id
    assert (found.caller.tenant_id, found.caller.role) == (acme.id, Role.WRITE)
    members.change(acme.id, ada.id, {"role": Role.READ})
    assert sessions.find(secret, KEYRING).caller.role == Role.READ


def test_each_sign_in_has_a_secret_of_its_own_of_which_a_digest_is_stored(ada):
    secrets = {begin(ada) for _ in range(3)}
    assert len(secrets) == 3
    assert all(len(secret) == 34 for secret in secrets)
    stored = str(list(database.execute_sql("SELECT * FROM sessions").fetchall()))
    assert not any(secret in stored for secret in secrets)


@pytest.mark.parametrize("wrong", ["", "x", "0" * 34, "é" * 34, "0" * 10_000, "\0" * 34])
def test_a_wrong_secret_finds_nothing(ada, wrong):
    begin(ada)
    assert sessions.find(wrong, KEYRING) is None


def test_a_session_outlives_a_changed_secret_key_as_long_as_the_old_one_is_accepted(ada):
    secret = begin(ada)
    changed = "another-key-0123456789abcdefghijklmnopqrstuvwxyz"
    assert sessions.find(secret, Keyring(changed, SECRET_KEY)) is not None
    assert sessions.find(secret, Keyring(changed)) is None


def test_a_session_ends_after_twelve_hours_without_a_request(ada, moved_clock):
    used, unused = begin(ada), begin(ada)
    moved_clock(timedelta(hours=11))
    assert sessions.find(used, KEYRING) is not None
    moved_clock(timedelta(hours=13))
    assert sessions.find(used, KEYRING) is not None
    assert sessions.find(unused, KEYRING) is None
    assert len(sessions.list_of(ada.id)) == 1


def test_a_session_ends_after_seven_days_of_use(ada, moved_clock):
    secret = begin(ada)
    for hours in range(10, 7 * 24, 10):
        moved_clock(timedelta(hours=hours))
        assert sessions.find(secret, KEYRING) is not None
    moved_clock(timedelta(days=7, seconds=1))
    assert sessions.find(secret, KEYRING) is None


def test_its_use_is_noted_once_a_minute(ada, moved_clock):
    secret = begin(ada)
    (began,) = sessions.list_of(ada.id)
    moved_clock(timedelta(seconds=50))
    sessions.find(secret, KEYRING)
    assert sessions.list_of(ada.id)[0].last_used_at == began.last_used_at
    moved_clock(timedelta(seconds=70))
    sessions.find(secret, KEYRING)
    assert sessions.list_of(ada.id)[0].last_used_at > began.last_used_at


def test_sessions_are_listed_and_ended_by_their_member_only(acme, ada):
    members.add(acme.id, "bob@example.org", Role.READ, PASSWORD)
    bob = members.sign_in(acme.id, "bob@example.org", PASSWORD)
    first, second, of_bob = begin(ada), begin(ada), begin(bob)
    listed = sessions.list_of(ada.id)
    assert [each.address for each in listed] == ["203.0.113.9"] * 2
    assert [each.user_agent for each in listed] == ["Browser/1.0"] * 2
    sessions.end(bob.id, listed[0].id)
    assert sessions.find(first, KEYRING) is not None
    sessions.end(ada.id, listed[0].id)
    assert sessions.find(first, KEYRING) is None
    assert sessions.find(second, KEYRING) is not None
    sessions.end_all(ada.id)
    assert sessions.find(second, KEYRING) is None
    assert sessions.find(of_bob, KEYRING) is not None


def test_a_long_user_agent_is_cut(ada):
    sessions.begin(ada, None, "x" * 5000, KEYRING)
    (session,) = sessions.list_of(ada.id)
    assert session.user_agent == "x" * 200


def test_the_end_of_access_ends_sessions_at_once(app, acme, ada):
    secret = begin(ada)
    cli(app, "members", "disable", "acme", EMAIL)
    assert sessions.find(secret, KEYRING) is None
    assert sessions.list_of(ada.id) == []


def test_a_new_password_ends_all_sessions(acme, ada):
    secrets = [begin(ada), begin(ada)]
    invited = invitations.invite(acme.id, ada.id, KEYRING)
    assert sessions.find(secrets[0], KEYRING) is not None
    invitations.accept(invited.invitation, OTHER_PASSWORD, None, KEYRING)
    assert [sessions.find(secret, KEYRING) for secret in secrets] == [None, None]


def test_a_sign_in_that_a_new_password_or_the_end_of_access_overtook_begins_no_session(acme, ada):
    invited = invitations.invite(acme.id, ada.id, KEYRING)
    invitations.accept(invited.invitation, OTHER_PASSWORD, None, KEYRING)
    with pytest.raises(InvalidCredentials):
        begin(ada)
    now = members.sign_in(acme.id, EMAIL, OTHER_PASSWORD)
    members.disable(acme.id, ada.id)
    with pytest.raises(InvalidCredentials):
        begin(now)


def test_housekeeping_deletes_what_has_ended_by_age(app, ada, moved_clock):
    begin(ada)
    moved_clock(timedelta(hours=10))
    recent = begin(ada)
    moved_clock(timedelta(hours=13))
    cli(app, "worker", "--once", exit_code=1)
    assert Session.select().count() == 1
    assert sessions.find(recent, KEYRING) is not None
