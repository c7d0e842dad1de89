"""A tenant's daily bound of mails: how many it has used in the last 24 hours, and how many it has.

It keeps a stolen key from sending mail to the world from the operator's domain. A mail about an
order that was paid is counted, and never waits. What strangers cause is counted, too, but only
their own mails wait for it: they cannot keep invitations and mails about events back. Mails that
anybody may ask for (asked_mails.py) have a part as large to themselves, and none of them waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from peewee import ModelSelect, fn

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import SOLD
from ticketing.limits import MAILS_PER_SEAT, MAILS_WITHOUT_SALES
from ticketing.models.base import UtcDateTimeField, literal
from ticketing.models.events import Event
from ticketing.models.notifications import Mail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared

_DAY = timedelta(days=1)
_SHORTEST_WAIT = timedelta(minutes=10)
"""So that thousands that wait are not looked at again for each one that may go."""

_instant: Callable[[Any], Any] = UtcDateTimeField().python_value


@dataclass
class Today:
    """The mails of a tenant that were tried in the last 24 hours. `most`: None for no bound.

    `by_strangers` are those of them that strangers caused, and `asked` those that anybody may ask
    for. `free_at` is when the next one may go, if the bound is reached.

    Example, with a bound of 5: 3 mails to guests, 2 tickets of free orders and 4 of lost links were
    tried. The next ticket of a free order waits. 2 more guests and 1 more request get their mails.
    """

    tried: int
    by_strangers: int
    asked: int
    most: int | None
    free_at: datetime

    @property
    def is_reached(self) -> bool:
        """Whether what strangers cause waits."""
        return self.most is not None and self.tried - self.asked >= self.most

    @property
    def is_reached_by_tenant(self) -> bool:
        """Whether the others wait, too."""
        by_tenant = self.tried - self.asked - self.by_strangers
        return self.most is not None and by_tenant >= self.most

    @property
    def is_reached_by_requests(self) -> bool:
        """Whether mails that anybody may ask for are not planned."""
        return self.most is not None and self.asked >= self.most

    def add(self, *, by_stranger: bool, is_asked: bool) -> None:
        """Count a mail that is tried now."""
        self.tried += 1
        self.by_strangers += by_stranger
        self.asked += is_asked


def today(tenant_id: str, config: Config) -> Today:
    """Return what a tenant has used of its bound, from the database."""
    now = clock.now()
    ((tried, by_strangers, asked, first),) = _tried.tuples(tenant_id=tenant_id, since=now - _DAY)
    free_at = max((_instant(first) or now) + _DAY, now + _SHORTEST_WAIT)
    return Today(tried, by_strangers, asked, _most(tenant_id, config), free_at)


def _most(tenant_id: str, config: Config) -> int | None:
    """Return the bound. Guests are not sold seats: who has a key could add any number."""
    if config.mails_per_tenant is not None:
        return config.mails_per_tenant or None
    ((seats,),) = _seats.tuples(tenant_id=tenant_id)
    return MAILS_PER_SEAT * int(seats or 0) + MAILS_WITHOUT_SALES


@Prepared
def _tried(tenant_id: Any, since: Any) -> ModelSelect[Mail]:
    counts = [fn.COUNT(each) for each in (Mail.ended_at, Mail.mailbox, Mail.request_digest)]
    return Mail.select(*counts, fn.MIN(Mail.ended_at)).where(
        Mail.tenant == tenant_id, Mail.ended_at > since, Mail.attempts > literal(0)
    )


@Prepared
def _seats(tenant_id: Any) -> ModelSelect[PaymentIntent]:
    own = Event.select(Event.id).where(Event.tenant == tenant_id)
    is_sold = PaymentIntent.status.in_([literal(each) for each in SOLD])
    of_tenant = PaymentIntent.select(fn.SUM(PaymentIntent.quantity))
    return of_tenant.where(PaymentIntent.event.in_(own), is_sold)
