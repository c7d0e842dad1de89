"""The errors of pages and their forms, and of apps that members connect on one of them."""

from ticketing.errors.base import Conflict, Forbidden, Gone, TicketingError, TooMany


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


class AppRefused(TicketingError):
    """An app cannot be connected, and nobody is sent back to it, because it is not known."""

    status = 400
    title = "App refused"
    detail = "This app cannot be connected."


class AuthorizationEnded(Gone):
    detail = "This page has ended, or was answered before. Begin again in the app."


class TooManyApps(Conflict):
    detail = "You have connected too many apps. End some of them first."


class TooManyDescriptions(TooMany):
    """An organizer's members had descriptions of apps read for as long as they may in an hour."""

    detail = "Your team has opened too many apps that answer slowly. Try again later."
