"""Fill a database with orders of every kind: few are made by a service, the rest are copies.

The copies have ids, addresses and codes of their own, so `reconcile` finds nothing wrong with them.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from bench.shop import Organizer
from ticketing import credentials, ids
from ticketing.chain import receivers
from ticketing.constants import LIVE, AdmissionStatus
from ticketing.db.connection import database, open_database, write_transaction
from tools import anvil
from tools.stack import Stack, StackFailed

TENANT = "many"
_ROWS_AT_ONCE = 1000
_SEEN_SECONDS = 60

Row = dict[str, Any]
Ask = Callable[[str, str, Any, int], Any]


@dataclass(frozen=True)
class Kind:
    """An order of so many seats: `paid` parts of 100, and what the organizer or the buyer did.

    `share`: how many of 100 orders are of this kind.
    """

    name: str
    share: int
    seats: int = 2
    paid: int = 100
    voided: int = 0
    refund: bool = True
    canceled: bool = False


KINDS = (
    Kind("confirmed", 60),
    Kind("one seat voided with a refund", 5, seats=3, voided=1),
    Kind("all seats voided with a refund", 2, voided=2),
    Kind("one seat voided without a refund", 3, voided=1, refund=False),
    Kind("paid too much", 3, paid=150),
    Kind("not paid", 7, paid=0),
    Kind("paid in part", 5, paid=40),
    Kind("canceled", 10, paid=0, canceled=True),
    Kind("canceled, then paid in part", 5, paid=40, canceled=True),
)


@dataclass(frozen=True)
class Filled:
    """A tenant with many orders of one ticket type, and another ticket type for visitors."""

    database_url: str
    key: str
    organizer: Organizer
    event_id: str
    ticket_id: str
    other_event_id: str
    other_ticket_id: str


def fill(stack: Stack, node: anvil.Anvil, orders: int) -> Filled:
    """Fill the database of a running service. Its worker runs meanwhile. StackFailed."""
    stack.start_worker()
    stack.wait_for_receivers(anvil.CHAIN_ID)
    key = stack.create_tenant(TENANT, "Many", *anvil.SELLER_WALLET)
    organizer = Organizer(stack, key, TENANT)
    event_id, other = organizer.event("Many"), organizer.event("Other")
    ticket_id, other_id = (organizer.ticket(each, "Seat", None) for each in (event_id, other))
    url = stack.environ["DATABASE_URL"]
    filled = Filled(url, key, organizer, event_id, ticket_id, other, other_id)
    models = list(_models(filled, node))
    path = f"/v1/admin/tenants/{TENANT}/events/{event_id}/tickets/{ticket_id}/admissions"
    organizer.ask("POST", path, {"holders": [{"name": "Ada"}]}, 201)
    stack.kill("worker")
    open_database(url)
    try:
        _copy(filled, models, orders)
    finally:
        database.close()
    return filled


def _models(filled: Filled, node: anvil.Anvil) -> Iterator[tuple[Kind, str]]:
    """Make one order of each kind through the API. Yield its id."""
    ask, checkout = filled.organizer.ask, f"/v1/checkout/tenants/{TENANT}"
    admin = f"/v1/admin/tenants/{TENANT}"
    made = []
    for kind in KINDS:
        body = {"event_id": filled.event_id, "ticket_id": filled.ticket_id, "quantity": kind.seats}
        intent = ask("POST", f"{checkout}/preflight", body, 201)
        made.append((kind, intent))
        if kind.canceled:
            headers = {"Authorization": f"Bearer {intent['client_secret']}"}
            ask("POST", f"{checkout}/intents/{intent['id']}/cancel", None, 200, headers)
        if kind.paid:
            amount = intent["atomic_amount"] * kind.paid // 100
            anvil.transfer(node.rpc, intent["token_address"], intent["address"], amount)
    for kind, intent in made:
        path, until = f"{admin}/intents/{intent['id']}", time.monotonic() + _SEEN_SECONDS
        while not _is_settled(kind, now := ask("GET", path, None, 200)):
            if time.monotonic() > until:
                raise StackFailed(f"the worker has not booked what was paid: {now}")
            time.sleep(0.05)
        for seat in now["admissions"][: kind.voided]:
            body = {"reason": "Asked for.", "refund": kind.refund}
            ask("POST", f"{admin}/admissions/{seat['id']}/void", body, 200)
        yield kind, intent["id"]


def _is_settled(kind: Kind, intent: Mapping[str, Any]) -> bool:
    """Return whether the worker has booked all that was paid for an order."""
    is_booked = intent["amount_received"] == intent["amount"] * kind.paid // 100
    return bool(is_booked and (kind.paid < 100 or intent["status"] == "confirmed"))


def _copy(filled: Filled, models: Iterable[tuple[Kind, str]], orders: int) -> None:
    """Copy the orders of the models until there are so many, and a guest for every tenth."""
    with write_transaction():
        of_tenant = f"tenant_id = (SELECT id FROM tenants WHERE slug = '{TENANT}')"
        wallet = rows("wallets", of_tenant)[0]
        index = wallet["next_index"]
        for kind, intent_id in models:
            copies = orders * kind.share // 100 - 1
            intent = rows("payment_intents", f"id = '{intent_id}'")[0]
            new_ids = [ids.new(ids.INTENT) for _ in range(copies)]
            places = range(index, index + copies)
            new = [
                {**intent, "id": new_id, "address_index": place, "address": _address(wallet, place)}
                for new_id, place in zip(new_ids, places, strict=True)
            ]
            _insert("payment_intents", new)
            index += copies
            accounts = _copy_account(intent_id, new)
            for payment in rows("payments", f"intent_id = '{intent_id}'"):
                changed = {"id": ids.PAYMENT, "tx_hash": "0x"}
                copied = _copies(payment, changed, new_ids)
                of_accounts = ({**row, "account_id": accounts[row["intent_id"]]} for row in copied)
                _insert("payments", of_accounts)
            for item in rows("intent_items", f"intent_id = '{intent_id}'"):
                _insert("intent_items", _copies(item, {}, new_ids))
            for seat in rows("admissions", f"intent_id = '{intent_id}'"):
                _insert("admissions", _copies(seat, {"id": ids.ADMISSION}, new_ids))
        guest = rows("admissions", f"ticket_type_id = '{filled.ticket_id}' AND intent_id IS NULL")
        _insert("admissions", _copies(guest[0], {"id": ids.ADMISSION}, [None] * (orders // 10)))
        database.execute_sql(f"UPDATE wallets SET next_index = {index} WHERE id = '{wallet['id']}'")
        _count(filled.ticket_id)
    database.execute_sql("ANALYZE")


def _copy_account(intent_id: str, new: Sequence[Row]) -> dict[str, int]:
    """Copy the only account of an order for new ones. Return the account of each by its id."""
    (account,) = rows("order_accounts", f"intent_id = '{intent_id}'")
    del account["id"]  # the database gives it
    copies = ({**account, "intent_id": each["id"], "address": each["address"]} for each in new)
    _insert("order_accounts", copies)
    of_event = rows("order_accounts", f"event_id = '{account['event_id']}'")
    return {each["intent_id"]: each["id"] for each in of_event}


def _address(wallet: Row, index: int) -> str:
    salt = receivers.order_salt(bytes.fromhex(wallet["secret"]), index)
    return receivers.receiver_address(wallet["owner"], salt)


def _copies(row: Row, changed: Mapping[str, str], intents: Iterable[str | None]) -> Iterator[Row]:
    """Yield a copy of a row for each of these orders."""
    for intent in intents:
        copy = {**row, **{name: ids.new(prefix) for name, prefix in changed.items()}}
        if "code" in row:
            copy["code"] = credentials.new_admission_code()
        yield {**copy, "intent_id": intent}


def _count(ticket_id: str) -> None:
    """Make the stock of the ticket type what its orders and admissions are."""
    live = ", ".join(f"'{status}'" for status in LIVE)
    database.execute_sql(
        f"""
        UPDATE ticket_types SET
            held = (SELECT sum(i.quantity) FROM intent_items i
                JOIN payment_intents p ON p.id = i.intent_id
                WHERE i.ticket_type_id = ticket_types.id AND p.status IN ({live})),
            sold = (SELECT count(*) FROM admissions
                WHERE ticket_type_id = ticket_types.id AND status <> '{AdmissionStatus.VOID}')
        WHERE id = '{ticket_id}'
        """
    )


def rows(table: str, condition: str) -> list[Row]:
    """Return the rows of a table that meet a condition."""
    cursor = database.execute_sql(f"SELECT * FROM {table} WHERE {condition}")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _insert(table: str, rows: Iterable[Row]) -> None:
    cursor: Any = database.connection().cursor()
    left = iter(rows)
    while page := list(islice(left, _ROWS_AT_ONCE)):
        marks = ", ".join([database.obj.param] * len(page[0]))
        statement = f"INSERT INTO {table} ({', '.join(page[0])}) VALUES ({marks})"
        cursor.executemany(statement, [list(row.values()) for row in page])
