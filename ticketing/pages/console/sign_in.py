"""Signing in to the console: by password, passkey or invitation, with a second factor; and out."""

import re
from collections.abc import Callable
from dataclasses import replace

from flask import Response, g, redirect, request
from werkzeug import Response as AnyResponse

from schemas.forms import InvitationForm, PasskeyForm, SecondFactorForm, SecondPasskeyForm
from schemas.tokens import LoginSchema
from ticketing import credentials
from ticketing.errors import NotFound, SignInEnded, TicketingError, WrongPasskey
from ticketing.limits import CallClass
from ticketing.models.members import Member
from ticketing.pages import forms, render
from ticketing.pages.blueprint import KEEPS_OPENER, PageBlueprint
from ticketing.pages.console import session_cookie
from ticketing.pages.console.blueprint import SIGN_IN, ConsoleBlueprint
from ticketing.pages.forms import Form
from ticketing.pages.guards import Visitor
from ticketing.roles import Role
from ticketing.services.access import (
    invitations,
    members,
    passkeys,
    second_factors,
    sessions,
    tenants,
)
from ticketing.services.access.passkeys import Site
from ticketing.services.oauth import metadata
from ticketing.web import origin, sign_in
from ticketing.web.context import address, caller, config
from ticketing.web.event_scope import EVERY_VIEW
from ticketing.web.passkey_site import site

CONSOLE = "/console"
_PATH = re.compile(r"/(?![/\\])[!-~]{0,4000}", re.ASCII)

blp = PageBlueprint("sign_in", __name__, guard=Visitor(posts_as=CallClass.TOKEN), is_secret=True)
signed_in = ConsoleBlueprint(
    "session",
    __name__,
    reads={*Role},
    writes={*Role},
    scope=EVERY_VIEW,
    before_second_factor=True,
)


@blp.after_request
def keep_opener(response: Response) -> Response:
    """On the way to the page that connects an app, keep the window that opened this one."""
    if _next().startswith(metadata.PAGE):
        response.headers.update([KEEPS_OPENER])
    return response


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
    except TicketingError as error:
        return forms.shown_again(_sign_in_page(forms.refused(error)), error)
    return go_on(member, _next(), proof="password")


@blp.post(f"{SIGN_IN}/passkey")
def start_session_by_passkey() -> AnyResponse:
    """Sign in with a passkey instead of a password."""
    origin.check_transport()
    try:
        member = sign_in.passkey(forms.read(PasskeyForm)["credential"], _site())
    except TicketingError as error:
        return forms.shown_again(_sign_in_page(forms.refused(error)), error)
    sign_in.note(member, "passkey")
    return signed_in_as(member, _next())


@blp.post(f"{SIGN_IN}/second")
def prove_second_factor() -> AnyResponse:
    """Sign in with a code, after the password."""

    def prove() -> tuple[Member, str]:
        form = forms.read(SecondFactorForm)
        member, what = sign_in.second(form["first_step"], form["code"])
        return member, f"password and {what}"

    return _after_second(prove)


@blp.post(f"{SIGN_IN}/second/passkey")
def prove_second_passkey() -> AnyResponse:
    """Sign in with a passkey, after the password."""

    def prove() -> tuple[Member, str]:
        form = forms.read(SecondPasskeyForm)
        member = sign_in.second_passkey(form["first_step"], form["credential"], _site())
        return member, "password and passkey"

    return _after_second(prove)


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
    return go_on(member, CONSOLE)


@signed_in.post("/console/sign-out")
def end_session() -> AnyResponse:
    """End this session."""
    sessions.end(caller().credential_id, g.session_id)
    response = redirect(SIGN_IN, 303)
    session_cookie.remove(response)
    return response


def go_on(member: Member, then: str, *, proof: str | None = None) -> AnyResponse:
    """Sign in who has proved or set a password, or ask for the second factor first.

    `proof`: what the audit log says of the sign-in. None: there is an entry already.
    """
    if member.second_factor_since is not None:
        first_step = second_factors.first_step(member, config().keyring)
        return Response(_second_page(Form(), member, first_step, then))
    if proof is not None:
        sign_in.note(member, proof)
    return signed_in_as(member, then)


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


def _after_second(prove: Callable[[], tuple[Member, str]]) -> AnyResponse:
    """Sign in who proves the second factor. If the first step has ended, begin again."""
    origin.check_transport()
    try:
        member, proof = prove()
    except TicketingError as error:
        sent = forms.refused(error)
        first_step = sent.values.get("first_step", "")
        form = replace(sent, values={})  # a code is of no use again
        try:
            member = second_factors.after_first_step(first_step, config().keyring)
        except SignInEnded as ended:
            return forms.shown_again(_sign_in_page(Form(refusal=ended)), ended)
        return forms.shown_again(_second_page(form, member, first_step, _next()), error)
    sign_in.note(member, proof)
    return signed_in_as(member, _next())


def _site() -> Site:
    """Return the site of passkeys. WrongPasskey where browsers have none."""
    found = site()
    if found is None:
        raise WrongPasskey
    return found


def _second_page(form: Form, member: Member, first_step: str, then: str) -> str:
    at, has, options = site(), second_factors.of(member.id), None
    if at is not None and has.passkeys:
        options = passkeys.request_options(at, config().keyring, member.id)
    return render.page(
        "second_factor.html",
        folder="console",
        form=form,
        first_step=first_step,
        has_app=has.has_app,
        next=then,
        options=options,
    )


def _sign_in_page(form: Form) -> str:
    at = site()
    return render.page(
        "sign_in.html",
        folder="console",
        form=form,
        next=_next(),
        only=tenants.only(),
        options=None if at is None else passkeys.request_options(at, config().keyring),
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
