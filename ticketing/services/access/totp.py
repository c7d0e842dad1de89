"""Apps that show a new code every 30 seconds (TOTP, RFC 6238).

A code of the present time step counts, and one of the step before or after, because clocks differ.
Each step counts once. Example: Ada signs in with the code of 12:00:00. Who has read it over her
shoulder cannot use it, and neither can she: the next one comes at 12:00:30.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple
from urllib.parse import quote

import pyotp
from peewee import Case

from ticketing import clock, credentials, encryption
from ticketing.credentials import Keyring
from ticketing.encryption import SecretUnreadable
from ticketing.errors import FieldMessage, Invalid, TooManyRequests
from ticketing.models.members import Member
from ticketing.models.second_factors import Totp

MOST_ATTEMPTS = 20
"""Wrong codes in a day. A million codes exist, and three of them count at a time."""

_DAY = timedelta(days=1)
_STEP_SECONDS = 30
_PURPOSE = "totp-secrets"
_RENEWED_AT_ONCE = 100
_MOST_ISSUER, _MOST_NAME = 60, 150
"""A phone reads a QR code of 400 characters well. The address has the issuer twice."""


class NewSecret(NamedTuple):
    """The secret of an app as people type it, and the address that a QR code brings to it."""

    secret: str
    uri: str


def begin(member: Member, issuer: str, keyring: Keyring) -> NewSecret:
    """Make the secret of a new app. It counts when `confirm` has seen a code of it.

    `issuer`: whose account it is, as the app shows it. A member has one app: while one counts, it
    stays, and this must not be called. The caller runs it in `members.changing`.
    """
    secret = pyotp.random_base32()
    columns = {
        "secret": encryption.encrypt(secret, _PURPOSE, member.id, keyring),
        "secret_key_id": credentials.secret_key_id(keyring.current),
        "created_at": clock.now(),
        "attempts": 0,
    }
    Totp.delete().where(Totp.member == member.id, Totp.confirmed_at.is_null()).execute()
    Totp.create(member=member.id, **columns)
    uri = pyotp.TOTP(secret).provisioning_uri(
        name=_cut(member.email or member.id, _MOST_NAME), issuer_name=_cut(issuer, _MOST_ISSUER)
    )
    return NewSecret(secret, uri)


def confirm(member: Member, code: str, keyring: Keyring) -> None:
    """Let a new app count, if this is its code. Invalid; TooManyRequests."""
    totp = Totp.get_or_none(Totp.member == member.id, Totp.confirmed_at.is_null())
    if totp is None or not _accept(totp, code, keyring):
        raise Invalid({"code": [FieldMessage("wrong_code", "This is not the code of now.")]})
    Totp.update(confirmed_at=clock.now()).where(Totp.member == member.id).execute()


def is_set(member_id: str) -> bool:
    """Return whether a member has an app that counts."""
    return _of(member_id) is not None


def verify(member_id: str, code: str, keyring: Keyring) -> bool:
    """Return whether this is a code of the member's app now, and use it up. TooManyRequests."""
    totp = _of(member_id)
    return totp is not None and _accept(totp, code, keyring)


def remove(member_id: str) -> None:
    """Remove the app of a member."""
    Totp.delete().where(Totp.member == member_id).execute()


def renew(keyring: Keyring) -> int:
    """Encrypt secrets under SECRET_KEY that are stored under SECRET_KEY_PREVIOUS, some at once.

    Return how many.
    """
    if keyring.previous is None:
        return 0
    made_by = credentials.secret_key_id(keyring.previous)
    old = Totp.select().where(Totp.secret_key_id == made_by).limit(_RENEWED_AT_ONCE)
    return sum(_renew(totp, keyring) for totp in list(old))


def under_previous(keyring: Keyring) -> int:
    """Return how many secrets are not encrypted under SECRET_KEY."""
    current = credentials.secret_key_id(keyring.current)
    return int(Totp.select().where(Totp.secret_key_id != current).count())


def _cut(text: str, most: int) -> str:
    """Return the beginning of a text whose percent-encoding has at most so many characters."""
    while len(quote(text)) > most:
        text = text[:-1]
    return text


def _of(member_id: str) -> Totp | None:
    found: Totp | None = Totp.get_or_none(
        Totp.member == member_id, Totp.confirmed_at.is_null(False)
    )
    return found


def _accept(totp: Totp, code: str, keyring: Keyring) -> bool:
    _count(totp)
    try:
        app = pyotp.TOTP(encryption.decrypt(totp.secret, _PURPOSE, totp.member_id, keyring))
    except SecretUnreadable:
        return False
    now = int(clock.now().timestamp()) // _STEP_SECONDS
    steps = [
        step
        for step in (now - 1, now, now + 1)
        if credentials.same(app.at(step * _STEP_SECONDS), code)
    ]
    if not steps:
        return False
    # Of two requests with the same code, one changes the row.
    is_new = (Totp.member == totp.member_id) & (Totp.last_step < steps[-1])
    return bool(Totp.update(last_step=steps[-1], attempts=0).where(is_new).execute())


def _count(totp: Totp) -> None:
    """Count an attempt, before it is known whether it is right. TooManyRequests."""
    now = clock.now()
    is_today = Totp.attempts_since > now - _DAY
    changed = (
        Totp.update(
            attempts=Case(None, [(is_today, Totp.attempts + 1)], 1),
            attempts_since=Case(None, [(is_today, Totp.attempts_since)], now),
        )
        .where(Totp.member == totp.member_id)
        .returning(Totp.attempts, Totp.attempts_since)
    )
    for row in changed.execute():
        if row.attempts > MOST_ATTEMPTS:
            left = row.attempts_since + _DAY - now
            raise TooManyRequests(retry_after=int(left.total_seconds()) + 1)


def _renew(totp: Totp, keyring: Keyring) -> int:
    try:
        secret = encryption.decrypt(totp.secret, _PURPOSE, totp.member_id, keyring)
    except SecretUnreadable:
        return 0
    is_same = (Totp.member == totp.member_id) & (Totp.secret == totp.secret)
    columns = {
        "secret": encryption.encrypt(secret, _PURPOSE, totp.member_id, keyring),
        "secret_key_id": credentials.secret_key_id(keyring.current),
    }
    return int(Totp.update(columns).where(is_same).execute())
