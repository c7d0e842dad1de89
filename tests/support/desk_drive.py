"""What members do in the console after a sale, while the plans of all queries are recorded."""

import itertools
import re
from html import unescape
from typing import Any
from urllib.parse import urlencode

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.admissions import FREE, admissions_of, given
from tests.support.console import PASSWORD, SAME_ORIGIN, hidden_fields
from tests.support.factories import PRICE, Buyer, cli
from tests.support.mails import ADA, PUBLIC_URL
from tests.support.notifications_drive import NOBODY
from tests.support.people_drive import PeopleDrive
from tests.support.webhook_endpoints import Webhook
from ticketing.constants import (
    AdmissionStatus,
    Flag,
    IntentStatus,
    KeyStatus,
    RefundStatus,
)
from ticketing.models.api_keys import ApiKey
from ticketing.models.door import DoorDevice
from ticketing.models.members import Member
from ticketing.models.notifications import Notification, WebhookEndpoint
from tools import anvil

_NEXT = re.compile(r'href="([^"]*cursor=[^"]*)"')


class DeskDrive(PeopleDrive):
    """The part of the drive that goes through the console's pages about sold tickets."""

    webhook: Webhook
    key: ApiKey
    _browser: FlaskClient

    def sit_at_the_desk(self) -> None:
        """Look at every list of a large tenant, then do everything in a small one."""
        self._browser = self._sign_in("big")
        self._look_at_lists()
        self._browser = self._sign_in("acme")
        self._look_at_an_order()
        self._give_tickets()
        self._settle()
        self._manage_access()
        self._manage_webhooks()

    def _look_at_lists(self) -> None:
        event = self.hit.id
        anything: dict[str, tuple[Any, ...]] = {"event_id": (event,)}
        for path, filters in (
            ("orders", {**anything, "status": IntentStatus, "flag": Flag}),
            (
                "attendees",
                {**anything, "status": AdmissionStatus, "used": ("yes", "no"), "q": ("night",)},
            ),
            ("refunds", {"status": RefundStatus}),
            ("people", {}),
            ("keys", {"status": KeyStatus}),
            ("webhooks", {}),
            (f"webhooks/{self.webhook.id}", {}),
            ("audit-log", {"actor": ("cli",), "subject": (self.key.id,)}),
            (f"events/{event}/door", {}),
            (f"events/{event}/door/counts", {}),
            (f"events/{event}/guests", {}),
        ):
            for values in itertools.product(*((None, *choices) for choices in filters.values())):
                asked = dict(zip(filters, values, strict=True))
                self._desk_pages(
                    f"{path}?{urlencode({k: v for k, v in asked.items() if v is not None})}"
                )
        for name in ("attendees", "orders", "payments"):
            self._open(f"events/{event}/{name}.csv").close()

    def _desk_pages(self, path: str) -> None:
        for link in _NEXT.findall(self._open(path).text):
            self._open(unescape(link).removeprefix("/console/"))

    def _look_at_an_order(self) -> None:
        buyer = given(self.acme, self.acme.ticket(**FREE), quantity=2, buyer=ADA)
        first, second = admissions_of(buyer)
        on_chain = (anvil.TOKEN_ADDRESS, "0x" + "ab" * 32)
        for text in (ADA["email"], buyer.intent["id"], first.id, *on_chain):
            self._open(f"orders?{urlencode({'q': text})}")
        self._open(f"orders/{buyer.intent['id']}")
        self._open(f"attendees/{first.id}")
        self._press(f"attendees/{first.id}/reissue", {"email": "new@example.org"})
        self._press(f"attendees/{first.id}/reissue", {})
        self._press(f"attendees/{second.id}/void", {"reason": "Asked for.", "refund": "on"})
        self._press(f"attendees/{first.id}/erase", {})
        self._press(f"orders/{buyer.intent['id']}/erase", {})

    def _give_tickets(self) -> None:
        ticket = self.acme.ticket()
        here = f"events/{ticket['event_id']}"
        self._press(f"{here}/guests", {"ticket_id": ticket["id"], "guests": "Grace\nAda"})
        self._press(f"{here}/door/devices", {"name": "Phone", "gate": "", "show_names": ""})
        device = DoorDevice.get(DoorDevice.event == ticket["event_id"]).id
        self._press(f"{here}/door/devices/{device}/revoke", {})

    def _settle(self) -> None:
        buyer: Buyer = self.acme.buyer(self.ticket)
        buyer.pay(self.node, PRICE + 9)
        self.work()
        path = f"refunds/{buyer.intent['id']}"
        self._open(path)
        anvil.mint(self.node.rpc, anvil.TOKEN_ADDRESS, self.node.rpc("eth_accounts")[5], 7)
        sent = anvil.transfer(self.node.rpc, anvil.TOKEN_ADDRESS, anvil.BUYER, 7, sender=5)
        self._press(f"{path}/settle", {"tx_hash": sent["transactionHash"]})
        self._press(f"{path}/waive", {"amount": "2", "reason": "Less than the fee."})

    def _manage_access(self) -> None:
        self._press("keys", {"name": "k", "role": "read", "ttl_seconds": "86400"})
        key = ApiKey.select().order_by(ApiKey.id.desc()).first().id
        self._open(f"keys/{key}")
        self._press(f"keys/{key}/rotate", {"overlap_seconds": "0"})
        self._press(f"keys/{key}/revoke", {})
        self._press("people", {"email": "carol@example.org", "role": "read"})
        member = Member.get(Member.email == "carol@example.org").id
        self._open(f"people/{member}")
        self._press(f"people/{member}/role", {"role": "write"})
        self._press(f"people/{member}/invite", {})
        self._press(f"people/{member}/disable", {})

    def _manage_webhooks(self) -> None:
        self._press("webhooks", {"url": NOBODY, "types": "*"})
        here = f"webhooks/{WebhookEndpoint.select().order_by(WebhookEndpoint.id.desc()).first().id}"
        notification = Notification.select().order_by(Notification.position.desc()).first().id
        for action, form in (
            ("change", {"url": f"{NOBODY}2", "types": "refund.due"}),
            ("rotate", {"overlap_seconds": "0"}),
            ("test", {}),
            ("resend", {"ids": notification}),
            ("resend", {"since": "2020-01-01T00:00"}),
            ("enable", {}),
        ):
            self._press(f"{here}/{action}", form)
        self._open(here)
        # Only once: then it is gone.
        assert self._press_once(f"{here}/delete", {}).status_code == 303

    def _sign_in(self, slug: str) -> FlaskClient:
        email = "desk@example.org"
        arguments = ("members", "add", slug, email, "--role", "admin", "--password-stdin")
        cli(self.app, *arguments, stdin=PASSWORD)
        browser = self.app.test_client()
        form = {"tenant": slug, "email": email, "password": PASSWORD}
        path = "/console/sign-in"
        answer = browser.post(path, data=form, headers=SAME_ORIGIN, base_url=PUBLIC_URL)
        assert answer.status_code == 303, answer.text
        return browser

    def _open(self, path: str) -> TestResponse:
        answer = self._browser.get(f"/console/{path}", base_url=PUBLIC_URL)
        assert answer.status_code == 200, (path, answer.text)
        return answer

    def _press(self, path: str, fields: dict[str, str]) -> TestResponse:
        """Send a form twice, as a double click does."""
        for _ in range(2):
            answer = self._press_once(path, fields)
            assert answer.status_code in (200, 303), (path, answer.text)
        return answer

    def _press_once(self, path: str, fields: dict[str, str]) -> TestResponse:
        hidden = hidden_fields(self._open("account").text)
        form = {"csrf_token": hidden["csrf_token"], "idempotency_key": "0" * 32, **fields}
        return self._browser.post(
            f"/console/{path}", data=form, headers=SAME_ORIGIN, base_url=PUBLIC_URL
        )
