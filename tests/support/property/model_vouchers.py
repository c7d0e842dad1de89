"""What must be true of vouchers, in plain Python: usages, prices, and late payments."""

from collections import Counter
from datetime import datetime, timedelta

from tests.support.property.model_rows import LIVE, Books, Row, items, moment

FREE_MOVES = {
    ("awaiting_payment", "confirmed"),
    ("awaiting_payment", "expired"),
    ("awaiting_payment", "canceled"),
}
"""What can become of an order that costs nothing."""

AFTER_HOLD = timedelta(seconds=1)
"""The row of an order is written this soon after its usages are held."""


def check_vouchers(before: Books, books: Books) -> None:
    """Check the usages of all vouchers, the prices of new orders, and that no order changed."""
    _check_usages(books)
    for key, intent in books["payment_intents"].items():
        was = before["payment_intents"].get(key)
        if was is None:
            _check_new(intent, books)
            _check_tolerance(intent, before, books)
        else:
            _check_kept(was, intent, before, books)


def gives_no_less(intent: Row, books: Books, paid_at: datetime) -> bool:
    """Return whether an order's voucher gave its items for no more at the time of a payment."""
    voucher = books["vouchers"].get(intent["voucher_id"])
    return voucher is None or (
        voucher["disabled_at"] is None
        and (voucher["valid_until"] is None or paid_at < moment(voucher["valid_until"]))
        and all(
            _price(voucher, books["ticket_types"][item["ticket_type_id"]]["price_amount"])
            <= item["unit_amount"]
            for item in items(books, intent)
            if item["vouchered"]
        )
    )


def _check_usages(books: Books) -> None:
    """Live orders hold usages. A void gives one back, the cancelation of an event does not."""
    held: Counter[str] = Counter()
    redeemed: Counter[str] = Counter()
    uses = set()
    for key, intent in books["payment_intents"].items():
        for item in items(books, intent):
            if item["vouchered"]:
                uses.add((key, item["ticket_type_id"]))
                held[intent["voucher_id"]] += item["quantity"] * (intent["status"] in LIVE)
    for seat in books["admissions"].values():
        is_used = seat["status"] != "void" or seat["void_reason"] == "event_canceled"
        if is_used and (seat["intent_id"], seat["ticket_type_id"]) in uses:
            redeemed[books["payment_intents"][seat["intent_id"]]["voucher_id"]] += 1
    for key, voucher in books["vouchers"].items():
        assert (voucher["held"], voucher["redeemed"]) == (held[key], redeemed[key])
        assert held[key] + redeemed[key] <= voucher["max_usages"]


def _check_new(intent: Row, books: Books) -> None:
    """A new order costs what list prices and voucher say now. It is on a chain if that is not 0."""
    voucher = books["vouchers"].get(intent["voucher_id"])
    if voucher is not None:
        assert voucher["disabled_at"] is None
        ends = voucher["valid_until"]
        assert ends is None or moment(intent["created_at"]) - AFTER_HOLD < moment(ends)
    amount, counted = 0, 0
    for item in items(books, intent):
        list_amount = books["ticket_types"][item["ticket_type_id"]]["price_amount"]
        uses_it = voucher is not None and _is_for(voucher, item["ticket_type_id"])
        price = _price(voucher, list_amount) if voucher is not None and uses_it else list_amount
        found = (item["list_amount"], item["unit_amount"], bool(item["vouchered"]))
        assert found == (list_amount, price, uses_it)
        amount += price * item["quantity"]
        # All vouchers of this world are for few: what they make free does not count.
        counted += item["quantity"] * (price == 0 and not uses_it)
    assert intent["amount"] == amount
    assert intent["free_seats"] == counted
    of_chain = [intent[name] is None for name in ("chain_id", "address", "wallet_id")]
    assert of_chain == [amount == 0] * 3


def _check_tolerance(intent: Row, before: Books, books: Books) -> None:
    """Its tolerance is what its organizer's setting says, before the last event or after it."""
    tenants = [rows["tenants"].get(intent["tenant_id"]) for rows in (before, books)]
    assert intent["tolerance"] in [
        min(
            intent["amount"] * tenant["payment_tolerance_percent"] // 100,
            tenant["payment_tolerance_most"],
        )
        for tenant in tenants
        if tenant is not None
    ]


def _check_kept(was: Row, intent: Row, before: Books, books: Books) -> None:
    """Price, voucher and tolerance of an order never change. A free one is decided once."""
    for name in ("voucher_id", "amount", "tolerance", "free_seats"):
        assert was[name] == intent[name]
    assert items(before, was) == items(books, intent)
    if intent["amount"] == 0 and was["status"] != intent["status"]:
        assert (was["status"], intent["status"]) in FREE_MOVES


def _is_for(voucher: Row, ticket_type_id: str) -> bool:
    return voucher["ticket_ids"] is None or ticket_type_id in voucher["ticket_ids"].split()


def _price(voucher: Row, list_amount: int) -> int:
    value: int = voucher["value"]
    if voucher["price_mode"] == "set":
        return min(list_amount, value)
    assert voucher["price_mode"] == "percent"
    return list_amount - list_amount * value // 100
