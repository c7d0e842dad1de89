"""The frame of the console's pages: who is signed in, and the sections that are open to them."""

from collections.abc import Set
from typing import Any, NamedTuple

from flask import g

from ticketing.pages import render
from ticketing.roles import SCANNING, Role
from ticketing.services.access.callers import Caller
from ticketing.web.context import caller

_READING = frozenset({Role.READ, Role.FINANCE})
_ADMINS = frozenset({Role.ADMIN})
_EVERYBODY = frozenset(Role)
OVERVIEW, EVENTS, SCANNER = "/console", "/console/events", "/console/scanner"


class Section(NamedTuple):
    """A section in the navigation. Its label is translated where it is shown.

    `of_events`: members who are limited to events see it, with theirs.
    """

    name: str
    path: str
    label: str
    needs: Set[Role] = _ADMINS
    of_events: bool = False

    def is_open_to(self, who: Caller) -> bool:
        """Return whether this member opens it."""
        return who.role.holds(*self.needs) and (self.of_events or who.event_ids is None)


GROUPS = {
    "": (
        Section("overview", OVERVIEW, "Overview", _READING),
        Section("events", EVENTS, "Events", _READING, of_events=True),
        Section("orders", "/console/orders", "Orders", _READING, of_events=True),
        Section("attendees", "/console/attendees", "Attendees", _READING, of_events=True),
        Section("scanner", SCANNER, "Scanner", SCANNING, of_events=True),
    ),
    "Money": (
        Section("money", "/console/money", "Your money", _READING),
        Section("refunds", "/console/refunds", "Refunds", _READING, of_events=True),
        Section("wallet", "/console/wallet", "Wallet"),
    ),
    "Set up": (
        Section("settings", "/console/settings", "Settings"),
        Section("people", "/console/people", "People"),
        Section("connected_apps", "/console/apps", "Connected apps", _EVERYBODY, of_events=True),
    ),
    "For developers": (
        Section("keys", "/console/keys", "API keys"),
        Section("webhooks", "/console/webhooks", "Webhooks"),
        Section("audit_log", "/console/audit-log", "Audit log"),
    ),
}
"""The sections in their groups. The first group has no name."""


def home(who: Caller) -> str:
    """Return the path of a member's first page."""
    return next(each.path for each in GROUPS[""] if each.is_open_to(who))


def page(template: str, section: str, **values: Any) -> str:
    """Render a template of templates/console, as a page of this section."""
    who = caller()
    groups = [
        (name, [each for each in found if each.is_open_to(who)]) for name, found in GROUPS.items()
    ]
    is_whole = who.event_ids is None
    return render.page(
        template,
        folder="console",
        tenant=who.tenant,
        section=section,
        groups=[(name, found) for name, found in groups if found],
        signed_in_as=g.email,
        may_read=who.role.holds(*_READING),
        may_write=who.role.holds(Role.WRITE),
        may_create=is_whole and who.role.holds(Role.WRITE),
        may_refund=who.role.holds(Role.ADMIN, Role.FINANCE),
        may_move_money=is_whole and who.role.holds(Role.ADMIN, Role.FINANCE),
        may_administer=who.role.holds(Role.ADMIN),
        **values,
    )
