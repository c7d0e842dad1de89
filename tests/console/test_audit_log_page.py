"""The console's page of the audit log."""

import ast

from tests.support.admissions import invite
from ticketing.constants import DEFAULT_PAGE
from ticketing.pages.console.audit_words import ACTIONS, COMMANDS
from tools.stack import ROOT

LOG = "/console/audit-log"


def test_changes_are_shown_field_by_field(acme, console, admin):
    event = acme.event()
    ticket = acme.ticket(event)
    path = f"{acme.path}/events/{event['id']}"
    admin.patch(f"{path}/tickets/{ticket['id']}", {"price_amount": 12_500_000})
    admin.patch(path, {"title": "Night <b>", "venue": None, "type": "hybrid"})
    page = console.get(LOG).text
    for said in (
        "Event changed",
        "Event created",
        "Ticket type changed",
        "admin",
        "<del><bdi>Launch Night</bdi></del>",
        "<ins><bdi>Night &lt;b&gt;</bdi></ins>",
        "5.00 USDC",
        "12.50 USDC",
        f'href="/console/events/{event["id"]}"',
        "empty",
    ):
        assert said in page, said


def test_names_are_shown_until_they_are_erased(acme, console):
    ticket = acme.ticket()
    guest = invite(acme, ticket, {"name": "Grace Hopper"}).json["admissions"][0]["id"]
    assert "Grace Hopper" in console.get(LOG).text
    console.send(f"/console/attendees/{guest}/erase")
    page = console.get(LOG).text
    assert "Grace Hopper" not in page and "Holder erased" in page


def test_the_log_is_filtered_by_who_and_what(acme, console):
    console.send("/console/settings", {"name": "Acme Live"})
    event = acme.event()
    entries = acme.api().get(f"{acme.path}/audit-log").json["data"]
    member = next(each["actor"] for each in entries if each["actor"].startswith("mem_"))
    for query, has_event, has_settings in (
        ("", True, True),
        (f"subject={event['id']}", True, False),
        (f"actor={member}", False, True),
        ("actor=cli", False, False),
        ("actor=%00&subject=", True, True),
    ):
        page = console.get(f"{LOG}?{query}").text
        assert ("Event created" in page) is has_event, query
        assert ("Settings changed" in page) is has_settings, query
    assert f'<a href="{LOG}?actor={member}"><bdi>{console.email}</bdi>' in console.get(LOG).text


def test_the_next_page_keeps_the_filters(acme, console, admin):
    event = acme.event()
    for number in range(DEFAULT_PAGE + 1):
        admin.patch(f"{acme.path}/events/{event['id']}", {"title": f"Night {number}."})
    acme.event(title="Another")
    first = console.get(f"{LOG}?subject={event['id']}").text
    (link,) = [part.split('"')[0] for part in first.split('href="')[1:] if "cursor=" in part]
    second = console.get(link.replace("&amp;", "&")).text
    assert "Night 25." in first and "Night 0." in second and "Another" not in first + second
    assert console.get(f"{LOG}?cursor=none").status_code == 422


def test_the_log_is_for_administrators_of_their_tenant(neighbour, console, writer):
    theirs = neighbour.event()["id"]
    assert writer.get(LOG).status_code == 403
    assert theirs not in console.get(LOG).text
    assert theirs not in console.get(f"{LOG}?subject={theirs}").text.rpartition("</form>")[2]


def test_every_change_over_the_api_has_words(api):
    paths = api.get("/openapi.json").json["paths"]
    changes = {
        operation["operationId"]
        for path, item in paths.items()
        for method, operation in item.items()
        if path.startswith("/v1/admin/") and method in ("post", "put", "patch", "delete")
    }
    # A preview changes nothing. Pages that make a change name the operation that makes the same.
    changes -= {"messages_preview_message"}
    by_oneself = {"tokens_accept_invitation", "passwords_reset", "passwords_change"}
    by_oneself |= {"sessions_begin", "second_factors_codes_made"}
    by_oneself |= {"connected_apps_connect", "connected_apps_end", "client_networks_cancel"}
    for what in ("app", "passkey"):
        by_oneself |= {f"second_factors_{what}_added", f"second_factors_{what}_removed"}
    assert set(ACTIONS) == changes | by_oneself


def test_every_change_of_the_command_line_has_words():
    recorded = set()
    for path in (ROOT / "ticketing" / "cli").glob("*.py"):
        tree = ast.parse(path.read_text())
        (group,) = [
            node.value.args[0].value
            for node in tree.body
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "group"
        ] or [""]
        for function in (each for each in tree.body if isinstance(each, ast.FunctionDef)):
            commands = [each.args[0].value for each in function.decorator_list if _names(each)]
            if commands and "record_change(" in ast.unparse(function):
                recorded.add(f"{group} {commands[0]}")
    assert set(COMMANDS) == recorded


def _names(decorator):
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "group.command"
