"""Checkout: preflight, purchase, cancel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from ticketing import clock, credentials, ids
from ticketing.chain import units
from ticketing.chain.registry import Chain
from ticketing.config import Config
from ticketing.constants import (
    CURRENCY,
    HOLD_UNDER_PRESSURE,
    IntentStatus,
    Publication,
)
from ticketing.db.connection import write_transaction
from ticketing.errors import (
    AboveMaximum,
    BelowMinimum,
    EventOver,
    IntentCanceled,
    IntentExpired,
    IntentReversed,
    Invalid,
    KeyRequired,
    LookedJustNow,
    NotFound,
    NotPayable,
    OverMaxAmount,
    PaymentRequired,
    SalesEnded,
    SalesNotStarted,
    TicketingError,
)
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import prepared_insert
from ticketing.models.ticket_types import TicketType
from ticketing.services import admission_views, chains, node_slots
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import answers, client_limits, holds, intents
from ticketing.services.orders.holds import Held
from ticketing.services.payments import booking, chain_view, settlement
from ticketing.services.wallets import issuing

_insert = prepared_insert(PaymentIntent)

_REFUSALS: Mapping[IntentStatus, type[TicketingError]] = {
    IntentStatus.AWAITING_PAYMENT: PaymentRequired,
    IntentStatus.EXPIRED: IntentExpired,
    IntentStatus.CANCELED: IntentCanceled,
    IntentStatus.REVERSED: IntentReversed,
}

_SETTLED = (IntentStatus.CONFIRMED, IntentStatus.CANCELED, IntentStatus.EXPIRED)


@dataclass(frozen=True)
class Channel:
    """Where orders come from, if that makes a difference. The caller says which.

    No order is held longer than `longest_hold`. `check` gets what an order would hold and its
    quantity, with the ticket type's row locked, and raises an error if that is too much. `marks`
    are columns of the intent.
    """

    longest_hold: timedelta
    check: Callable[[Held, int], None]
    marks: Mapping[str, Any]


@dataclass(frozen=True)
class Order:
    """The order of a buyer. `max_amount` is the highest total they accept, in micro-units.

    `client`: digests of the client's networks, from narrow to wide, for order limits. Empty if the
    request has a credential: then no order limits apply. `channel` is None for a person's order.
    `answers` are those of the event's questions, by id or identifier.
    """

    event_id: str
    ticket_id: str
    quantity: int = 1
    chain_id: int | None = None
    max_amount: int | None = None
    client: Sequence[str] = ()
    buyer_email: str | None = None
    buyer_name: str | None = None
    channel: Channel | None = None
    answers: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Quote:
    """What an order would cost now, in micro-units."""

    ticket_type: TicketType
    quantity: int

    @property
    def amount(self) -> int:
        """The total."""
        total: int = self.ticket_type.price_amount * self.quantity
        return total


def quote(tenant_reference: str, order: Order) -> Quote:
    """Return what an order would cost now. Nothing is held. The errors are those of `preflight`."""
    ticket_type = holds.on_sale(tenant_reference, order.event_id, order.ticket_id)
    _check_order(ticket_type, ticket_type.event, order)
    holds.check_left(ticket_type, order.quantity)
    return Quote(ticket_type, order.quantity)


def is_sold_out(tenant_reference: str, order: Order) -> bool:
    """Return whether not even the smallest order of a ticket type can be held now. NotFound."""
    ticket_type = holds.on_sale(tenant_reference, order.event_id, order.ticket_id)
    most = holds.left(ticket_type)
    return most is not None and most < ticket_type.min_per_order


def preflight(tenant_reference: str, order: Order, config: Config) -> PaymentIntent:
    """Hold the stock, fix the price, and issue the address, in one transaction.

    NotFound if the event or ticket type is not public. Invalid if the ticket type is on another
    chain, or if an answer is wrong or missing. SoldOut, SalesNotStarted, SalesEnded, EventOver,
    BelowMinimum, AboveMaximum, OverMaxAmount, NotPayable. KeyRequired. TooMuchUnpaid,
    TooManyOrders, TooManyFree. What the channel raises.
    """
    ticket_type = holds.on_sale(tenant_reference, order.event_id, order.ticket_id)
    _check_order(ticket_type, ticket_type.event, order)
    holds.check_left(ticket_type, order.quantity)
    asked = None
    if ticket_type.event.order_questions or order.answers:
        asked = answers.check(ticket_type.event, [order.ticket_id], order.answers)
    # Before the transaction, because in it other orders wait for this one.
    known = chains.states_of(ticket_type.chain_id)
    with write_transaction():
        uses: Sequence[client_limits.Use] = ()
        if order.client:
            is_free = ticket_type.price_amount == 0
            uses = client_limits.check(
                order.client, ticket_type.event_id, order.quantity, config, is_free=is_free
            )
        held = holds.hold(ticket_type, known, order.quantity)
        # Price, chain or sales may have changed in the meantime. Check the locked row again.
        _check_order(held.ticket_type, ticket_type.event, order)
        client_limits.check_share(uses, held, order.quantity)
        if order.channel is not None:
            order.channel.check(held, order.quantity)
        intent = _issue(held, order, config)
        if asked is not None:
            answers.write(intent, asked)
    intents.add_payment_details([intent])
    intent.client_secret = credentials.client_secret(config.keyring.current, intent.id)
    return intent


def purchase(
    tenant_reference: str, intent_id: str, config: Config, client: Sequence[str] = ()
) -> PaymentIntent:
    """Read the chain now and settle the intent. Return it with its admissions.

    The result is confirmed or processing. A free order is confirmed. Repeated calls issue
    admissions only once. `client` as in `Order`: it waits for one node at a time. NotFound.
    PaymentRequired, IntentExpired, IntentCanceled and IntentReversed, each with the `intent`.
    ChainUnavailable if the result depends on a chain that cannot be read. NodesBusy if too many
    wait. LookedJustNow if the order was found unpaid a moment ago.
    """
    found = intents.get(tenant_reference, intent_id)
    before = found.status
    intent = _looked_for(found, config, client)
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
    IntentNotCancelable if the intent has received money; ChainUnavailable if the chain cannot be
    read; NodesBusy.
    """
    intent = intents.get(tenant_reference, intent_id)
    before = intent.status
    if before == IntentStatus.AWAITING_PAYMENT and intent.chain_id is not None:
        with node_slots.slot(intent.id, _widest(client)):
            view = chain_view.look(intent, config.chains, to_drop=True)
        booking.book_view(intent, view, to_drop=True)
    intent = settlement.cancel(intent.id)
    intent.has_changed = intent.status != before
    intents.add_payment_details([intent])
    return intent


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


def _check_order(ticket_type: TicketType, event: Event, order: Order) -> None:
    if ticket_type.status != Publication.PUBLISHED:
        raise NotFound("This ticket type does not exist.")
    if ticket_type.requires_key and order.client:
        raise KeyRequired
    if order.chain_id is not None and order.chain_id != ticket_type.chain_id:
        raise Invalid({"chain_id": ["This ticket type is not sold on that chain."]})
    now = clock.now()
    if ticket_type.sales_start_at is not None and now < ticket_type.sales_start_at:
        raise SalesNotStarted
    if ticket_type.sales_end_at is not None and now >= ticket_type.sales_end_at:
        raise SalesEnded
    if now >= event.over_at:
        raise EventOver
    if order.quantity < ticket_type.min_per_order:
        raise BelowMinimum
    if order.quantity > ticket_type.max_per_order:
        raise AboveMaximum
    amount = ticket_type.price_amount * order.quantity
    if order.max_amount is not None and amount > order.max_amount:
        raise OverMaxAmount


def _issue(held: Held, order: Order, config: Config) -> PaymentIntent:
    ticket_type, known = held.ticket_type, held.chains
    amount = ticket_type.price_amount * order.quantity
    if amount == 0:
        now, payment = clock.now(), {}
    else:
        chain_id = ticket_type.chain_id or 0
        chain = chains.payable(config.chains, known).get(chain_id)
        # Blocks that were read before this moment cannot contain a payment to the new address.
        read_to = known[chain_id].block_number if chain_id in known else None
        payment = _payment_terms(ticket_type.tenant_id, ticket_type.price_amount, chain, read_to)
        now = chains.now_on(chain_id, known)
    deadline = now + _hold_of(held, order, config)
    intent = PaymentIntent(
        id=ids.new(ids.INTENT),
        tenant=ticket_type.tenant_id,
        event=ticket_type.event_id,
        ticket_type=ticket_type,
        status=IntentStatus.AWAITING_PAYMENT,
        quantity=order.quantity,
        unit_amount=ticket_type.price_amount,
        amount=amount,
        currency=CURRENCY,
        held_by=order.client[0] if order.client else None,
        held_by_site=order.client[1] if len(order.client) > 1 else None,
        buyer_email=order.buyer_email,
        buyer_name=order.buyer_name,
        created_at=clock.now(),
        hold_until=deadline,
        expires_at=deadline,
        **payment,
        **(order.channel.marks if order.channel else {}),
    )
    _insert(intent)
    feed.record(intent.tenant_id, *facts.intent_created(intent))
    return intent


def _hold_of(held: Held, order: Order, config: Config) -> timedelta:
    """Return for how long an order is held.

    The hold is shorter for a client without a credential while orders hold more than half of the
    unsold tickets, of the ticket type or of the event.
    """
    is_short = bool(order.client) and held.is_under_pressure(order.quantity)
    hold = min(config.hold, HOLD_UNDER_PRESSURE) if is_short else config.hold
    return hold if order.channel is None else min(hold, order.channel.longest_hold)


def _payment_terms(
    tenant_id: str, unit_amount: int, chain: Chain | None, checked_block: int | None
) -> dict[str, Any]:
    """Return where and with which token an order of seats at `unit_amount` must be paid.

    One seat's price must be exact in the token, not only the total: it may have to be refunded.
    """
    if chain is None or chain.decimals is None:
        raise NotPayable("The chain of this ticket type is not enabled.")
    try:
        units.to_atomic(unit_amount, chain.decimals)
    except units.NotExact:
        raise NotPayable("The price cannot be paid exactly in this token.") from None
    issued = issuing.issue_address(tenant_id, chain)
    return {
        "chain_id": chain.chain_id,
        "checked_block": checked_block,
        "wallet": issued.wallet_id,
        "address_index": issued.index,
        "address": issued.address,
        "token_address": chain.token_address,
        "token_decimals": chain.decimals,
        "required_confirmations": chain.confirmations,
    }
