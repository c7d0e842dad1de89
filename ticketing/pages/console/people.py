"""The console's pages of people: who may sign in, and what they may do."""

from functools import partial

from werkzeug import Response

from schemas.members import (
    InvitedMemberSchema,
    MemberChangeSchema,
    MemberInviteSchema,
    MemberSchema,
)
from ticketing.models.members import Member
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import list_filters, one_time, words
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.one_time import Answer, Secret
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.access import invitations, members
from ticketing.services.catalog import titles
from ticketing.web import origin
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config

PATH = "/console/people"
_MEMBER = f"{PATH}/<member_id>"
_TEXT = "Send the link only to this person. It sets a password, once, within 48 hours."

blp = ConsoleBlueprint("people", __name__, reads={Role.ADMIN}, writes={Role.ADMIN})


@blp.get(PATH)
def list_people() -> str:
    """List the members, the oldest first."""
    return _list(Form())


@blp.post(PATH)
def invite_member() -> Response:
    """Invite a person, and show the link once."""
    tenant_id = caller().tenant_id

    def invite() -> Response:
        fields = typed_forms.read(MemberInviteSchema)
        made = one_time.made_once(
            lambda: recorded(
                InvitedMemberSchema,
                lambda: _linked(invitations.create(tenant_id, **fields, keyring=config().keyring)),
                action="members_invite_member",
            )
        )
        return _shown(made, PATH)

    return forms.answered(invite, _list)


@blp.get(_MEMBER)
def show_member(member_id: str) -> str:
    """Show one member."""
    return _page(member_id, Form())


@blp.post(f"{_MEMBER}/role")
def change_role(member_id: str) -> Response:
    """Give a member another role, or other events, at once."""
    tenant_id = caller().tenant_id

    def change() -> str:
        fields = typed_forms.read(MemberChangeSchema)
        recorded(
            MemberSchema,
            partial(members.change, tenant_id, member_id, fields),
            partial(members.get, tenant_id, member_id),
            action="members_change_member",
        )
        return f"{PATH}/{member_id}#changed"

    return forms.carried_out(change, partial(_page, member_id))


@blp.post(f"{_MEMBER}/disable")
def disable_member(member_id: str) -> Response:
    """End a member's access at once."""
    tenant_id = caller().tenant_id

    def disable() -> str:
        recorded(
            MemberSchema,
            partial(members.disable, tenant_id, member_id),
            partial(members.get, tenant_id, member_id),
            action="members_disable_member",
        )
        return f"{PATH}/{member_id}#disabled"

    return forms.carried_out(disable, partial(_page, member_id))


@blp.post(f"{_MEMBER}/invite")
def invite_again(member_id: str) -> Response:
    """Give a member a new link to set a password, and show it once."""
    tenant_id = caller().tenant_id
    made = one_time.made_once(
        lambda: recorded(
            InvitedMemberSchema,
            lambda: _linked(invitations.invite(tenant_id, member_id, config().keyring)),
            partial(members.get, tenant_id, member_id),
            action="members_invite_member_again",
        )
    )
    return _shown(made, f"{PATH}/{member_id}")


def _linked(member: Member) -> Member:
    """Set the link of a new invitation."""
    link = invitations.url(member.invitation, config())
    member.invitation_url = link if config().public_url else origin.origin() + link
    return member


def _shown(made: Member | None, back: str) -> Response:
    secrets = None
    if made is not None:
        secrets = [Secret("Link of the invitation", str(made.invitation_url), made.email or "")]
    return one_time.answer("people", Answer("Invitation", _TEXT, back, secrets))


def _list(form: Form) -> str:
    found = members.list_page(caller().tenant_id, list_filters.page_request())
    return page(
        "people.html",
        "people",
        form=form,
        people=found.data,
        me=caller().credential_id,
        next_page=list_filters.next_page(found, {}),
        events=titles.to_choose(caller().tenant_id, ()),
        chosen=typed_forms.chosen("event_ids"),
        writes_mail=config().smtp is not None,
        words=words,
    )


def _page(member_id: str, form: Form) -> str:
    tenant_id = caller().tenant_id
    member = members.get(tenant_id, member_id)
    was_sent = form.refusal is not None
    return page(
        "person.html",
        "people",
        form=form,
        member=member,
        me=caller().credential_id,
        events=titles.to_choose(tenant_id, member.event_ids or ()),
        chosen=typed_forms.chosen("event_ids") if was_sent else member.event_ids or (),
        words=words,
    )
