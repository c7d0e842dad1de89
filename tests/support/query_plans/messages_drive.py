"""What organizers copy, write and send again, while the plans of all queries are recorded."""

from datetime import timedelta
from typing import Any

from tests.support.console import PASSWORD
from tests.support.factories import Api
from tests.support.mails import ADA, PUBLIC_URL
from tests.support.query_plans.admissions_drive import post_twice
from tests.support.query_plans.catalog_drive import MemberBrowser
from ticketing import clock, ids
from ticketing.models.events import Event
from ticketing.models.messages import Message
from ticketing.models.tenants import Tenant

SERIES = "nights"
_EACH = 200
_A_DAY = timedelta(days=1)


def fill_messages(crowded: Event) -> None:
    """Write messages for some events, most for one. Put a part of all events into a series."""
    now = clock.now()
    rows = [
        {
            "id": ids.new(ids.MESSAGE),
            "tenant": event.tenant_id,
            "event": event.id,
            "subject": "S",
            "text": "T",
            "audience": "holders",
            "send_at": now,
            "status": "sent",
            "recipients": 1,
            "planned_at": now,
            "created_by": "cli",
            "created_at": now,
        }
        for event in Event.select().order_by(Event.id).limit(_EACH)
        for _ in range(_EACH if event.id == crowded.id else 2)
    ]
    for place in range(0, len(rows), 500):
        Message.insert_many(rows[place : place + 500]).execute()
    some = Event.select(Event.id).order_by(Event.id).limit(_EACH)
    Event.update(series=SERIES).where(Event.id.in_(some)).execute()


class MessagesDrive:
    """The part of the drive that copies events, writes to people, and sends mails again."""

    app: Any
    acme: Any
    crowded: Event

    def write_and_copy(self) -> None:
        """By the API and in the console: copy an event, write messages, send mails again."""
        ticket = self.acme.ticket(price_amount=0, chain_id=None)
        here = f"{self.acme.path}/events/{ticket['event_id']}"
        buyer = self.acme.buyer(ticket, buyer=ADA, quantity=2)
        assert buyer.purchase().status_code == 200
        me, anybody = self.acme.api(), Api(self.app.test_client())
        self._copy_event(me, anybody, here)
        self._write_messages(me, here)
        post_twice(me, f"{self.acme.path}/intents/{buyer.intent['id']}/email", {"email": "a@b.io"})
        guest = {"holders": [{"email": "guest@example.org"}]}
        given = me.post(f"{here}/tickets/{ticket['id']}/admissions", guest).json["admissions"][0]
        post_twice(me, f"{self.acme.path}/admissions/{given['id']}/send", None)
        self._write_in_the_console(ticket, buyer.intent["id"], given["id"])

    def _copy_event(self, me: Any, anybody: Api, here: str) -> None:
        starts = ["2031-01-01T20:00", "2031-01-08T20:00"]
        series = {"series": "evenings", "status": "published"}
        post_twice(me, f"{here}/copy", {"starts": starts, **series})
        path = f"{self.acme.path}/series/evenings"
        assert me.get(path).status_code == me.patch(path, {"title": "Evenings"}).status_code == 200
        for public, slug in ((self.acme.public, "evenings"), ("/v1/public/tenants/big", SERIES)):
            assert anybody.get(f"{public}/series/{slug}.ics").status_code == 200
        for page in ("/acme/evenings", f"/big/{SERIES}"):
            assert anybody.client.get(page, base_url=PUBLIC_URL).status_code == 200

    def _write_messages(self, me: Any, here: str) -> None:
        Tenant.update(sale_mails="daily").where(Tenant.id == self.acme.id).execute()
        Event.update(reminder_hours=168).where(Event.tenant == self.acme.id).execute()
        text = {"subject": "S", "text": "T"}
        for audience in ("holders", "buyers", "not_redeemed"):
            made = post_twice(me, f"{here}/messages", {**text, "audience": audience}).json
            assert me.get(f"{here}/messages/{made['id']}").status_code == 200
            self.work()  # type: ignore[attr-defined]  # of the drive for notifications
            Message.update(created_at=clock.now() - _A_DAY).execute()
        later = {**text, "send_at": "2031-01-01T00:00:00Z"}
        made = post_twice(me, f"{here}/messages", later).json
        post_twice(me, f"{here}/messages/{made['id']}/cancel", None)
        assert me.get(f"{here}/messages").status_code == 200

    def _write_in_the_console(self, ticket: dict[str, Any], order: str, guest: str) -> None:
        member = MemberBrowser(self.app, "acme", "writer@example.org")
        who = {"tenant": "acme", "email": "writer@example.org", "password": PASSWORD}
        token = Api(self.app.test_client()).post("/v1/auth/login", who).json["access_token"]
        me = self.acme.with_headers({"Authorization": f"Bearer {token}"})
        path = f"{self.acme.path}/events/{ticket['event_id']}/messages/preview"
        post_twice(me, path, {"subject": "S", "text": "T"})
        here = f"/console/events/{ticket['event_id']}"
        text = {"subject": "S", "text": "T", "audience": "holders"}
        for more in ({"preview": "on"}, {}, {"confirmed": "on", "send_at": "2031-01-01T00:00"}):
            member.press(f"{here}/messages", {**text, **more})
        waiting = Message.get(Message.status == "scheduled")
        member.press(f"{here}/messages/{waiting.id}", {})
        member.open(f"{here}/copy")
        member.press(f"{here}/copy", {"first": "2031-02-01T20:00", "show": "on"})
        member.press(f"{here}/copy", {"first": "2031-02-01T20:00"})
        member.open("/console/series/evenings")
        member.press("/console/series/evenings", {"title": "E", "description": "D"})
        member.press(f"/console/orders/{order}/email", {"email": "c@d.io"})
        member.press(f"/console/attendees/{guest}/send", {})
        for action in ("", "/send", "/export", "/void"):
            chosen = {"chosen": guest, "reason": "R", "refund": ""}
            member.press(f"/console/attendees/chosen{action}", chosen)
        member.open(f"{here}/guests")
        for text in ("e", "ada@example.org", order):
            member.open(f"/console/search?q={text}")
        for name in ("attendees", "orders"):
            member.open(f"{here}/{name}-for-people.csv")
        for page in ("/console", here):
            for query in ("days=7&of=money", "days=all", "from=2020-01-01&to=2030-01-01"):
                member.open(f"{page}?{query}")
        large = MemberBrowser(self.app, "fair", "reader@example.org")
        large.page_through(f"/console/events/{self.crowded.id}/messages")
