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


SECTIONS = (
    Section("overview", "/console", "Overview"),
    Section("events", "/console/events", "Events"),
    Section("orders", "/console/orders", "Orders"),
    Section("attendees", "/console/attendees", "Attendees"),
    Section("money", "/console/money", "Your money"),
    Section("refunds", "/console/refunds", "Refunds"),
    Section("wallet", "/console/wallet", "Wallet", Role.ADMIN),
    Section("webhooks", "/console/webhooks", "Webhooks", Role.ADMIN),
    Section("keys", "/console/keys", "API keys", Role.ADMIN),
    Section("people", "/console/people", "People", Role.ADMIN),
    Section("audit_log", "/console/audit-log", "Audit log", Role.ADMIN),
    Section("settings", "/console/settings", "Settings", Role.ADMIN),
)


def page(template: str, section: str, **values: Any) -> str:
    """Render a template of templates/console, as a page of this section."""
    who = caller()
    return render.page(
        template,
        folder="console",
        tenant=who.tenant,
        section=section,
        sections=[each for each in SECTIONS if who.role.holds(each.needs)],
        signed_in_as=g.email,
        may_write=who.role.holds(Role.WRITE),
        may_administer=who.role.holds(Role.ADMIN),
        **values,
    )
