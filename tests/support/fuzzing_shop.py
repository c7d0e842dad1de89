"""The shop that the fuzz runs on: resources of every kind, and the values that name them."""

from dataclasses import dataclass
from typing import Any

from tests.support.factories import (
    CHAIN,
    PRICE,
    Api,
    Buyer,
    Organizer,
    cli,
    in_days,
    worker_once,
)
from tests.support.members import invite
from tests.support.photos import photo
from tests.support.webhook_endpoints import new_webhook
from tools import anvil

Known = dict[str, list[Any]]

PASSWORD = "correct horse battery staple"
PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "question_id": ("questions", {"question": "Where are you from?", "type": "text"}),
    "voucher_id": ("vouchers", {}),
    "device_id": ("door-devices", {"name": "Phone"}),
}
"""The parts of an event: the path on which they are created, and a body."""


@dataclass
class Shop:
    """Resources of every kind in an open shop."""

    acme: Organizer
    known: Known
    """Values of ids, by the parameter or field that accepts them."""

    event_of: dict[str, str]
    """The event of each ticket type, question, voucher and door device."""

    paid: Buyer
    admin: Api
    """A member: unlike a key, no request can disable it."""


def open_shop(acme: Organizer, node: anvil.Anvil) -> Shop:
    """Fill acme's shop: sold, held, hidden and canceled; paid, overpaid and expired."""
    sale, draft = acme.event(slug="on-sale"), acme.event(status="draft", slug="a-draft")
    gone, admin = acme.event(slug="called-off"), acme.api()
    admin.post(f"{acme.path}/events/{gone['id']}/status", {"status": "canceled"})
    seat = acme.ticket(sale, capacity=None)
    free = acme.ticket(sale, price_amount=0, chain_id=None, capacity=None)
    tickets = [
        seat,
        free,
        acme.ticket(sale, capacity=1),
        acme.ticket(sale, status="draft"),
        acme.ticket(sale, sales_start_at=in_days(9)),
        acme.ticket(draft),
    ]
    events = [sale["id"], draft["id"], gone["id"]]
    for path in ("logo", *(f"events/{each}/image" for each in events)):
        image = {"data": photo(), "content_type": "image/jpeg"}
        assert admin.put(f"{acme.path}/{path}", None, **image).status_code == 200
    diet = {"identifier": "diet", "question": "What do you eat?", "type": "text"}
    admin.post(f"{acme.path}/events/{sale['id']}/questions", diet)
    parts = {name: _made(admin, acme, events, name) for name in PARTS}
    ada = {"email": "ada@example.org", "name": "Ada"}
    waiting, paid, too_much, given_up = (acme.buyer(seat, buyer=ada) for _ in range(4))
    guest = acme.buyer(free, quantity=2)
    worker_once(acme.app)
    paid.pay(node)
    more = [acme.buyer(seat, buyer=ada) for _ in range(3)]
    for each in (too_much, *more):
        each.pay(node, PRICE + 7)
    worker_once(acme.app)
    given_up.cancel()
    seats = guest.purchase().json["admissions"]
    transfer = admin.post(f"{acme.checkout}/admissions/{seats[0]['id']}/transfer").json
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, node.rpc("eth_accounts")[5], 7)
    refund = anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, anvil.BUYER, 7, sender=5)
    keys = [acme.key("read"), acme.key("write")]
    key_ids = [each["id"] for each in admin.get(f"{acme.path}/apikeys").json["data"]]
    member = ("members", "add", acme.slug, ada["email"], "--role", "admin")
    cli(acme.app, *member, "--password-stdin", stdin=PASSWORD)
    people = [invite(acme, f"{name}@example.org", "admin") for name in ("grace", "joan")]
    invitations = [each["invitation_url"].rpartition("/")[2] for each in people]
    webhooks = [new_webhook(acme) for _ in range(15)]
    known: Known = {
        "path.member_id": [each["id"] for each in people],
        "body.invitation": invitations,
        "path.webhook_id": [each.id for each in webhooks],
        "body.url": ["https://hooks.example.org/", "https://[2606:4700::1111]:8443/a?b=c"],
        "path.tenant": [acme.slug, acme.id],
        "path.event_id": [*events, "on-sale"],
        "path.ticket_id": [each["id"] for each in tickets],
        **{f"path.{name}": list(made) for name, made in parts.items()},
        "path.intent_id": [
            each.intent["id"] for each in (waiting, paid, too_much, *more, given_up, guest)
        ],
        "path.key_id": key_ids,
        "path.admission_id": [each["id"] for each in seats],
        "query.event_id": [sale["id"], draft["id"]],
        "body.event_id": [sale["id"], "on-sale"],
        "body.ticket_id": [each["id"] for each in tickets],
        "body.chain_id": [CHAIN],
        "body.timezone": ["UTC", "America/Argentina/Buenos_Aires"],
        "body.online_join_url": ["https://meet.example.org/launch", "http://[::1]:8443/a?b=c#d"],
        "body.accent_color": ["#1f4e79", "#767676"],
        "body.website": ["https://acme.example.org/"],
        "body.tx_hash": [refund["transactionHash"]],
        "body.recipient": [node.rpc("eth_accounts")[6]],
        "body.payer": [node.rpc("eth_accounts")[6]],
        "body.token": [anvil.TOKEN_ADDRESS],
        "body.address": [node.rpc("eth_accounts")[6], anvil.BUYER],
        "body.amount": [7],
        "body.api_key": keys,
        "body.tenant": [acme.slug],
        "body.offer": [transfer["offer"]],
        "body.email": [ada["email"]],
        "body.password": [PASSWORD],
    }
    event_of = {each["id"]: each["event_id"] for each in tickets}
    for made in parts.values():
        event_of |= made
    return Shop(acme, known, event_of, paid, acme.with_headers(_sign_in(acme, ada["email"])))


def _made(admin: Api, acme: Organizer, events: list[str], name: str) -> dict[str, str]:
    """Create parts of events: several of each, as a request may archive or revoke one.

    Return their events by their ids.
    """
    path, body = PARTS[name]
    made = [
        (admin.post(f"{acme.path}/events/{event}/{path}", body), event)
        for event in events
        for _ in range(4)
    ]
    return {answer.json["id"]: event for answer, event in made}


def _sign_in(acme: Organizer, email: str) -> dict[str, str]:
    body = {"tenant": acme.slug, "email": email, "password": PASSWORD}
    answer = acme.with_headers({}).post("/v1/auth/login", body)
    return {"Authorization": f"Bearer {answer.json['access_token']}"}
