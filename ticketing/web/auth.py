"""Guards: they decide whether a request may use a surface.

Every surface names its guard in its constructor, also if it is open to everybody.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from flask import g, request

from ticketing import credentials
from ticketing.errors import (
    InsufficientRole,
    LimitedToEvents,
    NotFound,
    TicketingError,
    TooManyRequests,
    Unauthenticated,
    WrongTenant,
)
from ticketing.limits import CallClass
from ticketing.roles import Role
from ticketing.services.access import callers
from ticketing.services.access.callers import Caller
from ticketing.web import event_scope
from ticketing.web.context import config
from ticketing.web.event_scope import NO_EVENT, EventScope

Security = list[dict[str, list[str]]]

BEARER: dict[str, list[str]] = {"jwt": []}
API_KEY: dict[str, list[str]] = {"apiKey": []}

ERRORS: list[type[TicketingError]] = [
    Unauthenticated,
    InsufficientRole,
    WrongTenant,
    TooManyRequests,
]


class Counts(NamedTuple):
    """The class in which a request counts (None: it does not count), and the caller.

    Without a caller, the request counts for its client address. `factor`: how many times the limit
    of its class the caller has.
    """

    call_class: CallClass | None
    caller: str | None = None
    factor: int = 1


class Guard(Protocol):
    """Lets a request pass or raises an error. Describes itself for the OpenAPI document."""

    def check(self) -> None:
        """Check the current request. Unauthenticated, WrongTenant, InsufficientRole."""

    def counts(self) -> Counts:
        """Return how the checked request counts for the rate limits."""

    def security(self, method: str, view: str) -> Security:
        """Return OpenAPI's security requirements of one operation."""

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors this guard may raise for one operation."""


@dataclass(frozen=True)
class Open:
    """Lets everybody pass, without a credential."""

    counts_as: CallClass
    uncounted_view: str | None = None

    def check(self) -> None:
        """Do nothing."""

    def counts(self) -> Counts:
        """Return the surface's class. Requests to `uncounted_view` do not count."""
        return Counts(None if is_view(self.uncounted_view) else self.counts_as)

    def security(self, method: str, view: str) -> Security:
        """Return an empty list: nothing is required."""
        return []

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return [] if view == self.uncounted_view else [TooManyRequests]


@dataclass(frozen=True)
class Scraper:
    """Lets monitoring pass with METRICS_TOKEN. Without that setting, the surface is not found."""

    def check(self) -> None:
        """Compare the token."""
        expected = config().metrics_token
        if expected is None:
            raise NotFound
        if not credentials.same(bearer() or "", expected):
            raise Unauthenticated
        g.is_scraper = True

    def counts(self) -> Counts:
        """Count requests without the token, because the client may be guessing it."""
        return Counts(None if g.get("is_scraper") else CallClass.TOKEN)

    def security(self, method: str, view: str) -> Security:
        """Return how to send the token."""
        return [BEARER]

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return [Unauthenticated, NotFound, TooManyRequests]


@dataclass(frozen=True)
class TenantRole:
    """Requires a credential of the tenant in the path, and one of the roles for reads, or writes.

    `scope`: what members may use who are limited to events.
    """

    reads: Set[Role]
    writes: Set[Role]
    scope: EventScope = NO_EVENT
    counts_as: CallClass = CallClass.ADMIN

    def check(self) -> None:
        """Authenticate the caller, and check the tenant, the role and the event."""
        admit(self.needed(request.method), self.scope)

    def counts(self) -> Counts:
        """Count by credential if it is valid, else by address, because it may be a guess."""
        return counts_for_credential(self.counts_as) or Counts(CallClass.TOKEN)

    def security(self, method: str, view: str) -> Security:
        """Return the two ways to send a credential."""
        return [BEARER, API_KEY]

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return [*ERRORS, LimitedToEvents]

    def needed(self, method: str) -> Set[Role]:
        """Return the roles of which one is needed. Those above it hold it, too."""
        return self.reads if method in ("GET", "HEAD") else self.writes


def admit(needed: Set[Role], scope: EventScope = NO_EVENT) -> None:
    """Check the credential of this request, its tenant, role and event, and keep the caller.

    Unauthenticated, WrongTenant, InsufficientRole, LimitedToEvents.
    """
    found = authenticated()
    check(found, (request.view_args or {})["tenant"], needed)
    event_scope.check(found, scope)
    g.caller = found


def check(found: Caller, tenant: str, needed: Set[Role]) -> None:
    """Check that a caller belongs to this tenant and has one of these roles.

    WrongTenant, InsufficientRole.
    """
    if not found.belongs_to(tenant):
        raise WrongTenant
    if not found.role.holds(*needed):
        raise InsufficientRole


def is_view(name: str | None) -> bool:
    """Return whether this request goes to the view with this name."""
    return (request.endpoint or "").rsplit(".", 1)[-1] == name


def counts_for_credential(call_class: CallClass) -> Counts | None:
    """Return how the request counts for its credential. None if none was accepted."""
    return Counts(call_class, g.caller.credential_id) if "caller" in g else None


def authenticated() -> Caller:
    """Return the caller of this request. Unauthenticated without a valid credential."""
    token = bearer()
    if token is not None:
        return callers.of_jwt(token, config())
    key = request.headers.get("X-API-Key")
    if key is not None:
        return callers.of_key(key, config())
    raise Unauthenticated


def bearer() -> str | None:
    """Return the bearer token of this request. None without one."""
    # werkzeug's parser fails on some bytes, and treats `Bearer a=b` as if the header were missing.
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None
