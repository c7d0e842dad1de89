"""Connected apps: connect, exchange, renew, end; and the caller of an access token.

No token is stored. A refresh token names its generation, and only the newest one is valid. Example:
an app has the token of generation 4. It renews, and the row has generation 5. If the token of
generation 4 comes again within 30 s, its answer was lost, and that of generation 5 is given out
again. Later somebody else has it, and the app ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from peewee import ModelSelect, fn

from ticketing import clock, ids
from ticketing.credentials import Keyring
from ticketing.db import pruning
from ticketing.db.connection import one_at_a_time, write_transaction
from ticketing.errors import AuthorizationEnded, NotFound, TooManyApps, Unauthenticated
from ticketing.models.connected_apps import ConnectedApp
from ticketing.models.members import Member
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.roles import Role
from ticketing.services.access import signed_claims
from ticketing.services.access.callers import Caller
from ticketing.services.oauth import scopes
from ticketing.services.oauth.clients import Client

ACCESS_PREFIX = "oat_"
"""An access token begins with it, so that nobody takes it for another JWT of ours."""

ACCESS_LIVES = timedelta(minutes=15)
CODE_LIVES = timedelta(seconds=60)
UNUSED_LIVES = timedelta(days=30)
"""How long an app may stay away. Its refresh token is valid for that time."""

REPEATABLE = timedelta(seconds=30)
ENDED_KEPT = timedelta(days=1)
MAX_OF_MEMBER = 50
MAX_SHOWN = 500

_ACCESS, _REFRESH, _CODE = (f"ticketing-oauth-{each}" for each in ("access", "refresh", "code"))


@Prepared
def _with_member(app_id: Any) -> ModelSelect[ConnectedApp]:
    return (
        ConnectedApp.select(ConnectedApp, Member, Tenant)
        .join(Member)
        .join(Tenant)
        .where(ConnectedApp.id == app_id)
    )


def find(app_id: str) -> ConnectedApp | None:
    """Return an app that has not ended, with its member and tenant.

    It ends with its member's access and password, and if it stays away.
    """
    app = _with_member.first(app_id=app_id)
    return app if app is not None and _is_live(app) else None


def connect(
    member: Member, app_id: str, client: Client, redirect_uri: str, challenge: str, role: Role
) -> ConnectedApp:
    """Store what a member has agreed to. AuthorizationEnded; TooManyApps.

    `app_id` was made with the page, so that the same form connects one app. A second click finds
    what the first one stored, as long as its code was not used.
    """
    now = clock.now()
    with write_transaction():
        one_at_a_time(f"apps of {member.id}")
        before = ConnectedApp.get_or_none(ConnectedApp.id == app_id)
        if before is not None:
            if before.generation or before.ended_at is not None or before.role != role:
                raise AuthorizationEnded
            return before
        # One whose code was not used is none any more when the code has ended.
        counts = (ConnectedApp.generation > 0) | (ConnectedApp.created_at > now - CODE_LIVES)
        theirs = ConnectedApp.select().where(
            ConnectedApp.member == member.id,
            ConnectedApp.ended_at.is_null(),
            ConnectedApp.renewed_at > now - UNUSED_LIVES,
            ConnectedApp.password_generation == member.generation,
            counts,
        )
        if theirs.count() >= MAX_OF_MEMBER:
            raise TooManyApps
        return ConnectedApp.create(
            id=app_id,
            tenant=member.tenant_id,
            member=member.id,
            password_generation=member.generation,
            client_id=client.client_id,
            name=client.name,
            host=client.host,
            redirect_uri=redirect_uri,
            code_challenge=challenge,
            role=role,
            created_at=now,
            renewed_at=now,
            kept_until=now + ENDED_KEPT,
        )


def code_of(app_id: str, keyring: Keyring) -> str:
    """Return the code of an app. It can be exchanged once, within a minute."""
    return signed_claims.sign(_CODE, {"sub": app_id}, keyring, clock.now() + CODE_LIVES)


def of_code(code: str, client_id: str, keyring: Keyring) -> ConnectedApp | None:
    """Return the app whose code this is, if it is this client's and was not exchanged yet.

    If it was, somebody has stolen it, and the app ends (RFC 6749, 4.1.2).
    """
    claims = signed_claims.read(_CODE, code, keyring, ["sub", "exp"])
    app = None if claims is None else find(claims["sub"])
    if app is None or app.client_id != client_id:
        return None
    if app.generation:
        _end(app)
        return None
    return app


def exchange(app: ConnectedApp) -> ConnectedApp | None:
    """Use up the code of an app. None, and the app ends, if another request has done that."""
    if _advance(app, 0):
        return app
    _end(app)
    return None


def refresh_token(app: ConnectedApp, keyring: Keyring) -> str:
    """Return the refresh token of an app's present generation."""
    claims = {"sub": app.id, "generation": app.generation}
    return signed_claims.sign(_REFRESH, claims, keyring, clock.now() + UNUSED_LIVES)


def of_refresh_token(token: str, keyring: Keyring) -> tuple[ConnectedApp, int] | None:
    """Return the app of a refresh token of ours, and the generation that the token names."""
    claims = signed_claims.read(_REFRESH, token, keyring, ["sub", "generation", "exp"])
    app = None if claims is None else find(claims["sub"])
    return None if app is None or claims is None else (app, int(claims["generation"]))


def renew(app: ConnectedApp, generation: int) -> ConnectedApp | None:
    """Use up the refresh token of a generation, and return the app with the next one.

    None, and the app ends, if it was used up before.
    """
    if _advance(app, generation):
        return app
    present = find(app.id)
    if present is None:
        return None
    is_repeated = present.generation == generation + 1
    if is_repeated and present.renewed_at > clock.now() - REPEATABLE:
        return present
    _end(app)
    return None


def access_token(app: ConnectedApp, scope: str, keyring: Keyring) -> str:
    """Return an access token of an app for these scopes."""
    claims = {"sub": app.id, "scope": scope}
    token = signed_claims.sign(_ACCESS, claims, keyring, clock.now() + ACCESS_LIVES)
    return ACCESS_PREFIX + token


def of_access_token(token: str, keyring: Keyring) -> tuple[ConnectedApp, str] | None:
    """Return the app of an access token that is valid, and its scopes."""
    text = token.removeprefix(ACCESS_PREFIX)
    claims = signed_claims.read(_ACCESS, text, keyring, ["sub", "scope", "exp"])
    app = None if claims is None else find(claims["sub"])
    return None if app is None or claims is None else (app, claims["scope"])


def caller_of(token: str, keyring: Keyring) -> Caller:
    """Return the caller with this access token. Unauthenticated.

    It has the token's role at most, and what its member has now at most.
    """
    found = of_access_token(token, keyring)
    role = None if found is None else scopes.role_of(found[1])
    if found is None or role is None:
        raise Unauthenticated
    app = found[0]
    left = role_of(app, role)
    if left is None:
        raise Unauthenticated
    return Caller(app.id, app.member.tenant, left, app.member.event_ids)


def role_of(app: ConnectedApp, role: Role) -> Role | None:
    """Return what is left of a role of an app, after a change of its member's. None: nothing."""
    return scopes.limited(role, Role(app.member.role))


def list_of(tenant_id: str, member_id: str | None) -> Sequence[ConnectedApp]:
    """Return the apps of a tenant that are in use, or of one member, with the members.

    The newest comes first.
    """
    found = ConnectedApp.select(ConnectedApp, Member).join(Member)
    in_use = ConnectedApp.ended_at.is_null() & (ConnectedApp.generation > 0)
    found = found.where(ConnectedApp.tenant == tenant_id, in_use)
    if member_id is not None:
        found = found.where(ConnectedApp.member == member_id)
    rows = found.order_by(ConnectedApp.id.desc()).limit(MAX_SHOWN)
    return [each for each in rows if _is_live(each)]


def get(tenant_id: str, app_id: str, member_id: str | None) -> ConnectedApp:
    """Return an app of a tenant, or of one member, also if it has ended. NotFound."""
    found = ConnectedApp.select().where(ConnectedApp.id == app_id, ConnectedApp.tenant == tenant_id)
    if member_id is not None:
        found = found.where(ConnectedApp.member == member_id)
    app: ConnectedApp | None = found.first()
    if app is None:
        raise NotFound("This app does not exist.")
    return app


def end(tenant_id: str, app_id: str, member_id: str | None) -> ConnectedApp:
    """End an app at once, with all its tokens. A repeat changes nothing. NotFound."""
    app = get(tenant_id, app_id, member_id)
    _end(app)
    return get(tenant_id, app_id, member_id)


def forget_old() -> None:
    """Delete some apps that ended, that were never used, or that stayed away."""
    pruning.delete_some(ConnectedApp.id, ConnectedApp.kept_until <= clock.now())


def new_id() -> str:
    """Return the id of an app that a member is asked about."""
    return ids.new(ids.CONNECTED_APP)


def _is_live(app: ConnectedApp) -> bool:
    """Return whether an app has not ended: by itself, with its member, or by staying away."""
    return bool(
        app.ended_at is None
        and app.renewed_at > clock.now() - UNUSED_LIVES
        and app.member.disabled_at is None
        and app.password_generation == app.member.generation
    )


def _advance(app: ConnectedApp, generation: int) -> bool:
    """Move an app to the next generation, if it has this one. Of two at once, one does.

    If it ends meanwhile, its new tokens open nothing either.
    """
    now = clock.now()
    moved = (
        ConnectedApp.update(
            generation=generation + 1,
            renewed_at=now,
            kept_until=now + UNUSED_LIVES + ENDED_KEPT,
        )
        .where(ConnectedApp.id == app.id, ConnectedApp.generation == generation)
        .execute()
    )
    if moved:
        app.generation, app.renewed_at = generation + 1, now
    return bool(moved)


def _end(app: ConnectedApp) -> None:
    """End an app. The first end stays."""
    now = clock.now()
    first = fn.COALESCE(ConnectedApp.ended_at, now)
    ended = ConnectedApp.update(ended_at=first, kept_until=now + ENDED_KEPT)
    ended.where(ConnectedApp.id == app.id).execute()
