"""Books that were broken by hand: what is done to them, and which rules must name it.

The names in braces are those of the fixture `books`.
"""

TABLES = {
    "event": "events",
    **dict.fromkeys(("ticket", "limited"), "ticket_types"),
    **dict.fromkeys(("admission", "void", "guest"), "admissions"),
    "payment": "payments",
    "voucher": "vouchers",
}

BOOKS = ["events", "ticket_types", "event_stock", "vouchers", "payment_intents", "intent_items"]
BOOKS += ["order_accounts", "admissions", "payments", "refunds", "collections"]
"""The tables with the books, each after those that it refers to."""


def change_stock(to):
    return f"UPDATE event_stock SET {to} WHERE event_id = '{{event}}'"


def change(name, to):
    return f"UPDATE {TABLES.get(name, 'payment_intents')} SET {to} WHERE id = '{{{name}}}'"


def change_home(name, to):
    return f"UPDATE order_accounts SET {to} WHERE intent_id = '{{{name}}}'"


def one_more_admission(intent, status):
    return (
        "INSERT INTO admissions (id, tenant_id, event_id, ticket_type_id, intent_id, code, status,"
        f" created_at, amount) SELECT 'adm_x', tenant_id, event_id, ticket_type_id, '{{{intent}}}',"
        f" 'x', '{status}', created_at, amount FROM admissions WHERE id = '{{admission}}'"
    )


def one_more_payment(intent, *, amount=0, dust=0, canonical=True):
    return (
        "INSERT INTO payments (id, intent_id, account_id, chain_id, tx_hash, log_index,"
        " block_number, block_hash, block_time, sender, amount, dust, canonical, seen_at)"
        f" SELECT 'pay_x', '{{{intent}}}', account_id, chain_id, 'x', 0, block_number, block_hash,"
        f" block_time, sender, {amount}, {dust}, {canonical}, seen_at FROM payments"
        " WHERE id = '{payment}'"
    )


def one_more_refund(intent, amount):
    account = f"(SELECT MIN(id) FROM order_accounts WHERE intent_id = '{{{intent}}}')"
    return (
        "INSERT INTO refunds (id, intent_id, account_id, chain_id, tx_hash, log_index, sender,"
        " recipient, amount, block_number, block_hash, created_at)"
        f" SELECT 'ref_x', '{{{intent}}}', {account}, chain_id, 'x', 0, sender, sender, {amount},"
        " block_number, block_hash, seen_at FROM payments WHERE id = '{payment}'"
    )


def one_collection(intent):
    return (
        "INSERT INTO collections (id, intent_id, account_id, chain_id, token_address, tx_hash,"
        " log_index, block_number, block_hash, block_time, recipient, amount, canonical, seen_at)"
        f" SELECT 'col_x', '{{{intent}}}', account_id, chain_id, 'x', 'x', 0, block_number,"
        " block_hash, block_time, sender, 1, TRUE, seen_at FROM payments WHERE id = '{payment}'"
    )


def one_stray(**columns):
    """An account of the paid order on another network, without payments."""
    return (
        "INSERT INTO order_accounts (intent_id, tenant_id, event_id, wallet_id, address, chain_id,"
        " token_address, token_decimals, required_confirmations, is_option, in_reach,"
        f" {', '.join(columns)}) SELECT id, tenant_id, event_id, wallet_id, address, 137, '0xT', 6,"
        f" 1, FALSE, TRUE, {', '.join(columns.values())} FROM payment_intents WHERE id = '{{paid}}'"
    )


def change_item(to, position=1):
    return f"UPDATE intent_items SET {to} WHERE intent_id = '{{cart}}' AND position = {position}"


VALID = "admissions_valid_while_confirmed"
PAID_ADDRESS = "SELECT address FROM payment_intents WHERE id = '{paid}'"

STRAY_STOCK = "INSERT INTO event_stock (event_id, capacity, held, sold) SELECT event_id, 99, 0, 0"

OF_VOUCHER = "SELECT id FROM payment_intents WHERE voucher_id = '{voucher}'"
NOT_VOUCHERED = f"UPDATE intent_items SET vouchered = FALSE WHERE intent_id IN ({OF_VOUCHER})"

BROKEN = [
    ({"held_is_live": "ticket"}, change("ticket", "held = held + 1")),
    ({"held_is_live": "ticket"}, change("ticket", "held = 0")),
    ({"pool_agrees": "ticket"}, change("ticket", "offered = 1")),
    ({"waiting_agrees": "ticket"}, change("ticket", "waiting = 1")),
    ({"idle_agrees": "ticket"}, change("ticket", "idle = 1")),
    ({"sold_is_admitted": "ticket"}, change("ticket", "sold = sold - 1")),
    ({"sold_is_admitted": "ticket"}, change("ticket", "sold = 0")),
    ({"sold_is_admitted": "ticket"}, change("admission", "status = 'void'")),
    ({"sold_is_admitted": "limited"}, "DELETE FROM admissions WHERE id = '{guest}'"),
    ({"event_stock_agrees": "event"}, change_stock("sold = 2")),
    ({"event_stock_agrees": "event"}, change_stock("held = 1")),
    ({"event_stock_agrees": "event"}, change_stock("capacity = 4")),
    ({"event_stock_agrees": "event"}, "DELETE FROM event_stock WHERE event_id = '{event}'"),
    ({"event_stock_agrees": "event"}, change("event", "capacity = NULL")),
    (
        {"event_stock_agrees": "other_event"},
        f"{STRAY_STOCK} FROM ticket_types WHERE id = '{{ticket}}'",
    ),
    (
        {"sold_is_admitted": "limited", "event_stock_agrees": "event"},
        change("limited", "sold = 0"),
    ),
    ({"voucher_usages_match": "voucher"}, change("voucher", "held = held + 1")),
    ({"voucher_usages_match": "voucher"}, change("voucher", "redeemed = 0")),
    ({"voucher_usages_match": "voucher"}, NOT_VOUCHERED),
    (
        {
            "sold_is_admitted": "ticket",
            "admissions_match": "paid",
            "items_add_up": "paid",
            "seats_add_up": "paid",
        },
        "DELETE FROM admissions WHERE id = '{admission}'",
    ),
    (
        {
            "sold_is_admitted": "ticket",
            "admissions_match": "paid",
            "items_add_up": "paid",
            "seats_add_up": "paid",
        },
        one_more_admission("paid", "valid"),
    ),
    (
        {"sold_is_admitted": "ticket", "admissions_match": "live"},
        one_more_admission("live", "suspended"),
    ),
    ({"admissions_match": "live"}, one_more_admission("live", "void")),
    ({"admissions_match": "paid"}, change("paid", "confirmed_at = NULL")),
    (
        {"held_is_live": "shirt", "items_add_up": "cart"},
        change_item("quantity = quantity + 1"),
    ),
    ({"items_add_up": "cart"}, change_item("unit_amount = unit_amount + 1")),
    ({"items_add_up": "sold_cart"}, change_item("unit_amount = 1").replace("cart", "sold_cart")),
    (
        {"held_is_live": "shirt", "items_add_up": "cart"},
        "DELETE FROM intent_items WHERE intent_id = '{cart}' AND position = 1",
    ),
    ({VALID: "admission paid"}, change("admission", "status = 'suspended'")),
    ({VALID: "free_admission free"}, change("free", "status = 'reversed'")),
    ({"received_is_payments": "paid"}, change("payment", "canonical = FALSE")),
    ({"received_is_payments": "paid"}, change("payment", "amount = amount + 1")),
    ({"received_is_payments": "paid"}, change("payment", "dust = 1")),
    ({"received_is_payments": "live"}, change_home("live", "received = 1, open = 1")),
    ({"refunded_is_refunds": "paid"}, one_more_refund("paid", 1)),
    ({"refunded_is_refunds": "paid"}, change_home("paid", "refunded = 1, due = due - 1")),
    ({"refunded_seats_are_void": "paid", "seats_add_up": "paid"}, change("void", "released = 0")),
    ({"refunded_seats_are_void": "paid"}, change("admission", "void_refund = TRUE")),
    ({"seats_add_up": "paid", "every_unit_accounted": "paid"}, change("paid", "released = 0")),
    ({"every_unit_accounted": "paid"}, change_home("paid", "due = 0, kept = kept + due")),
    ({"every_unit_accounted": "expired"}, change_home("expired", "due = 0, kept = kept + due")),
    ({"every_unit_accounted": "live"}, change_home("live", "due = 1, open = -1")),
    (
        {"items_add_up": "paid", "seats_add_up": "paid", "every_unit_accounted": "paid"},
        change("paid", "amount = amount + 9"),
    ),
    (
        {"items_add_up": "paid", "seats_add_up": "paid"},
        change("admission", "amount = amount + 1"),
    ),
    ({"seats_add_up": "paid"}, change("admission", "released = amount")),
    (
        {
            "accounts_fit_intents": "live",
            "one_address_one_intent": "paid live",
            "address_of_wallet": "live",
        },
        change("live", f"address = LOWER(({PAID_ADDRESS}))"),
    ),
    ({"accounts_fit_intents": "paid"}, change("payment", "chain_id = 1")),
    (
        {"accounts_fit_intents": "paid"},
        one_more_payment("free", amount=1, canonical=False),
    ),
    ({"collections_fit_intents": "col_x paid"}, one_collection("paid")),
    ({"accounts_fit_intents": "live"}, change_home("live", "event_id = 'evt_x'")),
    (
        {"intents_have_homes": "paid", "every_unit_accounted": "paid"},
        change("paid", "chain_id = 137"),
    ),
    ({"received_is_payments": "paid"}, one_stray(received="1", due="1")),
    ({"refunded_is_refunds": "paid"}, one_stray(refunded="1")),
    ({"every_unit_accounted": "paid"}, one_stray(kept="1", due="-1")),
    ({"address_of_wallet": "paid"}, change("paid", "address_index = 7")),
    ({"address_of_wallet": "paid"}, change("paid", "wallet_id = NULL")),
]
"""The rules that must be named, each with the ids, and what is done to the books."""

FORBIDDEN = [
    change("ticket", "capacity = 0"),
    change("ticket", "held = -1"),
    change("ticket", "sold = -1"),
    change("live", f"address = ({PAID_ADDRESS})"),
    change("payment", "intent_id = 'pi_x'"),
    change("admission", "intent_id = 'pi_x'"),
    change_stock("capacity = 0"),
    change_stock("held = -1"),
    change("voucher", "held = 9"),
    change_home("paid", "received = received + 1"),
    change_home("paid", "due = due + 1"),
]
"""What the database itself refuses."""
