"""What people and API keys may do, and whether they still may."""

from enum import StrEnum


class Role(StrEnum):
    """What a credential may do.

    The first four are a ladder: each includes the roles before it. `finance` (the money and the
    refunds) and `door` (the scanner) stand beside it, and only members have them. A guard lets them
    in only where it names them. Example: `admin` holds `write`, and `finance` does not.
    """

    READ = "read"
    PAYWALL = "paywall"
    WRITE = "write"
    ADMIN = "admin"
    FINANCE = "finance"
    DOOR = "door"

    def holds(self, *needed: "Role") -> bool:
        """Return whether this role is one of `needed`, or above one of them on the ladder."""
        included = LADDER[: LADDER.index(self)] if self in LADDER else ()
        return self in needed or any(role in needed for role in included)


LADDER = (Role.READ, Role.PAYWALL, Role.WRITE, Role.ADMIN)
"""The roles of API keys."""

SCANNING = frozenset({Role.WRITE, Role.DOOR})
"""The roles that open the scanner."""

MAX_MEMBER_EVENTS = 100
"""Events to which one member can be limited."""


class KeyStatus(StrEnum):
    """The status of an API key."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


class MemberStatus(StrEnum):
    """The status of a member. One who is invited has no password yet."""

    INVITED = "invited"
    ACTIVE = "active"
    DISABLED = "disabled"
