"""The scanner without a network, and when the server dies: every scan counts once."""

import pytest
from playwright.sync_api import expect

from tests.support.databases import only_once
from tests.support.remote import eventually
from tests.support.scanner import forged
from ticketing.pages import door as page

pytestmark = [
    pytest.mark.long,
    only_once,
]

SCANS = 50
DAY = 24 * 60 * 60
LOST = ("ERR_INTERNET_DISCONNECTED", "ERR_CONNECTION", "ERR_FAILED", "ERR_EMPTY_RESPONSE")

NEW_VERSION = """async ([cache, path]) => {
    // As if the device had the code of a version before this one.
    const old = await caches.open("door-0");
    const text = (await (await caches.match(path)).text()).replace("<title>", "<title>Old ");
    await old.put(path, new Response(text, {headers: {"Content-Type": "text/html"}}));
    return caches.keys();
}"""

NO_ED25519 = """
    const importKey = crypto.subtle.importKey.bind(crypto.subtle);
    crypto.subtle.importKey = async (format, key, algorithm, ...rest) => {
        if (algorithm === "Ed25519") throw new DOMException("unknown", "NotSupportedError");
        return importKey(format, key, algorithm, ...rest);
    };
"""


@pytest.fixture
def visit(visit):
    """Each test loses its connection."""
    yield visit
    visit.close()
    visit.findings[:] = [each for each in visit.findings if not any(lost in each for lost in LOST)]


def scan_all(phone, tickets):
    for number, ticket in enumerate(tickets, 1):
        phone.type(ticket["qr"])
        eventually(lambda number=number: len(phone.queue()) == number)


def test_it_starts_and_scans_without_a_network_and_sends_everything_once(visit, doors):
    tickets = doors.tickets(SCANS)
    phone = doors.phone(visit)
    phone.go_offline()
    phone.page.reload()
    expect(phone.row("sync")).to_contain_text("Offline now")
    phone.start()
    scan_all(phone, tickets[: SCANS // 2])
    phone.page.reload()
    phone.start()
    phone.expect_state(f"Offline. {SCANS // 2} to send")
    phone.check(tickets[0]["code"], "twice")
    for number, ticket in enumerate(tickets[SCANS // 2 :], SCANS // 2 + 1):
        phone.type(ticket["qr"])
        eventually(lambda number=number: len(phone.queue()) == number)
    phone.go_online()
    phone.expect_state("Online")
    assert phone.queue() == []
    stats = doors.stats()
    assert (stats["inside"], stats["conflicts"]) == (SCANS, [])
    expect(phone.page.locator("[data-show=counts]")).to_have_text(f"{SCANS} of {SCANS} inside")


def test_a_browser_without_ed25519_admits_only_qr_codes_of_the_manifest(visit, doors):
    one, other = doors.tickets(2)
    phone = doors.phone(visit)
    phone.page.add_init_script(NO_ED25519)
    phone.page.reload()
    expect(phone.row("signatures")).to_contain_text("cannot check")
    phone.start()
    phone.expect_state("Online")
    phone.go_offline()
    phone.check(forged(one["qr"]), "forged")
    phone.check(one["qr"], "admitted")
    phone.check(other["code"], "admitted")
    phone.go_online()
    phone.expect_state("Online")
    stats = doors.stats()
    assert (stats["inside"], stats["conflicts"]) == (2, [])


def test_two_phones_without_a_network_admit_a_copy_once_each(visit, doors):
    (ticket,) = doors.tickets()
    north, south = (doors.phone(visit, doors.device(gate=each)) for each in ("North", "South"))
    for phone in (north, south):
        phone.go_offline()
        phone.check(ticket["qr"], "admitted")
        phone.expect_state("Offline. 1 to send")
        phone.check(ticket["code"], "twice")
    north.go_online()
    north.expect_state("Online")
    south.go_online()
    south.expect_state("Online")
    expect(south.page.locator("#trouble")).to_contain_text("Conflicts")
    (conflict,) = doors.stats()["conflicts"]
    assert (conflict["gate"], conflict["first_gate"]) == ("South", "North")
    assert doors.stats()["inside"] == 1
    for phone in (north, south):
        phone.rest()
        expect(phone.page.locator("#conflicts li")).to_have_count(1)


def test_a_server_that_dies_in_the_middle_of_a_drain_counts_each_scan_once(visit, doors, stack):
    tickets = doors.tickets(SCANS)
    phone = doors.phone(visit)
    phone.go_offline()
    scan_all(phone, tickets)
    waiting = phone.queue()
    answers = []

    def carry_out_and_die(route):
        answers.append(route.fetch().status)
        stack.kill("web")
        route.abort()

    phone.page.route("**/scans", carry_out_and_die, times=1)
    phone.go_online()
    eventually(lambda: phone.page.evaluate("1") and answers == [200])
    phone.expect_state(f"Offline. {SCANS} to send")
    assert phone.queue() == waiting
    stack.start_web()
    phone.expect_state("Online")
    assert phone.queue() == []
    stats = doors.stats()
    assert (stats["inside"], stats["conflicts"]) == (SCANS, [])
    assert {each["nonce"] for each in stats["last_scans"]} <= {each["nonce"] for each in waiting}


def test_what_was_sold_after_the_last_sync_is_admitted_by_its_signature(visit, doors):
    phone = doors.phone(visit)
    phone.page.route("**/manifest*", lambda route: route.abort())
    with phone.page.expect_event("requestfailed"):
        pass  # so no sync is under way
    phone.go_offline()
    phone.page.unroute_all()
    (ticket,) = doors.tickets()
    phone.check(ticket["qr"], "new")
    phone.check(ticket["code"], "unknown")
    phone.go_online()
    phone.rest()
    expect(phone.row("tickets").locator("dd")).to_have_text("1")
    phone.start()
    phone.expect_state("Online")
    phone.check(ticket["code"].upper(), "twice")


def test_after_a_day_without_a_sync_it_admits_nobody(visit, doors):
    (ticket,) = doors.tickets()
    phone = doors.phone(visit, doors.device(expires_at="2099-01-01T00:00:00Z"))
    phone.page.clock.install()
    phone.go_offline()
    phone.page.clock.run_for(6000)
    phone.page.clock.set_system_time(phone.page.evaluate("Date.now()") / 1000 + DAY)
    phone.check(ticket["qr"], "not_synced")
    assert phone.queue() == []
    phone.rest()
    expect(phone.page.locator("#verdict")).to_have_text("This device is not ready")


def test_new_code_starts_only_when_nothing_waits(visit, doors):
    (ticket,) = doors.tickets()
    phone = doors.phone(visit)
    own = f"door-{page.VERSION}-en"
    assert set(phone.page.evaluate(NEW_VERSION, [own, page.PATH])) == {own, "door-0"}
    phone.go_offline()
    phone.check(ticket["qr"], "admitted")
    phone.page.reload()
    expect(phone.page).to_have_title("Old Ticket scanner")
    phone.go_online()
    expect(phone.row("queue").locator("dd")).to_have_text("None")
    phone.page.reload()
    expect(phone.page).to_have_title("Ticket scanner")
    assert phone.page.evaluate("caches.keys()") == [own]
