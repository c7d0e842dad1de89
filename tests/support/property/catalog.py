"""The initial data of the property test's world: an organizer and something to sell."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from peewee import sort_models

from ticketing import ids
from ticketing.constants import Publication
from ticketing.db.connection import database, is_sqlite
from ticketing.models.base import BaseModel
from ticketing.models.chains import ChainBlock
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.models.vouchers import Voucher

SLUG = "acme"
PROTECTED = {"trail": "trail_stays", "scans": "scans_stays"}
"""The append-only tables, and their triggers."""
EVENT_STARTS_IN = timedelta(days=2)


def empty_database() -> None:
    """Delete all rows, also those of the tables that triggers protect."""
    for table, trigger in PROTECTED.items():
        dropped = f"{trigger}_delete" if is_sqlite() else f"{trigger} ON {table}"
        database.execute_sql(f"DROP TRIGGER IF EXISTS {dropped}")
    # A tenant and its wallet refer to each other.
    Tenant.update(wallet=None).execute()
    others = [each for each in sort_models(BaseModel.__subclasses__()) if each is not Tenant]
    # Only the database knows what ChainBlock refers to.
    for model in [ChainBlock, *reversed(others), Tenant]:
        model.delete().execute()


def create_tenant(now: datetime, tolerance: tuple[int, int]) -> Tenant:
    """Create the organizer, without a wallet. `tolerance`: percent, and the most."""
    percent, most = tolerance
    return Tenant.create(
        id=ids.new(ids.TENANT),
        slug=SLUG,
        name="Acme",
        payment_tolerance_percent=percent,
        payment_tolerance_most=most,
        created_at=now,
    )


def create_event(tenant: Tenant, now: datetime, doors_in: timedelta) -> Event:
    """Create a published event. Its doors open after `doors_in`."""
    return Event.create(
        id=ids.new(ids.EVENT),
        tenant=tenant,
        slug="launch",
        **dict.fromkeys(("title", "description"), "Launch"),
        type="in_person",
        start_at=now + EVENT_STARTS_IN,
        doors_open_at=now + doors_in,
        transfers_end_at=now + EVENT_STARTS_IN,
        timezone="Europe/Berlin",
        carts=True,
        status=Publication.PUBLISHED,
        created_at=now,
        updated_at=now,
    )


def create_ticket_type(
    event: Event, price: int, chain_ids: Sequence[int], capacity: int, *, admission: bool = True
) -> TicketType:
    """Create a published ticket type. It is paid on one of the chains, unless its price is 0."""
    return TicketType.create(
        id=ids.new(ids.TICKET_TYPE),
        tenant=event.tenant,
        event=event,
        name="Admission",
        price_amount=price,
        chain_ids=chain_ids if price else (),
        transferable=True,
        admission=admission,
        status=Publication.PUBLISHED,
        capacity=capacity,
        min_per_order=1,
        max_per_order=10,
        created_at=event.created_at,
        updated_at=event.created_at,
    )


def create_vouchers(event: Event, paid: TicketType) -> None:
    """Create three vouchers with few usages: all free, a third off, and a fixed price for one type.

    The fixed price is above the lowest list price of this world, and below the others.
    """
    kinds = (("percent", 100, 2, None), ("percent", 33, 3, None), ("set", 850, 1, paid.id))
    for mode, value, usages, ticket_ids in kinds:
        Voucher.create(
            id=ids.new(ids.VOUCHER),
            tenant=event.tenant,
            event=event,
            code=f"{mode}-{value}".upper(),
            max_usages=usages,
            price_mode=mode,
            value=value,
            ticket_ids=ticket_ids,
            created_at=event.created_at,
            updated_at=event.created_at,
        )
