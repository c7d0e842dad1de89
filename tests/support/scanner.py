"""The scanner's page in a browser, and the door of a server that runs in other processes.

def test_something(visit, doors):
    phone = doors.phone(visit)
    phone.check(doors.tickets()[0]["qr"])
    phone.expect("admitted")
"""

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.support.factories import event_body, in_days, ticket_body
from tests.support.remote import RemoteOrganizer
from tools.headless import PHONE

OPEN = 1 / 24
"""In days: the event starts in an hour, so the doors are open."""


class Doors:
    """An event of a remote tenant, its tickets, and the phones at its doors."""

    def __init__(self, remote: RemoteOrganizer, url: str, **event: Any) -> None:
        self.remote, self.url = remote, url
        self.event = self._new_event(**event)
        self.path = f"{remote.path}/events/{self.event['id']}"
        self.ticket = self._new_ticket_type()

    def _new_event(self, **fields: Any) -> Any:
        body = {**event_body(), "start_at": in_days(OPEN), "status": "published", **fields}
        return self._made("POST", f"{self.remote.path}/events", body)

    def _new_ticket_type(self) -> Any:
        free = {"price_amount": 0, "chain_id": None, "capacity": None, "max_per_order": 100}
        body = {**ticket_body(), "name": "Balcony", "status": "published", **free}
        return self._made("POST", f"{self.path}/tickets", body)

    def tickets(self, quantity: int = 1, name: str | None = None) -> list[dict[str, Any]]:
        """Sell tickets. Each has its `id`, `code` and `qr`."""
        buyer = {"buyer": {"name": name, "email": "ada@example.org"}} if name else {}
        intent = self.remote.preflight(self.ticket, quantity=quantity, **buyer).json
        found: list[dict[str, Any]] = self.remote.purchase(intent).json["admissions"]
        return found

    def device(self, **fields: Any) -> Any:
        """Create a device that is not paired yet."""
        return self._made("POST", f"{self.path}/door-devices", {"name": "Phone", **fields})

    def revoke(self, device: Any) -> None:
        self._made("POST", f"{self.path}/door-devices/{device['id']}/revoke")

    def void(self, ticket: dict[str, Any]) -> None:
        path = f"{self.remote.path}/admissions/{ticket['id']}/void"
        self._made("POST", path, {"reason": "mistake", "refund": False})

    def stats(self) -> Any:
        return self._made("GET", self.door("stats"))

    def door(self, call: str) -> str:
        """Return the path of a call of the door's surface."""
        slug = self.remote.path.rsplit("/", 1)[1]
        return f"/v1/door/tenants/{slug}/events/{self.event['id']}/{call}"

    def _made(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.remote.send(method, path, body)
        assert answer.status < 300, answer.json
        return answer.json

    def phone(self, visit: Any, device: Any = None, **options: Any) -> "Phone":
        """Pair a phone through the pairing link, and start to scan."""
        page = visit(self.url, **{**PHONE, **options})
        phone = Phone(page)
        phone.pair(device or self.device())
        phone.start()
        return phone


class Phone:
    """One page with the scanner."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.outcome = page.locator("#outcome")

    def pair(self, device: Any) -> None:
        """Open the pairing link, and confirm."""
        self.page.goto(f"/door/#{device['pairing_code']}")
        self.page.get_by_role("button", name="Pair").click()
        expect(self.row("sync")).to_have_attribute("data-state", "good")

    def start(self) -> None:
        """Start to scan, as soon as the page is stored on the device."""
        expect(self.row("offline")).to_have_attribute("data-state", "good")
        self.page.get_by_role("button", name="Start scanning").click()

    def rest(self) -> None:
        """Go back to the overview."""
        self.page.get_by_role("button", name="Back to the overview").click()

    def row(self, name: str) -> Any:
        """Return a row of the readiness card."""
        return self.page.locator(f"[data-check={name}]")

    def type(self, text: str) -> None:
        """Type a code, as a hand scanner does."""
        # Two equal decisions in a row look the same. This one is of the past.
        self.outcome.evaluate("each => { each.dataset.decision = '' }")
        field = self.page.get_by_label("Ticket code")
        field.fill(text)
        field.press("Enter")

    def check(self, text: str, decision: str) -> None:
        """Type a code, and wait for the decision."""
        self.type(text)
        self.expect(decision)

    def expect(self, decision: str) -> None:
        expect(self.outcome).to_have_attribute("data-decision", decision)

    def expect_sent(self) -> None:
        """Wait until the server has agreed to the scan that is shown."""
        expect(self.outcome).to_contain_text("The server agrees.")

    def expect_state(self, text: str | re.Pattern[str]) -> None:
        expect(self.page.locator("#state")).to_have_text(text)

    def go_offline(self) -> None:
        self.page.context.set_offline(True)

    def go_online(self) -> None:
        self.page.context.set_offline(False)

    def queue(self) -> list[dict[str, Any]]:
        """Return the scans that wait, as they are on the disk."""
        found: list[dict[str, Any]] = self.page.evaluate(READ_QUEUE)
        return found


READ_QUEUE = """new Promise((resolve, reject) => {
    const opening = indexedDB.open("door");
    opening.onerror = reject;
    opening.onsuccess = () => {
        const queue = opening.result.transaction("queue").objectStore("queue").getAll();
        queue.onsuccess = () => {
            opening.result.close();
            resolve(queue.result.map(each => each.scan));
        };
    };
})"""


def forged(qr: str) -> str:
    """Return the text of a QR code with another signature."""
    # Not the last characters: their bits may say no byte.
    place = 120
    return qr[:place] + ("0" if qr[place] != "0" else "1") + qr[place + 1 :]
