"""Schemas of members and their invitations."""

from typing import Any

from marshmallow import fields

from schemas.base import (
    BaseSchema,
    Choice,
    Items,
    ListOf,
    Moment,
    String,
    Text,
    YesNo,
    an_email,
    an_id,
    one_of,
)
from schemas.checks import Length
from schemas.tokens import a_code
from ticketing.roles import MAX_MEMBER_EVENTS, MemberStatus, Role

_INVITATION = "in_01hq3v5m8r2t6w9y1a4c7e0g3j_5f2b8c1d9e0a7f3b6c4d2e8f1a9b0c7d3e5f6a8b"


def _events(*, description: str, **options: Any) -> Items:
    return Items(
        Text(validate=Length(1, 80)),
        description,
        example=None,
        allow_none=True,
        validate=Length(1, MAX_MEMBER_EVENTS),
        **options,
    )


class MemberInviteSchema(BaseSchema):
    """The request to invite a person."""

    email = an_email("ada@example.org", required=True)
    role = one_of(Role, required=True)
    event_ids = _events(
        load_default=None, description="The member may work on these only. Null: on all."
    )


class MemberChangeSchema(BaseSchema):
    """The request to give a member another role, or other events."""

    role = one_of(Role, required=True)
    event_ids = _events(description="Null: all. Left out: as before, and all for `admin`.")


class MemberSchema(BaseSchema):
    """A person of the organizer, who signs in with a password."""

    id = an_id("mem_")
    email = String(
        "ada@example.org", "Null: the first member, before accepting the invitation.", nullable=True
    )
    role = Choice(Role)
    event_ids = ListOf(
        fields.String(), "The events to which the member is limited. Null: none.", example=None
    )
    status = Choice(MemberStatus)
    has_second_factor = YesNo(False, "Whether the password alone is not enough.")
    created_at = Moment()
    disabled_at = Moment(nullable=True)


class InvitedMemberSchema(MemberSchema):
    """A member with a new invitation. Only this response contains its link."""

    invitation_url = String(
        f"https://tickets.example.org/console/invitation/{_INVITATION}",
        "The page that sets a password, once, within 48 hours. Without PUBLIC_URL, its path. Null"
        " when an idempotent request is replayed.",
        nullable=True,
    )


class InvitationAcceptSchema(BaseSchema):
    """The request to set the password of an invited member."""

    invitation = Text(
        _INVITATION, "The end of the invitation's link.", required=True, validate=Length(1, 200)
    )
    password = Text(
        "correct horse battery staple", required=True, load_only=True, validate=Length(12, 128)
    )
    email = an_email(
        "ada@example.org",
        description="Required for a member without an email address. For others, null or theirs.",
    )
    code = a_code()
