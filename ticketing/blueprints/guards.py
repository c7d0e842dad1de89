"""Who may pass: every surface names its guard in its constructor, "nobody is asked" included."""

from dataclasses import dataclass
from typing import Protocol

from flask import g, request

from ticketing import credentials
from ticketing.blueprints.context import config
from ticketing.constants import Role
from ticketing.errors import (
    InsufficientRole,
    NotFound,
    TicketingError,
    Unauthenticated,
    WrongTenant,
)
from ticketing.services import tokens
from ticketing.services.tokens import Caller

Security = list[dict[str, list[str]]]

BEARER: dict[str, list[str]] = {"jwt": []}
API_KEY: dict[str, list[str]] = {"apiKey": []}
CLIENT_SECRET: dict[str, list[str]] = {"clientSecret": []}


class Guard(Protocol):
    """Lets a request pass or raises; says what it asks for, for the documentation."""

    def check(self) -> None:
        """Look at the present request. Unauthenticated, WrongTenant, InsufficientRole."""

    def security(self, method: str, view: str) -> Security:
        """Return OpenAPI's security requirements of one operation."""

    def refusals(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors this guard may raise for one operation."""


@dataclass(frozen=True)
class Open:
    """Nobody is asked who they are."""

    def check(self) -> None:
        """Let everybody pass."""

    def security(self, method: str, view: str) -> Security:
        """Return that nothing is required."""
        return []

    def refusals(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return nothing: it refuses nobody."""
        return []


@dataclass(frozen=True)
class TenantRole:
    """A credential of the tenant in the path: one role to read with, one to change things."""

    reads: Role
    writes: Role

    def check(self) -> None:
        """Find out who asks, and hold them to the tenant and the role."""
        found = _authenticate()
        if found is None:
            raise Unauthenticated
        _admit(found, self._needed(request.method))

    def security(self, method: str, view: str) -> Security:
        """Return the two ways to send a credential."""
        return [BEARER, API_KEY]

    def refusals(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return why it may refuse."""
        return [Unauthenticated, InsufficientRole, WrongTenant]

    def _needed(self, method: str) -> Role:
        return self.reads if method in ("GET", "HEAD") else self.writes


@dataclass(frozen=True)
class Buyer:
    """Everybody may begin; an intent is open to its client secret and to the `paywall` role."""

    open_view: str

    def check(self) -> None:
        """Find out whether the request may act on the intent in its path."""
        if request.endpoint and request.endpoint.rsplit(".", 1)[-1] == self.open_view:
            return
        secret = _bearer()
        if secret is None or _looks_like_jwt(secret):
            found = _authenticate()
            if found is None:
                raise Unauthenticated
            _admit(found, Role.PAYWALL)
            return
        path = request.view_args or {}
        expected = credentials.client_secret(config().secret_key, path["intent_id"])
        if not credentials.same(secret, expected):
            raise NotFound("There is no such intent.")

    def security(self, method: str, view: str) -> Security:
        """Return the ways to act on an intent; none is needed to begin."""
        return [] if view == self.open_view else [CLIENT_SECRET, BEARER, API_KEY]

    def refusals(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return why it may refuse."""
        if view == self.open_view:
            return []
        return [Unauthenticated, InsufficientRole, WrongTenant, NotFound]


def _admit(found: Caller, needed: Role) -> None:
    if not found.belongs_to((request.view_args or {})["tenant"]):
        raise WrongTenant
    if not found.role.holds(needed):
        raise InsufficientRole
    g.caller = found


def _authenticate() -> Caller | None:
    """Return who sends this request, None if no credential came with it. Unauthenticated."""
    token = _bearer()
    if token is not None:
        return tokens.caller_of_jwt(token, config())
    key = request.headers.get("X-API-Key")
    if key is not None:
        return tokens.caller_of_key(key, config())
    return None


def _bearer() -> str | None:
    authorization = request.authorization
    if authorization is None or authorization.type != "bearer":
        return None
    return authorization.token


def _looks_like_jwt(token: str) -> bool:
    return token.count(".") == 2
