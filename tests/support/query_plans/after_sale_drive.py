"""What members do in the console after a sale, while the plans of all queries are recorded."""

import itertools
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.support.admissions import FREE, admissions_of, given
from tests.support.authenticator import Authenticator
from tests.support.console import PASSWORD, SAME_ORIGIN
from tests.support.factories import PRICE, Buyer
from tests.support.mails import ADA, PUBLIC_URL
from tests.support.query_plans.catalog_drive import CatalogDrive, MemberBrowser
from tests.support.query_plans.notifications_drive import NOBODY
from tests.support.refunds import FRIEND_ADDRESS
from tests.support.second_factors import App, first_step_of, secret_of
from tests.support.webhook_endpoints import Webhook
from ticketing.constants import AdmissionStatus, Flag, IntentStatus, RefundStatus
from ticketing.models.api_keys import ApiKey
from ticketing.models.door import DoorDevice
from ticketing.models.events import Event
from ticketing.models.members import Member, Session
from ticketing.models.notifications import Notification, WebhookEndpoint
from ticketing.models.second_factors import Passkey
from ticketing.roles import KeyStatus
from tools import anvil


class AfterSaleDrive(CatalogDrive):
    """The part of the drive that goes through the console's pages about sold tickets."""

    webhook: Webhook
    key: ApiKey
    inside: str
    stolen: str

    def sit_at_the_desk(self) -> None:
        """Look at every list of a large tenant, then do everything in a small one."""
        self._member = MemberBrowser(self.app, "big", "desk@example.org")
        self._look_at_lists()
        self._member = MemberBrowser(self.app, "acme", "desk@example.org")
        self._look_at_an_order()
        self._give_tickets()
        self._settle()
        self._manage_access()
        self._manage_webhooks()
        self._sign_in_and_out()

    def _look_at_lists(self) -> None:
        event = self.hit.id
        anything: dict[str, tuple[Any, ...]] = {"event_id": (event,)}
        for path, filters in (
            ("orders", {**anything, "status": IntentStatus, "flag": Flag}),
            (
                "attendees",
                {**anything, "status": AdmissionStatus, "used": ("yes", "no"), "q": ("night",)},
            ),
            ("refunds", {"status": RefundStatus, "min": ("0.000001",), "sort": ("-amount",)}),
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
                chosen = {k: v for k, v in asked.items() if v is not None}
                self._member.page_through(f"/console/{path}?{urlencode(chosen)}")
        for query in ({}, {"most": "0.000001"}, {"most": "0.000001", "chain_id": "31337"}):
            self._open(f"refunds/waive?{urlencode(query)}")
        for name in ("attendees", "orders", "items", "payments"):
            self._open(f"events/{event}/{name}.csv")
        for name in ("money", "money/move", "money/pay-back"):
            self._open(name)
        self._press(f"attendees/{self.inside}/undo", {})
        stolen = f"events/{event}/door/devices/{self.stolen}"
        self._press(f"{stolen}/revoke", {"undo_since": "2020-01-01T00:00"})

    def _look_at_an_order(self) -> None:
        buyer = given(self.acme, self.acme.ticket(**FREE), quantity=2, buyer=ADA)
        first, second = admissions_of(buyer)
        on_chain = (anvil.TOKEN_ADDRESS, "0x" + "ab" * 32)
        for text in (ADA["email"], buyer.intent["id"], first.id, *on_chain):
            self._open(f"orders?{urlencode({'q': text})}")
            self.acme.api().get(f"{self.acme.path}/intents?{urlencode({'q': text})}")
        self._open(f"orders/{buyer.intent['id']}")
        self._open(f"attendees/{first.id}")
        self._press(f"attendees/{first.id}/reissue", {"email": "new@example.org"})
        self._press(f"attendees/{first.id}/reissue", {})
        self._press(f"attendees/{second.id}/void", {"reason": "Asked for.", "refund": "on"})
        self._press(f"attendees/{first.id}/erase", {})
        self._press(f"orders/{buyer.intent['id']}/erase", {})

    def _give_tickets(self) -> None:
        ticket = self.acme.ticket(chain_ids=[31337, 8453])
        self.acme.buyer(ticket, chain_id=31337).cancel()
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
        self._press(f"{path}/by-hand", {"by_hand": ""})
        told = {"address": FRIEND_ADDRESS, "reason": "The buyer called."}
        self._press(f"{path}/payee", told)
        self._press(f"{path}/waive", {"amount": "2", "reason": "Less than the fee."})
        self._press("refunds/waive", {"max_amount": "0.000001", "reason": "Less than the fee."})

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
        self._member.press_once(f"/console/{here}/delete", {})

    def _sign_in_and_out(self) -> None:
        asked = {"email": "dora@example.org", "role": "read"}
        invited = self.key_of("acme").post(f"{self.acme.path}/members", asked).json
        browser = self.app.test_client()
        here = {"headers": SAME_ORIGIN, "base_url": PUBLIC_URL}
        assert browser.get("/console/sign-in", **here).status_code == 200
        link = urlsplit(invited["invitation_url"]).path
        assert browser.get(link, **here).status_code == 200
        accepted = browser.post(link, data={"password": PASSWORD}, **here)
        assert accepted.status_code == 303
        session = Session.get(Session.member == invited["id"]).id
        self._set_up_second_factors()
        self._open("scanner")
        event = Event.select().where(Event.tenant == self.acme.id, Event.status == "published")
        self._member.send(f"/console/scanner/{event.first().id}", {})
        self._press("settings", {"name": "Acme Nights"})
        self._open("settings")
        self._press(f"account/sessions/{session}/end", {})
        self._member.press_once("/console/sign-out", {})

    def _set_up_second_factors(self) -> None:
        """Set an app up, sign in with it, and remove it. What needs a browser is refused."""
        here, password = "account/second-factor", {"password": PASSWORD}
        self._open(here)
        app = App(secret_of(self._member.send(f"/console/{here}/app", password)), [])
        self._press(f"{here}/app/confirm", {"code": app.code()})
        self._press(f"{here}/codes", password)
        authenticator = Authenticator(PUBLIC_URL)
        made = authenticator.make(self._member.open(f"/console/{here}"))
        self._press(f"{here}/passkeys", {**password, "name": "Mine", "credential": made})
        browser = self.app.test_client()
        options = {"headers": SAME_ORIGIN, "base_url": PUBLIC_URL}
        page = browser.get("/console/sign-in", **options).text
        form = {"credential": authenticator.prove(page)}
        browser.post("/console/sign-in/passkey", data=form, **options)
        form = {"tenant": "acme", "email": "desk@example.org", **password}
        proved = browser.post("/console/sign-in", data=form, **options)
        first = {"first_step": first_step_of(proved)}
        form = {**first, "credential": authenticator.prove(proved.text)}
        browser.post("/console/sign-in/second/passkey", data=form, **options)
        form = {**first, "code": app.code(1)}
        browser.post("/console/sign-in/second", data=form, **options)
        passkey = Passkey.get().id
        self._member.press_once(f"/console/{here}/passkeys/{passkey}/remove", password)
        self._press(f"{here}/app/remove", password)

    def _open(self, path: str) -> None:
        self._member.open(f"/console/{path}")

    def _press(self, path: str, form: dict[str, str]) -> None:
        self._member.press(f"/console/{path}", form)
