"""The scanner as a device: pairing, what is ready, its clock, its end."""

import json
import re

from playwright.sync_api import expect

from tests.support.databases import only_once
from tests.support.remote import eventually
from tests.support.scanner import Phone
from tools.headless import PHONE

pytestmark = only_once

NO_ED25519 = """
const importKey = crypto.subtle?.importKey;
if (importKey) crypto.subtle.importKey = (format, key, name, ...more) => name === "Ed25519"
    ? Promise.reject(new DOMException("", "NotSupportedError"))
    : importKey.call(crypto.subtle, format, key, name, ...more);
"""


def test_a_pairing_code_works_once_and_can_be_typed(visit, doors):
    visit.expect("status of 401")
    device = doors.device()
    code = device["pairing_code"]
    page = visit(doors.url, **PHONE)
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto("/door")
    page.get_by_label("Pairing code").fill(f"{code[:4]} {code[4:8]}-{code[8:]}".upper())
    page.get_by_role("button", name="Pair").click()
    expect(page.get_by_role("heading", name="Launch Night")).to_be_visible()
    page.goto("/door/#other")
    expect(page.get_by_text("This device is paired already.")).to_be_visible()
    assert "other" not in page.url and not [url for url in requests if "other" in url]
    again = visit(doors.url, **PHONE)
    again.goto(f"/door/#{code}")
    again.get_by_role("button", name="Pair").click()
    expect(again.get_by_role("alert").filter(has_text="This code does not work.")).to_be_visible()


def test_the_overview_says_what_is_ready(visit, doors):
    doors.tickets(3)
    phone = Phone(visit(doors.url, **PHONE))
    phone.pair(doors.device(gate="North"))
    for name, text in (
        ("tickets", "3"),
        ("sync", re.compile("now|ago")),
        ("clock", "Right"),
        ("queue", "None"),
        ("offline", "This page works"),
        ("signatures", "Checked"),
    ):
        expect(phone.row(name).locator("dd")).to_have_text(text)
    expect(phone.page.locator("#verdict")).to_have_text("This device is ready")
    expect(phone.page.locator("#stats")).to_contain_text("of 3")


def test_a_wrong_clock_is_said_and_does_no_harm(visit, doors):
    (ticket,) = doors.tickets()
    phone = Phone(visit(doors.url, **PHONE, script=SHIFTED_CLOCK))
    phone.pair(doors.device())
    expect(phone.row("clock")).to_contain_text("120 min fast")
    phone.start()
    phone.check(ticket["qr"], "admitted")
    phone.expect_sent()


SHIFTED_CLOCK = """
const now = Date.now;
Date.now = () => now() + 2 * 3600 * 1000;
"""


def test_without_ed25519_the_list_decides_and_the_page_says_so(visit, doors):
    (ticket,) = doors.tickets()
    phone = Phone(visit(doors.url, **PHONE, script=NO_ED25519))
    phone.pair(doors.device())
    expect(phone.row("signatures")).to_contain_text("This browser cannot check them.")
    phone.start()
    phone.check(ticket["qr"], "admitted")
    phone.expect_sent()


def test_only_one_tab_scans(visit, doors):
    phone = doors.phone(visit)
    other = phone.page.context.new_page()
    other.goto("/door/")
    expect(other.get_by_text("The scanner is open in another tab")).to_be_visible()
    phone.page.close()
    expect(other.get_by_text("This device is ready")).to_be_visible()


def test_signing_out_is_refused_while_scans_wait(visit, doors):
    visit.expect("ERR_INTERNET_DISCONNECTED")
    (ticket,) = doors.tickets()
    phone = doors.phone(visit)
    phone.go_offline()
    phone.check(ticket["qr"], "admitted")
    phone.rest()
    sign_out = phone.page.get_by_role("button", name="Sign out").first
    sign_out.click()
    expect(phone.page.get_by_text("Scans that wait to be sent: 1.")).to_be_visible()
    phone.go_online()
    expect(phone.row("queue").locator("dd")).to_have_text("None")
    sign_out.click()
    phone.page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
    expect(phone.page.get_by_role("heading", name="Pair this device")).to_be_visible()
    assert stored(phone) == {"kept": 0, "admissions": 0, "seen": 0, "queue": 0}


def test_a_revoked_device_wipes_its_data_and_saves_its_queue(visit, doors, tmp_path):
    visit.expect("ERR_INTERNET_DISCONNECTED")
    visit.expect("status of 401")
    tickets = doors.tickets(3, name="Ada")
    device = doors.device(show_names=True)
    phone = doors.phone(visit, device)
    phone.go_offline()
    for ticket in tickets[:2]:
        phone.check(ticket["qr"], "admitted")
        phone.page.locator("#outcome").wait_for()
    eventually(lambda: len(phone.queue()) == 2)
    doors.revoke(device)
    phone.go_online()
    expect(phone.page.get_by_role("heading", name="Scans that were not sent: 2")).to_be_visible()
    assert stored(phone) == {"kept": 1, "admissions": 0, "seen": 0, "queue": 2}
    remove = phone.page.get_by_role("button", name="Remove the scans")
    expect(remove).to_be_disabled()
    phone.page.reload()
    with phone.page.expect_download() as download:
        phone.page.get_by_role("link", name="Save the scans 1 to 2").click()
    download.value.save_as(tmp_path / "scans.json")
    body = json.loads((tmp_path / "scans.json").read_text())
    answer = doors.remote.send("POST", doors.door("scans"), body)
    assert [each["outcome"] for each in answer.json["results"]] == ["admitted", "admitted"]
    remove.click()
    expect(phone.page.get_by_role("heading", name="Pair this device")).to_be_visible()
    assert stored(phone) == {"kept": 0, "admissions": 0, "seen": 0, "queue": 0}


def stored(phone):
    """Return how many rows each store has on the disk."""
    return phone.page.evaluate(COUNT_ROWS)


COUNT_ROWS = """async () => {
    const opening = indexedDB.open("door");
    await new Promise(done => { opening.onsuccess = done; });
    const counts = {};
    for (const name of ["kept", "admissions", "seen", "queue"]) {
        const asked = opening.result.transaction(name).objectStore(name).count();
        await new Promise(done => { asked.onsuccess = done; });
        counts[name] = asked.result;
    }
    opening.result.close();
    return counts;
}"""
