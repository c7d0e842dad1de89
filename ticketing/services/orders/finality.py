"""Finality by need: which orders are confirmed early, and how long the others wait.

A payment is final with `required_confirmations` blocks. An order may be confirmed with
`early_confirmations` blocks, its own included, if all of this is true when it is settled:

- The organizer allows it, and the doors open more than 24 hours after the last block. Or a device
  of the box office sold it: whom it lets in stands at the door.
- It costs at most EARLY_MOST. An order that costs more has no `early_confirmations`.
- It becomes confirmed for the first time, and was paid in time.

So there is a day to see a payment leave the chain before anybody can enter. Everything else waits
for finality: refunds, transfers, and orders that come back after a reorganization.
"""

from __future__ import annotations

import math
from datetime import timedelta

from peewee import Expression, ModelSelect

from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.chain.registry import REGISTRY
from ticketing.constants import DOORS_BEFORE_START, IntentStatus
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import IS_HOME, UNSETTLED, PaymentIntent
from ticketing.models.tenants import Tenant

DOORS_AHEAD = timedelta(hours=24)
"""How long before the doors open an order may still be confirmed early."""

_USUAL_BLOCK_SECONDS = 2.0
"""Of a chain whose block time is not known."""

_SOONEST = 2


def early_enough(chain_id: int, as_of: Block) -> ModelSelect[PaymentIntent]:
    """Select the paid orders of a chain that may be confirmed early as of a block.

    Example: the cursor is at block 100, from Monday 18:00. An order was paid in block 100. With
    `early_confirmations` 1 it is selected if the doors open after Tuesday 18:00.
    """
    depth = OrderAccount.early_confirmations - 1
    # Not a join: Postgres would begin with the tenants, of which there may be more than orders.
    is_sold_at_door = PaymentIntent.sold_by.is_null(False)
    is_allowed = Tenant.early_confirmation & (is_sold_at_door | _is_day_ahead(as_of))
    of_event = Event.select(is_allowed).join(Tenant)
    homes = PaymentIntent.select(PaymentIntent.id).join(OrderAccount, on=IS_HOME)
    return homes.where(
        PaymentIntent.chain_id == chain_id,
        UNSETTLED,
        PaymentIntent.status == literal(IntentStatus.PROCESSING),
        PaymentIntent.ended_at.is_null(),
        PaymentIntent.paid_block + depth <= as_of.number,
        of_event.where(Event.id == PaymentIntent.event),
    )


def is_early_enough(intent: PaymentIntent, paid_block: int | None, as_of: Block) -> bool:
    """Return whether a live order that is paid in `paid_block` may be confirmed early.

    It reads the event and the tenant, if the block is deep enough.
    """
    early = intent.home.early_confirmations
    if early is None or paid_block is None or intent.ended_at is not None:
        return False
    if paid_block + early - 1 > as_of.number:
        return False
    of_event = (
        Event.select().join(Tenant).where(Event.id == intent.event_id, Tenant.early_confirmation)
    )
    if intent.sold_by is None:
        of_event = of_event.where(_is_day_ahead(as_of))
    allowed: bool = of_event.exists()
    return allowed


def _is_day_ahead(as_of: Block) -> Expression:
    """Return the SQL condition that the doors of an event open late. As in Event.doors_open."""
    latest = as_of.time + DOORS_AHEAD
    by_start = Event.doors_open_at.is_null() & (Event.start_at > latest + DOORS_BEFORE_START)
    return (Event.doors_open_at > latest) | by_start


def blocks_needed(intent: PaymentIntent) -> int:
    """Return with how many blocks an order that is paid now will be confirmed: early, or final.

    It reads the event and the tenant, as settlement does with the time of the block.
    """
    event, early = intent.event, intent.home.early_confirmations
    is_early = (
        early is not None
        and intent.ended_at is None
        and intent.tenant.early_confirmation
        and (intent.sold_by is not None or event.doors_open > clock.now() + DOORS_AHEAD)
    )
    return (early if is_early else intent.home.required_confirmations) or 0


def seconds_left(intent: PaymentIntent) -> int:
    """Return in about how many seconds an order is final that was confirmed early. 2 or more.

    Example: Base has a block every 2 seconds. An order was confirmed with 1 of 30 blocks 18 seconds
    ago. 29 * 2 - 18 = 40 are left.
    """
    home = intent.home
    blocks = (home.required_confirmations or 0) - (home.early_confirmations or 0)
    seconds = blocks * (_block_seconds(intent) or _USUAL_BLOCK_SECONDS)
    ends = intent.confirmed_at + timedelta(seconds=seconds)
    left: timedelta = ends - clock.now()
    return max(_SOONEST, math.ceil(left.total_seconds()))


def minutes_left(intent: PaymentIntent) -> int | None:
    """Return the same in minutes, 1 or more. None if the block time of its chain is not known."""
    return None if _block_seconds(intent) is None else math.ceil(seconds_left(intent) / 60)


def minutes_of(intent: PaymentIntent, blocks: int) -> int | None:
    """Return in about how many minutes an order's chain has so many more blocks, 1 or more.

    None if the block time is not known.
    """
    seconds = _block_seconds(intent)
    return None if seconds is None else max(1, math.ceil(blocks * seconds / 60))


def _block_seconds(intent: PaymentIntent) -> float | None:
    chain = REGISTRY.get(intent.chain_id or 0)
    return None if chain is None else chain.block_seconds
