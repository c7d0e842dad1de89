"""The tables that an organizer can download: their columns, and the rows in batches by id.

A money column with the name of an API field is in micro-units, as there: an integer cannot be
misread by a spreadsheet with a decimal comma. `amount_decimal` is the amount in the currency.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from operator import attrgetter, itemgetter
from typing import Any

from peewee import JOIN, ModelSelect

from ticketing.constants import MICRO_UNIT_DECIMALS, Ask
from ticketing.models.admissions import Admission
from ticketing.models.base import UtcDateTimeField
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import IS_HOME, Item, PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.prepared import Prepared
from ticketing.models.refunds import Refund
from ticketing.models.ticket_types import TicketType
from ticketing.models.vouchers import Voucher
from ticketing.services.orders import accounts, items

BATCH = 1000
"""How many admissions or orders are in memory at a time."""


@dataclass(frozen=True)
class Table:
    """A file: its columns in their order, and `batches` of the rows of one event.

    Columns with the answers to questions of the kind `ask` follow. `id_of` a row is whose they are.
    """

    name: str
    columns: Mapping[str, Callable[[Any], Any]]
    batches: Callable[[str], Iterator[Sequence[Any]]]
    ask: Ask | None = None
    id_of: Callable[[Any], str] = attrgetter("id")


@dataclass(frozen=True)
class Movement:
    """A payment to an order, or a refund of it. The amount of a refund is negative."""

    kind: str
    id: str
    order: PaymentIntent
    amount: int
    chain_id: int
    token_address: str | None
    tx_hash: str
    log_index: int
    block_number: int | None
    block_time: datetime | None
    recorded_at: datetime
    sender: str | None
    recipient: str | None
    canonical: bool


@dataclass(frozen=True)
class ItemRow:
    """An item of an order."""

    order: PaymentIntent
    item: Item


_OF_ADMISSION: dict[str, Any] = {
    "admission_id": Admission.id,
    "status": Admission.status,
    "ticket_id": Admission.ticket_type,
    "ticket_type": TicketType.name,
    "holder_name": Admission.holder_name,
    "holder_email": Admission.holder_email,
    "generation": Admission.generation,
    "redeemed_at": Admission.redeemed_at,
    "redeemed_gate": Admission.redeemed_gate,
    "intent_id": Admission.intent,
    "created_at": Admission.created_at,
    "amount": Admission.amount,
    "released": Admission.released,
}


@Prepared
def _admissions(event_id: Any, after: Any) -> ModelSelect[Admission]:
    return (
        Admission.select(*_OF_ADMISSION.values())
        .join(TicketType)
        .where(Admission.event == event_id, Admission.id > after)
        .order_by(Admission.id)
        .limit(BATCH)
    )


def _with_homes(event_id: Any, after: Any) -> ModelSelect[PaymentIntent]:
    shown = (
        PaymentIntent.id,
        PaymentIntent.created_at,
        PaymentIntent.status,
        PaymentIntent.flags,
        PaymentIntent.voucher,
        PaymentIntent.quantity,
        PaymentIntent.currency,
        PaymentIntent.amount,
        PaymentIntent.tolerance,
        PaymentIntent.ended_at,
        PaymentIntent.chain_id,
        PaymentIntent.token_address,
        PaymentIntent.address,
        PaymentIntent.buyer_name,
        PaymentIntent.buyer_email,
        PaymentIntent.expires_at,
        PaymentIntent.confirmed_at,
    )
    of_home = (
        OrderAccount.chain_id,
        OrderAccount.token_address,
        OrderAccount.received,
        OrderAccount.kept,
        OrderAccount.open,
        OrderAccount.due,
        OrderAccount.pending,
        OrderAccount.refunded,
        OrderAccount.waived,
        OrderAccount.refund_address,
    )
    return (
        PaymentIntent.select(*shown, *of_home)
        .join(OrderAccount, JOIN.LEFT_OUTER, on=IS_HOME)
        .where(PaymentIntent.event == event_id, PaymentIntent.id > after)
        .order_by(PaymentIntent.id)
        .limit(BATCH)
    )


_orders: Prepared[PaymentIntent] = Prepared(_with_homes, last="read_account")


@Prepared
def _seats(event_id: Any, after: Any) -> ModelSelect[PaymentIntent]:
    return (
        PaymentIntent.select(PaymentIntent.id, PaymentIntent.status)
        .where(PaymentIntent.event == event_id, PaymentIntent.id > after)
        .order_by(PaymentIntent.id)
        .limit(BATCH)
    )


@Prepared
def _vouchers(event_id: Any, after: Any) -> ModelSelect[Voucher]:
    return (
        Voucher.select()
        .where(Voucher.event == event_id, Voucher.id > after)
        .order_by(Voucher.id)
        .limit(BATCH)
    )


@Prepared
def _addresses(event_id: Any, after: Any) -> ModelSelect[PaymentIntent]:
    return (
        PaymentIntent.select(
            PaymentIntent.id,
            PaymentIntent.address,
            PaymentIntent.currency,
            PaymentIntent.token_address,
        )
        .where(PaymentIntent.event == event_id, PaymentIntent.id > after)
        .order_by(PaymentIntent.id)
        .limit(BATCH)
    )


def _between(event_id: Any, after: Any, last: Any) -> Any:
    return (
        (PaymentIntent.event == event_id) & (PaymentIntent.id > after) & (PaymentIntent.id <= last)
    )


@Prepared
def _payments(event_id: Any, after: Any, last: Any) -> ModelSelect[Payment]:
    return Payment.select().join(PaymentIntent).where(_between(event_id, after, last))


@Prepared
def _refunds(event_id: Any, after: Any, last: Any) -> ModelSelect[Refund]:
    return Refund.select().join(PaymentIntent).where(_between(event_id, after, last))


def _attendees(event_id: str) -> Iterator[Sequence[Any]]:
    """Yield the admissions of an event as tuples, because models take three times as long."""
    after = ""
    while rows := _admissions.tuples(event_id=event_id, after=after):
        yield rows
        after = rows[-1][0]


def _by_id(page: Prepared[Any]) -> Callable[[str], Iterator[Sequence[Any]]]:
    """Return a function that yields all rows of an event in batches, ordered by id."""

    def batches(event_id: str) -> Iterator[Sequence[Any]]:
        after = ""
        while rows := page.rows(event_id=event_id, after=after):
            yield rows
            after = rows[-1].id

    return batches


def _with_items(
    batches: Callable[[str], Iterator[Sequence[PaymentIntent]]],
) -> Callable[[str], Iterator[Sequence[PaymentIntent]]]:
    """Return a function that also reads the items of each batch of orders, and their names."""

    def read(event_id: str) -> Iterator[Sequence[PaymentIntent]]:
        for orders in batches(event_id):
            items.read(orders)
            for order in orders:
                if order.read_account is not None:
                    accounts.keep(order, [order.read_account])
            yield orders

    return read


def _items(event_id: str) -> Iterator[Sequence[ItemRow]]:
    """Yield the items of all orders of an event, ordered by order and then as in the order."""
    for orders in _with_items(_by_id(_seats))(event_id):
        yield [ItemRow(order, item) for order in orders for item in order.items]


def _movements(event_id: str) -> Iterator[Sequence[Movement]]:
    """Yield the payments and refunds of an event, ordered by order and then by block."""
    after = ""
    for orders in _by_id(_addresses)(event_id):
        found: dict[str, list[Movement]] = defaultdict(list)
        by_id = {order.id: order for order in orders}
        span = {"event_id": event_id, "after": after, "last": orders[-1].id}
        payments: list[Payment] = _payments.rows(**span)
        refunds: list[Refund] = _refunds.rows(**span)
        rows: list[Payment | Refund] = [*payments, *refunds]
        tokens = _tokens_of({row.account_id for row in rows})
        for payment in payments:
            order = by_id[payment.intent_id]
            token = tokens[payment.account_id]
            found[payment.intent_id].append(_of_payment(payment, order, token))
        for refund in refunds:
            order = by_id[refund.intent_id]
            token = tokens[refund.account_id]
            found[refund.intent_id].append(_of_refund(refund, order, token))
        yield [each for order in orders for each in sorted(found[order.id], key=_place)]
        after = orders[-1].id


def _tokens_of(account_ids: Collection[int]) -> dict[int, str]:
    """Return the tokens of some accounts."""
    columns = OrderAccount.id, OrderAccount.token_address
    query = OrderAccount.select(*columns).where(OrderAccount.id.in_(list(account_ids)))
    rows: Iterable[Any] = query.tuples()
    return dict(rows)


def _place(movement: Movement) -> tuple[int, int, str]:
    return movement.block_number or 0, movement.log_index, movement.id


def _of_payment(payment: Payment, order: PaymentIntent, token: str | None) -> Movement:
    return Movement(
        kind="payment",
        id=payment.id,
        order=order,
        amount=payment.amount,
        chain_id=payment.chain_id,
        token_address=token,
        tx_hash=payment.tx_hash,
        log_index=payment.log_index,
        block_number=payment.block_number,
        block_time=payment.block_time,
        recorded_at=payment.seen_at,
        sender=payment.sender,
        recipient=order.address,
        canonical=payment.canonical,
    )


def _of_refund(refund: Refund, order: PaymentIntent, token: str | None) -> Movement:
    return Movement(
        kind="refund",
        id=refund.id,
        order=order,
        amount=-refund.amount,
        chain_id=refund.chain_id,
        token_address=token,
        tx_hash=refund.tx_hash,
        log_index=refund.log_index,
        block_number=refund.block_number,
        block_time=None,
        recorded_at=refund.created_at,
        sender=None,
        recipient=refund.recipient,
        canonical=refund.canonical,
    )


def _decimal(row: Any) -> Decimal:
    return Decimal(row.amount).scaleb(-MICRO_UNIT_DECIMALS)


def _only_name(order: PaymentIntent) -> str | None:
    """Return the name of an order's only ticket type."""
    ticket_id = order.only_ticket_id
    return None if ticket_id is None else order.item_names[ticket_id]


def _in_words(order: PaymentIntent) -> str:
    """Return the items of an order as one text."""
    names = order.item_names
    return "; ".join(f"{item.quantity} x {names[item.ticket_type_id]}" for item in order.items)


def _same(*names: str) -> dict[str, Callable[[Any], Any]]:
    """Return columns with the names of a row's attributes."""
    return {name: attrgetter(name) for name in names}


def _at(place: int, field: Any) -> Callable[[Any], Any]:
    """Return a function for a column of a tuple. SQLite's tuples have times as text."""
    if isinstance(field, UtcDateTimeField):
        return lambda row: field.python_value(row[place])
    return itemgetter(place)


ATTENDEES = Table(
    "attendees",
    {name: _at(place, field) for place, (name, field) in enumerate(_OF_ADMISSION.items())},
    _attendees,
    Ask.ATTENDEE,
    itemgetter(0),
)
ORDERS = Table(
    "orders",
    {
        "intent_id": attrgetter("id"),
        **_same("created_at", "status"),
        "flags": lambda order: " ".join(order.flags_in_order),
        "ticket_id": attrgetter("only_ticket_id"),
        "ticket_type": _only_name,
        **_same("quantity", "currency"),
        "amount_decimal": _decimal,
        "unit_amount": attrgetter("only_unit_amount"),
        **_same("amount", "amount_received", "amount_due", "refund_due"),
        "refund_pending": attrgetter("home.pending"),
        **_same("refunded", "waived", "chain_id", "address"),
        "refund_address": attrgetter("home.refund_address"),
        **_same("buyer_name", "buyer_email", "expires_at", "confirmed_at"),
        "kept": attrgetter("home.kept"),
        "open": attrgetter("home.open"),
        "items": _in_words,
        **_same("discount_amount", "voucher_id", "forgiven"),
    },
    _with_items(_by_id(_orders)),
    Ask.ORDER,
)
ITEMS = Table(
    "items",
    {
        "intent_id": attrgetter("order.id"),
        "ticket_id": attrgetter("item.ticket_type_id"),
        "ticket_type": lambda row: row.order.item_names[row.item.ticket_type_id],
        **{
            name: attrgetter(f"item.{name}")
            for name in ("quantity", "list_amount", "unit_amount", "amount", "vouchered")
        },
        "status": attrgetter("order.status"),
    },
    _items,
)
PAYMENTS = Table(
    "payments",
    {
        **_same("kind", "id"),
        "intent_id": attrgetter("order.id"),
        "currency": attrgetter("order.currency"),
        "amount_decimal": _decimal,
        **_same("amount", "canonical", "chain_id", "tx_hash", "log_index", "block_number"),
        **_same("block_time", "recorded_at", "sender", "recipient", "token_address"),
    },
    _movements,
)
VOUCHERS = Table(
    "vouchers",
    {
        "voucher_id": attrgetter("id"),
        **_same("code", "status", "tag", "max_usages", "held", "redeemed", "min_usages"),
        **_same("valid_until", "price_mode", "value", "ticket_ids", "comment", "created_at"),
    },
    _by_id(_vouchers),
)
VOUCHERS_WITHOUT_CODES = Table(
    VOUCHERS.name, {**VOUCHERS.columns, "code": lambda voucher: None}, VOUCHERS.batches
)
