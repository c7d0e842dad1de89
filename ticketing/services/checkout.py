"""Checkout: preflight, purchase, cancel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from peewee import ModelSelect

from ticketing import clock, credentials, ids
from ticketing.config import Config
from ticketing.constants import CURRENCY, HOLD_UNDER_PRESSURE, IntentStatus
from ticketing.db.connection import one_at_a_time, write_transaction
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
from ticketing.models.prepared import Prepared, new_row, prepared_insert
from ticketing.models.ticket_types import TicketType
from ticketing.services import admission_views, chains, node_slots, order_terms
from ticketing.services.access.rate_limits import Limiter
from ticketing.services.notifications import facts, feed
from ticketing.services.order_requests import Order
from ticketing.services.orders import (
    accounts,
    answers,
    client_limits,
    crowds,
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
from ticketing.services.waiting_room.entrance import Entrance

_insert = prepared_insert(PaymentIntent)


@Prepared
def _of_form(digest: Any, former: Any) -> ModelSelect[PaymentIntent]:
    return PaymentIntent.select().where(PaymentIntent.idempotency_digest.in_([digest, former]))


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


def quote(tenant_reference: str, order: Order, config: Config) -> Quote:
    """Return what an order would cost now. Nothing is held. The errors are those of `preflight`.

    Answers are checked only if the order has a channel: else one can ask without them.
    """
    wanted = _checked(tenant_reference, order)
    if order.channel is not None:
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
    event = wanted[0].ticket_type.event
    if order.client and (crowd := crowds.find(event, order.address)) is not None:
        of_crowd = crowds.digest(event, crowd, config)
        order = replace(order, client=(of_crowd,), crowd_seats=crowd["seats"])
    asked = _check_answers(wanted, order)
    if asked is not None and order.client:
        stored_texts.check_all(Limiter.processes)
    # Before the transaction, because in it other orders wait for this one.
    known = order_terms.states_for(wanted)
    with write_transaction():
        uses: Sequence[client_limits.Use] = ()
        client_limits.take_turn(order.client, config)
        if (entrance := _entrance(order, event)) is not None:
            entrance.begin(event, wanted[0].ticket_type.tenant_id)
        form, replaced = _replace_order_of(order, wanted)
        if order.client:
            seats, free_seats = lines.seats(wanted), lines.free_seats(wanted)
            uses = client_limits.check(
                order.client,
                event.id,
                seats,
                free_seats,
                config,
                text_bytes=order.text_bytes,
                crowd_seats=order.crowd_seats,
            )
        held = holds.hold(wanted, known)
        # Prices, chain or sales may have changed in the meantime. Check the locked rows again.
        _check(held.lines, order)
        client_limits.check_share(uses, held)
        ends_at = replaced.hold_until if replaced is not None and replaced.pooled else None
        if held.is_pooled and ends_at is None:
            client_limits.check_returned(order.client, event.id)
        if order.channel is not None:
            order.channel.check(held)
        intent = _issue(held, order, form, config, ends_at)
        if asked is not None:
            answers.write(intent, asked)
            if order.client:
                stored_texts.note(intent.stored_bytes)
    intents.add_payment_details([intent])
    intent.client_secret = credentials.client_secret(
        config.keyring.current, intent.id, generation=0
    )
    return intent


def offer(
    wanted: Sequence[Line], known: Mapping[int, ChainState], order: Order, config: Config
) -> PaymentIntent:
    """Hold seats for somebody who waited, and make their order, with the prices of now.

    `wanted` is what `order` wants, read before the transaction in which this is called, `known` the
    states of the chains. The questions of the event do not block it. SoldOut, TooManyFree, and what
    `preflight` raises of prices, networks and sales.
    """
    client_limits.take_turn(order.client, config)
    free_seats = lines.free_seats(wanted)
    if order.client and free_seats:
        client_limits.check(order.client, order.event_id, free_seats, free_seats, config)
    held = holds.hold(wanted, known, for_waiting=True)
    _check(held.lines, order)
    return _issue(held, order, None, config)


def unpaid_of_form(order: Order) -> PaymentIntent | None:
    """Return the unpaid order that the same form made before. This order would replace it.

    Example: Ada orders the last 2 tickets, goes back, corrects her email address, and sends the
    form again. Without this, her own first order would be why nothing is left.
    """
    found = _order_of_form(order)
    is_replaceable = found is not None and found.is_unpaid and not found.link_generation
    return found if is_replaceable else None


def look_at_replaced(order: Order, config: Config) -> None:
    """Read the chain before an order replaces the one that the same form made, if it is unpaid.

    Its money may have arrived, and not be booked yet: then it is not replaced. ChainUnavailable,
    NodesBusy. Call it outside a transaction.
    """
    replaced = unpaid_of_form(order)
    if replaced is not None:
        _look_before_release(replaced, config, order.client)


def _replace_order_of(
    order: Order, wanted: Sequence[Line]
) -> tuple[str | None, PaymentIntent | None]:
    """Cancel what the same form ordered before, if it is unpaid.

    Return the new order's digest, and the order that it replaces, as it was. No digest if it has no
    form, or if the order before keeps it.
    """
    if not order.form:
        return None, None
    # The same form may come from two networks at once, which take turns of their own. The oldest
    # digest is the one that all hosts know while SECRET_KEY changes.
    one_at_a_time(f"form {order.form[-1]}")
    found = _order_of_form(order)
    if found is None:
        return order.form[0], None
    if found.link_generation:
        return None, None  # the form's browser has the link that ended
    type_ids = [line.ticket_type.id for line in wanted]
    voucher = wanted[0].voucher
    voucher_ids = () if voucher is None else (voucher.id,)
    is_withdrawn = settlement.withdraw(found.id, type_ids, voucher_ids)
    return (order.form[0], found if found.is_unpaid else None) if is_withdrawn else (None, None)


def _order_of_form(order: Order) -> PaymentIntent | None:
    found: PaymentIntent | None = None
    if order.form:
        found = _of_form.first(digest=order.form[0], former=order.form[-1])
    return found


def _checked(tenant_reference: str, order: Order) -> Sequence[Line]:
    """Return an order's lines, after all checks that need no lock."""
    voucher = None
    if order.voucher is not None:
        # First of all: a wrong code must not tell what else is wrong with the order.
        replaced = unpaid_of_form(order)
        voucher = vouchers.find(tenant_reference, order.event_id, order.voucher, replaced=replaced)
    wanted = (
        [Line(order.wanted[0], order.read, None)]
        if order.read is not None
        else holds.lines_on_sale(tenant_reference, order.event_id, order.wanted, voucher)
    )
    first = wanted[0].ticket_type
    if (entrance := _entrance(order, first.event)) is not None:
        entrance.check(first.event, first.tenant_id)
    vouchers.check_seats(voucher, [(line.ticket_type, line.quantity) for line in wanted])
    _check(wanted, order)
    try:
        holds.check_left(wanted)
    except SoldOut:
        if unpaid_of_form(order) is None:
            if first.offered:
                stock.note_wanted(first.id)
            raise
    return wanted


def _entrance(order: Order, event: Event) -> Entrance | None:
    """Return the entrance that an order passes. None for what replaces an order: it had passed."""
    if event.is_queueing and unpaid_of_form(order) is not None:
        return None
    return order.entrance


def _check_answers(wanted: Sequence[Line], order: Order) -> answers.OrderAnswers | None:
    event = wanted[0].ticket_type.event
    is_asked = order.channel is None or order.channel.asks
    if is_asked and (event.order_questions or order.answers):
        return answers.check(event, [line.ticket_type.id for line in wanted], order.answers)
    return None


def _check(wanted: Sequence[Line], order: Order) -> None:
    order_rules.check(
        wanted,
        chain_id=order.chain_id,
        max_amount=order.max_amount,
        has_key=not order.client,
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


def _issue(
    held: Held, order: Order, form: str | None, config: Config, ends_at: datetime | None = None
) -> PaymentIntent:
    """Store an order. `ends_at`: when the one that it replaces would have ended."""
    wanted, known = held.lines, held.chains
    first, amount = wanted[0].ticket_type, lines.amount(wanted)
    payment: Mapping[str, Any] = {}
    home: Mapping[str, Any] = {}
    now = clock.now()
    if amount:
        named = None if order.channel is None else order.channel.named
        terms = order_terms.fix(wanted, order.chain_id, known, config, named)
        now, payment, home = chains.now_on(terms.chain_id, known), terms.columns, terms.account
    deadline = now + _hold_of(held, order, config)
    if held.is_pooled:
        # A correction must not hold a seat that was given back any longer.
        deadline = min(deadline, first.event.returns_end, *filter(None, [ends_at]))
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
        "held_by": order.client[0] if order.client else None,
        "held_by_site": order.client[1] if len(order.client) > 1 else None,
        "stored_bytes": 1 + order.text_bytes,
        "buyer_email": order.buyer_email,
        "buyer_name": order.buyer_name,
        "locale": order.locale,
        "created_at": clock.now(),
        "hold_until": deadline,
        "expires_at": deadline,
        "idempotency_digest": form,
    }
    marks = order.channel.marks if order.channel else {}
    if held.is_pooled:
        is_resale = order.offered_for is None
        marks = {**marks, "pooled": lines.seats(wanted), "resale": is_resale}
    intent = new_row(PaymentIntent, {**columns, **payment, **marks})
    intent.items = tuple(line.item for line in wanted)
    intent.item_names = {line.ticket_type.id: line.ticket_type.name for line in wanted}
    _insert(intent)
    items.write(intent)
    if home:
        accounts.open_home(intent, home)
    feed.record(intent.tenant_id, *facts.intent_created(intent))
    return intent


def _hold_of(held: Held, order: Order, config: Config) -> timedelta:
    """Return for how long an order is held.

    An offer is held as it says. Seats that were given back are held for HOLD_UNDER_PRESSURE: each
    keeps its holder waiting. So are others for a client without a credential, while orders hold
    more than half of the unsold tickets, of a ticket type or of the event.
    """
    if order.offered_for is not None:
        return order.offered_for
    is_short = held.is_pooled or (bool(order.client) and held.is_scarce)
    hold = min(config.hold, HOLD_UNDER_PRESSURE) if is_short else config.hold
    return hold if order.channel is None else min(hold, order.channel.longest_hold)
