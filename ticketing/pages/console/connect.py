"""The page on which a member connects an app: who it is, whose data it gets, and in which role.

It is the authorization endpoint of OAuth (RFC 6749, 3.1), so an app sends people here.
"""

from urllib.parse import parse_qsl, quote

from flask import Response, g, redirect, request
from werkzeug import Response as AnyResponse

from schemas.forms import ConnectForm, Consent
from ticketing import credentials
from ticketing.errors import AppRefused, TicketingError
from ticketing.limits import CallClass
from ticketing.models.members import Member
from ticketing.pages import forms, render
from ticketing.pages.blueprint import CONTENT_SECURITY_POLICY, KEEPS_OPENER
from ticketing.pages.console.blueprint import SIGN_IN, ConsoleBlueprint
from ticketing.pages.console.words import APP_ROLES
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.access import audit_log, members
from ticketing.services.oauth import clients, metadata
from ticketing.services.oauth.answers import Awaited, Decision, SentBack
from ticketing.web import origin, rate_limit
from ticketing.web.audited import actor
from ticketing.web.context import caller, config
from ticketing.web.event_scope import EVERY_VIEW

# No `form-action`: Chromium applies it to each redirect after the form, also to those of the app.
POLICY = ("Content-Security-Policy", CONTENT_SECURITY_POLICY.replace(" form-action 'self';", ""))

blp = ConsoleBlueprint(
    "connect",
    __name__,
    reads={*Role},
    writes={*Role},
    scope=EVERY_VIEW,
    headers=dict((KEEPS_OPENER, POLICY)),
)


@blp.get(metadata.PAGE)
def ask_member() -> AnyResponse | str:
    """Ask the member who is signed in whether an app may act for them."""
    # Few processes need authlib.
    from ticketing.services.oauth import server

    member = _member()
    # To ask about an app may let the worker read a URL that a stranger has chosen.
    counted = credentials.keyed_digest(config().keyring.current, "asked-about-app", member.id)
    rate_limit.count_also(CallClass.LOGIN, counted)
    pairs = parse_qsl(request.query_string.decode("latin-1"), keep_blank_values=True)
    try:
        asked = server.ask(pairs, member, origin.origin(), config())
    except SentBack as error:
        # Anybody can register an address. Nobody is sent there from here without a click.
        if clients.is_local(error.location):
            return redirect(error.location, 303)
        wrong = AppRefused("The app sent a wrong request. If you go back, it learns why.")
        return forms.shown_again(_refused(wrong, error.location), wrong)
    except Awaited as error:
        waits = render.page("connect_waits.html", folder="console", seconds=error.seconds)
        return Response(waits, 202)
    except TicketingError as error:
        return forms.shown_again(_refused(error), error)
    return render.page(
        "connect.html",
        folder="console",
        asked=asked,
        is_local=clients.is_local(asked.redirect_uri),
        back_to=clients.host_of(asked.redirect_uri),
        words=APP_ROLES,
        tenant=caller().tenant,
        signed_in_as=g.email,
        other=f"{SIGN_IN}?next={quote(request.full_path, safe='/')}",
    )


@blp.post(metadata.PAGE)
def decide() -> AnyResponse:
    """Connect the app, or not, and send the member back to it."""
    member = _member()
    try:
        sent = forms.read(ConnectForm)
        role = sent["role"] if sent["consent"] is Consent.CONNECT else None
        decided = _decided(sent["page"], member, role)
    except TicketingError as error:
        return forms.shown_again(_refused(error), error)
    return redirect(decided.location, 303)


def _member() -> Member:
    return members.get(caller().tenant_id, caller().credential_id)


def _decided(page: str, member: Member, role: Role | None) -> Decision:
    """Decide, and record that in the audit log if an app is connected."""
    # Few processes need authlib.
    from ticketing.services.oauth import server

    with audit_log.changes(member.tenant_id):
        made = server.answer(page, member, role, origin.origin(), config())
        if role is not None:
            after = {"name": made.client.name, "host": made.client.host, "role": role}
            action = actor("connected_apps_connect")
            audit_log.record(member.tenant_id, action, made.app_id, before=None, after=after)
    return made


def _refused(error: TicketingError, back: str | None = None) -> str:
    return render.page(
        "connect_refused.html",
        folder="console",
        form=Form(refusal=error),
        back=back,
        back_to=back and clients.host_of(back),
    )
