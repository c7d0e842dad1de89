"""The rows that the property test's model reads, and sums over them in plain Python."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from ticketing.db.connection import database

LIVE = {"awaiting_payment", "processing"}
SOLD = {"confirmed", "reversed"}
ENDED = {"expired", "canceled"}
TABLES = (
    "tenants",
    "events",
    "event_stock",
    "ticket_types",
    "vouchers",
    "payment_intents",
    "intent_items",
    "stray_accounts",
    "payments",
    "collections",
    "admissions",
    "transfers",
    "scans",
    "refunds",
    "refund_addresses",
    "waivers",
    "wallets",
    "chains",
)

OF_MONEY = ("payments", "collections", "refunds", "refund_addresses", "waivers")
"""The tables whose rows belong to the home of an order, or to one of its stray accounts."""

Row = dict[str, Any]
Books = dict[str, dict[str, Row]]
"""The rows of each table by their first column."""


class Place(NamedTuple):
    """One payment or collection, in the books or on the chain.

    `account`: the order and the chain, as `place` in the rows.
    """

    tx_hash: str
    log_index: int
    block_number: int
    block_hash: str
    time: datetime
    account: str
    amount: int


def read_books() -> Books:
    """Return all rows that the model needs. Rows of money have a `place`: see place_of."""
    books = {table: _rows(table) for table in TABLES}
    for account in books["stray_accounts"].values():
        account["place"] = f"{account['intent_id']}@{account['chain_id']}"
    for intent in books["payment_intents"].values():
        intent["place"] = f"{intent['id']}@{intent['chain_id']}"
    for table in OF_MONEY:
        for row in books[table].values():
            accounts = books["stray_accounts" if row["stray"] else "payment_intents"]
            row["place"] = accounts[row["stray"] or row["intent_id"]]["place"]
    return books


def moment(value: str | datetime) -> datetime:
    """Return a time as the database returns it."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def of_intent(rows: dict[str, Row], intent_id: str) -> list[Row]:
    """Return the rows of one order. Of rows of money: those of its home."""
    return [row for row in rows.values() if row["intent_id"] == intent_id and not row.get("stray")]


def at_place(rows: dict[str, Row], place: str) -> list[Row]:
    """Return the rows of money of one order on one chain, whether it is its home or not."""
    return [row for row in rows.values() if row["place"] == place]


def items(books: Books, intent: Row) -> list[Row]:
    """Return the items of an order."""
    found = of_intent(books["intent_items"], intent["id"])
    assert found, "an order has items"
    return found


def released(books: Books, intent_id: str) -> int:
    """Return what an order keeps no more.

    What its seats cost that were voided with a refund, and what was promised for those sold on.
    """
    seats = of_intent(books["admissions"], intent_id)
    return sum(
        row["amount"] if row["void_refund"] else promised(row)
        for row in seats
        if row["status"] == "void"
    )


def promised(seat: Row) -> int:
    """Return what a seat that was sold on has brought back."""
    return int(seat["return_amount"] or 0) if seat["void_reason"] == "resold" else 0


def enough(intent: Row) -> int:
    """Return for how much an order is sold: a late one needs the whole amount."""
    return int(intent["amount"]) - (0 if intent["ended_at"] else int(intent["tolerance"]))


def kept(books: Books, intent: Row, arrived: int | None = None) -> int:
    """Return what an order keeps, in micro-units, if it has received `arrived`, else what it has.

    Of an order that was paid in time, what is missing is forgiven up to its tolerance.
    """
    if intent["status"] in ENDED:
        return 0
    amount = int(intent["amount"])
    if intent["status"] in LIVE:
        return amount
    missing = max(0, amount - (intent["amount_received"] if arrived is None else arrived))
    forgiven = min(amount - enough(intent), missing)
    return max(0, amount - forgiven - released(books, intent["id"]))


def received(payments: Iterable[Row], scale: int) -> int:
    """Return the sum of canonical payments in whole micro-units."""
    atomic = sum(row["amount"] * scale + row["dust"] for row in payments if row["canonical"])
    return int(atomic // scale)


def kept_at(books: Books, place: str, arrived: int | None = None) -> int:
    """Return the same for one chain: nothing of what is not the order's home."""
    intent = books["payment_intents"].get(place.partition("@")[0])
    is_home = intent is not None and intent["place"] == place
    return kept(books, intent, arrived) if intent is not None and is_home else 0


def waived(books: Books, place: str, scale: int) -> int:
    """Return what is written off: a waiver ends with the payments that it was about."""
    payments = at_place(books["payments"], place)
    left = 0
    for waiver in at_place(books["waivers"], place):
        up_to = [row for row in payments if row["block_number"] <= waiver["block_number"]]
        gone = max(0, waiver["received"] - received(up_to, scale))
        left += max(0, waiver["amount"] - gone)
    return left


def _rows(table: str) -> dict[str, Row]:
    cursor = database.execute_sql(f"SELECT * FROM {table}")
    names = [column[0] for column in cursor.description]
    # The rows of items have a key of two columns.
    keys = 2 if table == "intent_items" else 1
    return {
        "/".join(str(each) for each in row[:keys]): dict(zip(names, row, strict=True))
        for row in cursor.fetchall()
    }
