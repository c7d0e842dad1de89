"""The box office: a device at the door sells to people who stand before it.

Its orders are like any other, with an address of their own. They are confirmed at the early depth
although the doors are open (orders/finality.py). Then the same device lets their people in, by
ordinary scans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from peewee import fn

from ticketing import links
from ticketing.config import Config
from ticketing.constants import HOLD_UNDER_PRESSURE, MAX_PAGE, Availability
from ticketing.db.connection import one_at_a_time
from ticketing.errors import BoxOfficeFull, InsufficientRole, TooMuchUnpaid
from ticketing.limits import UNPAID_PER_DEVICE
from ticketing.models.payment_intents import AWAITING, PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.services import checkout
from ticketing.services.catalog import public_listing
from ticketing.services.channels import Channel
from ticketing.services.door.devices import DoorCaller
from ticketing.services.order_requests import Order
from ticketing.services.orders import client_limits, lines
from ticketing.services.orders.client_limits import Use
from ticketing.services.orders.holds import Held
from ticketing.services.orders.lines import Wanted
from ticketing.services.pagination import PageRequest


class BoxOffice(Channel):
    """A device at the door. It holds a few seats unpaid, for HOLD_UNDER_PRESSURE at most."""

    can_answer = False

    def __init__(self, device_id: str) -> None:
        self._device_id = device_id

    def check(self, held: Held) -> None:
        """Check what the device holds unpaid, with this order. BoxOfficeFull."""
        # The ticket type is locked. Nobody who waits for this holds it, and waits for something
        # else.
        one_at_a_time(f"box office {self._device_id}")
        of_device = (PaymentIntent.sold_by == self._device_id) & AWAITING
        sums = PaymentIntent.select(fn.SUM(PaymentIntent.quantity)).where(of_device)
        unpaid = int(sums.scalar() or 0)
        if unpaid + lines.seats(held.lines) > UNPAID_PER_DEVICE:
            raise BoxOfficeFull
        use = Use(unpaid, next_end=None, ended_unpaid=0, has_paid=False, factor=1)
        try:
            client_limits.check_share([use], held)
        except TooMuchUnpaid:
            raise BoxOfficeFull from None

    def hold(self, held: Held, config: Config) -> timedelta:
        """Return for how long the order is held: its buyer stands at the door."""
        return min(super().hold(held, config), HOLD_UNDER_PRESSURE)

    def columns(self) -> Mapping[str, Any]:
        """Return the device, by which the order may be confirmed early at any time."""
        return {**super().columns(), "sold_by": self._device_id}


def to_sell(caller: DoorCaller, tenant: Tenant, config: Config) -> Sequence[TicketType]:
    """Return what a device can sell now. InsufficientRole if it does not sell."""
    _device_of(caller)
    everything = PageRequest(MAX_PAGE, None, config.keyring)
    listing = public_listing.get_listing(tenant, caller.event.id, everything, config).value
    found = listing.ticket_types.data
    return [each for each in found if each.availability is Availability.ON_SALE]


def order(
    caller: DoorCaller, tenant_id: str, wanted: Wanted, chain_id: int | None, config: Config
) -> PaymentIntent:
    """Order seats of one ticket type for somebody at the door, without answers to questions.

    InsufficientRole. BoxOfficeFull. What checkout.preflight raises.
    """
    by = BoxOffice(_device_of(caller))
    made = Order(caller.event.id, (wanted,), by=by, chain_id=chain_id)
    return checkout.preflight(tenant_id, made, config)


def order_url(intent_id: str, config: Config) -> str | None:
    """Return the first link of an order's page, for its buyer. None without PUBLIC_URL."""
    if config.public_url is None:
        return None
    return config.public_url + links.order(intent_id, 0, config.keyring)


def _device_of(caller: DoorCaller) -> str:
    if caller.device is None or not caller.device.sells:
        raise InsufficientRole
    return str(caller.device.id)
