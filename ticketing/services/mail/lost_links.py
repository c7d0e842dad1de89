"""People who lost the links of their orders get them by mail, at the address of these orders.

Anybody can write any address into an order. So the mail begins with orders that were paid: a
stranger can put others first only with money. It says of each what it is. Those that the mail has
no room for are on a page, whose link is in the mail only, and ends after LINKS_HOURS.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from peewee import Case, Expression, ModelSelect, fn

from ticketing import clock, links
from ticketing.config import Config
from ticketing.constants import LIVE, OVER_AFTER_START, SOLD, IntentStatus
from ticketing.credentials import Keyring
from ticketing.encryption import SecretUnreadable, decrypt, encrypt
from ticketing.limits import LINKS_HOURS
from ticketing.models.events import Event
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent, of_home
from ticketing.models.tenants import Tenant
from ticketing.services.mail import values
from ticketing.services.mail.plain_text import plain
from ticketing.services.mail.values import TITLE, Facts
from ticketing.services.orders import items

MOST_LINKS = 10
MOST_OF_PAGE = 50
AFTER_EVENT = timedelta(days=7)
"""For how long after its event the link of an order is sent."""

_PURPOSE = "orders-of-address"

_IS_PAID = (PaymentIntent.amount > 0) & (
    PaymentIntent.status.in_([IntentStatus.PROCESSING, *SOLD])
    | (of_home(OrderAccount.received) >= PaymentIntent.amount)
)


class State(StrEnum):
    """What a line of the mail says of an order."""

    PAID = "paid"
    FREE = "free"
    PARTLY_PAID = "partly_paid"
    UNPAID = "unpaid"


@dataclass(frozen=True)
class OrdersLink:
    """Whose orders a link shows, and until when."""

    tenant_id: str
    email: str
    until: datetime


def orders_of(
    tenant_id: str,
    email: str,
    client: Sequence[str | None] = (),
    most: int = MOST_LINKS,
    skipped: int = 0,
) -> list[PaymentIntent]:
    """Return orders of an address with their events, without those that ended unpaid.

    Fully paid ones come first, by event; then free ones of the networks of `client`, from narrow to
    wide, as digests; then the rest, the newest first.

    Example: Ada paid for an order, and lost its link. A stranger made ten free ones with her
    address from another network. Hers is the first.
    """
    group = Case(None, [(_IS_PAID, 0), (_is_free_of(client), 1)], 2)
    starts = Case(None, [(_IS_PAID, Event.start_at)], None)
    found = (
        PaymentIntent.select(PaymentIntent, Event, Tenant)
        .join_from(PaymentIntent, Event)
        .join_from(PaymentIntent, Tenant)
        .where(_is_shown(tenant_id, email))
        .order_by(group, starts, PaymentIntent.id.desc())
    )
    orders: ModelSelect[PaymentIntent] = found.limit(most).offset(skipped)
    return list(orders)


def count(tenant_id: str, email: str) -> int:
    """Return how many orders `orders_of` finds at most."""
    found = PaymentIntent.select().join(Event).where(_is_shown(tenant_id, email))
    return int(found.count())


def shown(found: list[PaymentIntent], config: Config) -> list[Facts]:
    """Return what a line says of each order: its event, seats, state and link.

    `at` is when it was confirmed, or when it was ordered, if it was not confirmed.
    """
    items.read(found)
    return [
        {
            "event": values.event(each.event, config),
            "url": values.order_link(each, config),
            "lines": [
                {"name": plain(each.item_names[item.ticket_type_id], TITLE), "count": item.quantity}
                for item in each.items
            ],
            "state": _state(each),
            "is_confirmed": each.confirmed_at is not None,
            "at": each.confirmed_at or each.created_at,
        }
        for each in found
    ]


def link(tenant_id: str, email: str, config: Config) -> tuple[str, datetime]:
    """Return the link to the page with all orders of an address, and when it ends.

    The address is encrypted in it: a link in a log tells nobody whose it is.
    """
    until = clock.now().replace(microsecond=0) + timedelta(hours=LINKS_HOURS)
    text = json.dumps([tenant_id, email, int(until.timestamp())])
    token = encrypt(text, _PURPOSE, "", config.keyring).rstrip("=")
    token = token.replace("+", "-").replace("/", "_")
    return f"{config.public_url}{links.ORDERS}{token}", until


def read_link(token: str, keyring: Keyring) -> OrdersLink | None:
    """Return whose orders a link shows. None: it is none, or it has ended."""
    try:
        padded = token.replace("-", "+").replace("_", "/") + "=" * (-len(token) % 4)
        tenant_id, email, until = json.loads(decrypt(padded, _PURPOSE, "", keyring))
    except SecretUnreadable:
        return None
    ends = datetime.fromtimestamp(until, UTC)
    return OrdersLink(tenant_id, email, ends) if clock.now() < ends else None


def _state(intent: PaymentIntent) -> State:
    if not intent.amount:
        return State.FREE
    is_paid = intent.status in (IntentStatus.PROCESSING, *SOLD)
    if is_paid or intent.amount_received >= intent.amount:
        return State.PAID
    return State.PARTLY_PAID if intent.amount_received else State.UNPAID


def _is_free_of(client: Sequence[str | None]) -> Expression:
    """Return the SQL condition that an order is free, and was made from one of these networks."""
    narrow, wide = (each or "" for each in (*client, None, None)[:2])
    is_of_client: Any = fn.COALESCE(PaymentIntent.held_by, "-") == narrow
    is_of_client |= fn.COALESCE(PaymentIntent.held_by_site, "-") == wide
    condition: Expression = (PaymentIntent.amount == 0) & is_of_client
    return condition


def _is_shown(tenant_id: str, email: str) -> Expression:
    over = clock.now() - AFTER_EVENT
    is_recent = (Event.end_at > over) | (
        Event.end_at.is_null() & (Event.start_at > over - OVER_AFTER_START)
    )
    is_useful = PaymentIntent.status.in_([*LIVE, *SOLD]) | (PaymentIntent.books_version > 0)
    is_of_address = (
        (PaymentIntent.tenant == tenant_id)
        & (fn.LOWER(PaymentIntent.buyer_email) == email.lower())
        & PaymentIntent.buyer_email.is_null(False)
    )
    condition: Expression = is_of_address & is_recent & is_useful
    return condition
