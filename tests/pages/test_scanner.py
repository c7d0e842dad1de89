"""The scanner in a browser: codes, refusals, undo, search."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.browser import axe, stop_clock, until
from tests.support.databases import only_once
from tests.support.factories import in_days
from tests.support.scanner import Doors, Phone, forged
from tools.headless import DESKTOP, PHONE

pytestmark = only_once

NARROW = {**PHONE, "viewport": {"width": 320, "height": 568}}
LOOKS = ({**NARROW, "color_scheme": "dark"}, PHONE, {**DESKTOP, "color_scheme": "dark"})
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_a_ticket_is_admitted_once(visit, doors):
    (ticket,) = doors.tickets()
    phone = doors.phone(visit, doors.device(gate="North"))
    phone.check(ticket["qr"], "admitted")
    expect(phone.outcome).to_contain_text("Balcony")
    phone.expect_sent()
    phone.check(ticket["code"].upper(), "twice")
    assert phone.queue() == []
    stats = doors.stats()
    assert stats["inside"] == 1
    assert stats["by_gate"] == [{"gate": "North", "inside": 1}]
    assert [(each["outcome"], each["decided"]) for each in stats["last_scans"]] == [
        ("admitted", "admitted")
    ]


def test_every_refusal_has_its_word_and_is_not_sent(visit, remote, doors):
    good, void = doors.tickets(2)
    doors.void(void)
    (elsewhere,) = Doors(remote, doors.url).tickets()
    phone = doors.phone(visit)
    phone.check(forged(good["qr"]), "forged")
    phone.check(elsewhere["qr"], "wrong_event")
    phone.check(void["qr"], "void")
    phone.check("T1:NOTHING", "not_a_ticket")
    phone.check("0123456789", "unknown")
    phone.check(good["qr"], "admitted")
    phone.expect_sent()
    assert len(doors.stats()["last_scans"]) == 1


def test_before_the_doors_open_nobody_is_admitted_and_nothing_is_sent(visit, remote, stack):
    doors = Doors(remote, stack.url, start_at=in_days(30))
    (ticket,) = doors.tickets()
    phone = doors.phone(visit)
    phone.check(ticket["qr"], "not_open")
    assert phone.queue() == [] and doors.stats()["last_scans"] == []


def test_a_code_that_was_sold_a_moment_ago_is_found(visit, doors):
    phone = doors.phone(visit)
    stop_clock(phone.page)  # the page waits for the server as long as that takes
    (ticket,) = doors.tickets()
    phone.check(ticket["code"], "admitted")


def test_the_server_may_turn_green_to_red(visit, doors):
    (ticket,) = doors.tickets()
    north, south = (doors.phone(visit, doors.device(gate=each)) for each in ("North", "South"))
    visit.expect("ERR_FAILED")
    south.page.route("**/manifest*", lambda route: route.abort())
    with south.page.expect_event("requestfailed"):
        pass
    north.check(ticket["qr"], "admitted")
    north.expect_sent()
    south.check(ticket["qr"], "conflict")
    expect(south.outcome).to_contain_text(re.compile("gate .North"))
    assert [each["reason"] for each in doors.stats()["conflicts"]] == ["already_redeemed"]
    south.page.get_by_role("button", name=re.compile("^Undo")).click()
    south.expect("undone")
    south.expect_sent()
    assert doors.stats()["conflicts"] == [] and doors.stats()["inside"] == 1


def test_the_last_scan_can_be_undone_also_after_a_reload(visit, doors):
    first, second = doors.tickets(2)
    phone = doors.phone(visit)
    for ticket in (first, second):
        phone.check(ticket["qr"], "admitted")
        phone.expect_sent()
    phone.page.reload()
    phone.start()
    undo = phone.page.get_by_role("button", name=re.compile("^Undo"))
    undo.click()
    phone.expect("undone")
    phone.expect_sent()
    expect(undo).to_be_hidden()
    assert doors.stats()["inside"] == 1
    phone.check(second["qr"], "admitted")
    phone.expect_sent()
    assert doors.stats()["inside"] == 2


def test_the_same_code_is_ignored_for_three_seconds(visit, doors):
    (ticket,) = doors.tickets()
    phone = doors.phone(visit)
    stop_clock(phone.page)
    phone.check(ticket["qr"], "admitted")
    for _ in range(3):
        phone.page.clock.run_for(2000)
        phone.type(ticket["qr"])
    phone.expect("")
    phone.page.clock.run_for(3001)
    phone.check(ticket["qr"], "twice")


def test_people_are_found_by_name_where_that_is_allowed(visit, doors):
    doors.tickets(name="Zoë Kravitz")
    doors.tickets(name="Ada Lovelace")
    phone = doors.phone(visit, doors.device(show_names=True))
    phone.page.get_by_role("button", name="Search by name").click()
    phone.page.get_by_label("Name", exact=True).fill("kra ZOE")
    expect(phone.page.locator("#people li")).to_have_count(1)
    phone.page.get_by_role("button", name="Let in Zoë Kravitz").click()
    phone.expect("admitted")
    expect(phone.outcome).to_contain_text("Zoë Kravitz")
    phone.expect_sent()
    nameless = doors.phone(visit)
    expect(nameless.page.get_by_role("button", name="Search by name")).to_be_hidden()
    assert "Kravitz" not in nameless.page.content()


def test_a_hand_scanner_needs_no_focus(visit, doors):
    (ticket,) = doors.tickets()
    phone = doors.phone(visit, **DESKTOP)
    phone.page.get_by_role("button", name="Back to the overview").focus()
    phone.page.keyboard.type(ticket["code"])
    phone.page.keyboard.press("Enter")
    phone.expect("admitted")


@pytest.mark.parametrize("look", LOOKS, ids=["narrow", "phone", "desktop"])
def test_every_state_is_accessible_and_fits_the_screen(visit, doors, look):
    visit.expect("ERR_INTERNET_DISCONNECTED")
    visit.expect("status of 401")
    good, other, void = doors.tickets(3, name="Ada Lovelace")
    doors.void(void)
    device = doors.device(gate="North", show_names=True)
    phone = Phone(visit(doors.url, **look))
    page = phone.page

    def is_good():
        assert axe(page) == [] and page.evaluate(OVERFLOW) <= 0

    page.goto("/door/")
    expect(page.get_by_label("Pairing code")).to_be_visible()
    is_good()
    phone.pair(device)
    until(page, "!document.getElementById('stats').hidden")
    is_good()
    phone.start()
    phone.expect("ready")
    is_good()
    for text, decision in (
        (good["qr"], "admitted"),
        (good["code"], "twice"),
        (void["qr"], "void"),
        ("none", "unknown"),
    ):
        phone.check(text, decision)
        is_good()
    page.get_by_role("button", name="Search by name").click()
    page.get_by_label("Name", exact=True).fill("ada")
    is_good()
    page.get_by_role("button", name="Close").click()
    phone.go_offline()
    phone.check(other["qr"], "admitted")
    phone.expect_state("Offline. 1 to send")
    is_good()
    doors.revoke(device)
    phone.go_online()
    expect(page.get_by_role("heading", name="Scans that were not sent: 1")).to_be_visible()
    is_good()
