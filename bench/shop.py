"""A tenant for measurements: events, credentials, and one confirmed order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bench import load
from bench.buyers import TENANT
from bench.goods import Goods
from ticketing import clock, credentials, ids
from ticketing.constants import AdmissionStatus
from ticketing.db.connection import database, open_database
from ticketing.models.admissions import Admission
from ticketing.models.ticket_types import TicketType
from tools import anvil
from tools.json_client import Client
from tools.stack import Stack, StackFailed

PRICE = 25_000_000
_ROWS_AT_ONCE = 1000
_FAR = datetime(2099, 6, 1, 18, tzinfo=UTC)
_NAMES = ("Early bird", "General admission", "Balcony", "Backstage", "Supporter")
_WALLET = ("--address", anvil.SELLER, "--chains", ",".join(map(str, anvil.CHAIN_IDS)))

FULL_TYPES = ("Seat", "Balcony", "Supporter")
"""The ticket types of a full order."""

_USAGES = 100_000
"""Of a voucher: the most. Each seat of an order is one."""
_QUESTION, _ANSWER = "source", "A friend"


@dataclass(frozen=True)
class Shop:
    """The values for the cases. `event_id` has five ticket types on sale.

    The intent is confirmed, and `ticket_code` opens its ticket. The waiting one is not paid, and
    `waiting_etag` is of its poll. `full` is what full orders want: `full_id` is one that is
    confirmed, `full_waiting_id` one that is not paid.
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
    waiting_etag: str
    door_event_id: str
    device_token: str
    full: Goods
    full_id: str
    full_secret: str
    full_waiting_id: str
    full_waiting_secret: str


def open_shop(stack: Stack, node: anvil.Anvil) -> Shop:
    """Create everything through the API, and sell tickets on a real chain. StackFailed."""
    stack.flask("worker", "--once")  # It proves receivers on the chains.
    key = stack.create_tenant(TENANT, "Bench", *_WALLET)
    return Organizer(stack, key).open(node)


class Organizer:
    """Sells through the API of a service, with an API key."""

    def __init__(self, stack: Stack, key: str, tenant: str = TENANT) -> None:
        self._stack, self._client, self._key = stack, Client(stack.url), key
        self._admin = f"/v1/admin/tenants/{tenant}"

    def open(self, node: anvil.Anvil) -> Shop:
        """Create what the cases ask for. StackFailed."""
        jwt = self.ask("POST", "/v1/auth/token", {"api_key": self._key}, 200)["access_token"]
        event_id, hot_event_id = self.event("Summer Concert"), self.event("Hot Night")
        for name in _NAMES:
            self.ticket(event_id, name, 500)
        hot_ticket_id = self.ticket(hot_event_id, "Unlimited", None)
        sold_out_ticket_id = self.ticket(hot_event_id, "The last one", 1)
        hot = Goods(hot_event_id, f"/{TENANT}/hot-night", [hot_ticket_id])
        full = self.full_goods("Full House", None)
        self._preflight(replace(hot, ticket_ids=[sold_out_ticket_id]))
        intent, full_intent = self._preflight(hot), self._preflight(full, anvil.CHAIN_ID)
        for each in (intent, full_intent):
            anvil.transfer(node.rpc, each["token_address"], each["address"], each["atomic_amount"])
        self._stack.flask("worker", "--once")
        waiting = self._preflight(hot)
        full_waiting = self._preflight(full, anvil.SECOND_CHAIN_ID)
        intents = f"/v1/checkout/tenants/{TENANT}/intents"
        listing = f"/v1/public/tenants/{TENANT}/events/{event_id}/tickets"
        poll = self._client.send("GET", f"{intents}/{waiting['id']}", headers=_bearer(waiting))
        bought = self.ask("POST", f"{intents}/{intent['id']}/purchase", None, 200, _bearer(intent))
        return Shop(
            self._key,
            jwt,
            event_id,
            str(self._client.send("GET", listing).headers["ETag"]),
            hot_event_id,
            hot_ticket_id,
            sold_out_ticket_id,
            intent["id"],
            intent["client_secret"],
            bought["admissions"][0]["code"],
            waiting["id"],
            waiting["client_secret"],
            str(poll.headers["ETag"]),
            *self._door(),
            full,
            full_intent["id"],
            full_intent["client_secret"],
            full_waiting["id"],
            full_waiting["client_secret"],
        )

    def _door(self) -> tuple[str, str]:
        """Return an event with its doors open and many admissions, and a device's token."""
        event_id = self.event("Tonight", datetime.now(UTC) + timedelta(hours=1))
        self._fill(self.ticket(event_id, "Seat", None))
        path = f"{self._admin}/events/{event_id}/door-devices"
        code = self.ask("POST", path, {"name": "Phone"}, 201)["pairing_code"]
        paired = self.ask("POST", "/v1/door/pair", {"pairing_code": code}, 200)
        return event_id, str(paired["token"])

    def _fill(self, ticket_id: str) -> None:
        """Insert admissions that nobody bought, with ids for the placeholder of a scan."""
        open_database(self._stack.environ["DATABASE_URL"])
        ticket_type, now = TicketType.get_by_id(ticket_id), clock.now()
        for first in range(0, load.SEATS, _ROWS_AT_ONCE):
            rows = [
                {
                    "id": f"{ids.ADMISSION}{number:026}",
                    "tenant": ticket_type.tenant_id,
                    "event": ticket_type.event_id,
                    "ticket_type": ticket_id,
                    "code": credentials.new_admission_code(),
                    "status": AdmissionStatus.VALID,
                    "holder_name": "Ada Lovelace",
                    "amount": 0,
                    "created_at": now,
                }
                for number in range(first, first + _ROWS_AT_ONCE)
            ]
            Admission.insert_many(rows).execute()
        database.close()

    def plain_goods(self, title: str, seats: int | None) -> Goods:
        """Publish an event with one ticket type, sold on one network. StackFailed."""
        event_id = self.event(title)
        return Goods(event_id, _page(title), [self.ticket(event_id, "Seat", seats)])

    def open_waiting_room(self, event_id: str) -> None:
        """Let people order one after the other. StackFailed."""
        self.ask("PATCH", f"{self._admin}/events/{event_id}", {"waiting_room": "on"}, 200)

    def full_goods(self, title: str, seats: int | None) -> Goods:
        """Publish an event with all that a full order needs, `seats` of each type. StackFailed."""
        event_id = self.event(title, carts=True)
        ids = [self.ticket(event_id, name, seats, anvil.CHAIN_IDS) for name in FULL_TYPES]
        of_event = f"{self._admin}/events/{event_id}"
        voucher = {"price_mode": "percent", "value": 20, "max_usages": _USAGES}
        code = self.ask("POST", f"{of_event}/vouchers", voucher, 201)["code"]
        question = {"question": "Who told you?", "type": "text", "ask": "order", "required": True}
        self.ask("POST", f"{of_event}/questions", {**question, "identifier": _QUESTION}, 201)
        return Goods(event_id, _page(title), ids, anvil.CHAIN_IDS, code, {_QUESTION: _ANSWER})

    def event(self, title: str, start_at: datetime = _FAR, *, carts: bool = False) -> str:
        """Publish an event, and return its id. StackFailed."""
        body = {
            "title": title,
            "carts": carts,
            "type": "in_person",
            "start_at": start_at.isoformat(),
            "timezone": "Europe/Berlin",
            "venue": "Town Hall",
            "status": "published",
        }
        return str(self.ask("POST", f"{self._admin}/events", body, 201)["id"])

    def ticket(
        self,
        event_id: str,
        name: str,
        capacity: int | None,
        chain_ids: Sequence[int] = (anvil.CHAIN_ID,),
    ) -> str:
        """Put a ticket type on sale, and return its id. StackFailed."""
        body = {
            "name": name,
            "price_amount": PRICE,
            "chain_ids": list(chain_ids),
            "capacity": capacity,
            "sales_end_at": "2099-06-01T12:00:00Z",
            "status": "published",
        }
        path = f"{self._admin}/events/{event_id}/tickets"
        return str(self.ask("POST", path, body, 201)["id"])

    def _preflight(self, goods: Goods, chain_id: int | None = None) -> Any:
        path = f"/v1/checkout/tenants/{TENANT}/preflight"
        return self.ask("POST", path, goods.body(chain_id), 201)

    def ask(
        self,
        method: str,
        path: str,
        body: Any,
        status: int,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request, with the API key if `headers` has no other credential. StackFailed."""
        answer = self._client.send(method, path, body, {**(headers or {"X-API-Key": self._key})})
        if answer.status != status:
            raise StackFailed(f"{method} {path}: {answer.status} {answer.json}")
        return answer.json


def _page(title: str) -> str:
    return f"/{TENANT}/{title.lower().replace(' ', '-')}"


def _bearer(intent: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {intent['client_secret']}"}
