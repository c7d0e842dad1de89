"""Sessions: browsers in which a member is signed in to the console.

A session is a random secret in a cookie. The database stores its digest. It ends after 12 hours
without a request and after 7 days in any case, with the member's access, and with a new password.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from peewee import ModelSelect

from ticketing import clock, credentials, ids
from ticketing.constants import SESSION_IDLE, SESSION_LIVES
from ticketing.credentials import Keyring
from ticketing.db import pruning
from ticketing.db.connection import locked, write_transaction
from ticketing.errors import InvalidCredentials
from ticketing.models.members import Member, Session
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.services.access.callers import Caller, lacks_second_factor

MAX_USER_AGENT = 200
_NOTED_EVERY = timedelta(minutes=1)
"""How exact `last_used_at` is. Most requests of a session write nothing."""


@dataclass(frozen=True)
class SessionCaller:
    """A session, and the member who is signed in.

    `lacks_second_factor`: the member must set one up before anything else.
    """

    session_id: str
    caller: Caller
    email: str
    lacks_second_factor: bool


@Prepared
def _live(
    digest: Any, other_digest: Any, began_after: Any, used_after: Any
) -> ModelSelect[Session]:
    return (
        Session.select(Session, Member, Tenant)
        .join(Member)
        .join(Tenant)
        .where(
            Session.digest.in_([digest, other_digest]),
            Session.created_at > began_after,
            Session.last_used_at > used_after,
            Member.disabled_at.is_null(),
        )
    )


def begin(member: Member, address: str | None, user_agent: str | None, keyring: Keyring) -> str:
    """Begin a session of a member who has just proved a password. Return its secret.

    InvalidCredentials if the member was disabled or got another password since then.
    """
    secret = credentials.new_session()
    now = clock.now()
    unchanged = Member.select().where(
        Member.id == member.id,
        Member.password_hash == member.password_hash,
        Member.disabled_at.is_null(),
    )
    with write_transaction():
        # A new password, and the end of access, wait for this lock. Then they end this session.
        if locked(unchanged, shared=True).first() is None:
            raise InvalidCredentials
        Session.create(
            id=ids.new(ids.SESSION),
            digest=credentials.session_digests(keyring, secret)[0],
            member=member.id,
            created_at=now,
            last_used_at=now,
            address=address,
            user_agent=None if user_agent is None else user_agent[:MAX_USER_AGENT],
        )
    return secret


def find(secret: str, keyring: Keyring) -> SessionCaller | None:
    """Return the session with this secret and its member, as they are now. None if it has ended."""
    digests = credentials.session_digests(keyring, secret)
    if not digests:
        return None
    now = clock.now()
    session = _live.first(
        digest=digests[0],
        other_digest=digests[-1],
        began_after=now - SESSION_LIVES,
        used_after=now - SESSION_IDLE,
    )
    if session is None:
        return None
    if session.last_used_at <= now - _NOTED_EVERY:
        Session.update(last_used_at=now).where(Session.id == session.id).execute()
    member = session.member
    lacks = lacks_second_factor(member)
    return SessionCaller(session.id, Caller.of(member), member.email, lacks)


def list_of(member_id: str) -> Sequence[Session]:
    """Return the sessions of a member that have not ended, the oldest first."""
    now = clock.now()
    found = Session.select().where(
        Session.member == member_id,
        Session.created_at > now - SESSION_LIVES,
        Session.last_used_at > now - SESSION_IDLE,
    )
    return list(found.order_by(Session.id))


def end(member_id: str, session_id: str) -> None:
    """End one session of a member. If it has ended, nothing changes."""
    Session.delete().where(Session.member == member_id, Session.id == session_id).execute()


def end_all(member_id: str, *, except_for: str | None = None) -> None:
    """End all sessions of a member, except for this one."""
    ended = Session.delete().where(Session.member == member_id)
    if except_for is not None:
        ended = ended.where(Session.id != except_for)
    ended.execute()


def forget_old() -> None:
    """Delete some sessions that ended because of their age."""
    now = clock.now()
    for is_old in (
        Session.created_at <= now - SESSION_LIVES,
        Session.last_used_at <= now - SESSION_IDLE,
    ):
        pruning.delete_some(Session.id, is_old)
