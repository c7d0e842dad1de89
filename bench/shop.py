"""A tenant for measurements: events, credentials, and one confirmed order."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bench import load, seats, servers
from bench.servers import Server, ServerFailed
from ticketing import ids
from ticketing.db.connection import database, open_database
from tools import anvil
from tools.json_client import Client

TENANT = "bench"
PRICE = 25_000_000
_CHAIN = 31337
_LAST = {"Connection": "close"}
"""A stopping server waits two seconds for open connections."""

_FAR = datetime(2099, 6, 1, 18, tzinfo=UTC)
_NAMES = ("Early bird", "General admission", "Balcony", "Backstage", "Supporter")


@dataclass(frozen=True)
class Shop:
    """The values for the cases. `event_id` has five ticket types on sale.

    The intent is confirmed, and `ticket_code` opens its ticket. The waiting one is not paid.
    `waiting_etag` is of its poll, None if the answer has none.
    """

    key: str
    jwt: str
    event_id: str
    etag: str
    hot_event_id: str
    hot_ticket_id: str
    sold_out_ticket_id: str
    intent_id: str
    client_secret: str
    ticket_code: str
    waiting_id: str
    waiting_secret: str
    waiting_etag: str | None
    door_event_id: str
    device_token: str


def open_shop(server: Server, variables: Mapping[str, str], node: anvil.Anvil) -> Shop:
    """Create everything through the API, and sell one ticket on a real chain. ServerFailed."""
    made = servers.flask(
        variables, "tenants", "create", TENANT, "--name", "Bench", "--xpub", anvil.SELLER_XPUB,
        "--json",
    )  # fmt: skip
    return Organizer(server, json.loads(made)["key"]).open(variables, node)


class Organizer:
    """Sells through the API of a server, with an API key."""

    def __init__(self, server: Server, key: str) -> None:
        self._client = Client(server.url)
        self._key = key

    def open(self, variables: Mapping[str, str], node: anvil.Anvil) -> Shop:
        """Create what the cases ask for. ServerFailed."""
        jwt = self.ask("POST", "/v1/auth/token", {"api_key": self._key}, 200)["access_token"]
        event_id, hot_event_id = self.event("Summer Concert"), self.event("Hot Night")
        for name in _NAMES:
            self.ticket(event_id, name, 500)
        hot_ticket_id = self.ticket(hot_event_id, "Unlimited", None)
        sold_out_ticket_id = self.ticket(hot_event_id, "The last one", 1)
        self._preflight(hot_event_id, sold_out_ticket_id)
        intent = self._preflight(hot_event_id, hot_ticket_id)
        anvil.transfer(
            node.rpc, intent["token_address"], intent["address"], intent["atomic_amount"]
        )
        servers.flask(variables, "worker", "--once")
        waiting = self._preflight(hot_event_id, hot_ticket_id)
        listing = f"/v1/public/tenants/{TENANT}/events/{event_id}/tickets"
        return Shop(
            self._key,
            jwt,
            event_id,
            str(self._client.send("GET", listing, headers=_LAST).headers["ETag"]),
            hot_event_id,
            hot_ticket_id,
            sold_out_ticket_id,
            intent["id"],
            intent["client_secret"],
            self._purchase(intent)["admissions"][0]["code"],
            waiting["id"],
            waiting["client_secret"],
            self._etag(waiting),
            *self._door(variables),
        )

    def _door(self, variables: Mapping[str, str]) -> tuple[str, str]:
        """Return an event with its doors open and many admissions, and a device's token."""
        event_id = self.event("Tonight", datetime.now(UTC) + timedelta(hours=1))
        ticket_id = self.ticket(event_id, "Seat", None)
        open_database(variables["DATABASE_URL"])
        seats.fill(ticket_id, (f"{ids.ADMISSION}{number:026}" for number in range(load.SEATS)))
        database.close()
        path = f"/v1/admin/tenants/{TENANT}/events/{event_id}/door-devices"
        code = self.ask("POST", path, {"name": "Phone"}, 201)["pairing_code"]
        paired = self.ask("POST", "/v1/door/pair", {"pairing_code": code}, 200)
        return event_id, str(paired["token"])

    def event(self, title: str, start_at: datetime = _FAR) -> str:
        """Publish an event, and return its id. ServerFailed."""
        body = {
            "title": title,
            "type": "in_person",
            "start_at": start_at.isoformat(),
            "timezone": "Europe/Berlin",
            "venue": "Town Hall",
            "status": "published",
        }
        return str(self.ask("POST", f"/v1/admin/tenants/{TENANT}/events", body, 201)["id"])

    def ticket(self, event_id: str, name: str, capacity: int | None) -> str:
        """Put a ticket type on sale, and return its id. ServerFailed."""
        body = {
            "name": name,
            "price_amount": PRICE,
            "chain_id": _CHAIN,
            "capacity": capacity,
            "sales_end_at": "2099-06-01T12:00:00Z",
            "status": "published",
        }
        path = f"/v1/admin/tenants/{TENANT}/events/{event_id}/tickets"
        return str(self.ask("POST", path, body, 201)["id"])

    def _preflight(self, event_id: str, ticket_id: str) -> Any:
        body = {"event_id": event_id, "ticket_id": ticket_id}
        return self.ask("POST", f"/v1/checkout/tenants/{TENANT}/preflight", body, 201)

    def _purchase(self, intent: Any) -> Any:
        path = f"/v1/checkout/tenants/{TENANT}/intents/{intent['id']}/purchase"
        return self.ask("POST", path, None, 200, _bearer(intent))

    def _etag(self, intent: Any) -> str | None:
        path = f"/v1/checkout/tenants/{TENANT}/intents/{intent['id']}"
        answer = self._client.send("GET", path, headers={**_bearer(intent), **_LAST})
        return str(answer.headers["ETag"]) if "ETag" in answer.headers else None

    def ask(
        self,
        method: str,
        path: str,
        body: Any,
        status: int,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request, with the API key if `headers` has no other credential. ServerFailed."""
        sent = {**(headers or {"X-API-Key": self._key}), **_LAST}
        answer = self._client.send(method, path, body, sent)
        if answer.status != status:
            raise ServerFailed(f"{method} {path}: {answer.status} {answer.json}")
        return answer.json


def _bearer(intent: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {intent['client_secret']}"}
