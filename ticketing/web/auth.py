"""Guards: they decide whether a request may use a surface.

Every surface names its guard in its constructor, also if it is open to everybody.
"""

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
from ticketing.services.door import devices
from ticketing.services.orders import holders
from ticketing.web.context import config

Security = list[dict[str, list[str]]]

BEARER: dict[str, list[str]] = {"jwt": []}
API_KEY: dict[str, list[str]] = {"apiKey": []}
CLIENT_SECRET: dict[str, list[str]] = {"clientSecret": []}
ADMISSION_CODE: dict[str, list[str]] = {"admissionCode": []}
DOOR_TOKEN: dict[str, list[str]] = {"doorToken": []}

_ERRORS: list[type[TicketingError]] = [
    *(Unauthenticated, InsufficientRole, WrongTenant, TooManyRequests)
]


class Counts(NamedTuple):
    """The class in which a request counts (None: it does not count), and the caller.

    Without a caller, the request counts for its client address.
    """

    call_class: CallClass | None
    caller: str | None = None


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
        return Counts(None if _is_view(self.uncounted_view) else self.counts_as)

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
        if not credentials.same(_bearer() or "", expected):
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
    """Requires a credential of the tenant in the path: one role for reads, one for writes."""

    reads: Role
    writes: Role
    counts_as: CallClass = CallClass.ADMIN

    def check(self) -> None:
        """Authenticate the caller, and check the tenant and the role."""
        _admit(_authenticated(), self._needed(request.method))

    def counts(self) -> Counts:
        """Count by credential if it is valid, else by address, because it may be a guess."""
        return _counts_for_credential(self.counts_as) or Counts(CallClass.TOKEN)

    def security(self, method: str, view: str) -> Security:
        """Return the two ways to send a credential."""
        return [BEARER, API_KEY]

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return _ERRORS

    def _needed(self, method: str) -> Role:
        return self.reads if method in ("GET", "HEAD") else self.writes


@dataclass(frozen=True)
class Buyer:
    """Lets everybody open an intent. An intent requires its client secret or the role `paywall`.

    The `secret_views` accept only the client secret, whatever the role of another credential.
    """

    open_view: str
    secret_views: frozenset[str] = frozenset()

    def check(self) -> None:
        """Check whether the request may open an intent, or use the intent in its path.

        To open an intent, a credential is optional, but an invalid one is an error.
        """
        if self._opens_intent():
            if _sends_credential():
                _admit(_authenticated(), Role.PAYWALL)
            return
        secret = _bearer()
        if secret is None or _looks_like_jwt(secret):
            _admit(_authenticated(), Role.PAYWALL)
            if any(map(_is_view, self.secret_views)):
                raise InsufficientRole
            return
        intent_id = (request.view_args or {})["intent_id"]
        if not credentials.is_client_secret(config().keyring, intent_id, secret):
            raise NotFound("This intent does not exist.")
        g.order = intent_id

    def counts(self) -> Counts:
        """Count a valid client secret by its order, because many buyers can share one address."""
        if "order" in g:
            return Counts(CallClass.ORDER, g.order)
        by_address = CallClass.PREFLIGHT if self._opens_intent() else CallClass.CHECKOUT
        return _counts_for_credential(CallClass.ADMIN) or Counts(by_address)

    def security(self, method: str, view: str) -> Security:
        """Return the credentials that an intent accepts. To open one, none is required."""
        if view in self.secret_views:
            return [CLIENT_SECRET]
        return [{}, BEARER, API_KEY] if view == self.open_view else [CLIENT_SECRET, BEARER, API_KEY]

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return _ERRORS if view == self.open_view else [*_ERRORS, NotFound]

    def _opens_intent(self) -> bool:
        return _is_view(self.open_view)


@dataclass(frozen=True)
class Holder:
    """Requires the code of the admission in the path, or the role `paywall`."""

    def check(self) -> None:
        """Compare the code, or check the credential."""
        code = _bearer()
        if code is None or _looks_like_jwt(code):
            _admit(_authenticated(), Role.PAYWALL)
            return
        path = request.view_args or {}
        if any("\0" in part for part in path.values()):
            raise NotFound("This admission does not exist.")  # Postgres rejects NUL
        admission = holders.get(path["tenant"], path["admission_id"], code)
        g.admission_code = code
        # The buyer who transferred it must not use up the requests of the new holder.
        is_buyers = admission.generation == 1
        g.order = (is_buyers and admission.intent_id) or admission.id

    def counts(self) -> Counts:
        """Count a valid code by its order, because many holders can share one address."""
        if "order" in g:
            return Counts(CallClass.ORDER, g.order)
        return _counts_for_credential(CallClass.ADMIN) or Counts(CallClass.CHECKOUT)

    def security(self, method: str, view: str) -> Security:
        """Return the credentials that an admission accepts."""
        return [ADMISSION_CODE, BEARER, API_KEY]

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return [*_ERRORS, NotFound]


@dataclass(frozen=True)
class Door:
    """Requires a device of the event in the path, or a credential with the role `write`.

    To a device, every other event is one that does not exist.
    """

    def check(self) -> None:
        """Recognize the device or the caller, and check the tenant and the event."""
        token = _bearer() or ""
        if credentials.door_token_id(token) is None:
            _admit(_authenticated(), Role.WRITE)
            return
        device = devices.of_token(token, config().keyring)
        path = request.view_args or {}
        if path["tenant"] not in (device.tenant.id, device.tenant.slug):
            raise WrongTenant
        if path["event_id"] != device.event_id:
            raise NotFound("This event does not exist.")
        g.device = device

    def counts(self) -> Counts:
        """Count by device or credential if it is valid, else by address: it may be a guess."""
        if "device" in g:
            return Counts(CallClass.ADMIN, g.device.id)
        return _counts_for_credential(CallClass.ADMIN) or Counts(CallClass.TOKEN)

    def security(self, method: str, view: str) -> Security:
        """Return the three ways to send a credential."""
        return [DOOR_TOKEN, BEARER, API_KEY]

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return [*_ERRORS, NotFound]


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
    """Return the caller of this request. Unauthenticated without a valid credential."""
    token = _bearer()
    if token is not None:
        return tokens.caller_of_jwt(token, config())
    key = request.headers.get("X-API-Key")
    if key is not None:
        return tokens.caller_of_key(key, config())
    raise Unauthenticated


def _bearer() -> str | None:
    # werkzeug's parser fails on some bytes, and treats `Bearer a=b` as if the header were missing.
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _looks_like_jwt(token: str) -> bool:
    return token.count(".") == 2
