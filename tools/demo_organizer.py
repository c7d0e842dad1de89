"""For tools.demo: the steps of the organizer, before and after the sale."""

from datetime import UTC, datetime, timedelta

from tools.demo_steps import Demo, require
from tools.receiver import Receiver

TENANT = "demo"
PRICE = 5_000_000
JOIN_URL = "https://meet.example.org/launch"


def open_shop(demo: Demo, first_key: str, receiver: Receiver) -> str:
    """Create a webhook endpoint, and a key with the role for the next steps. Return its JWT."""
    first = demo.step(
        "exchange the tenant's first key for a JWT",
        "POST",
        "/v1/auth/token",
        {"api_key": first_key},
        expect=200,
        show=("role", "expires_in", "access_token"),
        role="admin",
    )
    endpoint = demo.step(
        "create a webhook endpoint; only this response contains its secret",
        "POST",
        f"/v1/admin/tenants/{TENANT}/webhooks",
        {"url": receiver.url, "types": ["intent.confirmed"]},
        credential=first["access_token"],
        expect=201,
        show=("id", "url", "types", "secret"),
    )
    receiver.secret = endpoint["secret"]
    key = demo.step(
        "create an API key; only this response contains its plaintext",
        "POST",
        f"/v1/admin/tenants/{TENANT}/apikeys",
        {"name": "box office", "role": "write", "ttl_seconds": 3600},
        credential=first["access_token"],
        expect=201,
        show=("id", "role", "expires_at", "key"),
        role="write",
        status="active",
    )
    token = demo.step(
        "exchange it for a JWT",
        "POST",
        "/v1/auth/token",
        {"api_key": key["key"]},
        expect=200,
        show=("role", "expires_in", "access_token"),
        role="write",
        token_type="Bearer",
    )
    return str(token["access_token"])


def publish(demo: Demo, token: str) -> tuple[str, str]:
    """Publish an event with a ticket type. Return their ids."""
    admin = f"/v1/admin/tenants/{TENANT}/events"
    start = datetime.now(UTC).replace(microsecond=0) + timedelta(days=30)
    event = demo.step(
        "create an event",
        "POST",
        admin,
        {
            "title": "Launch Night",
            "type": "online",
            "start_at": start.isoformat(),
            "timezone": "UTC",
            "online_join_url": JOIN_URL,
        },
        credential=token,
        expect=201,
        show=("id", "slug", "status"),
        status="draft",
        slug="launch-night",
    )
    event_id = event["id"]
    ticket = demo.step(
        "create a ticket type",
        "POST",
        f"{admin}/{event_id}/tickets",
        {"name": "General admission", "price_amount": PRICE, "chain_id": 31337, "capacity": 10},
        credential=token,
        expect=201,
        show=("id", "status", "available"),
        status="draft",
        available=10,
    )
    ticket_id = ticket["id"]
    demo.step(
        "publish the ticket type",
        "POST",
        f"{admin}/{event_id}/tickets/{ticket_id}/status",
        {"status": "published"},
        credential=token,
        expect=200,
        show=("status", "obstacles"),
        status="published",
        obstacles=["event_not_published"],
    )
    demo.step(
        "publish the event; now buyers can order",
        "POST",
        f"{admin}/{event_id}/status",
        {"status": "published"},
        credential=token,
        expect=200,
        show=("status", "obstacles"),
        status="published",
        obstacles=[],
    )
    return event_id, ticket_id


def look_behind(demo: Demo, token: str, event_id: str, ticket_id: str) -> None:
    """Show the stock and the admissions after the sale."""
    admin = f"/v1/admin/tenants/{TENANT}"
    demo.step(
        "the organizer's stock: one sold, nothing held",
        "GET",
        f"{admin}/events/{event_id}/tickets/{ticket_id}",
        credential=token,
        expect=200,
        show=("capacity", "held", "sold", "available"),
        held=0,
        sold=1,
        available=9,
    )
    admissions = demo.step(
        "the organizer's list of admissions, without their codes",
        "GET",
        f"{admin}/admissions?event_id={event_id}",
        credential=token,
        expect=200,
        show=("id", "intent_id", "status"),
    )
    require([each["status"] for each in admissions["data"]] == ["valid"], "not one valid admission")
    require("code" not in admissions["data"][0], "the organizer's list shows a code")
