"""Who may pass: every surface names its guard in its constructor, "nobody is asked" included."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from flask import g, request

from ticketing import credentials
from ticketing.constants import CallClass, Role
from ticketing.errors import (
    InsufficientRole,
    NotFound,
    TicketingError,
    TooManyRequests,
    Unauthenticated,
    WrongTenant,
)
from ticketing.services.access import tokens
from ticketing.services.access.tokens import Caller
from ticketing.web.context import config

Security = list[dict[str, list[str]]]

BEARER: dict[str, list[str]] = {"jwt": []}
API_KEY: dict[str, list[str]] = {"apiKey": []}
CLIENT_SECRET: dict[str, list[str]] = {"clientSecret": []}

_REFUSALS: list[type[TicketingError]] = [
    *(Unauthenticated, InsufficientRole, WrongTenant, TooManyRequests)
]


class Counts(NamedTuple):
    """The class that a request counts in (None: it is not counted), and the caller it counts for.

    Without a caller it counts for its address.
    """

    call_class: CallClass | None
    caller: str | None = None


class Guard(Protocol):
    """Lets a request pass or raises; says what it asks for, for the documentation."""

    def check(self) -> None:
        """Look at the present request. Unauthenticated, WrongTenant, InsufficientRole."""

    def counts(self) -> Counts:
        """Return what the checked request counts as."""

    def security(self, method: str, view: str) -> Security:
        """Return OpenAPI's security requirements of one operation."""

    def refusals(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors this guard may raise for one operation."""


@dataclass(frozen=True)
class Open:
    """Nobody is asked who they are."""

    counts_as: CallClass
    uncounted_view: str | None = None

    def check(self) -> None:
        """Let everybody pass."""

    def counts(self) -> Counts:
        """Return what every request of the surface counts as, except of one view."""
        return Counts(None if _is_view(self.uncounted_view) else self.counts_as)

    def security(self, method: str, view: str) -> Security:
        """Return that nothing is required."""
        return []

    def refusals(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return why it may refuse."""
        return [] if view == self.uncounted_view else [TooManyRequests]


@dataclass(frozen=True)
class Scraper:
    """Whoever watches the service, by the token of METRICS_TOKEN; without it there is no door."""

    def check(self) -> None:
        """Compare the token."""
        expected = config().metrics_token
        if expected is None:
            raise NotFound
        if not credentials.same(_bearer() or "", expected):
            raise Unauthenticated
        g.is_scraper = True

    def counts(self) -> Counts:
        """Count who does not have the token: they may be guessing it."""
        return Counts(None if g.get("is_scraper") else CallClass.TOKEN)

    def security(self, method: str, view: str) -> Security:
        """Return the one way to send the token."""
        return [BEARER]

    def refusals(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return why it may refuse."""
        return [Unauthenticated, NotFound, TooManyRequests]


@dataclass(frozen=True)
class TenantRole:
    """A credential of the tenant in the path: one role to read with, one to change things."""

    reads: Role
    writes: Role
    counts_as: CallClass = CallClass.ADMIN

    def check(self) -> None:
        """Find out who asks, and hold them to the tenant and the role."""
        _admit(_authenticated(), self._needed(request.method))

    def counts(self) -> Counts:
        """Count a good credential for itself; who has none may be guessing one."""
        return _counts_for_credential(self.counts_as) or Counts(CallClass.TOKEN)

    def security(self, method: str, view: str) -> Security:
        """Return the two ways to send a credential."""
        return [BEARER, API_KEY]

    def refusals(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return why it may refuse."""
        return _REFUSALS

    def _needed(self, method: str) -> Role:
        return self.reads if method in ("GET", "HEAD") else self.writes


@dataclass(frozen=True)
class Buyer:
    """Everybody may begin; an intent is open to its client secret and to the `paywall` role."""

    open_view: str

    def check(self) -> None:
        """Find out whether the request may begin, or act on the intent in its path.

        To begin, no credential is needed, but one that is sent has to be good.
        """
        if self._begins():
            if _sends_credential():
                _admit(_authenticated(), Role.PAYWALL)
            return
        secret = _bearer()
        if secret is None or _looks_like_jwt(secret):
            _admit(_authenticated(), Role.PAYWALL)
            return
        intent_id = (request.view_args or {})["intent_id"]
        if not credentials.is_client_secret(config().keyring, intent_id, secret):
            raise NotFound("There is no such intent.")
        g.order = intent_id

    def counts(self) -> Counts:
        """Count a good client secret for its order: many buyers share one address."""
        if "order" in g:
            return Counts(CallClass.ORDER, g.order)
        by_address = CallClass.PREFLIGHT if self._begins() else CallClass.CHECKOUT
        return _counts_for_credential(CallClass.ADMIN) or Counts(by_address)

    def security(self, method: str, view: str) -> Security:
        """Return the ways to act on an intent; none is needed to begin."""
        return [{}, BEARER, API_KEY] if view == self.open_view else [CLIENT_SECRET, BEARER, API_KEY]

    def refusals(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return why it may refuse."""
        return _REFUSALS if view == self.open_view else [*_REFUSALS, NotFound]

    def _begins(self) -> bool:
        return _is_view(self.open_view)


def _admit(found: Caller, needed: Role) -> None:
    if not found.belongs_to((request.view_args or {})["tenant"]):
        raise WrongTenant
    if not found.role.holds(needed):
        raise InsufficientRole
    g.caller = found


def _is_view(name: str | None) -> bool:
    return (request.endpoint or "").rsplit(".", 1)[-1] == name


def _counts_for_credential(call_class: CallClass) -> Counts | None:
    return Counts(call_class, g.caller.credential_id) if "caller" in g else None


def _sends_credential() -> bool:
    return "Authorization" in request.headers or "X-API-Key" in request.headers


def _authenticated() -> Caller:
    """Return who sends this request. Unauthenticated if no good credential came with it."""
    token = _bearer()
    if token is not None:
        return tokens.caller_of_jwt(token, config())
    key = request.headers.get("X-API-Key")
    if key is not None:
        return tokens.caller_of_key(key, config())
    raise Unauthenticated


def _bearer() -> str | None:
    # werkzeug's own parser fails on some bytes, and lets `Bearer a=b` pass as if nothing were sent.
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _looks_like_jwt(token: str) -> bool:
    return token.count(".") == 2
