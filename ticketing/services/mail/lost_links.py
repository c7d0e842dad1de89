"""People who lost the links of their orders get them by mail, at the address of these orders.

A request only plans a mail: whether the address has orders is looked up when the mail is written.
So the answer says nothing about the address, and neither does the time that it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from peewee import fn

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import LIVE, OVER_AFTER_START, SOLD
from ticketing.db.connection import write_transaction
from ticketing.errors import MailNotConfigured, TooManyLinks
from ticketing.limits import LINK_REQUESTS_PER_CLIENT, WIDE_FACTOR
from ticketing.models.events import Event
from ticketing.models.notifications import Mail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.notification_types import MailKind
from ticketing.services.notifications import mail_queue

MOST_LINKS = 10
AFTER_EVENT = timedelta(days=7)
"""For how long after its event the link of an order is sent."""

_DAY = timedelta(days=1)


def ask(tenant: Tenant, email: str, client: Sequence[str], config: Config) -> None:
    """Plan a mail with the links of the orders of an address, if it has some.

    `client`: digests of the client's networks, from narrow to wide. MailNotConfigured. TooManyLinks
    if the client has asked too often today, for whatever address.
    """
    if config.smtp is None:
        raise MailNotConfigured
    counted = dict(zip(("client", "client_site"), client, strict=False))
    row = mail_queue.new(
        tenant.id, MailKind.LOST_LINKS, tenant.id, **{"client_site": None, **counted}
    )
    with write_transaction():
        _refuse_too_many(counted)
        mail_queue.add([{**row, "recipient": email}])


def orders_of(tenant_id: str, email: str) -> list[PaymentIntent]:
    """Return the newest orders of an address with their events, without those that ended unpaid."""
    over = clock.now() - AFTER_EVENT
    is_recent = (Event.end_at > over) | (
        Event.end_at.is_null() & (Event.start_at > over - OVER_AFTER_START)
    )
    is_useful = (
        PaymentIntent.status.in_([*LIVE, *SOLD])
        | (PaymentIntent.amount_received > 0)
        | (PaymentIntent.strays_version > 0)
    )
    found = (
        PaymentIntent.select(PaymentIntent, Event, Tenant)
        .join_from(PaymentIntent, Event)
        .join_from(PaymentIntent, Tenant)
        .where(
            PaymentIntent.tenant == tenant_id,
            fn.LOWER(PaymentIntent.buyer_email) == email.lower(),
            PaymentIntent.buyer_email.is_null(False),
            is_recent,
            is_useful,
        )
    )
    return list(found.order_by(PaymentIntent.id.desc()).limit(MOST_LINKS))


def _refuse_too_many(counted: dict[str, str]) -> None:
    since = clock.now() - _DAY
    for place, (column, network) in enumerate(counted.items()):
        asked = Mail.select().where(
            getattr(Mail, column) == network,
            Mail.kind == MailKind.LOST_LINKS,
            Mail.created_at > since,
        )
        if asked.count() >= LINK_REQUESTS_PER_CLIENT * WIDE_FACTOR**place:
            raise TooManyLinks(retry_after=int(_DAY.total_seconds()))
