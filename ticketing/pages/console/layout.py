"""The frame of the console's pages: who is signed in, and the sections that their role opens."""

from typing import Any, NamedTuple

from flask import g

from ticketing.constants import Role
from ticketing.pages import render
from ticketing.web.context import caller


class Section(NamedTuple):
    """A section in the navigation. Its label is translated where it is shown."""

    name: str
    path: str
    label: str
    needs: Role = Role.READ


GROUPS = {
    "": (
        Section("overview", "/console", "Overview"),
        Section("events", "/console/events", "Events"),
        Section("orders", "/console/orders", "Orders"),
        Section("attendees", "/console/attendees", "Attendees"),
    ),
    "Money": (
        Section("money", "/console/money", "Your money"),
        Section("refunds", "/console/refunds", "Refunds"),
        Section("wallet", "/console/wallet", "Wallet", Role.ADMIN),
    ),
    "Set up": (
        Section("settings", "/console/settings", "Settings", Role.ADMIN),
        Section("people", "/console/people", "People", Role.ADMIN),
    ),
    "For developers": (
        Section("keys", "/console/keys", "API keys", Role.ADMIN),
        Section("webhooks", "/console/webhooks", "Webhooks", Role.ADMIN),
        Section("audit_log", "/console/audit-log", "Audit log", Role.ADMIN),
    ),
}
"""The sections in their groups. The first group has no name."""


def page(template: str, section: str, **values: Any) -> str:
    """Render a template of templates/console, as a page of this section."""
    who = caller()
    groups = [
        (name, [each for each in found if who.role.holds(each.needs)])
        for name, found in GROUPS.items()
    ]
    return render.page(
        template,
        folder="console",
        tenant=who.tenant,
        section=section,
        groups=[(name, found) for name, found in groups if found],
        signed_in_as=g.email,
        may_write=who.role.holds(Role.WRITE),
        may_administer=who.role.holds(Role.ADMIN),
        **values,
    )
