"""What directories of x402 services list (extension `bazaar`): how to order, and the answer.

A facilitator reads it in the payload to settle, and lists the resource. It is made here, so nobody
else decides what is listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ticketing.models.payment_intents import Item
from ticketing.models.tenants import Tenant

TAGS = ("tickets", "events")

_LONGEST_NAME = 32
_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "input": {
            "type": "object",
            "properties": {
                "type": {"type": "string", "const": "http"},
                "method": {"type": "string", "enum": ["POST"]},
                "bodyType": {"type": "string", "enum": ["json"]},
                "body": {"type": "object"},
            },
            "required": ["type", "method", "bodyType", "body"],
            "additionalProperties": False,
        },
        "output": {
            "type": "object",
            "properties": {"type": {"type": "string"}, "example": {"type": "object"}},
            "required": ["type"],
        },
    },
    "required": ["input"],
}
_OUTPUT = {
    "type": "json",
    "example": {"status": "confirmed", "admissions": [{"code": "...", "qr": "..."}]},
}


def extensions(items: Sequence[Item], *, is_of_event: bool) -> dict[str, Any]:
    """Return the extensions of an order: what a body is that orders the same.

    `is_of_event`: on the path of the event, whose body lists items.
    """
    body: dict[str, Any] = {"quantity": items[0].quantity}
    if is_of_event:
        of_types = [{"ticket_id": each.ticket_type_id, "quantity": each.quantity} for each in items]
        body = {"items": of_types}
    post = {"type": "http", "method": "POST", "bodyType": "json", "body": body}
    return {"bazaar": {"info": {"input": post, "output": _OUTPUT}, "schema": _SCHEMA}}


def service(tenant: Tenant) -> dict[str, Any]:
    """Return what a directory shows of the seller. It takes short names in ASCII only."""
    name = tenant.name
    is_shown = len(name) <= _LONGEST_NAME and name.isascii() and name.isprintable()
    return {**({"serviceName": name} if is_shown else {}), "tags": list(TAGS)}
