"""Vouchers as their organizer sees them: list, create one or many, read, change, disable.

What a voucher does in an order is in services/orders/vouchers.py.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import SQL, Expression, IntegrityError, ModelSelect, fn

from ticketing import clock, ids
from ticketing.constants import MAX_PRICE, PriceMode, VoucherStatus
from ticketing.db.connection import locked, savepoint, write_transaction
from ticketing.errors import CodeTaken, FieldMessage, Invalid, MaxUsagesTooLow, NotFound
from ticketing.models.base import holds_text
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.models.ticket_types import TicketType
from ticketing.models.vouchers import Voucher
from ticketing.services import catalog_version
from ticketing.services.catalog import events
from ticketing.services.orders import vouchers
from ticketing.services.pagination import Page, PageRequest, paginate

CODE_BITS = 60
_GROUP, _GROUPS = 4, 3
_MAX_PERCENT = 100
_MOST_VALUES = {
    PriceMode.SET: (0, MAX_PRICE),
    PriceMode.SUBTRACT: (1, MAX_PRICE),
    PriceMode.PERCENT: (1, _MAX_PERCENT),
}
MOST_TAGS = 100
"""How many tags of an event are summed up."""


@dataclass(frozen=True)
class Batch:
    """Vouchers that were created together. `id` is that of their event."""

    id: str
    tag: str | None
    vouchers: Sequence[Voucher]

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.vouchers)

    @property
    def voucher_ids(self) -> list[str]:
        """Their ids."""
        return [each.id for each in self.vouchers]


@dataclass(frozen=True)
class UsesOfTag:
    """The usages of all vouchers with one tag (None: without a tag)."""

    tag: str | None
    vouchers: int
    max_usages: int
    held: int
    redeemed: int


def _select(tenant_id: Any, event_id: Any, voucher_id: Any) -> ModelSelect[Voucher]:
    return Voucher.select().where(
        Voucher.tenant == tenant_id, Voucher.event == event_id, Voucher.id == voucher_id
    )


_by_id: Prepared[Voucher] = Prepared(_select)


@Prepared
def _one_of_event(event_id: Any) -> ModelSelect[Voucher]:
    return Voucher.select(Voucher.id).where(Voucher.event == event_id).limit(1)


def list_page(
    tenant_id: str,
    event_id: str,
    page: PageRequest,
    *,
    shows_codes: bool,
    status: VoucherStatus | None,
    tag: str | None,
    q: str | None,
) -> Page[Voucher]:
    """Return a page of an event's vouchers, the oldest first. NotFound.

    `tag` is a complete tag. `q`: text in the comment, or in the code if the caller sees codes.
    Without `shows_codes`, the codes are None.
    """
    events.get(tenant_id, event_id)
    query = Voucher.select().where(Voucher.event == event_id)
    if status is not None:
        query = query.where(_has_status(status, clock.now()))
    if tag is not None:
        query = query.where(Voucher.tag == tag)
    if q is not None:
        in_comment = holds_text(Voucher.comment, q)
        # Else the search would tell a code, letter by letter.
        query = query.where(in_comment | holds_text(Voucher.code, q) if shows_codes else in_comment)
    scope = f"vouchers {event_id} {shows_codes} {status} {tag!r} {q!r}"
    found = paginate(query, [Voucher.id], page, scope=scope)
    return (
        found
        if shows_codes
        else Page([without_code(each) for each in found.data], found.next_cursor)
    )


def with_code(tenant_id: str, code: str, event_ids: Collection[str] | None) -> Sequence[Voucher]:
    """Return the vouchers of a tenant's events that have this code, in any case of its letters.

    `event_ids`: only of these events.
    """
    found = Voucher.select(Voucher, Event).join(Event)
    if event_ids is not None:
        found = found.where(Event.id.in_(list(event_ids)))
    return list(found.where(Event.tenant == tenant_id, Voucher.code == code.upper()))


def without_code(voucher: Voucher) -> Voucher:
    """Return a voucher as those see it who may not use its code."""
    voucher.hides_code = True
    return voucher


def exist(event_id: str) -> bool:
    """Return whether an event has vouchers."""
    return bool(_one_of_event.tuples(event_id=event_id))


def uses_by_tag(event_id: str) -> list[UsesOfTag]:
    """Return the usages of an event's vouchers by tag, at most MOST_TAGS, in their order."""
    sums = (Voucher.max_usages, Voucher.held, Voucher.redeemed)
    query = (
        Voucher.select(Voucher.tag, fn.COUNT(SQL("*")), *(fn.SUM(each) for each in sums))
        .where(Voucher.event == event_id)
        .group_by(Voucher.tag)
        .order_by(Voucher.tag)
        .limit(MOST_TAGS)
    )
    rows: Any = query.tuples()
    return [UsesOfTag(tag, *map(int, counts)) for tag, *counts in rows]


def get(tenant_id: str, event_id: str, voucher_id: str) -> Voucher:
    """Return one voucher. NotFound."""
    return _one(_by_id.first(tenant_id=tenant_id, event_id=event_id, voucher_id=voucher_id))


def create(tenant_id: str, event_id: str, fields: dict[str, Any]) -> Voucher:
    """Create a voucher, with a random code unless `code` is given.

    NotFound. CodeTaken. Invalid if two fields contradict each other, or for a ticket type of
    another event.
    """
    code = fields.pop("code", None)
    with write_transaction():
        voucher = _new(tenant_id, event_id, fields)
        voucher.code = _random_code() if code is None else vouchers.normalized(code)
        _insert([voucher])
    return voucher


def create_batch(
    tenant_id: str, event_id: str, fields: dict[str, Any], *, count: int, prefix: str | None
) -> Batch:
    """Create `count` vouchers with random codes after `prefix`, all or none.

    The errors are those of `create`.
    """
    start = "" if prefix is None else f"{vouchers.normalized(prefix)}-"
    with write_transaction():
        first = _new(tenant_id, event_id, fields)
        made = [first]
        while len(made) < count:
            made.append(Voucher(**{**first.__data__, "id": ids.new(ids.VOUCHER)}))
        made.sort(key=lambda each: str(each.id))
        for each in made:
            each.code = start + _random_code()
        _insert(made)
    return Batch(event_id, first.tag, made)


def change(tenant_id: str, event_id: str, voucher_id: str, fields: dict[str, Any]) -> Voucher:
    """Change the given fields. Live orders keep their price.

    NotFound. MaxUsagesTooLow. Invalid as for `create`.
    """
    with write_transaction():
        voucher = _one(locked(_select(tenant_id, event_id, voucher_id)).first())
        _set(voucher, fields)
        if voucher.usages_left < 0:
            raise MaxUsagesTooLow
        _save(voucher)
    return voucher


def disable(tenant_id: str, event_id: str, voucher_id: str) -> Voucher:
    """Let nobody use a voucher any more. Live orders keep it. NotFound.

    A repeat changes nothing.
    """
    with write_transaction():
        voucher = _one(locked(_select(tenant_id, event_id, voucher_id)).first())
        if voucher.disabled_at is None:
            voucher.disabled_at = clock.now()
            _save(voucher)
    return voucher


def _new(tenant_id: str, event_id: str, fields: dict[str, Any]) -> Voucher:
    event = events.get(tenant_id, event_id)
    now = clock.now()
    voucher = Voucher(
        id=ids.new(ids.VOUCHER), tenant=tenant_id, event=event.id, created_at=now, updated_at=now
    )
    _set(voucher, fields)
    return voucher


def _set(voucher: Voucher, fields: dict[str, Any]) -> None:
    """Set validated fields, and check those that depend on each other. Invalid."""
    errors: dict[str, list[str]] = {}
    for name, value in fields.items():
        if name == "ticket_ids" and value is not None:
            known = TicketType.select(TicketType.id).where(TicketType.event == voucher.event_id)
            if {each.id for each in known.where(TicketType.id.in_(value))} != set(value):
                message = FieldMessage("other_event", "Must be ticket types of this event.")
                errors["ticket_ids"] = [message]
            value = " ".join(dict.fromkeys(value))
        setattr(voucher, name, value)
    if not _is_possible(PriceMode(voucher.price_mode), voucher.value):
        text = "Must fit price_mode: null, micro-units, or whole percent from 1 to 100."
        errors["value"] = [FieldMessage("voucher_value", text)]
    if voucher.min_usages > voucher.max_usages:
        text = "Must not be above max_usages."
        errors["min_usages"] = [FieldMessage("above_usages", text)]
    if errors:
        raise Invalid(errors)


def _is_possible(mode: PriceMode, value: int | None) -> bool:
    if mode is PriceMode.NONE or value is None:
        return mode is PriceMode.NONE and value is None
    least, most = _MOST_VALUES[mode]
    return least <= value <= most


def _insert(made: Sequence[Voucher]) -> None:
    """Insert vouchers. CodeTaken."""
    try:
        # The caller's transaction must survive on Postgres, which ends it with an error otherwise.
        with savepoint():
            Voucher.bulk_create(made, batch_size=100)
    except IntegrityError:
        raise CodeTaken from None
    # Pages ask for a code if there are any.
    catalog_version.advance(made[0].tenant_id)


def _save(voucher: Voucher) -> None:
    voucher.updated_at = clock.now()
    voucher.save(only=voucher.dirty_fields)


def _random_code() -> str:
    """Return a code that nobody guesses, in groups that people can read out."""
    text = ids.base32(secrets.randbits(CODE_BITS), _GROUP * _GROUPS).upper()
    return "-".join(text[place : place + _GROUP] for place in range(0, len(text), _GROUP))


def _has_status(status: VoucherStatus, now: datetime) -> Expression:
    """Return the condition of the vouchers with a status, as `Voucher.status` computes it."""
    is_enabled = Voucher.disabled_at.is_null()
    is_valid = is_enabled & (Voucher.valid_until.is_null() | (Voucher.valid_until > now))
    is_left = Voucher.held + Voucher.redeemed < Voucher.max_usages
    found: dict[VoucherStatus, Expression] = {
        VoucherStatus.DISABLED: ~is_enabled,
        VoucherStatus.EXPIRED: is_enabled & (Voucher.valid_until <= now),
        VoucherStatus.USED_UP: is_valid & ~is_left,
        VoucherStatus.ACTIVE: is_valid & is_left,
    }
    return found[status]


def _one(voucher: Voucher | None) -> Voucher:
    if voucher is None:
        raise NotFound("This voucher does not exist.")
    return voucher
