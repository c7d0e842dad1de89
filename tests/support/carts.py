"""Orders of several ticket types, for tests."""

from typing import Any

from tests.support.factories import Api, Buyer, Organizer
from ticketing import ids
from ticketing.models.items import IntentItem
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.vouchers import Voucher

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


def order_both(organizer: Organizer, *wanted: tuple[dict[str, Any], int], **fields: Any) -> Buyer:
    """A buyer after a successful preflight of several ticket types, each with its quantity."""
    items = [{"ticket_id": each["id"], "quantity": quantity} for each, quantity in wanted]
    body = {"event_id": wanted[0][0]["event_id"], "items": items, **fields}
    answer = Api(organizer.app.test_client()).post(f"{organizer.checkout}/preflight", body)
    assert answer.status_code == 201, answer.json
    return Buyer(organizer, answer.json)


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
    IntentItem.create(
        intent=intent.id,
        position=0,
        ticket_type=ticket["id"],
        quantity=intent.quantity,
        list_amount=list_amount,
        unit_amount=intent.unit_amount,
        admission=True,
        vouchered=True,
    )
    of_order = PaymentIntent.update(voucher=voucher.id, has_items=True)
    of_order.where(PaymentIntent.id == intent.id).execute()
    return voucher
