"""Keep all orders of a sale still, and cancel the live ones."""

from collections.abc import Mapping
from dataclasses import dataclass

from peewee import Expression

from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.constants import LIVE, IntentStatus
from ticketing.db.connection import locked
from ticketing.models.chains import ChainState
from ticketing.models.events import Event
from ticketing.models.items import IntentItem
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.services import chains
from ticketing.services.orders import accounts, items, seats
from ticketing.services.payments import payment_sums, settlement


@dataclass(frozen=True)
class EndedSale:
    """The cursors of all chains, and how many intents were canceled."""

    cursors: Mapping[int, Block | None]
    intents_canceled: int


def lock_sale(of: Expression) -> dict[int, Block | None]:
    """Lock the sale of ticket types. Return the cursors of all chains.

    `of` selects the ticket types. Call it first in a transaction, before other locks. From then
    until the transaction ends, no order can be created or settled, and no guest can be added.
    """
    of_sale = TicketType.select(TicketType.event).where(of)
    list(locked(Event.select(Event.id).where(Event.id.in_(of_sale))))
    states = locked(ChainState.select().order_by(ChainState.chain_id))
    cursors = {state.chain_id: chains.cursor_of(state) for state in states}
    settlement.lock_where(_live(of))
    # Vouchers that no order holds yet, too. An order that is created meanwhile may be canceled
    # below: to wait for its voucher then, after the ticket types, could deadlock with a third one.
    for each in seats.STOCKS:
        each.lock_of(of_sale)
    return cursors


def cancel_sale(of: Expression) -> EndedSale:
    """Cancel the live intents with ticket types that are sold no more. Received money is due back.

    `of` selects the ticket types. Call it first in the transaction that ends the sale.
    """
    cursors = lock_sale(of)
    # An order that was being created at the time of the first lock is visible now.
    live = settlement.lock_where(_live(of))
    items.read(live)
    accounts.read(live)
    for intent in live:
        _cancel(intent, cursors.get(intent.chain_id or 0))
    return EndedSale(cursors, len(live))


def _live(of: Expression) -> Expression:
    """Return the condition that an intent is live, and has one of these ticket types."""
    types = TicketType.select(TicketType.id).where(of)
    orders = IntentItem.select(IntentItem.intent).where(IntentItem.ticket_type.in_(types))
    # The database finds them by their event: fewer than all that ever had these ticket types.
    of_sale = PaymentIntent.event.in_(TicketType.select(TicketType.event).where(of))
    return of_sale & PaymentIntent.status.in_(LIVE) & PaymentIntent.id.in_(orders)


def _cancel(intent: PaymentIntent, cursor: Block | None) -> None:
    books = {}
    if intent.chain_id is not None:
        # Before the first read of a chain, no payment on it is final.
        as_of = cursor or Block(0, "", clock.now())
        totals = payment_sums.totals_of(intent.home, as_of)
        waived = payment_sums.waived(intent.home)
        balance = payment_sums.balance(intent, as_of, totals, waived)
        books = balance.books(IntentStatus.CANCELED)
    settlement.enter(intent, IntentStatus.CANCELED, clock.now(), books=books)
