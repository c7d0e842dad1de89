"""The members surface: invite the organizer's people, change their roles, end their access."""

from typing import Any

from schemas.base import PageQuery, page_of
from schemas.members import (
    InvitedMemberSchema,
    MemberChangeSchema,
    MemberInviteSchema,
    MemberSchema,
)
from ticketing.errors import LastAdmin, MemberExists, NotFound
from ticketing.models.members import Member
from ticketing.roles import Role
from ticketing.services.access import invitations, members
from ticketing.services.pagination import Page
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config, page_request
from ticketing.web.idempotency import idempotent, never_stored

blp = ApiBlueprint(
    "members",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/members",
    guard=auth.TenantRole(reads={Role.ADMIN}, writes={Role.ADMIN}),
    description="The organizer's people, who sign in with a password.",
)


@blp.get("")
@blp.arguments(PageQuery, location="query")
@blp.response(200, page_of(MemberSchema))
def list_members(query: dict[str, Any], tenant: str) -> Page[Member]:
    """List the tenant's members."""
    return members.list_page(caller().tenant_id, page_request(query))


@blp.post("")
@idempotent
@blp.arguments(MemberInviteSchema)
@blp.response(201, InvitedMemberSchema)
@audited(InvitedMemberSchema)
@never_stored("invitation_url")
@blp.raises(MemberExists)
def invite_member(body: dict[str, Any], tenant: str) -> Member:
    """Invite a person. Only this response contains the link; a mail brings it, too."""
    made = invitations.create(caller().tenant_id, **body, keyring=config().keyring)
    return _with_link(made)


@blp.patch("/<member_id>")
@blp.arguments(MemberChangeSchema)
@blp.response(200, MemberSchema)
@audited(MemberSchema, before=members.get)
@blp.raises(NotFound, LastAdmin)
def change_member(body: dict[str, Any], tenant: str, member_id: str) -> Member:
    """Give a member another role, or other events, at once. One active administrator must remain.

    `finance` is `read` with the money and the refunds, `door` opens the scanner only.
    """
    return members.change(caller().tenant_id, member_id, body)


@blp.post("/<member_id>/disable")
@idempotent
@blp.response(200, MemberSchema)
@audited(MemberSchema, before=members.get)
@blp.raises(NotFound, LastAdmin)
def disable_member(tenant: str, member_id: str) -> Member:
    """End a member's access, sessions and JWTs at once. A repeat gets the same response."""
    return members.disable(caller().tenant_id, member_id)


@blp.post("/<member_id>/invite")
@idempotent
@blp.response(200, InvitedMemberSchema)
@audited(InvitedMemberSchema, before=members.get)
@never_stored("invitation_url")
@blp.raises(NotFound)
def invite_member_again(tenant: str, member_id: str) -> Member:
    """Give a member a new link to set a password: after a lost one, or to end a disablement.

    The earlier link ends. Sessions, JWTs and the password end when the new one is used.
    """
    return _with_link(invitations.invite(caller().tenant_id, member_id, config().keyring))


def _with_link(member: Member) -> Member:
    member.invitation_url = invitations.url(member.invitation, config())
    return member
