"""Vouchers in orders: which code opens what, at which price, and how often.

A usage is one seat. Usages are stock, as in stock.py: each change is one conditional UPDATE with a
row count. Example: of 3 usages, 1 is held and 1 redeemed. Two buyers want 1 each. The first UPDATE
makes it 2 and 1. The second one finds 2 + 1 + 1 > 3, changes no row, and its order is refused.

A code that cannot be used gets one answer for all reasons, after the same query: otherwise the
answers would tell which codes exist. There is one exception: whoever typed a right code, of which
all usages are in unpaid orders, reads when the first of these ends. It counts as no guess.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from peewee import ModelSelect

from ticketing import clock, ids
from ticketing.constants import PriceMode, VoucherMisfit
from ticketing.errors import (
    NotFound,
    VoucherHeld,
    VoucherInvalid,
    VoucherNotApplicable,
    VoucherRequired,
)
from ticketing.models.events import Event
from ticketing.models.payment_intents import AWAITING, Item, PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.models.vouchers import Voucher
from ticketing.services.notifications import facts
from ticketing.services.notifications.facts import Fact
from ticketing.services.orders.stock import Move, Seats, Stock

CODE = re.compile(r"[A-Z0-9-]{5,40}")
PUBLIC_FROM = 101
"""A voucher with as many usages is public: it was not given to one person or sponsor."""

_NO_CODE = ""
"""No voucher has this code."""


@Prepared
def _holding(of: Any) -> ModelSelect[PaymentIntent]:
    """Select when unpaid orders with a voucher end, the first one first."""
    unpaid = PaymentIntent.select(PaymentIntent.hold_until).where(
        PaymentIntent.voucher == of, AWAITING
    )
    return unpaid.order_by(PaymentIntent.hold_until).limit(1)


def normalized(code: str) -> str:
    """Return a typed code as it is stored: in upper case, without spaces around it."""
    return code.strip().upper()


def find(
    tenant_reference: str,
    event_reference: str,
    code: str,
    now: datetime | None = None,
    *,
    replaced: PaymentIntent | None = None,
) -> Voucher:
    """Return the voucher of an event that can be used with this code. VoucherInvalid; VoucherHeld.

    The references are ids or slugs. `now`: the current time, unless it is given. `replaced`: an
    unpaid order that ends when the new one is made; what it holds of the voucher counts as left.
    Look a code up before anything else of an order: then a wrong code never tells what else exists.
    """
    query: Prepared[Voucher] = _of_event if ids.is_id(ids.EVENT, event_reference) else _of_slug
    found = query.first(tenant=tenant_reference, event=event_reference, code=_searchable(code))
    if found is not None and replaced is not None and replaced.voucher_id == found.id:
        found.held -= sum(item.quantity for item in replaced.items if item.vouchered)
    return _usable(found, now)


def find_for_ticket(
    tenant_id: str, ticket_id: str, code: str, now: datetime | None = None
) -> Voucher:
    """Return the voucher of a ticket type's event that can be used with this code.

    VoucherInvalid; VoucherHeld. It need not open this ticket type.
    """
    found = _of_ticket.first(tenant_id=tenant_id, ticket_id=ticket_id, code=_searchable(code))
    return _usable(found, now)


def codes(voucher_ids: Iterable[str]) -> dict[str, str]:
    """Return the codes of vouchers by their ids."""
    named = Voucher.select(Voucher.id, Voucher.code).where(Voucher.id.in_(list(voucher_ids)))
    return {each.id: each.code for each in named}


def _searchable(code: str) -> str:
    typed = normalized(code)
    # The same query runs for a text that is no code. Postgres refuses some texts.
    return typed if CODE.fullmatch(typed) else _NO_CODE


def _usable(voucher: Voucher | None, now: datetime | None) -> Voucher:
    """Return a voucher if it can be used now. VoucherInvalid; VoucherHeld."""
    now = now or clock.now()
    if voucher is None or voucher.disabled_at is not None:
        raise VoucherInvalid
    if voucher.valid_until is not None and now >= voucher.valid_until:
        raise VoucherInvalid
    if voucher.usages_left <= 0:
        held: PaymentIntent | None = _holding.first(of=voucher.id)
        if held is None:
            raise VoucherInvalid
        left = math.ceil((held.hold_until - now).total_seconds())
        raise VoucherHeld(held.hold_until, retry_after=max(1, left))
    return voucher


def price(voucher: Voucher, list_amount: int) -> int:
    """Return what a seat costs with a voucher, from 0 to `list_amount`, in micro-units.

    Example: 25 % of a list price of 3 micro-units is 0.75, so 0 are taken off.
    """
    value: int = voucher.value or 0
    return {
        PriceMode.NONE: list_amount,
        PriceMode.SET: min(list_amount, value),
        PriceMode.SUBTRACT: max(0, list_amount - value),
        PriceMode.PERCENT: list_amount - list_amount * value // 100,
    }[PriceMode(voucher.price_mode)]


def applies_to(voucher: Voucher, ticket_type: TicketType) -> bool:
    """Return whether a voucher lowers the price of a ticket type of its event, or opens it."""
    named = voucher.ticket_type_ids
    if named is None:
        return not ticket_type.require_voucher
    return ticket_type.id in named


def is_shown(ticket_type: TicketType, voucher: Voucher | None) -> bool:
    """Return whether somebody with this voucher, or without one, may know a ticket type.

    `shown` is the same rule for a query. Every surface uses one of them.
    """
    return not ticket_type.hide_without_voucher or (
        voucher is not None and applies_to(voucher, ticket_type)
    )


def shown(voucher: Voucher | None) -> Any:
    """Return the condition of the ticket types that somebody with this voucher may know.

    Of the voucher's event: other events are not asked for. See `is_shown`.
    """
    named = None if voucher is None else voucher.ticket_type_ids
    always = TicketType.hide_without_voucher == False  # noqa: E712
    # Who hides a type requires a voucher for it, so a voucher without names opens none of these.
    return always | TicketType.id.in_(named) if named else always


def check_seats(
    voucher: Voucher | None, ordered: Iterable[tuple[TicketType, int]]
) -> Mapping[str, int]:
    """Check an order's ticket types, each with its seats. Return the seats that use the voucher.

    By ticket type id; empty without a voucher. Each matching seat uses the voucher once.

    NotFound for a hidden ticket type that the voucher does not open. VoucherRequired for another
    one that needs a voucher. VoucherNotApplicable if there are too few or too many seats for the
    voucher, or none that it is for.
    """
    ordered = list(ordered)
    if not all(is_shown(ticket_type, voucher) for ticket_type, _ in ordered):
        raise NotFound("This ticket type does not exist.")
    matching = {
        ticket_type.id: seats
        for ticket_type, seats in ordered
        if voucher is not None and applies_to(voucher, ticket_type)
    }
    if voucher is not None:
        _check_fits(voucher, sum(matching.values()))
    if any(each.require_voucher and each.id not in matching for each, _ in ordered):
        raise VoucherRequired
    return matching


def _check_fits(voucher: Voucher, seats: int) -> None:
    if seats == 0:
        raise VoucherNotApplicable(
            "This voucher is not for these tickets.", reason=VoucherMisfit.NOT_FOR_THESE_TICKETS
        )
    if seats < voucher.min_usages:
        raise VoucherNotApplicable(
            f"This voucher is for {voucher.min_usages} tickets or more.",
            reason=VoucherMisfit.TOO_FEW_SEATS,
        )
    if seats > voucher.usages_left:
        raise _too_many(voucher)


def _too_many(voucher: Voucher) -> VoucherNotApplicable:
    left = voucher.usages_left
    return VoucherNotApplicable(
        f"This voucher is good for {left} more. Order the other tickets without it.",
        reason=VoucherMisfit.TOO_MANY_SEATS,
        usages_left=left,
    )


def is_public(voucher: Voucher) -> bool:
    """Return whether free seats under a voucher count for FREE_PER_CLIENT.

    A sponsor redeems all of theirs at once. Under a code that everybody knows, one client could
    empty a free event.
    """
    return bool(voucher.max_usages >= PUBLIC_FROM)


def refusal(voucher: Voucher, now: datetime) -> VoucherNotApplicable:
    """Return why so many usages could not be held. VoucherInvalid or VoucherHeld: none can."""
    return _too_many(_usable(Voucher.get_by_id(voucher.id), now))


def still_gives(voucher: Voucher, item: Item, ticket_type: TicketType, paid_at: datetime) -> bool:
    """Return whether a voucher gave a seat at `paid_at` for no more than an order's item says."""
    is_valid = voucher.valid_until is None or paid_at < voucher.valid_until
    return (
        is_valid
        and voucher.disabled_at is None
        and applies_to(voucher, ticket_type)
        and price(voucher, ticket_type.price_amount) <= item.unit_amount
    )


class _Usages(Stock):
    """The usages of vouchers: one for each seat that is cheaper, or opened, by it."""

    def __init__(self) -> None:
        super().__init__(Voucher.id, Voucher.max_usages, Voucher.held, Voucher.redeemed)

    def moves(self, of: Seats) -> Sequence[Move]:
        """Return the seats that use the voucher."""
        usages = sum(item.quantity for item in of.items if item.vouchered)
        return (Move(of.voucher_id, usages),) if of.voucher_id is not None and usages else ()

    def usable(self, at: Any) -> Sequence[Any]:
        """Return that the voucher is valid at a time."""
        is_valid = Voucher.valid_until.is_null() | (Voucher.valid_until > at)
        return (is_valid, Voucher.disabled_at.is_null())

    def facts(self, event_id: str, row: Voucher, more_sold: int) -> Sequence[Fact]:
        """Return that the last usage is taken."""
        return facts.voucher_used_up(row) if more_sold > 0 else ()

    def lock_of(self, events: ModelSelect[Any]) -> None:
        """Lock the vouchers of events that an order holds, or could hold."""
        may_be_held = (Voucher.held > 0) | Voucher.disabled_at.is_null()
        self._locked(Voucher.event.in_(events) & may_be_held)


USAGES = _Usages()


def _with_code(found: ModelSelect[Any], code: Any) -> ModelSelect[Voucher]:
    # The event as one value: the index of codes begins with it.
    return Voucher.select().where(Voucher.event == found, Voucher.code == code)


def _tenant(tenant: Any) -> ModelSelect[Tenant]:
    return Tenant.select(Tenant.id).where((Tenant.id == tenant) | (Tenant.slug == tenant))


@Prepared
def _of_event(tenant: Any, event: Any, code: Any) -> ModelSelect[Voucher]:
    of_tenant = Event.tenant == _tenant(tenant)
    return _with_code(Event.select(Event.id).where(of_tenant, Event.id == event), code)


@Prepared
def _of_slug(tenant: Any, event: Any, code: Any) -> ModelSelect[Voucher]:
    of_tenant = Event.tenant == _tenant(tenant)
    return _with_code(Event.select(Event.id).where(of_tenant, Event.slug == event), code)


@Prepared
def _of_ticket(tenant_id: Any, ticket_id: Any, code: Any) -> ModelSelect[Voucher]:
    of_ticket = (TicketType.tenant == tenant_id) & (TicketType.id == ticket_id)
    return _with_code(TicketType.select(TicketType.event).where(of_ticket), code)
