"""The guard of what clients of OAuth call: everybody, over TLS, at the address of this service."""

from dataclasses import dataclass

from ticketing.errors import HttpsNeeded, MisdirectedRequest, TicketingError, TooManyRequests
from ticketing.limits import CallClass
from ticketing.web import origin
from ticketing.web.auth import Counts, Security


@dataclass(frozen=True)
class OAuthClient:
    """Lets every program pass: a token request proves itself with what it sends."""

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
