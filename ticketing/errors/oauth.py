"""The errors of the page on which a member connects an app, and of its list."""

from ticketing.errors.base import Conflict, Gone, TicketingError, TooMany


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
