"""Scopes of OAuth are roles: those that open tools of MCP."""

from __future__ import annotations

from ticketing.roles import LADDER, Role

SCOPES = (Role.READ, Role.WRITE, Role.FINANCE, Role.DOOR)
"""What an app can get. None of the tools needs more, so no app is an administrator."""


def grantable(asked: str | None, has: Role) -> list[Role]:
    """Return the roles that an app may get of those that it asks for, the lowest first.

    `asked` are scopes (RFC 6749, 3.3); unknown ones count as not asked. None: any role. `has` is
    the member's role. Example: `read write admin`, of an editor: READ and WRITE.
    """
    words = set(SCOPES) if asked is None else set(asked.split())
    return [each for each in SCOPES if each in words and has.holds(each)]


def text_of(role: Role) -> str:
    """Return the scopes of an app with this role. Example: `read write` for WRITE."""
    return " ".join(each for each in SCOPES if role.holds(each))


def role_of(text: str) -> Role | None:
    """Return the highest role in a text of scopes. None if there is none."""
    words = text.split()
    return next((each for each in reversed(SCOPES) if each in words), None)


def limited(role: Role, member: Role) -> Role | None:
    """Return what is left of an app's role with the present role of its member.

    Example: WRITE of a member who is a reader now is READ. None: nothing is left.
    """
    if member.holds(role):
        return role
    return member if role in LADDER and member in LADDER else None
