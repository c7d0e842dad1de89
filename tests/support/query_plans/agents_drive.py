"""What agents do while the plans of all queries are recorded."""

from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from flask import Flask

from tests.support import mcp
from tests.support.factories import Api, Organizer, in_days
from tests.support.mails import PUBLIC_URL
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant

HOST = {"Host": urlsplit(PUBLIC_URL).netloc}


class AgentsDrive:
    """The part of the drive that calls the tools of MCP."""

    app: Flask
    acme: Organizer
    big: Api
    hit: Event

    def call_tools(self) -> None:
        """Call every tool, and read the texts for agents."""
        anybody = Api(self.app.test_client(), HOST)
        for path in ("/llms.txt", "/robots.txt"):
            assert anybody.get(path).status_code == 200
        self._look_around(anybody)
        self._buy_and_enter(anybody)
        self._look_after_sales(Api(self.app.test_client(), {**(self.big.headers or {}), **HOST}))

    def _look_around(self, anybody: Api) -> None:
        Tenant.update(listed=True).where(Tenant.slug == "big").execute()
        page = mcp.call(anybody, "find_events", q="e", limit=1)
        mcp.call(anybody, "find_events", q="e", limit=1, cursor=page["next_cursor"])
        page = mcp.call(anybody, "list_events", tenant="big", limit=1)
        mcp.call(anybody, "list_events", tenant="big", limit=1, cursor=page["next_cursor"])
        for event in (self.hit.id, self.hit.slug):
            named = {"tenant": "big", "event_id": event}
            mcp.call(anybody, "get_event", **named)
            (ticket, *_) = mcp.call(anybody, "list_tickets", **named)["data"]
            mcp.call_any(anybody, "quote", **named, ticket_id=ticket["id"])

    def _buy_and_enter(self, anybody: Api) -> None:
        event = self.acme.event(doors_open_at=in_days(-1))
        ticket = self.acme.ticket(event, price_amount=0)
        order = {"event_id": event["id"], "ticket_id": ticket["id"], "tenant": "acme"}
        for key in (uuid4().hex, None):
            wanted = {**order, "idempotency_key": key}
            first, second = (mcp.call(anybody, "order_ticket", **wanted) for _ in range(2))
            canceled, bought = (self._opened(each) for each in (first, second))
            if key is None:
                mcp.call(anybody, "cancel_order", **canceled)
            status = mcp.call(anybody, "order_status", **bought)
        (admission,) = status["admissions"]
        held = {"admission_id": admission["id"], "code": admission["code"]}
        mcp.call(anybody, "get_ticket", tenant="acme", **held)
        door = Api(self.app.test_client(), {"X-API-Key": self.acme.admin_key, **HOST})
        scan = {"tenant": "acme", "event_id": event["id"], "nonce": str(uuid4())}
        for _ in range(2):
            mcp.call(door, "check_in", **scan, code=admission["code"])

    def _look_after_sales(self, organizer: Api) -> None:
        for event_id in (self.hit.id, None):
            named = {"tenant": "big", "event_id": event_id}
            mcp.call(organizer, "sales", **named)
            chosen = named if event_id else {"tenant": "big"}
            for more in ({}, {"redeemed": True}, {"status": "void"}, {"q": "a"}):
                mcp.call(organizer, "list_attendees", **chosen, **more, limit=1)
        for status in ("due", "waived", "settled"):
            mcp.call(organizer, "owed_refunds", tenant="big", status=status, limit=1)

    def _opened(self, order: dict[str, Any]) -> dict[str, Any]:
        secret = {"intent_id": order["id"], "client_secret": order["client_secret"]}
        return {"tenant": "acme", **secret}
