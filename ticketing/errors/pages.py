"""The errors of pages and their forms."""

from ticketing.errors.base import Forbidden, TicketingError


class MisdirectedRequest(TicketingError):
    """The request's Host is not the one of this service's pages (RFC 9110, 15.5.20)."""

    status = 421
    title = "MisdirectedRequest request"
    detail = "This address does not belong to this service. Use the address in PUBLIC_URL."


class CrossOrigin(Forbidden):
    detail = "This form was not sent from this site. Open the page again, and send it from there."


class HttpsNeeded(Forbidden):
    """The console was opened over plain HTTP from another machine."""

    detail = "The console needs https: a password would be readable on its way."


class SessionChanged(Forbidden):
    detail = "You have signed in again since this page was opened. Open the page again."
