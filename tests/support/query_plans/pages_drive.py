"""What visitors of pages do while the plans of all queries are recorded."""

from typing import Any
from urllib.parse import urlsplit

from werkzeug.test import TestResponse

from tests.support.factories import CHAIN, Api
from tests.support.mails import PUBLIC_URL
from tests.support.query_plans.notifications_drive import NotificationsDrive
from ticketing import credentials, links
from ticketing.models.refunds import RefundAddress
from ticketing.pages import assets, door

FORM = {"idempotency_key": "0" * 32}


class PagesDrive(NotificationsDrive):
    """The part of the drive that goes through pages."""

    node: Any
    ticket: dict[str, Any]

    def open_pages(self) -> None:
        """Look around in a large tenant, and order on pages."""
        for path in ("/", "/big", f"/big/{self.hit.slug}", "/fair", f"/fair/{self.crowded.slug}"):
            assert self._see(path).status_code == 200, path
        self._see(assets.url("pages.css")).close()
        self._see("/_accent/0/1f5eff.css")
        for path in ("/door", "/door/", "/door/sw.js", "/door/manifest.webmanifest"):
            assert self._see(path).status_code in (200, 308), path
        self._see(door.url("app.js")).close()
        anybody = Api(self.app.test_client())
        event = anybody.get(f"{self.acme.public}/events/{self.ticket['event_id']}")
        order = f"/acme/{event.json['slug']}/order"
        made = self._send(order, {"ticket_id": self.ticket["id"]}).headers["Location"]
        intent_id = made.removeprefix(links.ORDER).partition(".")[0]
        keyring = self.app.extensions["ticketing"].keyring
        to_pay = links.payment(intent_id, 0, keyring)
        for page in (made, f"{made}/request.png", f"{made}/payment-link.png", to_pay):
            assert self._see(page).status_code == 200, page
        payer = {"Authorization": f"Bearer {credentials.pay_secret(keyring.current, intent_id, 0)}"}
        due = f"{self.acme.checkout}/intents/{intent_id}/payment"
        assert Api(self.app.test_client(), payer).get(due).status_code == 200
        for form in ("purchase", "demo-payment", "purchase"):
            self._send(f"{made}/{form}", FORM)
        self._send(f"{made}/refund-address", {"address": self.node.rpc("eth_accounts")[2]})
        self._press_buttons(intent_id)
        self.work()
        assert self._see(made).status_code == 200
        again = self._send(f"{made}/again", FORM).headers["Location"]
        self._send(f"{again}/hold", FORM)
        self._send(f"{again}/chain", {"chain_id": str(CHAIN)})
        self._send(f"{again}/cancel", FORM)

    def _press_buttons(self, intent_id: str) -> None:
        """Press the buttons in the mail about where a refund goes."""
        change = RefundAddress.get(RefundAddress.intent == intent_id)
        keyring = self.app.extensions["ticketing"].keyring
        path = links.payee_change(intent_id, change.id, change.confirm_salt, keyring)
        for each in (path, f"{path}/stop"):
            assert self._see(each).status_code == 200
            self._send(each, FORM)

    def _see(self, path: str) -> TestResponse:
        return Api(self.app.test_client(), {"Host": urlsplit(PUBLIC_URL).netloc}).get(path)

    def _send(self, path: str, fields: dict[str, str]) -> TestResponse:
        """Send a form twice, as a double click does."""
        headers = {"Host": urlsplit(PUBLIC_URL).netloc, "Sec-Fetch-Site": "same-origin"}
        for _ in range(2):
            client = self.app.test_client()
            answer = client.post(path, data={**FORM, **fields}, headers=headers)
            assert answer.status_code in (303, 410), (path, answer.text)
        return answer
