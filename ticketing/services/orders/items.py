"""The items of orders: write them, and read those of many orders at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from peewee import ModelSelect

from ticketing.models.items import IntentItem
from ticketing.models.payment_intents import Item, PaymentIntent
from ticketing.models.prepared import Prepared, new_row, prepared_insert
from ticketing.models.ticket_types import TicketType
from ticketing.models.vouchers import Voucher

_insert = prepared_insert(IntentItem)


@Prepared
def _of_intents(intent_ids: Any) -> ModelSelect[IntentItem]:
    of_them = IntentItem.select().where(IntentItem.intent.in_(intent_ids))
    return of_them.order_by(IntentItem.intent, IntentItem.position)


@Prepared
def _vouchers(voucher_ids: Any) -> ModelSelect[Voucher]:
    return Voucher.select().where(Voucher.id.in_(voucher_ids))


@Prepared
def _types(type_ids: Any) -> ModelSelect[TicketType]:
    return TicketType.select().where(TicketType.id.in_(type_ids))


@Prepared
def _names(type_ids: Any) -> ModelSelect[TicketType]:
    return TicketType.select(TicketType.id, TicketType.name).where(TicketType.id.in_(type_ids))


def write(intent: PaymentIntent) -> None:
    """Write the items of a new order that `has_items`."""
    rows = [
        new_row(
            IntentItem,
            {
                "intent": intent.id,
                "position": position,
                "ticket_type": item.ticket_type_id,
                "quantity": item.quantity,
                "list_amount": item.list_amount,
                "unit_amount": item.unit_amount,
                "admission": item.admission,
                "vouchered": item.vouchered,
                "return_fee_percent": item.return_fee_percent,
                "deposit_amount": item.deposit_amount,
            },
        )
        for position, item in enumerate(intent.items)
    ]
    _insert(*rows)


def read(intents: Sequence[PaymentIntent]) -> None:
    """Read the items of those orders that do not have them yet, in one query at most."""
    carts = {each.id: each for each in intents if each.has_items and "items" not in vars(each)}
    if not carts:
        return
    of_each: dict[str, list[Item]] = defaultdict(list)
    rows: list[IntentItem] = _of_intents.rows(intent_ids=tuple(carts))
    for row in rows:
        of_each[row.intent_id].append(row.item)
    for intent_id, intent in carts.items():
        intent.items = tuple(of_each[intent_id])


def read_vouchers(intents: Sequence[PaymentIntent]) -> None:
    """Read the vouchers of several orders in one query. None if no order has one."""
    used = {intent.voucher_id for intent in intents if intent.voucher_id is not None}
    if not used:
        return
    rows: list[Voucher] = _vouchers.rows(voucher_ids=tuple(used))
    found = {each.id: each for each in rows}
    for intent in intents:
        if intent.voucher_id is not None:
            intent.voucher = found[intent.voucher_id]


def add_names(intents: Sequence[PaymentIntent]) -> None:
    """Set the names of the ticket types of each order that has none yet, in one query."""
    nameless = [intent for intent in intents if "item_names" not in vars(intent)]
    if not nameless:
        return
    read(nameless)
    wanted = {item.ticket_type_id for intent in nameless for item in intent.items}
    types: list[TicketType] = _names.rows(type_ids=tuple(wanted))
    names = {each.id: str(each.name) for each in types}
    for intent in nameless:
        intent.item_names = {
            item.ticket_type_id: names[item.ticket_type_id] for item in intent.items
        }


def types_of(intent: PaymentIntent) -> dict[str, TicketType]:
    """Return the ticket types of an order's items. That of a plain order was read with it."""
    if not intent.has_items:
        return {intent.ticket_type_id: intent.ticket_type}
    rows: list[TicketType] = _types.rows(
        type_ids=tuple(item.ticket_type_id for item in intent.items)
    )
    return {each.id: each for each in rows}
