"""The pages of a member's second factors: an app that shows codes, passkeys, recovery codes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from flask import Response, g, redirect, request
from werkzeug import Response as AnyResponse

from schemas.forms import AppCodeForm, NewPasskeyForm, PasswordForm
from ticketing.errors import WrongPasskey
from ticketing.models.members import Member
from ticketing.pages import forms, qr
from ticketing.pages.console import one_time
from ticketing.pages.console.blueprint import SECOND_FACTOR, ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.one_time import Answer, Secret
from ticketing.pages.console.words import browser
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.access import members, passkeys, second_factors, sessions, totp
from ticketing.services.access.totp import NewSecret
from ticketing.web import sign_in
from ticketing.web.audited import noted
from ticketing.web.context import caller, config
from ticketing.web.event_scope import EVERY_VIEW
from ticketing.web.passkey_site import site

Made = TypeVar("Made")

_CODES = (
    "Each of these replaces the second factor once, if you have lost it. Keep them where your"
    " password is not."
)

blp = ConsoleBlueprint(
    "second_factors",
    __name__,
    reads={*Role},
    writes={*Role},
    scope=EVERY_VIEW,
    before_second_factor=True,
)


@blp.get(SECOND_FACTOR)
def show_second_factors() -> str:
    """Show what is set up, and what can be."""
    return _page(Form())


@blp.post(f"{SECOND_FACTOR}/app")
def begin_app() -> AnyResponse:
    """Show the secret of a new app. It counts once a code of it was typed."""

    def begin() -> AnyResponse:
        member = sign_in.again(forms.read(PasswordForm)["password"])
        with members.changing(member.tenant_id):
            if totp.is_set(member.id):
                return redirect(SECOND_FACTOR, 303)
            made = totp.begin(member, caller().tenant.name, config().keyring)
        return Response(_app_page(Form(), made))

    return forms.answered(begin, _page)


@blp.post(f"{SECOND_FACTOR}/app/confirm")
def confirm_app() -> AnyResponse:
    """Let the new app count, with its first code."""
    member = _me()

    def confirm() -> None:
        totp.confirm(member, forms.read(AppCodeForm)["code"], config().keyring)

    return forms.answered(partial(_added, "app_added", member, confirm), _app_page)


@blp.post(f"{SECOND_FACTOR}/app/remove")
def remove_app() -> AnyResponse:
    """Remove the app."""
    return _removed("app_removed", lambda member: totp.remove(member.id))


@blp.post(f"{SECOND_FACTOR}/passkeys")
def add_passkey() -> AnyResponse:
    """Keep the passkey that the browser has made."""

    def add() -> AnyResponse:
        sent, at = forms.read(NewPasskeyForm), site()
        if at is None:
            raise WrongPasskey
        member = sign_in.again(sent["password"])
        given = (member, sent["credential"], sent["name"], at, config().keyring)
        return _added("passkey_added", member, partial(passkeys.add, *given))

    return forms.answered(add, _page)


@blp.post(f"{SECOND_FACTOR}/passkeys/<passkey_id>/remove")
def remove_passkey(passkey_id: str) -> AnyResponse:
    """Remove a passkey."""
    return _removed("passkey_removed", lambda member: passkeys.remove(member.id, passkey_id))


@blp.post(f"{SECOND_FACTOR}/codes")
def make_recovery_codes() -> AnyResponse:
    """Make new recovery codes. Those from before end."""

    def make() -> AnyResponse:
        member = sign_in.again(forms.read(PasswordForm)["password"])
        new = partial(second_factors.new_recovery_codes, member, config().keyring)
        return _codes(one_time.made_once(partial(_noted, "codes_made", member, new)))

    return forms.answered(make, _page)


def _added(action: str, member: Member, add: Callable[[], object]) -> AnyResponse:
    """Add a factor, and show the recovery codes if it is the first one.

    All other browsers are signed out: they proved the password alone.
    """

    def act() -> Sequence[str]:
        add()
        sessions.end_all(member.id, except_for=g.session_id)
        return second_factors.note_first(member, config().keyring)

    codes = one_time.made_once(partial(_noted, action, member, act))
    return redirect(f"{SECOND_FACTOR}#added", 303) if codes == [] else _codes(codes)


def _removed(action: str, remove: Callable[[Member], None]) -> AnyResponse:
    """Remove a factor, with the password once more."""

    def act() -> str:
        member = sign_in.again(forms.read(PasswordForm)["password"])

        def change() -> None:
            remove(member)
            second_factors.note_removed(member, caller().tenant)

        _noted(action, member, change)
        return f"{SECOND_FACTOR}#removed"

    return forms.carried_out(act, _page)


def _noted(action: str, member: Member, change: Callable[[], Made]) -> Made:
    """Make a change of a member's factors, and record it in the audit log, without secrets."""

    def act() -> Made:
        with members.changing(member.tenant_id):
            return change()

    return noted(member.id, act, lambda _: {}, action=f"second_factors_{action}")


def _codes(codes: Sequence[str] | None) -> Response:
    """Show recovery codes once, in two groups of letters each."""
    secrets = None
    if codes is not None:
        shown = "\n".join(f"{each[:5]}-{each[5:]}" for each in codes)
        secrets = [Secret("Recovery codes", shown)]
    return one_time.answer("account", Answer("Recovery codes", _CODES, SECOND_FACTOR, secrets))


def _me() -> Member:
    return members.get(caller().tenant_id, caller().credential_id)


def _app_page(form: Form, made: NewSecret | None = None) -> str:
    """Render the page of a new app. Its secret is shown only when it was made."""
    code = None if made is None else qr.svg(made.uri)
    return page("second_factor_app.html", "account", form=form, made=made, code=code)


def _page(form: Form) -> str:
    me, at = _me(), site()
    tenant = caller().tenant
    return page(
        "second_factors.html",
        "account",
        form=form,
        blank=Form(),
        sent_to=request.path,
        has=second_factors.of(me.id),
        is_required=me.role == Role.ADMIN and bool(tenant.second_factor_required),
        options=None if at is None else passkeys.creation_options(me, at, config().keyring),
        device=browser(request.user_agent.string) or "",
    )
