"""Situations of buying, holding and canceling."""

from functools import partial
from typing import Any

from tests.support.admissions import FREE
from tests.support.factories import CHAIN, in_days, new_organizer
from tests.support.order_pages import link
from tests.support.refusals.shop import Error, Shop, Table, refuses
from ticketing import errors

REFUSALS: Table = {}


@refuses(errors.SoldOut, REFUSALS)
def more_than_are_left(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE, capacity=3)
    buyer = shop.organizer.buyer(ticket, quantity=2)
    shop.order(ticket, quantity=2)
    shop.form(f"{link(buyer)}/again")
    shop.add_guests(ticket, 2)


ORDERS: dict[Error, tuple[dict[str, Any], int]] = {
    errors.SalesNotStarted: ({"sales_start_at": in_days(1)}, 1),
    errors.SalesEnded: ({"sales_end_at": in_days(-1)}, 1),
    errors.BelowMinimum: ({"min_per_order": 2}, 1),
    errors.AboveMaximum: ({"max_per_order": 2}, 3),
    errors.KeyRequired: ({"requires_key": True}, 1),
    errors.VoucherRequired: ({"require_voucher": True}, 1),
}
"""Fields of a ticket type, and how many of it are ordered."""


def order(error: Error, shop: Shop) -> None:
    fields, quantity = ORDERS[error]
    shop.order(shop.organizer.ticket(**FREE, **fields), quantity=quantity)


REFUSALS |= {error: partial(order, error) for error in ORDERS}


@refuses(errors.OverMaxAmount, REFUSALS)
def more_than_the_buyer_allows(shop: Shop) -> None:
    ticket = shop.organizer.ticket()
    shop.order(ticket, max_amount=ticket["price_amount"] - 1)


@refuses(errors.OneTypeOnly, REFUSALS)
def several_types_of_an_event_without_carts(shop: Shop) -> None:
    event = shop.organizer.event()
    shop.cart(*(shop.organizer.ticket(event, **FREE) for _ in range(2)))


@refuses(errors.NeedsTicket, REFUSALS)
def a_child_without_an_adult(shop: Shop) -> None:
    child = shop.organizer.ticket(**FREE, requires_ticket=True)
    shop.order(child)
    shop.cart(child)


@refuses(errors.NoCommonNetwork, REFUSALS)
def types_of_two_networks(shop: Shop) -> None:
    event = shop.organizer.event(carts=True)
    shop.cart(*(shop.organizer.ticket(event, chain_id=each) for each in (CHAIN, 8453)))


@refuses(errors.NetworkUnavailable, REFUSALS)
def network_that_cannot_be_used(shop: Shop) -> None:
    shop.order(shop.organizer.ticket(chain_ids=[8453, CHAIN]), chain_id=8453)


@refuses(errors.NotPayable, REFUSALS)
def without_a_wallet(shop: Shop) -> None:
    poor = Shop(new_organizer(shop.organizer.app, "poor", address=None), shop.asks)
    poor.order(poor.organizer.ticket())


@refuses(errors.VoucherInvalid, REFUSALS)
def code_that_nobody_made(shop: Shop) -> None:
    event = shop.organizer.event()["id"]
    path = f"{shop.organizer.checkout}/events/{event}/tickets"

    def ask(error: Error) -> None:
        answer = shop.public.get(path, query_string={"voucher": "GUESS"})
        assert (answer.status_code, answer.json["code"]) == (error.status, error.code)

    shop.asks.append(ask)


@refuses(errors.IntentNotCancelable, REFUSALS)
def order_that_is_confirmed(shop: Shop) -> None:
    buyer = shop.organizer.buyer(shop.organizer.ticket(**FREE))
    buyer.purchase()
    shop.buyers(buyer, "cancel")
    intent = buyer.intent
    shop.tool("cancel_order", intent_id=intent["id"], client_secret=intent["client_secret"])


@refuses(errors.IntentCanceled, REFUSALS)
def order_that_is_canceled(shop: Shop) -> None:
    buyer = shop.organizer.buyer(shop.organizer.ticket(**FREE))
    buyer.cancel()
    # The page shows what became of the order, and the tool its status.
    shop.api(f"{buyer.path}/purchase", by=buyer.api)


@refuses(errors.HoldExtended, REFUSALS)
def second_extension_of_a_hold(shop: Shop) -> None:
    buyer = shop.organizer.buyer(shop.organizer.ticket())
    assert buyer.api.post(f"{buyer.path}/hold").status_code == 200
    shop.api(f"{buyer.path}/hold", None, buyer.api)  # the page goes on to the steps


@refuses(errors.HoldNotExtendable, REFUSALS)
def extension_of_the_hold_of_free_tickets(shop: Shop) -> None:
    shop.buyers(shop.organizer.buyer(shop.organizer.ticket(**FREE)), "hold")


LONG_AFTER: dict[Error, tuple[str, dict[str, str]]] = {
    errors.BillingClosed: ("billing", {"name": "Ada"}),
    errors.EmailClosed: ("email", {"email": "ada@example.org"}),
}
"""What a buyer asks for long after the event, and with which fields."""


def long_after(error: Error, shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE)
    buyer = shop.organizer.buyer(ticket)
    times = {"start_at": in_days(-92), "end_at": in_days(-91), "force": True}
    shop.has(f"events/{ticket['event_id']}", times, "patch")
    what, fields = LONG_AFTER[error]
    shop.buyers(buyer, what, **fields)


REFUSALS |= {error: partial(long_after, error) for error in LONG_AFTER}
