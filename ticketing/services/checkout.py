"""Checkout: preflight, purchase, cancel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ticketing import clock, credentials, ids
from ticketing.config import Config
from ticketing.constants import CURRENCY, IntentStatus
from ticketing.db.connection import write_transaction
from ticketing.errors import (
    IntentCanceled,
    IntentExpired,
    IntentReversed,
    LookedJustNow,
    PaymentRequired,
    SoldOut,
    TicketingError,
)
from ticketing.models.chains import ChainState
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import new_row, prepared_insert
from ticketing.models.ticket_types import TicketType
from ticketing.services import admission_views, chains, node_slots, order_terms
from ticketing.services.access.rate_limits import Limiter
from ticketing.services.notifications import facts, feed
from ticketing.services.order_requests import Order
from ticketing.services.orders import (
    accounts,
    answers,
    holds,
    intents,
    items,
    lines,
    order_rules,
    stock,
    stored_texts,
    vouchers,
)
from ticketing.services.orders.holds import Held
from ticketing.services.orders.lines import Line
from ticketing.services.payments import booking, chain_view, settlement

_insert = prepared_insert(PaymentIntent)


_REFUSALS: Mapping[IntentStatus, type[TicketingError]] = {
    IntentStatus.AWAITING_PAYMENT: PaymentRequired,
    IntentStatus.EXPIRED: IntentExpired,
    IntentStatus.CANCELED: IntentCanceled,
    IntentStatus.REVERSED: IntentReversed,
}

_SETTLED = (IntentStatus.CONFIRMED, IntentStatus.CANCELED, IntentStatus.EXPIRED)


@dataclass(frozen=True)
class Quote:
    """What an order would cost now, in micro-units, and on which chain. None: it is free."""

    lines: Sequence[Line]
    chain_id: int | None

    @property
    def event(self) -> Event:
        """The event of all lines."""
        event: Event = self.lines[0].ticket_type.event
        return event

    @property
    def only_line(self) -> Line | None:
        """The only line. None if there are several."""
        return self.lines[0] if len(self.lines) == 1 else None

    @property
    def shown_items(self) -> list[dict[str, Any]]:
        """The lines as the items of an order, with the names of their ticket types."""
        return [line.item.shown(line.ticket_type.name) for line in self.lines]

    @property
    def quantity(self) -> int:
        """The number of seats."""
        return lines.seats(self.lines)

    @property
    def amount(self) -> int:
        """The total."""
        return lines.amount(self.lines)


def quote(
    tenant_reference: str, order: Order, config: Config, *, with_answers: bool = False
) -> Quote:
    """Return what an order would cost now. Nothing is held. The errors are those of `preflight`.

    `with_answers`: check those, too. Otherwise one can ask without them.
    """
    wanted = _checked(tenant_reference, order)
    if with_answers:
        _check_answers(wanted, order)
    known = order_terms.states_for(wanted)
    return Quote(wanted, order_terms.home(wanted, order.chain_id, known, config))


def read_only_type(tenant_reference: str, order: Order) -> TicketType | None:
    """Return the ticket type that an order wants. None: several, or with a voucher. NotFound."""
    if len(order.wanted) > 1 or order.voucher is not None:
        return None
    return holds.on_sale(tenant_reference, order.event_id, order.wanted[0].ticket_id)


def preflight(tenant_reference: str, order: Order, config: Config) -> PaymentIntent:
    """Hold the stock, fix the prices, and issue the address, in one transaction.

    NotFound if the event or a ticket type is not public. Invalid if the ticket type is on another
    chain or has no such price, or if an answer is wrong or missing. OneTypeOnly, NeedsTicket,
    NoCommonNetwork, NetworkUnavailable. SoldOut, SalesNotStarted, SalesEnded, EventOver,
    BelowMinimum, AboveMaximum, OverMaxAmount, NotPayable. KeyRequired. VoucherInvalid (count it:
    web/guesses.py), VoucherNotApplicable, VoucherRequired. TooMuchUnpaid, TooManyOrders,
    TooMuchText, TooManyFree, ReturnedUnpaid. TextsUnavailable. InWaitingRoom. What the channel
    raises.
    """
    wanted = _checked(tenant_reference, order)
    asked = _check_answers(wanted, order)
    if asked is not None and order.by.client:
        stored_texts.check_all(Limiter.processes)
    # Before the transaction, because in it other orders wait for this one.
    known = order_terms.states_for(wanted)
    with write_transaction():
        intent = place(wanted, known, order, config)
        if asked is not None:
            answers.write(intent, asked)
            if order.by.client:
                stored_texts.note(intent.stored_bytes)
    intents.add_payment_details([intent])
    intent.client_secret = credentials.client_secret(
        config.keyring.current, intent.id, generation=0
    )
    return intent


def place(
    wanted: Sequence[Line], known: Mapping[int, ChainState], order: Order, config: Config
) -> PaymentIntent:
    """Hold the seats of an order and store it, with the prices of now, in the caller's transaction.

    `wanted` is what `order` wants, read before the transaction, `known` the states of the chains.
    SoldOut, and what `preflight` raises of limits, prices, networks and sales.
    """
    order.by.begin(wanted, order.text_bytes, config)
    held = holds.hold(wanted, known, for_waiting=order.by.comes_first)
    # Prices, chain or sales may have changed in the meantime. Check the locked rows again.
    _check(held.lines, order)
    order.by.check(held)
    return _issue(held, order, config)


def look_at_replaced(order: Order, config: Config) -> None:
    """Read the chain before an order replaces the one that the same form made, if it is unpaid.

    Its money may have arrived, and not be booked yet: then it is not replaced. ChainUnavailable,
    NodesBusy. Call it outside a transaction.
    """
    replaced = order.by.replaced()
    if replaced is not None:
        _look_before_release(replaced, config, order.by.client)


def _checked(tenant_reference: str, order: Order) -> Sequence[Line]:
    """Return an order's lines, after all checks that need no lock."""
    voucher = None
    if order.voucher is not None:
        # First of all: a wrong code must not tell what else is wrong with the order.
        replaced = order.by.replaced()
        voucher = vouchers.find(tenant_reference, order.event_id, order.voucher, replaced=replaced)
    wanted = (
        [Line(order.wanted[0], order.read, None)]
        if order.read is not None
        else holds.lines_on_sale(tenant_reference, order.event_id, order.wanted, voucher)
    )
    first = wanted[0].ticket_type
    order.by.enter(first.event, first.tenant_id)
    vouchers.check_seats(voucher, [(line.ticket_type, line.quantity) for line in wanted])
    _check(wanted, order)
    try:
        holds.check_left(wanted)
    except SoldOut:
        if order.by.replaced() is None:
            if first.offered:
                stock.note_wanted(first.id)
            raise
    return wanted


def _check_answers(wanted: Sequence[Line], order: Order) -> answers.OrderAnswers | None:
    event = wanted[0].ticket_type.event
    if order.by.can_answer and (event.order_questions or order.answers):
        return answers.check(event, [line.ticket_type.id for line in wanted], order.answers)
    return None


def _check(wanted: Sequence[Line], order: Order) -> None:
    order_rules.check(
        wanted,
        chain_id=order.chain_id,
        max_amount=order.max_amount,
        has_key=not order.by.client,
    )


def purchase(found: PaymentIntent, config: Config, client: Sequence[str] = ()) -> PaymentIntent:
    """Read the chain now and settle an intent as it was found. Return it with its admissions.

    The result is confirmed or processing. A free order is confirmed. Repeated calls issue
    admissions only once. `client` as in `Order`: it waits for one node at a time.
    PaymentRequired, IntentExpired, IntentCanceled and IntentReversed, each with the `intent`.
    ChainUnavailable if the result depends on a chain that cannot be read. NodesBusy if too many
    wait. LookedJustNow if the order was found unpaid a moment ago.
    """
    before = found.status
    intent = _looked_for(found, config, client)
    intents.keep_items(found, intent)
    intent.has_changed = intent.status != before
    intents.add_payment_details([intent])
    refusal = _REFUSALS.get(IntentStatus(intent.status))
    if refusal is not None:
        raise refusal(intent=intent)
    admission_views.add_to_order(intent, found.event.online_join_url, config.keyring)
    return intent


def purchased(tenant_reference: str, intent_id: str, config: Config) -> PaymentIntent:
    """Return an intent with the admissions that it shows now. Reads no chain. NotFound."""
    intent = intents.get(tenant_reference, intent_id)
    admission_views.add_to_order(intent, intent.event.online_join_url, config.keyring)
    return intent


def cancel(
    tenant_reference: str, intent_id: str, config: Config, client: Sequence[str] = ()
) -> PaymentIntent:
    """Release the hold of an intent that has received nothing. A repeat changes nothing.

    `client` as for `purchase`. The chain is read once more before the release. NotFound;
    IntentNotCancelable if the intent has received money, or a signed transfer is settling;
    ChainUnavailable if the chain cannot be read; NodesBusy.
    """
    found = intents.get(tenant_reference, intent_id)
    _look_before_release(found, config, client)
    intent = settlement.cancel(found.id)
    intent.has_changed = intent.status != found.status
    intents.keep_items(found, intent)
    intents.add_payment_details([intent])
    return intent


def _look_before_release(intent: PaymentIntent, config: Config, client: Sequence[str]) -> None:
    """Read the chain and book what an unpaid order has received, before it is released."""
    if intent.status == IntentStatus.AWAITING_PAYMENT and intent.chain_id is not None:
        with node_slots.slot(intent.id, _widest(client)):
            view = chain_view.look(intent, config.chains, to_drop=True)
        booking.book_view(intent, view, to_drop=True)


def _looked_for(intent: PaymentIntent, config: Config, client: Sequence[str]) -> PaymentIntent:
    """Read the chain and settle an intent. LookedJustNow if it was found unpaid a moment ago."""
    if intent.status == IntentStatus.AWAITING_PAYMENT and not node_slots.is_due(intent.id):
        raise LookedJustNow
    intent = settle_now(intent, config, client)
    if intent.status == IntentStatus.AWAITING_PAYMENT:
        node_slots.looked(intent.id)
    return intent


def _widest(client: Sequence[str]) -> str | None:
    """Return the widest network of a client: all of it has one slot."""
    return client[-1] if client else None


def settle_now(intent: PaymentIntent, config: Config, client: Sequence[str] = ()) -> PaymentIntent:
    """Read the chain now and settle an intent, whatever its status then is. ChainUnavailable."""
    if intent.status in _SETTLED:
        return intent
    if intent.chain_id is None:
        return settlement.confirm_free(intent.id)
    with node_slots.slot(intent.id, _widest(client)):
        view = chain_view.look(intent, config.chains, to_drop=False)
    return booking.book_view(intent, view)


def _issue(held: Held, order: Order, config: Config) -> PaymentIntent:
    """Store an order for what is held."""
    wanted, known, by = held.lines, held.chains, order.by
    first, amount = wanted[0].ticket_type, lines.amount(wanted)
    payment: Mapping[str, Any] = {}
    home: Mapping[str, Any] = {}
    now = clock.now()
    if amount:
        terms = order_terms.fix(wanted, order.chain_id, known, config, by.named)
        now, payment, home = chains.now_on(terms.chain_id, known), terms.columns, terms.account
    deadline = now + by.hold(held, config)
    pooled: Mapping[str, Any] = {}
    if held.is_pooled:
        deadline = min(deadline, first.event.returns_end, *filter(None, [by.ends_by]))
        pooled = {"pooled": lines.seats(wanted), "resale": not by.comes_first}
    columns = {
        "id": ids.new(ids.INTENT),
        "tenant": first.tenant_id,
        "event": first.event_id,
        "status": IntentStatus.AWAITING_PAYMENT,
        "quantity": lines.seats(wanted),
        "amount": amount,
        "tolerance": first.tenant.tolerance_of(amount, home.get("token_decimals", 0)),
        "deposits_tried_at": clock.now() if lines.has_deposit(wanted) else None,
        "voucher": None if wanted[0].voucher is None else wanted[0].voucher.id,
        "free_seats": lines.free_seats(wanted),
        "currency": CURRENCY,
        "stored_bytes": 1 + order.text_bytes,
        "buyer_email": order.buyer_email,
        "buyer_name": order.buyer_name,
        "locale": order.locale,
        "created_at": clock.now(),
        "hold_until": deadline,
        "expires_at": deadline,
    }
    intent = new_row(PaymentIntent, {**columns, **payment, **pooled, **by.columns()})
    intent.items = tuple(line.item for line in wanted)
    intent.item_names = {line.ticket_type.id: line.ticket_type.name for line in wanted}
    _insert(intent)
    items.write(intent)
    if home:
        accounts.open_home(intent, home)
    feed.record(intent.tenant_id, *facts.intent_created(intent))
    return intent
