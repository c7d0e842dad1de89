"""What agents do while the plans of all queries are recorded."""

import json
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import uuid4

from flask import Flask

from tests.support import mcp
from tests.support.console import hidden_fields
from tests.support.factories import Api, Organizer, in_days
from tests.support.mails import PUBLIC_URL
from tests.support.oauth import CALLBACK, VERIFIER, App
from tests.support.query_plans.catalog_drive import MemberBrowser
from ticketing.models.connected_apps import ConnectedApp
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.services.oauth import connected_apps, descriptions

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
        self._connect_an_app()

    def _connect_an_app(self) -> None:
        """Let a member connect an app that renews its tokens, and end it."""
        client = self.app.test_client()
        for path in ("", "/mcp", "/mcp/organizer"):
            of_resource = f"/.well-known/oauth-protected-resource{path}"
            assert client.get(of_resource, headers=HOST).status_code == 200
        server = "/.well-known/oauth-authorization-server"
        assert client.get(server, headers=HOST).status_code == 200
        sent = {"redirect_uris": [CALLBACK]}
        made = client.post("/v1/oauth/register", json=sent, headers=HOST)
        app = App(client, made.json["client_id"])
        member = MemberBrowser(self.app, self.acme.slug, "app@example.org")
        for _ in range(2):
            page = member.open(f"/console/connect?{urlencode(app.asks())}")
            form = {"page": hidden_fields(page)["page"], "consent": "connect", "role": "read"}
            location = urlsplit(member.press_once("/console/connect", form))
            code = dict(parse_qsl(location.query))["code"]
            form = {"redirect_uri": CALLBACK, "code_verifier": VERIFIER, "code": code}
            tokens = self._token_request(app, "authorization_code", **form)
            bearer = {**HOST, "Authorization": f"Bearer {tokens['access_token']}"}
            assert Api(client, bearer).post("/mcp/organizer", mcp.message("ping")).json
            token = tokens["refresh_token"]
            token = self._token_request(app, "refresh_token", refresh_token=token)["refresh_token"]
        self._open_a_described_app(member)
        member.open("/console/apps")
        MemberBrowser(self.app, self.acme.slug, "admin@example.org").open("/console/apps")
        first = ConnectedApp.select().order_by(ConnectedApp.id).first()
        member.press(f"/console/apps/{first.id}/end", {})
        form = {"client_id": app.client_id, "token": token}
        assert client.post("/v1/oauth/revoke", data=form, headers=HOST).status_code == 200
        member.open("/console/audit-log")
        connected_apps.forget_old()

    def _open_a_described_app(self, member: MemberBrowser) -> None:
        """Open the page of an app whose URL the worker reads, before and after it has."""
        url = "https://app.example/app.json"
        page = f"/console/connect?{urlencode(App(self.app.test_client(), url).asks())}"
        for _ in range(2):
            member.open(page, status=202)
        (row,) = descriptions.to_read()
        document = {"client_id": url, "redirect_uris": [CALLBACK]}
        descriptions.keep(row, json.dumps(document).encode(), 0.1)
        member.open(page)
        descriptions.forget_old()

    def _token_request(self, app: App, grant_type: str, **form: str) -> Any:
        sent = {"grant_type": grant_type, "client_id": app.client_id, **form}
        answer = app.client.post("/v1/oauth/token", data=sent, headers=HOST)
        assert answer.status_code == 200, answer.text
        return answer.json

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
