"""Orders of several ticket types of one event."""

from typing import Any

from werkzeug.test import TestResponse

from tests.support.factories import PRICE, Api, Buyer, Organizer, worker_once
from tools.anvil import Anvil

CHILD, SHIRT = 2_000_000, 15_000_000
"""What they cost. A seat costs PRICE."""


def carts_of(organizer: Organizer, **fields: Any) -> dict[str, Any]:
    """An event that sells several ticket types in one order."""
    return organizer.event(carts=True, **fields)


def family(organizer: Organizer, **event: Any) -> list[dict[str, Any]]:
    """The ticket types of an event: adult, child (with a ticket only), shirt (admits nobody)."""
    of = carts_of(organizer, **event)
    return [
        organizer.ticket(of, name="Adult"),
        organizer.ticket(of, name="Child", price_amount=CHILD, requires_ticket=True),
        organizer.ticket(of, name="Shirt", price_amount=SHIRT, admission=False),
    ]


def items_of(*wanted: tuple[dict[str, Any], int]) -> list[dict[str, Any]]:
    """The items of a body: ticket types, each with its number."""
    return [{"ticket_id": each["id"], "quantity": number} for each, number in wanted]


def order(organizer: Organizer, *wanted: tuple[dict[str, Any], int], **fields: Any) -> TestResponse:
    """Send a preflight for these numbers of ticket types of the first one's event."""
    options = {
        name: fields.pop(name) for name in ("headers", "environ_overrides") if name in fields
    }
    body = {"event_id": wanted[0][0]["event_id"], "items": items_of(*wanted), **fields}
    api = Api(organizer.app.test_client())
    return api.post(f"{organizer.checkout}/preflight", body, **options)


def buyer_of(organizer: Organizer, *wanted: tuple[dict[str, Any], int], **fields: Any) -> Buyer:
    """A buyer after a successful preflight."""
    answer = order(organizer, *wanted, **fields)
    assert answer.status_code == 201, answer.json
    return Buyer(organizer, answer.json)


def sold_to(
    organizer: Organizer, node: Anvil, *wanted: tuple[dict[str, Any], int], **fields: Any
) -> Buyer:
    """A buyer whose order is paid and confirmed."""
    buyer = buyer_of(organizer, *wanted, **fields)
    worker_once(organizer.app)
    buyer.pay(node)
    worker_once(organizer.app)
    assert buyer.now()["status"] == "confirmed"
    return buyer


TOTAL = 2 * PRICE + CHILD + SHIRT
"""What two adults, a child and a shirt cost."""
