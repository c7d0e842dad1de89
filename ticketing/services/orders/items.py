"""The items of orders: write them, and read those of many orders at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from peewee import ModelSelect

from ticketing.models.items import IntentItem
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared, new_row, prepared_insert
from ticketing.models.ticket_types import TicketType
from ticketing.models.vouchers import Voucher

_insert = prepared_insert(IntentItem)


@Prepared
def _of_intents(intent_ids: Any) -> ModelSelect[IntentItem]:
    return (
        IntentItem.select(IntentItem, TicketType.id, TicketType.name)
        .join(TicketType)
        .where(IntentItem.intent.in_(intent_ids))
        .order_by(IntentItem.intent, IntentItem.position)
    )


@Prepared
def _vouchers(voucher_ids: Any) -> ModelSelect[Voucher]:
    return Voucher.select().where(Voucher.id.in_(voucher_ids))


@Prepared
def _types(type_ids: Any) -> ModelSelect[TicketType]:
    return TicketType.select().where(TicketType.id.in_(type_ids))


def write(intent: PaymentIntent) -> None:
    """Write the items of a new order."""
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
    """Read the items of those orders that do not have them yet, and the names of their types.

    It takes one query at most.
    """
    without = {each.id: each for each in intents if "item_names" not in vars(each)}
    if not without:
        return
    of_each: dict[str, list[IntentItem]] = defaultdict(list)
    rows: list[IntentItem] = _of_intents.rows(intent_ids=tuple(without))
    for row in rows:
        of_each[row.intent_id].append(row)
    for intent_id, intent in without.items():
        intent.items = tuple(row.item for row in of_each[intent_id])
        intent.item_names = {row.ticket_type_id: row.ticket_type.name for row in of_each[intent_id]}


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


def types_of(intent: PaymentIntent) -> dict[str, TicketType]:
    """Return the ticket types of an order's items."""
    rows: list[TicketType] = _types.rows(
        type_ids=tuple(item.ticket_type_id for item in intent.items)
    )
    return {each.id: each for each in rows}
