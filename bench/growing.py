"""Let a shop grow: copy a hundred orders of every kind until there are a million, in SQL.

The hundred are those of filling.py. The copies are spread over time, tenants and events as in a
shop that has sold for ten months: the newest are of the last twenty minutes, and of the older ones
nothing is open any more. Money that came is collected, and nearly all that was owed is paid back.

Secondary indexes are dropped meanwhile and made again, which takes a third of the time.
"""

from dataclasses import dataclass

from bench import bulk, filling
from bench.bulk import Changes
from bench.buyers import TENANT
from bench.harness import World
from bench.shop import Organizer
from ticketing import ids
from ticketing.constants import LIVE, AdmissionStatus, IntentStatus
from ticketing.db.connection import database, is_sqlite, open_database, write_transaction
from ticketing.waiting_list import EntryStatus
from tools.stack import Stack

MODELS = 100
"""So many orders are made by the service. Every kind has its share."""

HOT_SHARE = 10
"""One of so many orders is of the event that the cases ask for, and one of its tenant's others."""

KEPT_SHARE = 10
"""One of so many orders is so new that its notifications are kept."""

OWED_SHARE = 20
"""One of so many orders that owed a refund still owes it."""

NEWEST = 3000
"""So many orders, at most a twentieth, are of the last minutes: some of them are open."""

_SECONDS = 300 * bulk.DAY
_NEWEST_SECONDS, _QUIET_SECONDS = 20 * 60, 3600
_SWEPT_WITHIN_SECONDS = 60_000
_BLOCK_SECONDS = 2

_GROWN = (
    "payment_intents",
    "order_accounts",
    "intent_items",
    "payments",
    "collections",
    "refunds",
    "admissions",
    "notifications",
)
"""The tables with most of the rows."""

_MOVED = {
    "payment_intents": "created_at hold_until expires_at confirmed_at",
    "payments": "block_time seen_at",
    "admissions": "created_at voided_at",
    "notifications": "created_at",
}
"""Their columns that are moved back in time, by table."""

_MODEL_TABLES = {
    "payment_intents": "id",
    "order_accounts": "id",
    "intent_items": "position",
    "payments": "id",
    "admissions": "id",
    "notifications": "position",
}
"""The tables with rows of the first hundred orders, and the order of an order's rows."""

_NEW_TABLES = ("new_orders", "models", "places", *_MODEL_TABLES)


@dataclass(frozen=True)
class Size:
    """How large the shop becomes."""

    orders: int
    tenants: int
    events_per_tenant: int
    vouchers: int
    waiting: int

    @property
    def events(self) -> int:
        """How many events get orders: the hot one, 50 of its tenant, and those of all others."""
        return 51 + self.tenants * self.events_per_tenant

    @property
    def old(self) -> int:
        """How many orders are not among the newest."""
        return self.orders - min(NEWEST, self.orders // 20)


FULL = Size(orders=1_000_000, tenants=497, events_per_tenant=4, vouchers=10_000, waiting=5_000)
"""With the tenants of the cases and the one of the first hundred orders, there are 500."""


def part_of(orders: int) -> Size:
    """Return the same shop with so many orders, and its vouchers and waiting people likewise."""
    part = orders / FULL.orders
    return Size(
        orders,
        max(3, round(FULL.tenants * part)),
        FULL.events_per_tenant,
        max(10, round(FULL.vouchers * part)),
        max(10, round(FULL.waiting * part)),
    )


def grow(world: World, stack: Stack, size: Size) -> None:
    """Fill the database of a running service. Its worker runs meanwhile. StackFailed."""
    shop = world.shop
    filled = filling.fill(stack, world.node, MODELS)
    organizer = Organizer(stack, shop.key)
    path = f"/v1/admin/tenants/{TENANT}/events/{shop.hot_event_id}/vouchers"
    voucher_id = organizer.ask("POST", path, {"max_usages": 10}, 201)["id"]
    open_database(stack.environ["DATABASE_URL"])
    try:
        bulk.hurry()
        with write_transaction():
            _name_models(filled)
            _add_places(world, filled, size)
            _number_orders(size)
            with bulk.without_indexes(_GROWN):
                _copy_orders(voucher_id, size)
                _copy_accounts()
                _copy_money()
                _copy_admissions()
                _copy_notifications(size)
            if not is_sqlite():
                bulk.run("ANALYZE")  # else it reads all orders for each voucher
            _copy_vouchers(voucher_id, size)
            _add_waiting(world, size)
            _count()
            for table in _NEW_TABLES:
                bulk.run(f"DROP TABLE growing_{table}")
        # As in production: Postgres has counted the rows of each table, and SQLite never does.
        bulk.run("DROP TABLE sqlite_stat1" if is_sqlite() else "VACUUM ANALYZE")
    finally:
        database.close()


def open_waiting_list(world: World) -> None:
    """Let people wait for what is sold out, in a shop of any size: the pages show it."""
    open_database(world.variables["DATABASE_URL"])
    try:
        bulk.run(
            "UPDATE ticket_types SET allow_waitinglist = TRUE"
            f" WHERE id = '{world.shop.sold_out_ticket_id}'"
        )
    finally:
        database.close()


def _name_models(filled: filling.Filled) -> None:
    """Put the orders that are copied, and their rows, into small tables of their own."""
    ordered = f"SELECT intent_id FROM intent_items WHERE ticket_type_id = '{filled.ticket_id}'"
    orders = f"SELECT id, status FROM payment_intents WHERE id IN ({ordered})"
    bulk.run(
        f"""
        CREATE TABLE growing_models AS
        SELECT id, status, ROW_NUMBER() OVER (ORDER BY id) - 1 AS number
        FROM ({orders} ORDER BY id LIMIT {MODELS}) AS ordered
        """
    )
    for table, order in _MODEL_TABLES.items():
        order_id = "id" if table == "payment_intents" else "intent_id"
        bulk.run(
            f"""
            CREATE TABLE growing_{table} AS
            SELECT m.*, m.{order_id} AS model_id,
                ROW_NUMBER() OVER (PARTITION BY m.{order_id} ORDER BY m.{order}) - 1 AS place
            FROM {table} m WHERE m.{order_id} IN (SELECT id FROM growing_models)
            """
        )


def _add_places(world: World, filled: filling.Filled, size: Size) -> None:
    """Make tenants and events, and number where orders can be: 0 is the hot ticket type."""
    shop = world.shop
    bulk.run(
        """
        CREATE TABLE growing_places
        (number INTEGER, tenant_id TEXT, event_id TEXT, ticket_type_id TEXT, wallet_id TEXT)
        """
    )
    (hot,) = filling.rows("events", f"id = '{shop.hot_event_id}'")
    (many,) = filling.rows("events", f"id = '{filled.event_id}'")
    wallets = {
        row["id"]: row["wallet_id"]
        for row in filling.rows("tenants", f"id IN ('{hot['tenant_id']}', '{many['tenant_id']}')")
    }
    tenant, wallet = bulk.key(ids.TENANT, "n"), bulk.key(ids.WALLET, "n")
    of_wallet = {"id": wallet, "tenant_id": tenant, "secret": _hex("n")}
    _copy(
        "wallets", of_wallet, bulk.numbers(size.tenants), f"m.id = '{wallets[many['tenant_id']]}'"
    )
    named = {"slug": f"'tenant-' || {bulk.text('n')}", "name": f"'Tenant ' || {bulk.text('n')}"}
    of_tenant = {"id": tenant, **named, "wallet_id": wallet}
    _copy("tenants", of_tenant, bulk.numbers(size.tenants), f"m.id = '{many['tenant_id']}'")
    bulk.run(
        f"""
        INSERT INTO growing_places
        SELECT n, '{hot["tenant_id"]}', CASE WHEN n = 0 THEN '{hot["id"]}' ELSE {_event()} END,
            CASE WHEN n = 0 THEN '{shop.hot_ticket_id}' ELSE {_type()} END,
            '{wallets[hot["tenant_id"]]}'
        FROM {bulk.numbers(51)} UNION ALL
        SELECT n + 51, {bulk.key(ids.TENANT, f"n % {size.tenants}")}, {_event("n + 51")},
            {_type("n + 51")}, {bulk.key(ids.WALLET, f"n % {size.tenants}")}
        FROM {bulk.numbers(size.events - 51)}
        """
    )
    # Half of the events are over.
    begins = f"CASE WHEN p.number % 2 = 0 THEN m.start_at ELSE {bulk.days_ago('p.number % 60')} END"
    numbered = f"' ' || {bulk.text('p.number')}"
    titled = {"title": f"'Event' || {numbered}", "slug": f"'event-' || {bulk.text('p.number')}"}
    of_place = {"tenant_id": "p.tenant_id"}
    changes = {"id": "p.event_id", **of_place, **titled, "start_at": begins}
    new = "growing_places p"
    _copy("events", changes, new, f"p.number > 0 AND m.id = '{many['id']}'")
    changes = {"id": "p.ticket_type_id", **of_place, "event_id": "p.event_id"}
    _copy("ticket_types", changes, new, f"p.number > 0 AND m.id = '{filled.ticket_id}'")


def _number_orders(size: Size) -> None:
    """Number the new orders in the order of time, with a model and a place for each.

    A hundred orders that follow each other have one place.
    """
    group = f"(n / {MODELS})"
    other = f"51 + ({group} * 7919) % {size.events - 51}"
    own = f"1 + ({group} / {HOT_SHARE}) % 50"
    place = f"CASE {group} % {HOT_SHARE} WHEN 0 THEN 0 WHEN 1 THEN {own} ELSE {other} END"
    old, new = size.old, size.orders - size.old
    before = f"{_QUIET_SECONDS} + {_SECONDS}.0 * ({old} - n) / {old}"
    awaits = f"m.status = '{IntentStatus.AWAITING_PAYMENT}'"
    just = f"{_NEWEST_SECONDS}.0 * ({size.orders} - n) / {new}"
    bulk.run(
        f"""
        CREATE TABLE growing_new_orders AS
        SELECT n, {bulk.key(ids.INTENT, "n")} AS id, m.id AS model_id, {place} AS place,
            n < {old} AS is_old, n < {old} AND {awaits} AS has_expired,
            CASE WHEN n < {old} THEN {before} ELSE {just} END AS seconds
        FROM {bulk.numbers(size.orders)} CROSS JOIN growing_models m
        WHERE m.number = (n * 37) % {MODELS}
        """
    )


def _copy_orders(voucher_id: str, size: Size) -> None:
    end = "CASE WHEN o.has_expired THEN m.expires_at ELSE m.ended_at END"
    uses = _uses_voucher(size)
    used = f"(o.n / {size.orders // 100}) * {MODELS} + o.n % {MODELS}"
    changes = {
        "id": "o.id",
        "tenant_id": "p.tenant_id",
        "event_id": "p.event_id",
        "wallet_id": "p.wallet_id",
        "address_index": "1000 + o.n",
        "address": f"'0x' || '{'0' * 30}' || {bulk.ten_digits('o.n')}",
        "status": f"CASE WHEN o.has_expired THEN '{IntentStatus.EXPIRED}' ELSE m.status END",
        "ended_at": bulk.moved(end, "0 - o.seconds"),
        "buyer_email": f"'buyer-' || {bulk.text('o.n % 300000')} || '@example.org'",
        "buyer_name": f"'Buyer ' || {bulk.text('o.n % 300000')}",
        "voucher_id": f"CASE WHEN {uses} THEN {bulk.key(ids.VOUCHER, used)} END",
        **_moved_columns("payment_intents"),
    }
    _copy("payment_intents", changes, _ORDERS, "m.id = o.model_id")
    item = {"intent_id": "o.id", "ticket_type_id": "p.ticket_type_id"}
    with_voucher = "i.id = o.id AND i.voucher_id IS NOT NULL"
    item["vouchered"] = f"EXISTS (SELECT 1 FROM payment_intents i WHERE {with_voucher})"
    _copy("intent_items", item, _ORDERS, "m.model_id = o.model_id")


_LIVE = ", ".join(f"'{status}'" for status in LIVE)
_OF_ACCOUNT = {
    "intent_id": "o.id",
    "account_id": "(SELECT a.id FROM order_accounts a WHERE a.intent_id = o.id)",
}
_ORDERS = "growing_new_orders o JOIN growing_places p ON p.number = o.place"
_OWED = "(CASE WHEN o.has_expired THEN m.received ELSE m.due END)"
_STILL_OWED = f"(NOT o.is_old OR (o.n / {MODELS}) % {OWED_SHARE} = 0)"


def _uses_voucher(size: Size) -> str:
    """Return the condition that an order used a voucher: a tenth of the hot event's did."""
    tenth = f"(o.n / {MODELS * HOT_SHARE}) % 10 = 0"
    is_sold = f"m.status = '{IntentStatus.CONFIRMED}'"
    used = f"(o.n / {size.orders // 100}) * {MODELS} + o.n % {MODELS} < {size.vouchers}"
    return f"(o.place = 0 AND {tenth} AND {is_sold} AND {used})"


def _copy_accounts() -> None:
    """Copy the only account of each order, which is its home."""
    confirmed = f"i.status = '{IntentStatus.CONFIRMED}'"
    live = f"i.status IN ({_LIVE})"
    over = bulk.moved("COALESCE(i.confirmed_at, i.ended_at)", str(bulk.DAY))
    swept_at = bulk.seconds_ago(f"o.n % {_SWEPT_WITHIN_SECONDS}")
    swept = f"o.is_old AND o.seconds > 2 * {bulk.DAY}"
    of_order = ("tenant_id", "event_id", "wallet_id", "address")
    changes = {
        **{name: f"i.{name}" for name in of_order},
        "intent_id": "i.id",
        "final": "m.received",
        "pending": "0",
        "pending_block": "NULL",
        "open": "CASE WHEN o.has_expired THEN 0 ELSE m.open END",
        "due": f"CASE WHEN {_STILL_OWED} THEN {_OWED} ELSE 0 END",
        "refunded": f"CASE WHEN {_STILL_OWED} THEN m.refunded ELSE m.refunded + {_OWED} END",
        "watch_until": f"CASE WHEN {live} THEN NULL ELSE {over} END",
        "sold_at": "i.confirmed_at",
        "collectable_at": f"""
            CASE WHEN {confirmed} THEN i.confirmed_at WHEN {live} THEN NULL ELSE {over} END
        """,
        "swept_at": f"CASE WHEN {swept} THEN {swept_at} END",
        "swept_balance": f"CASE WHEN {swept} THEN '0' END",
    }
    new = "growing_new_orders o JOIN payment_intents i ON i.id = o.id"
    _copy("order_accounts", changes, new, "m.model_id = o.model_id", without="id")


def _copy_money() -> None:
    """Copy payments. What was paid to old orders was collected, and paid back where it is due."""
    tx_hash = f"'{'0' * 53}' || {bulk.ten_digits('o.n')}"
    changes = {
        "id": bulk.key(ids.PAYMENT, "o.n"),
        **_OF_ACCOUNT,
        "tx_hash": f"'0x1' || {tx_hash}",
        "block_number": f"m.block_number - CAST(o.seconds / {_BLOCK_SECONDS} AS INTEGER)",
        **_moved_columns("payments"),
    }
    _copy("payments", changes, _ORDERS, "m.model_id = o.model_id")
    of_payment = ("chain_id", "block_hash", "amount", "dust", "canonical")
    collected = {
        **{name: changes.get(name, f"m.{name}") for name in of_payment},
        **{name: changes[name] for name in ("block_number", "block_time", "seen_at")},
        **_OF_ACCOUNT,
        "id": bulk.key(ids.COLLECTION, "o.n"),
        "tx_hash": f"'0x2' || {tx_hash}",
        "log_index": "0",
        "recipient": "w.owner",
        "token_address": "t.token_address",
    }
    of_wallet = "JOIN wallets w ON w.id = p.wallet_id"
    model = "JOIN growing_payment_intents t ON t.id = o.model_id"
    paid = f"{_ORDERS} {of_wallet} CROSS JOIN growing_payments m {model}"
    bulk.insert("collections", collected, paid, "m.model_id = o.model_id AND o.is_old")
    refunded = {
        "id": bulk.key(ids.REFUND, "o.n"),
        **_OF_ACCOUNT,
        "chain_id": "m.chain_id",
        "tx_hash": f"'0x3' || {tx_hash}",
        "log_index": "0",
        "sender": "w.owner",
        "recipient": "w.owner",
        "amount": f"m.refunded + {_OWED}",
        "block_number": "1",
        "block_hash": f"'0x{'1' * 64}'",
        "created_at": bulk.moved("t.expires_at", "0 - o.seconds"),
        "checked": "TRUE",
    }
    owed = f"{_ORDERS} {of_wallet} CROSS JOIN growing_order_accounts m {model}"
    is_paid_back = f"o.is_old AND NOT {_STILL_OWED} AND m.refunded + {_OWED} > 0"
    bulk.insert("refunds", refunded, owed, f"m.model_id = o.model_id AND {is_paid_back}")


def _copy_admissions() -> None:
    seat = "(o.n * 8 + m.place)"
    used = f"m.status = '{AdmissionStatus.VALID}' AND o.place % 2 = 1"
    changes = {
        "id": bulk.key(ids.ADMISSION, seat),
        "tenant_id": "p.tenant_id",
        "event_id": "p.event_id",
        "ticket_type_id": "p.ticket_type_id",
        "intent_id": "o.id",
        "code": f"'{'0' * 10}' || {bulk.ten_digits(seat)}",
        "holder_name": f"'Holder ' || {bulk.text('o.n % 300000')}",
        "holder_email": f"'buyer-' || {bulk.text('o.n % 300000')} || '@example.org'",
        "redeemed_at": f"CASE WHEN {used} THEN {bulk.seconds_ago('o.seconds')} END",
        **_moved_columns("admissions"),
    }
    _copy("admissions", changes, _ORDERS, "m.model_id = o.model_id")


def _copy_notifications(size: Size) -> None:
    """Copy those of the newest orders: older ones are deleted by the worker."""
    number = "(o.n * 16 + m.place)"
    first = size.orders - size.orders // KEPT_SHARE
    changes = {
        "id": bulk.key(ids.NOTIFICATION, number),
        "tenant_id": "p.tenant_id",
        "sequence": f"1000000 + ROW_NUMBER() OVER (PARTITION BY p.tenant_id ORDER BY {number})",
        "data": "REPLACE(m.data, o.model_id, o.id)",
        "intent_id": "o.id",
        **_moved_columns("notifications"),
    }
    kept = f"m.model_id = o.model_id AND o.n >= {first}"
    _copy("notifications", changes, _ORDERS, kept, without="position")
    feeds = "SELECT tenant_id, MAX(sequence) AS last FROM notifications GROUP BY tenant_id"
    bulk.run(
        f"""
        INSERT INTO notification_feeds
            (tenant_id, last_sequence, forgotten_sequence, mailed_sequence)
        SELECT tenant_id, last, 1000000, last FROM ({feeds}) AS fed WHERE last > 1000000
        ON CONFLICT (tenant_id) DO UPDATE SET last_sequence = excluded.last_sequence,
            forgotten_sequence = excluded.forgotten_sequence,
            mailed_sequence = excluded.mailed_sequence
        """
    )


def _copy_vouchers(voucher_id: str, size: Size) -> None:
    voucher = bulk.key(ids.VOUCHER, "n")
    used = f"""
        SELECT COUNT(*) FROM payment_intents i JOIN admissions a ON a.intent_id = i.id
        WHERE i.voucher_id = {voucher} AND a.status <> '{AdmissionStatus.VOID}'
    """
    changes = {
        "id": voucher,
        "code": f"'CODE' || {bulk.ten_digits('n')}",
        "redeemed": f"({used})",
        "tag": f"'tag-' || {bulk.text('n % 20')}",
    }
    _copy("vouchers", changes, bulk.numbers(size.vouchers), f"m.id = '{voucher_id}'")


def _add_waiting(world: World, size: Size) -> None:
    """Let people wait for the ticket type that is sold out."""
    shop, mailbox = world.shop, f"'waits-' || {bulk.text('n')} || '@example.org'"
    at = bulk.seconds_ago(f"{size.waiting} - n")
    bulk.run(
        f"""
        INSERT INTO waiting_list_entries (id, tenant_id, event_id, ticket_type_id, quantity, email,
            mailbox, status, created_at, confirmed_at)
        SELECT {bulk.key(ids.WAITING_LIST_ENTRY, "n")}, t.tenant_id, t.event_id, t.id, 1, {mailbox},
            {mailbox}, '{EntryStatus.WAITING}', {at}, {at}
        FROM {bulk.numbers(size.waiting)} JOIN ticket_types t ON t.id = '{shop.sold_out_ticket_id}'
        """
    )
    bulk.run(
        f"UPDATE ticket_types SET waiting = {size.waiting} WHERE id = '{shop.sold_out_ticket_id}'"
    )


def _count() -> None:
    """Make stocks and the wallets' next indexes what the orders are."""
    bulk.run(
        f"""
        UPDATE ticket_types SET
            held = COALESCE((SELECT SUM(i.quantity) FROM intent_items i
                JOIN payment_intents p ON p.id = i.intent_id
                WHERE i.ticket_type_id = ticket_types.id AND p.status IN ({_LIVE})), 0),
            sold = (SELECT COUNT(*) FROM admissions
                WHERE ticket_type_id = ticket_types.id AND status <> '{AdmissionStatus.VOID}')
        WHERE id IN (SELECT ticket_type_id FROM growing_places)
        """
    )
    bulk.run(
        f"""
        UPDATE wallets SET next_index = 1001 + {_max_number()}
        WHERE id IN (SELECT wallet_id FROM growing_places)
        """
    )


def _copy(table: str, changes: Changes, new: str, condition: str, without: str = "") -> None:
    """Insert a copy of each row `m` of a table that meets a condition, joined with `new`.

    The rows are those of the first hundred orders, if the table has some.
    """
    cursor = database.execute_sql(f"SELECT * FROM {table} LIMIT 0")
    names = [column[0] for column in cursor.description if column[0] != without]
    values = {name: changes.get(name, f"m.{name}") for name in names}
    source = f"growing_{table}" if table in _MODEL_TABLES else table
    # SQLite goes through a cross join in its order, so the rows are written in the order of time.
    bulk.insert(table, values, f"{new} CROSS JOIN {source} m", condition)


def _moved_columns(table: str) -> Changes:
    return {name: bulk.moved(f"m.{name}", "0 - o.seconds") for name in _MOVED[table].split()}


def _max_number() -> str:
    return "(SELECT MAX(n) FROM growing_new_orders)"


def _event(number: str = "n") -> str:
    return bulk.key(ids.EVENT, number)


def _type(number: str = "n") -> str:
    return bulk.key(ids.TICKET_TYPE, number)


def _hex(number: str) -> str:
    return f"'{'0' * 54}' || {bulk.ten_digits(number)}"
