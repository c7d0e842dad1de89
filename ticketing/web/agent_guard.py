"""The guards of the surface for agents, and of what apps call before they have a token."""

from dataclasses import dataclass

from flask import g, request

from ticketing.errors import (
    CrossOrigin,
    HttpsNeeded,
    MisdirectedRequest,
    TicketingError,
    TooManyRequests,
    Unauthenticated,
)
from ticketing.limits import CallClass
from ticketing.services.access.callers import Caller
from ticketing.services.oauth import connected_apps, metadata
from ticketing.web import origin
from ticketing.web.auth import (
    API_KEY,
    BEARER,
    Counts,
    Security,
    authenticated,
    bearer,
    counts_for_credential,
)
from ticketing.web.context import config
from ticketing.web.secret_guards import sends_credential


class AgentUnauthenticated(Unauthenticated):
    """An agent has no valid credential. The challenge says where to get one (RFC 9728, 5.1)."""

    code = Unauthenticated.code

    def __init__(self) -> None:
        """Name the metadata of the resource that was asked for."""
        super().__init__()
        where = metadata.url_of_resource(origin.origin(), request.path)
        said = ['error="invalid_token"'] if sends_credential() else []
        self.challenge = ", ".join([self.challenge, *said, f'resource_metadata="{where}"'])


@dataclass(frozen=True)
class Agent:
    """Lets everybody pass. A credential is optional, but an invalid one is an error.

    At `closed_path` everybody needs one: a program that finds no challenge shows no way to sign in.
    Each tool checks what it needs.
    """

    closed_path: str

    def check(self) -> None:
        """Check the host, the origin, and the credential."""
        origin.check_host()
        origin.check_no_other_site()
        if sends_credential():
            try:
                g.caller = _caller()
            except Unauthenticated:
                raise AgentUnauthenticated from None
        elif request.path == self.closed_path:
            raise AgentUnauthenticated

    def counts(self) -> Counts:
        """Count by credential if it is valid, else by address. A wrong one may be a guess."""
        by_address = CallClass.TOKEN if sends_credential() else CallClass.PUBLIC
        return counts_for_credential(CallClass.ADMIN) or Counts(by_address)

    def security(self, method: str, view: str) -> Security:
        """Return the credentials that it accepts, or none."""
        return [{}, BEARER, API_KEY]

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return [Unauthenticated, CrossOrigin, MisdirectedRequest, TooManyRequests]


@dataclass(frozen=True)
class OAuthClient:
    """Lets every program pass, over TLS and at the address of this service.

    A token request proves itself with what it sends.
    """

    counts_as: CallClass

    def check(self) -> None:
        """Check the host and that no token travels unprotected. MisdirectedRequest, HttpsNeeded."""
        origin.check_host()
        origin.check_transport()

    def counts(self) -> Counts:
        """Count by address."""
        return Counts(self.counts_as)

    def security(self, method: str, view: str) -> Security:
        """Return an empty list: clients are public."""
        return []

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return [MisdirectedRequest, HttpsNeeded, TooManyRequests]


def _caller() -> Caller:
    token = bearer()
    if token is not None and token.startswith(connected_apps.ACCESS_PREFIX):
        return connected_apps.caller_of(token, config().keyring)
    return authenticated()
