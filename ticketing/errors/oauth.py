"""The errors of the page on which a member connects an app, and of its list."""

from ticketing.errors.base import Conflict, Gone, TicketingError, TooMany


class AppRefused(TicketingError):
    """An app cannot be connected, and nobody is sent back to it, because it is not known."""

    status = 400
    title = "App refused"
    code = "app_refused"
    detail = "This app cannot be connected."


class AuthorizationEnded(Gone):
    """The page on which somebody connects an app was open too long, or was answered before."""

    code = "authorization_ended"
    detail = "This page has ended, or was answered before. Begin again in the app."


class TooManyApps(Conflict):
    """A member has connected as many apps as one may."""

    code = "too_many_apps"
    detail = "You have connected too many apps. End some of them first."


class TooManyDescriptions(TooMany):
    """An organizer's members had descriptions of apps read for as long as they may in an hour."""

    code = "too_many_descriptions"
    detail = "Your team has opened too many apps that answer slowly. Try again later."
