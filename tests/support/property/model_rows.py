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
    "order_accounts",
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
"""The tables whose rows belong to an account of an order."""

OF_HOME = {
    **dict.fromkeys(("received", "due", "pending", "refunded", "waived", "open", "kept"), 0),
    **dict.fromkeys(("token_decimals", "early_confirmations")),
}
"""The columns of its home that an order has in the model, and what they are of a free order."""

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
    """Return all rows that the model needs. Rows of money have a `place`, and say if it is home.

    An order has the columns of its home, `stray_accounts` are the others.
    """
    books = {table: _rows(table) for table in TABLES}
    for intent in books["payment_intents"].values():
        intent["place"] = f"{intent['id']}@{intent['chain_id']}"
        intent |= OF_HOME
    books["stray_accounts"] = {}
    for key, account in books["order_accounts"].items():
        intent = books["payment_intents"][account["intent_id"]]
        account["place"] = f"{account['intent_id']}@{account['chain_id']}"
        account["is_home"] = account["place"] == intent["place"]
        if account["is_home"]:
            intent |= {name: account[name] for name in OF_HOME}
        else:
            books["stray_accounts"][key] = account
    for table in OF_MONEY:
        for row in books[table].values():
            account = books["order_accounts"][str(row["account_id"])]
            row |= {"place": account["place"], "is_home": account["is_home"]}
    return books


def moment(value: str | datetime) -> datetime:
    """Return a time as the database returns it."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def of_intent(rows: dict[str, Row], intent_id: str) -> list[Row]:
    """Return the rows of one order. Of rows of money: those of its home."""
    of_order = (row for row in rows.values() if row["intent_id"] == intent_id)
    return [row for row in of_order if row.get("is_home", True)]


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
    missing = max(0, amount - (intent["received"] if arrived is None else arrived))
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
