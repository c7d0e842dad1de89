"""The blueprint of the console's pages: a session and a role, and a token in each form."""

from collections.abc import Set
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from flask import Response, g, redirect, request
from werkzeug import Response as AnyResponse

from ticketing import credentials
from ticketing.bodies import is_upload
from ticketing.constants import MAX_BODY_BYTES
from ticketing.errors import (
    Forbidden,
    InsufficientRole,
    LimitedToEvents,
    SecondFactorMissing,
    SessionChanged,
    Unauthenticated,
)
from ticketing.limits import CallClass
from ticketing.pages import forms
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.console import session_cookie
from ticketing.pages.console.layout import page
from ticketing.pages.console.words import ROLES
from ticketing.pages.guards import Page
from ticketing.roles import Role
from ticketing.services.access import members, sessions
from ticketing.web import event_scope, origin
from ticketing.web.auth import Counts, counts_for_credential
from ticketing.web.context import caller, config
from ticketing.web.event_scope import NO_EVENT, EventScope

SIGN_IN = "/console/sign-in"
SECOND_FACTOR = "/console/account/second-factor"


@dataclass(frozen=True)
class SignedIn(Page):
    """Requires a session, and one of the roles for reads, or for forms.

    `scope`: what members may use who are limited to events. `before_second_factor`: it is open to
    who must set one up. Sets `g.caller`, `g.session_id`, `g.email`, `g.csrf_token`.
    """

    reads: Set[Role]
    writes: Set[Role]
    scope: EventScope
    before_second_factor: bool = False

    def check(self) -> None:
        """Find the session, and check the role and the event.

        Unauthenticated; SessionChanged; SecondFactorMissing; InsufficientRole; LimitedToEvents;
        HttpsNeeded.
        """
        origin.check_transport()
        secret = session_cookie.read()
        found = sessions.find(secret, config().keyring)
        if found is None:
            raise Unauthenticated
        g.session_id, g.caller, g.email = found.session_id, found.caller, found.email
        g.csrf_token = session_cookie.csrf_token(secret)
        is_form = request.method == "POST"
        if is_form and not credentials.same(_sent_token(), g.csrf_token):
            raise SessionChanged
        if found.lacks_second_factor and not self.before_second_factor:
            raise SecondFactorMissing
        if not found.caller.role.holds(*(self.writes if is_form else self.reads)):
            raise InsufficientRole
        event_scope.check(found.caller, self.scope)

    def counts(self) -> Counts:
        """Count by member, else by address, because the cookie may be a guess."""
        return counts_for_credential(CallClass.ADMIN) or Counts(CallClass.TOKEN)


class ConsoleBlueprint(PageBlueprint):
    """A section of the console. Without a session, it leads to the sign-in page."""

    # A description may be long, and in a form each of its letters may need several bytes.
    max_form_bytes = MAX_BODY_BYTES

    def __init__(
        self,
        name: str,
        import_name: str,
        *,
        reads: Set[Role],
        writes: Set[Role],
        scope: EventScope = NO_EVENT,
        before_second_factor: bool = False,
        **options: Any,
    ) -> None:
        guard = SignedIn(reads, writes, scope, before_second_factor)
        # Browsers must not keep these pages, and search engines must not find them.
        super().__init__(f"console_{name}", import_name, guard=guard, is_secret=True, **options)

    def check_request(self) -> AnyResponse | None:
        """Check a request. Without a session, lead to the sign-in page."""
        try:
            return super().check_request()
        except Unauthenticated:
            return redirect(f"{SIGN_IN}?next={quote(_wanted(), safe='/')}", 303)
        except SecondFactorMissing:
            return redirect(SECOND_FACTOR, 303)
        except (InsufficientRole, LimitedToEvents) as error:
            return Response(_forbidden(error), error.status)


def _sent_token() -> str:
    """Return the token that a form carries: in the URL if it has a file, which is read later."""
    if is_upload(request.path):
        return request.args.get(forms.CSRF_TOKEN, "")
    request.get_data()  # keeps the body, which the form would use up: `once` compares it
    return request.form.get(forms.CSRF_TOKEN, "")


def _forbidden(error: Forbidden) -> str:
    """Render the page that says whom to ask, in the frame of the member's own sections."""
    who = caller()
    is_limited = isinstance(error, LimitedToEvents)
    role, admins = ROLES[who.role], members.emails_of_admins(who.tenant_id)
    return page("forbidden.html", "", role=role, admins=admins, is_limited=is_limited)


def _wanted() -> str:
    """Return the page to which a member goes after signing in. Forms are not sent again."""
    return request.full_path.rstrip("?") if request.method == "GET" else "/console"
