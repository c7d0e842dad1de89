"""Write the books of an order by hand, so that they add up."""

from typing import Any

from ticketing.constants import LIVE
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent

BOOKS = ("received", "due", "refunded", "waived")


def home_of(intent_id: str) -> OrderAccount:
    """Return the account that an order is paid in."""
    return PaymentIntent.get_by_id(intent_id).home


def change_home(intent_id: str, **columns: Any) -> None:
    """Write columns of the account that an order is paid in. What is left is open, or kept.

    It has received what is due, refunded and waived, unless `received` is given. All is final,
    unless `final` is given.
    """
    intent = PaymentIntent.get_by_id(intent_id)
    now = {name: getattr(intent.home, name) for name in BOOKS}
    books = {**now, **{name: columns[name] for name in BOOKS if name in columns}}
    given = books["due"] + books["refunded"] + books["waived"]
    if "received" not in columns:
        books["received"] = max(books["received"], given)
    rest = books["received"] - given
    is_live = intent.status in LIVE
    kept_or_open = {"open": rest if is_live else 0, "kept": 0 if is_live else rest}
    final = {"final": books["received"]}
    OrderAccount.update({**final, **columns, **books, **kept_or_open}).where(
        OrderAccount.id == intent.home.id
    ).execute()
    version = PaymentIntent.books_version + 1
    PaymentIntent.update(books_version=version).where(PaymentIntent.id == intent_id).execute()


def out_of_reach() -> None:
    """Let what every account on another network holds be out of its organizer's reach."""
    for intent in PaymentIntent.select():
        for account in intent.stray_accounts:
            columns = {"open": 0, "due": 0, "pending": 0, "out_of_reach": account.counted}
            OrderAccount.update({**columns, "in_reach": False}).where(
                OrderAccount.id == account.id
            ).execute()
