"""The guard of the surface for agents: any credential, or none, but no page of another site."""

from dataclasses import dataclass

from flask import g

from ticketing.errors import TicketingError, TooManyRequests, Unauthenticated
from ticketing.limits import CallClass
from ticketing.web import origin
from ticketing.web.auth import (
    API_KEY,
    BEARER,
    Counts,
    Security,
    authenticated,
    counts_for_credential,
)
from ticketing.web.secret_guards import sends_credential


@dataclass(frozen=True)
class Agent:
    """Lets everybody pass. A credential is optional, but an invalid one is an error.

    Each tool checks what it needs.
    """

    def check(self) -> None:
        """Check the host, the origin, and the credential if one was sent."""
        origin.check_host()
        origin.check_no_other_site()
        if sends_credential():
            g.caller = authenticated()

    def counts(self) -> Counts:
        """Count by credential if it is valid, else by address. A wrong one may be a guess."""
        by_address = CallClass.TOKEN if sends_credential() else CallClass.PUBLIC
        return counts_for_credential(CallClass.ADMIN) or Counts(by_address)

    def security(self, method: str, view: str) -> Security:
        """Return the credentials that it accepts, or none."""
        return [{}, BEARER, API_KEY]

    def errors(self, method: str, view: str) -> list[type[TicketingError]]:
        """Return the errors that it may raise."""
        return [Unauthenticated, origin.CrossOrigin, origin.Misdirected, TooManyRequests]
