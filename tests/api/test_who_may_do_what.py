"""Who may do what, from the guards of all surfaces, against a table written by hand.

That the guards decide so is tested with real requests: in test_credentials_every_endpoint.py, and
in test_limited_members.py for members who are limited to events.
"""

from typing import Any

import pytest

from ticketing.blueprints.mcp import TOOLS
from ticketing.pages.console.blueprint import SignedIn
from ticketing.roles import LADDER, Role
from ticketing.web import auth, secret_guards

pytestmark = pytest.mark.one_database

READERS = "read paywall write admin finance"
SELLERS = "paywall write admin"
EDITORS = "write admin"
SCANNERS = "write admin door"
ADMINS = "admin"
MONEY = "admin finance"
EDITORS_AND_MONEY = "write admin finance"  # finance: only to end the links of an order
ALL = "read paywall write admin finance door"

API = {
    "admissions": (READERS, EDITORS),
    "api_keys": (ADMINS, ADMINS),
    "audit_log": (ADMINS, ADMINS),
    "collections": (MONEY, MONEY),
    "deposits": (READERS, ADMINS),
    "door_devices": (READERS, EDITORS),
    "erasure": (ADMINS, ADMINS),
    "events": (READERS, EDITORS),
    "crowds": (READERS, EDITORS),
    "exports": (READERS, EDITORS),
    "images": (READERS, EDITORS),
    "intents": (READERS, EDITORS_AND_MONEY),
    "members": (ADMINS, ADMINS),
    "messages": (READERS, EDITORS),
    "money": (READERS, MONEY),
    "notifications": (READERS, ADMINS),
    "passed_ids": (ADMINS, ADMINS),
    "payouts": (MONEY, MONEY),
    "questions": (READERS, EDITORS),
    "reconciliation": (MONEY, MONEY),
    "refunds": (READERS, MONEY),
    "sales": (READERS, EDITORS),
    "series": (READERS, EDITORS),
    "tenants": (ADMINS, ADMINS),
    "ticket_types": (READERS, EDITORS),
    "vouchers": (READERS, EDITORS),
    "waiting_list": (READERS, EDITORS),
    "waiting_room": (READERS, ""),
    "wallets": (ADMINS, ADMINS),
    "webhooks": (ADMINS, ADMINS),
    # With a credential. Those who hold the secret need none.
    "checkout": (SELLERS, SELLERS),
    "gasless": (SELLERS, SELLERS),
    "holders": (SELLERS, SELLERS),
    "waiting": (SELLERS, SELLERS),
    "x402": (SELLERS, SELLERS),
    "door": (SCANNERS, SCANNERS),
}
"""The surfaces of the API: which roles may read, and which may write."""

CONSOLE = {
    "account": (ALL, ALL),
    "session": (ALL, ALL),
    "connect": (ALL, ALL),
    "connected_apps": (ALL, ALL),
    "overview": (ALL, ALL),  # it leads to the first page of each role
    "attendees": (READERS, EDITORS),
    "attendee_erasure": (ADMINS, ADMINS),
    "audit_log": (ADMINS, ADMINS),
    "chosen_attendees": (EDITORS, EDITORS),
    "client_networks": (READERS, EDITORS),
    "copies": (EDITORS, EDITORS),
    "deposits": (READERS, ADMINS),
    "door": (EDITORS, EDITORS),
    "event_forms": (EDITORS, EDITORS),
    "events": (READERS, EDITORS),
    "exports": (READERS, READERS),
    "guests": (EDITORS, EDITORS),
    "images": (EDITORS, EDITORS),
    "keys": (ADMINS, ADMINS),
    "logo": (ADMINS, ADMINS),
    "messages": (READERS, EDITORS),
    "money": (READERS, MONEY),
    "money_moving": (MONEY, MONEY),
    "order_erasure": (ADMINS, ADMINS),
    "orders": (READERS, EDITORS_AND_MONEY),
    "passed_ids": (ADMINS, ADMINS),
    "people": (ADMINS, ADMINS),
    "publishing": (EDITORS, EDITORS),
    "question_forms": (EDITORS, EDITORS),
    "questions": (READERS, EDITORS),
    "refunds": (READERS, MONEY),
    "scanner": (SCANNERS, SCANNERS),
    "search": (READERS, READERS),
    "second_factors": (ALL, ALL),
    "settings": (ADMINS, ADMINS),
    "ticket_type_forms": (EDITORS, EDITORS),
    "ticket_types": (READERS, EDITORS),
    "voucher_forms": (EDITORS, EDITORS),
    "vouchers": (READERS, EDITORS),
    "waiting_list": (READERS, EDITORS),
    "waiting_room": (EDITORS, EDITORS),
    "crowds": (EDITORS, EDITORS),
    "wallet": (ADMINS, ADMINS),
    "webhooks": (ADMINS, ADMINS),
}
"""The sections of the console."""

AGENTS = {
    "sales": READERS,
    "list_attendees": READERS,
    "owed_refunds": READERS,
    "check_in": SCANNERS,
}
"""The tools of MCP that need a role."""

EVENT_IN_PATH = {
    *(
        "admissions",
        "deposits",
        "door",
        "door_devices",
        "events",
        "exports",
        "images",
        "intents",
        "messages",
    ),
    *("questions", "refunds", "sales", "ticket_types", "vouchers", "waiting_list"),
    *("crowds", "waiting_room"),
}
CONSOLE_EVENT_IN_PATH = {
    *(
        "attendees",
        "client_networks",
        "deposits",
        "door",
        "event_forms",
        "events",
        "exports",
        "guests",
        "images",
        "messages",
    ),
    *("orders", "publishing", "question_forms", "questions", "refunds", "scanner", "search"),
    *("ticket_type_forms", "ticket_types", "voucher_forms", "vouchers", "waiting_list"),
    *("crowds", "waiting_room"),
}
"""The surfaces that members use who are limited to events, if the path is of one of theirs."""

LEAVE_OUT_OTHERS = {
    "admissions.list_admissions",
    "events.list_events",
    "intents.list_intents",
    "refunds.list_refunds",
    "sales.read_sales",
    "console_attendees.list_attendees",
    "console_events.list_events",
    "console_orders.list_orders",
    "console_refunds.list_refunds",
    "console_scanner.show_events",
    "console_search.search",
    "console_account",
    "console_chosen_attendees",
    "console_connect",
    "console_connected_apps",
    "console_overview",
    "console_second_factors",
    "console_session",
}
"""Views, and whole surfaces, that they use without an event in the path."""


def roles(needed: Any) -> str:
    """Return the names of the roles that hold one of the needed ones."""
    return " ".join(role for role in Role if role.holds(*needed))


def written(*names: str) -> tuple[str, ...]:
    return tuple(" ".join(role for role in Role if role in each.split()) for each in names)


def of_guard(guard: Any) -> tuple[str, str] | None:
    """Return which roles a guard lets read and write. None: it asks for no role."""
    if isinstance(guard, auth.TenantRole | SignedIn):
        return roles(guard.reads), roles(guard.writes)
    if isinstance(guard, secret_guards.Door):
        return roles({Role.WRITE, Role.DOOR}), roles({Role.WRITE, Role.DOOR})
    if isinstance(guard, secret_guards.Buyer | secret_guards.Shopper | secret_guards.Holder):
        return roles({Role.PAYWALL}), roles({Role.PAYWALL})
    return None


def test_each_surface_lets_in_the_roles_of_the_table(app):
    found = {name: of_guard(surface.guard) for name, surface in app.blueprints.items()}
    console = {f"pages_console_{name}": written(*both) for name, both in CONSOLE.items()}
    expected = {name: written(*both) for name, both in API.items()} | console
    assert {name: both for name, both in found.items() if both is not None} == expected


def test_each_tool_of_agents_lets_in_the_roles_of_the_table():
    found = {tool.name: roles(tool.roles) for tool in TOOLS if tool.roles is not None}
    assert found == {name: written(both)[0] for name, both in AGENTS.items()}


def test_limited_members_use_what_the_table_says(app):
    by_path, leave_out = set(), set()
    for name, surface in app.blueprints.items():
        short = name.removeprefix("pages_")
        scope = getattr(surface.guard, "scope", None)
        if isinstance(surface.guard, secret_guards.Door):
            by_path.add(name)
        elif scope is not None and scope.every_view:
            leave_out.add(short)
        elif scope is not None:
            leave_out |= {f"{short}.{view}" for view in scope.filtered}
            if scope.by_path:
                by_path.add(short)
    console = {f"console_{name}" for name in CONSOLE_EVENT_IN_PATH}
    assert by_path == EVENT_IN_PATH | console
    assert leave_out == LEAVE_OUT_OTHERS


def test_the_roles_beside_the_ladder_are_for_members_only(acme, admin):
    for role in Role:
        made = admin.post(f"{acme.path}/apikeys", {"name": "x", "role": role.value})
        assert made.status_code == (201 if role in LADDER else 422), role
        invited = {"email": f"{role}@example.org", "role": role.value}
        assert admin.post(f"{acme.path}/members", invited).status_code == 201
