"""Orders of several ticket types of one event."""

from typing import Any

from werkzeug.test import TestResponse

from tests.support.factories import PRICE, Api, Buyer, Organizer, worker_once
from ticketing import ids
from ticketing.models.items import IntentItem
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.vouchers import Voucher
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


def use_voucher(
    buyer: Buyer, ticket: dict[str, Any], code: str, list_amount: int, **fields: Any
) -> Voucher:
    """Write an order in the database as if it had used a voucher for its only item."""
    intent = PaymentIntent.get_by_id(buyer.intent["id"])
    moment = intent.created_at
    of_event = {"tenant": intent.tenant_id, "event": intent.event_id}
    voucher: Voucher
    voucher, _ = Voucher.get_or_create(
        **of_event,
        code=code,
        defaults={
            "id": ids.new("vou_"),
            "max_usages": 9,
            "price_mode": "none",
            "created_at": moment,
            "updated_at": moment,
            **fields,
        },
    )
    of_order = IntentItem.intent == intent.id
    IntentItem.update(list_amount=list_amount, vouchered=True).where(of_order).execute()
    PaymentIntent.update(voucher=voucher.id).where(PaymentIntent.id == intent.id).execute()
    return voucher


SHIRT_PRICE = 2_000_000


def shop_of_two(organizer: Organizer, **of_ticket: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A ticket and a shirt of an event that sells both in one order."""
    event = organizer.event(carts=True, timezone="UTC")
    ticket = organizer.ticket(event, **{"name": "Adult", **of_ticket})
    paid = {name: ticket[name] for name in ("chain_id",)}
    price = SHIRT_PRICE if ticket["price_amount"] else 0
    shirt = organizer.ticket(
        event, name="T-shirt", price_amount=price, admission=False, capacity=None, **paid
    )
    return ticket, shirt
