"""Waiting lists, deposits and the box office, while the plans of all queries are recorded."""

from datetime import timedelta
from typing import Any

from tests.support.admissions import redeem
from tests.support.factories import PRICE, Api
from tests.support.mails import PUBLIC_URL
from tests.support.query_plans.admissions_drive import post_twice
from tests.support.query_plans.catalog_drive import MemberBrowser
from tests.support.remote import eventually
from tests.support.waiting import SAME_ORIGIN, page_of
from ticketing import clock, ids
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.services.payments import deposits
from ticketing.services.waiting_list.offers import Offering
from ticketing.waiting_list import EntryStatus

_EVENTS, _CROWD = 200, 400


def fill_waiting(crowded: Event) -> None:
    """Let people wait for an event of many, and for one of them most."""
    now, rows = clock.now(), []
    for event in Event.select().order_by(Event.id).limit(_EVENTS):
        of_event = TicketType.select().where(TicketType.event == event.id)
        ticket_type = of_event.order_by(TicketType.id.desc()).first()
        if ticket_type is None:
            continue
        for n in range(_CROWD if event.id == crowded.id else 2):
            status = list(EntryStatus)[n % len(EntryStatus)]
            waits = status is EntryStatus.WAITING and event.id == crowded.id
            rows.append(
                {
                    "id": ids.new(ids.WAITING_LIST_ENTRY),
                    "tenant": event.tenant_id,
                    "event": event.id,
                    "ticket_type": ticket_type.id,
                    "quantity": 1,
                    "email": f"{n}@example.org",
                    "mailbox": f"{n}@example.org",
                    "status": status if waits else EntryStatus.EXPIRED,
                    "created_at": now - timedelta(minutes=n),
                    "confirmed_at": now - timedelta(minutes=n) if waits else None,
                    "offer_expires_at": now,
                }
            )
            if event.id == crowded.id and not waits:
                rows[-1]["status"] = status
    for place in range(0, len(rows), 500):
        WaitingListEntry.insert_many(rows[place : place + 500]).execute()
    waiting = [each for each in rows if each["status"] is EntryStatus.WAITING]
    of_crowd = TicketType.id == waiting[0]["ticket_type"]
    # Nobody else may buy it then. So it is a draft, which nobody buys.
    TicketType.update(waiting=len(waiting), status="draft").where(of_crowd).execute()


class SellingDrive:
    """The part of the drive in which people wait, come, and pay at the door."""

    app: Any
    node: Any
    acme: Any
    recorder: Any
    crowded: Event

    def wait_and_come(self) -> None:
        """Wait for what is sold out, and in a crowd; get a deposit back; sell at the door."""
        member = MemberBrowser(self.app, "acme", "seller@example.org")
        self._wait(member)
        self._wait_in_a_crowd(member)
        self._come(member)
        self._sell_at_the_door()
        large = MemberBrowser(self.app, "fair", "list@example.org")
        large.page_through(f"/console/events/{self.crowded.id}/waiting-list")
        for status in EntryStatus:
            large.open(f"/console/events/{self.crowded.id}/waiting-list?status={status}")

    def _work(self) -> None:
        self.recorder.where = "worker"
        offering = Offering(self.app.extensions["ticketing"])
        offering.run()
        offering.leave()
        deposits.begin_due()
        deposits.run_some()
        self.recorder.where = None

    def _wait(self, member: MemberBrowser) -> None:
        event = self.acme.event(title="Full", capacity=2)
        terms = {"price_amount": 0, "chain_id": None, "allow_waitinglist": True}
        ticket = self.acme.ticket(event, capacity=1, **terms)
        other = self.acme.ticket(event, **terms)
        for each in (ticket, other):
            assert self.acme.buyer(each).purchase().status_code == 200
        body = {"event_id": event["id"], "ticket_id": ticket["id"]}
        path = f"{self.acme.checkout}/waiting-list"
        for n in range(5):
            post_twice(self.acme.api(), path, {**body, "email": f"{n}@example.com"})
        page = f"/acme/{event['slug']}/waiting-list"
        browser = self.app.test_client()
        asked = {"base_url": PUBLIC_URL, "headers": SAME_ORIGIN}
        assert browser.get(f"{page}?ticket_id={ticket['id']}", **asked).status_code == 200
        form = {"ticket_id": ticket["id"], "email": "6@example.com"}
        assert browser.post(page, data=form, **asked).status_code == 303
        of_event = WaitingListEntry.select().where(WaitingListEntry.event == event["id"])
        found = list(of_event.order_by(WaitingListEntry.id))
        for entry in found:
            assert browser.post(f"{page_of(entry)}/confirm", **asked).status_code == 303
            assert browser.get(page_of(entry), **asked).status_code == 200
        here = f"{self.acme.path}/events/{event['id']}"
        question = {"question": "Meal?", "type": "text", "ask": "order"}
        asked_for = self.acme.api().post(f"{here}/questions", question).json["identifier"]
        seats = f"{here}/tickets/{ticket['id']}"
        assert self.acme.api().patch(here, {"capacity": 6}).status_code == 200
        assert self.acme.api().patch(seats, {"capacity": 2}).status_code == 200
        assert self.acme.preflight(other).json["code"] == "sold_out"
        self._work()
        first = WaitingListEntry.get_by_id(found[0].id)
        assert first.status == "offered"
        answers = {f"answers.{asked_for}": "Soup"}
        path = f"{page_of(first)}/answers"
        assert browser.post(path, data=answers, **asked).status_code == 303
        assert self.acme.api().patch(seats, {"capacity": 4}).status_code == 200
        listed = f"{here}/waiting-list"
        post_twice(self.acme.api(), f"{listed}/{found[2].id}/offer", None)
        member.press_once(f"/console/events/{event['id']}/waiting-list/{found[1].id}/offer", {})
        post_twice(self.acme.api(), f"{listed}/{found[3].id}/cancel", None)
        member.press(f"/console/events/{event['id']}/waiting-list/{found[4].id}/cancel", {})
        assert browser.post(f"{page_of(found[5])}/leave", **asked).status_code == 303
        member.open(f"/console/events/{event['id']}/waiting-list")
        networks = f"/console/events/{event['id']}/networks"
        member.open(networks)
        order = self.acme.preflight(other, quantity=1)
        held = PaymentIntent.select().where(PaymentIntent.event == event["id"])
        digest = next((each.held_by for each in held if each.held_by), "0" * 64)
        assert order.status_code in (201, 409)
        member.press_once(f"{networks}/cancel", {"network": digest})
        Event.update(doors_open_at=clock.now()).where(Event.id == event["id"]).execute()
        self._work()

    def _wait_in_a_crowd(self, member: MemberBrowser) -> None:
        event = self.acme.event(title="Crowd", waiting_room="off")
        ticket = self.acme.ticket(event, price_amount=0, chain_id=None, capacity=100)
        here, page = f"{self.acme.path}/events/{event['id']}", f"/acme/{event['slug']}"
        crowd = {"network": "203.0.113.0/24", "seats": 300}
        assert self.acme.api().put(f"{here}/crowds", {"crowds": [crowd]}).status_code == 200
        assert self.acme.api().get(f"{here}/crowds").json["crowds"] == [crowd]
        crowds = f"/console/events/{event['id']}/crowds"
        member.press(crowds, {"network": "203.0.113.0/24", "seats": "300"})
        member.open(crowds)
        member.press(f"{crowds}/remove", {"network": "203.0.113.0/24"})
        member.press(f"/console/events/{event['id']}/waiting-room", {"waiting_room": "on"})
        member.open(f"/console/events/{event['id']}")
        assert self.acme.api().get(f"{here}/waiting-room").json["is_open"]
        assert self.acme.preflight(ticket).status_code == 429
        browser, asked = self.app.test_client(), {"base_url": PUBLIC_URL}
        # One network has one turn at a time, so only this browser is admitted.
        eventually(lambda: b"idempotency_key" in browser.get(page, **asked).data)
        assert self.acme.preflight(ticket).status_code == 429
        member.open(f"/console/events/{event['id']}/networks")
        member.press_once(f"/console/events/{event['id']}/networks/cancel", {"network": "n1"})
        member.press(f"/console/events/{event['id']}/waiting-room", {"waiting_room": "off"})

    def _come(self, member: MemberBrowser) -> None:
        ticket = self.acme.ticket(deposit_amount=PRICE // 2)
        buyer = self.acme.buyer(ticket)
        buyer.pay(self.node)
        self.work()  # type: ignore[attr-defined]  # of the drive for notifications
        seat = Admission.get(Admission.intent == buyer.intent["id"])
        assert redeem(seat)
        path = f"{self.acme.path}/events/{ticket['event_id']}/deposits/release"
        post_twice(self.acme.api(), path, {})
        assert self.acme.api().get(path).status_code == 200
        member.open(f"/console/events/{ticket['event_id']}/deposits")
        member.press(f"/console/events/{ticket['event_id']}/deposits", {})
        self._work()

    def _sell_at_the_door(self) -> None:
        ticket = self.acme.ticket()
        devices = f"{self.acme.path}/events/{ticket['event_id']}/door-devices"
        made = self.acme.api().post(devices, {"name": "Desk", "sells": True}).json
        phone = Api(self.app.test_client())
        paired = phone.post("/v1/door/pair", {"pairing_code": made["pairing_code"]}).json
        phone.headers = {"Authorization": f"Bearer {paired['token']}"}
        path = f"/v1/door/tenants/acme/events/{ticket['event_id']}/box-office"
        assert phone.get(path).status_code == 200
        post_twice(phone, f"{path}/orders", {"ticket_id": ticket["id"]})
