"""Signing in to the console, by password or by an invitation, and signing out."""

import re

from flask import g, redirect, request
from werkzeug import Response as AnyResponse

from schemas.forms import InvitationForm
from schemas.tokens import LoginSchema
from ticketing import credentials
from ticketing.errors import NotFound, TicketingError
from ticketing.limits import CallClass
from ticketing.models.members import Member
from ticketing.pages import forms, render
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.console import session_cookie
from ticketing.pages.console.blueprint import SIGN_IN, ConsoleBlueprint
from ticketing.pages.forms import Form
from ticketing.pages.guards import Visitor
from ticketing.roles import Role
from ticketing.services.access import invitations, members, sessions, tenants
from ticketing.web import origin, sign_in
from ticketing.web.context import address, caller, config
from ticketing.web.event_scope import EVERY_VIEW

CONSOLE = "/console"
_PATH = re.compile(r"/(?![/\\])[!-~]{0,2000}", re.ASCII)

blp = PageBlueprint("sign_in", __name__, guard=Visitor(posts_as=CallClass.TOKEN), is_secret=True)
signed_in = ConsoleBlueprint("session", __name__, reads={*Role}, writes={*Role}, scope=EVERY_VIEW)


@blp.get(SIGN_IN)
def show_sign_in() -> str:
    """Show the sign-in form."""
    origin.check_transport()
    known = credentials.member_of_browser(config().keyring, session_cookie.read_browser())
    slug = None if known is None else members.slug_of(known)
    return _sign_in_page(Form(values={} if slug is None else {"tenant": slug}))


@blp.post(SIGN_IN)
def start_session() -> AnyResponse:
    """Sign in with a password, and go to the page that was asked for."""
    origin.check_transport()
    try:
        form = forms.read(LoginSchema)
        browser = session_cookie.read_browser()
        tenant = _tenant(form["tenant"])
        member = sign_in.password(tenant, form["email"], form["password"], browser)
        sign_in.note(member)
    except TicketingError as error:
        return forms.shown_again(_sign_in_page(forms.refused(error)), error)
    return signed_in_as(member, _next())


@blp.get("/console/invitation/<invitation>")
def show_invitation(invitation: str) -> str:
    """Show the form at which an invited member sets a password."""
    origin.check_transport()
    return _invitation_page(invitation, Form())


@blp.post("/console/invitation/<invitation>")
def accept_invitation(invitation: str) -> AnyResponse:
    """Set the password of an invited member, and sign in."""
    origin.check_transport()
    try:
        form = forms.read(InvitationForm)
        member = sign_in.invitation(invitation, form["password"], form.get("email"))
    except NotFound:
        raise
    except TicketingError as error:
        return forms.shown_again(_invitation_page(invitation, forms.refused(error)), error)
    return signed_in_as(member, CONSOLE)


@signed_in.post("/console/sign-out")
def end_session() -> AnyResponse:
    """End this session."""
    sessions.end(caller().credential_id, g.session_id)
    response = redirect(SIGN_IN, 303)
    session_cookie.remove(response)
    return response


def signed_in_as(member: Member, then: str) -> AnyResponse:
    """Begin a session with a new secret, and go on."""
    agent = request.user_agent.string
    secret = sessions.begin(member, address(), agent, config().keyring)
    response = redirect(then, 303)
    session_cookie.write(response, secret)
    known = session_cookie.read_browser()
    if credentials.member_of_browser(config().keyring, known) != member.id:
        known = credentials.new_known_browser(config().keyring.current, member.id)
    session_cookie.write_browser(response, known)
    return response


def _tenant(typed: str) -> str:
    """Return the id of the organizer that people name. What names none is tried as it is."""
    try:
        return str(tenants.named(typed).id)
    except NotFound:
        return typed


def _next() -> str:
    """Return the path to which the sign-in leads. Paths of other sites are ignored."""
    wanted = request.args.get("next", "")
    return wanted if _PATH.fullmatch(wanted) else CONSOLE


def _sign_in_page(form: Form) -> str:
    return render.page(
        "sign_in.html",
        folder="console",
        form=form,
        next=_next(),
        only=tenants.only(),
        writes_mail=config().smtp is not None,
    )


def _invitation_page(invitation: str, form: Form) -> str:
    found = invitations.find(invitation, config().keyring)
    return render.page(
        "invitation.html",
        folder="console",
        form=form,
        member=found.member,
        tenant=found.member.tenant,
    )
