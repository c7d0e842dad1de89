"""What is done about admissions while the plans of all queries are recorded."""

import json
import uuid
from typing import Any
from urllib.parse import urlsplit

from flask import Flask
from werkzeug.test import TestResponse

from tests.support.admissions import FREE, admissions_of, given
from tests.support.doors import KEYRING, moment, redeem, undo
from tests.support.factories import Api, Organizer, cli
from tests.support.holders import Held, bought
from tests.support.mails import PUBLIC_URL
from ticketing.constants import ReturnStatus
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.services.door import ticket_signing
from ticketing.services.payments import resales


class AdmissionsDrive:
    """The part of the drive that holders, doors and organizers of admissions do."""

    app: Flask
    acme: Organizer
    big: Api
    fair: Api
    hit: Event
    crowded: Event

    def key_of(self, slug: str) -> Api:
        """The API with a new key of a tenant."""
        made = cli(self.app, "keys", "create", slug, "--name", "x", "--role", "admin", "--json")
        return Api(self.app.test_client(), {"X-API-Key": json.loads(made)["key"]})

    def hold(self) -> None:
        """Do what holders do."""
        free = self.acme.ticket(price_amount=0, chain_id=None)
        first, second = bought(self.acme, free, quantity=2)
        second.get()
        assert first.name(name="Grace").status_code == 200
        assert post_twice(first.api, f"{first.path}/transfer", {}).status_code == 201
        assert post_twice(first.api, f"{first.path}/transfer/cancel", None).status_code == 200
        body = {"offer": first.offer().json["offer"]}
        anybody = Api(self.app.test_client())
        path = f"{self.acme.checkout}/transfers/accept"
        assert post_twice(anybody, path, body).status_code == 200
        self._hold_by_pages(second)
        self._give_back()

    def _give_back(self) -> None:
        """Give seats back, keep one after all, and sell one on."""
        terms = {"returns": "when_resold", "capacity": 2}
        ticket = self.acme.ticket(price_amount=0, chain_id=None, **terms)
        first, second = bought(self.acme, ticket, quantity=2)
        for held in (first, second):
            assert post_twice(held.api, f"{held.path}/return", None).status_code == 200
        assert post_twice(second.api, f"{second.path}/return/cancel", None).status_code == 200
        for action in ("return", "return/cancel"):
            self._send_form(f"/t/{second.code}/{action}", {})
        bought(self.acme, ticket)
        for status in ReturnStatus:
            self.acme.api().get(f"{self.acme.path}/admissions?return={status}")
        self.recorder.where = "worker"
        assert resales.swap_some() == 1
        resales.end_some_offers()
        self.recorder.where = None

    def _hold_by_pages(self, held: Held) -> None:
        """Do it on pages too, and accept the ticket there."""
        browser, send = self._browser(), self._send_form
        form = {"idempotency_key": "0" * 32, "name": "Grace"}
        page = f"/t/{held.code}"
        send(f"{page}/holder", {"name": "Grace"})
        send(f"{page}/offer", form)
        assert browser.get(page).status_code == 200
        send(f"{page}/offer/cancel", {})
        offer = f"/x/{held.offer().json['offer']}"
        assert browser.get(offer).status_code == 200
        send(offer, form)
        assert browser.get(offer).status_code == 410

    def _browser(self) -> Api:
        headers = {"Host": urlsplit(PUBLIC_URL).netloc, "Sec-Fetch-Site": "same-origin"}
        return Api(self.app.test_client(), headers)

    def _send_form(self, path: str, fields: dict[str, str]) -> None:
        """Send a form twice, as a double click does."""
        browser = self._browser()
        for _ in range(2):
            answer = browser.client.post(path, data=fields, headers=browser.headers)
            assert answer.status_code == 303, answer.text

    def open_the_doors(self) -> None:
        """Pair devices, scan, undo, and read what a door reads."""
        anybody = Api(self.app.test_client())
        for slug, api, event in (("fair", self.fair, self.crowded), ("big", self.big, self.hit)):
            devices = f"/v1/admin/tenants/{slug}/events/{event.id}/door-devices"
            made = [api.post(devices, {"name": "x"}).json for _ in range(3)]
            api.post(f"{devices}/{made[2]['id']}/revoke")
            code = {"pairing_code": made[0]["pairing_code"]}
            token = anybody.post("/v1/door/pair", code).json["token"]
            anybody.get(f"/v1/public/tenants/{slug}/ticket-keys")
        gate = Api(self.app.test_client(), {"Authorization": f"Bearer {token}"})
        path = f"/v1/door/tenants/big/events/{self.hit.id}"
        cursor = gate.get(f"{path}/manifest").json["cursor"]
        offered = (Admission.event == self.hit) & Admission.returned_at.is_null(False)
        seats = list(Admission.select().where(offered).order_by(Admission.id).limit(9))
        scans = [redeem(code=each.code, decided="admitted") for each in seats * 2]
        scans += [redeem(qr=ticket_signing.qrs_of([seats[0]], KEYRING)[0]), redeem(qr="x")]
        for scan in (*scans, undo(scans[0]), undo(scans[9])):
            body = {"sent_at": moment(), "scans": [scan]}
            answer = gate.post(f"{path}/scans", body)
            assert answer.status_code == 200, answer.json
        assert gate.post(f"{path}/scans", {**body, "scans": scans}).status_code == 200
        by_id = [redeem(admission_id=seats[0].id, generation=1, decided="admitted")]
        assert gate.post(f"{path}/scans", {**body, "scans": by_id}).status_code == 200
        assert gate.get(f"{path}/manifest?since={cursor}").json["admissions"]
        assert gate.get(f"{path}/stats").json["conflicts"]
        entry = f"/v1/admin/tenants/big/admissions/{seats[3].id}/undo"
        assert post_twice(self.big, entry, None).status_code == 200
        self.inside, self.stolen = seats[4].id, made[0]["id"]

    def take_back(self) -> None:
        """Do what an organizer does with admissions, and cancel an event with a capacity."""
        event = self.acme.event(capacity=50)
        ticket = self.acme.ticket(event, **FREE)
        me, buyer = self.key_of("acme"), given(self.acme, ticket, quantity=2)
        path = f"{self.acme.path}/events/{event['id']}"
        guests = {"holders": [{"name": "Ada"}]}
        assert (
            post_twice(me, f"{path}/tickets/{ticket['id']}/admissions", guests).status_code == 201
        )
        for capacity in (60, None, 50):
            assert me.patch(path, {"capacity": capacity}).status_code == 200
        self._hold_all_that_is_left(event)
        first, second = admissions_of(buyer)
        here = f"{self.acme.path}/admissions"
        assert post_twice(me, f"{here}/{first.id}/reissue", {}).status_code == 200
        reasons = {"reason": "Ill.", "refund": True}
        assert post_twice(me, f"{here}/{first.id}/void", reasons).status_code == 200
        canceled = {"status": "canceled", "refund": True}
        assert post_twice(me, f"{path}/status", canceled).status_code == 200
        assert post_twice(me, f"{here}/{second.id}/erase", None).status_code == 200
        path = f"{self.acme.path}/intents/{buyer.intent['id']}/erase"
        assert post_twice(me, path, None).status_code == 200

    def _hold_all_that_is_left(self, event: dict[str, Any]) -> None:
        """Read when something comes back: of a ticket type, and of a full event."""
        last = self.acme.ticket(event, **FREE, capacity=1)
        many = self.acme.ticket(event, **FREE, capacity=99, max_per_order=100)
        self.acme.buyer(last)
        listed = f"{self.acme.public}/events/{event['id']}/tickets"
        anybody = Api(self.app.test_client())
        assert [each["availability"] for each in anybody.get(listed).json["data"]].count(
            "held"
        ) == 1
        now = self.key_of("acme").get(f"{self.acme.path}/events/{event['id']}").json
        self.acme.buyer(many, quantity=now["available"])
        assert {each["availability"] for each in anybody.get(listed).json["data"]} == {"held"}


AT_IPV6 = {"REMOTE_ADDR": "2001:db8::1"}
"""A client that counts for two networks."""


def post_twice(api: Api, path: str, body: Any, **options: Any) -> TestResponse:
    """Post twice with one key. The second time the stored response is read."""
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    first, second = (api.post(path, body, headers=headers, **options) for _ in range(2))
    assert first.status_code == second.status_code
    return first
