"""Tell administrators of sales, as their organizer chose: of each at once, or once a day."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from peewee import ModelSelect

from ticketing import clock
from ticketing.db.connection import write_transaction
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.notifications import Notification
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.notification_types import MailKind, NotificationType, SaleMails
from ticketing.services.mail import recipients
from ticketing.services.notifications import mail_queue

HOUR = 6
"""At which hour of the day (UTC) the sales of the day before are told."""

_DAY = timedelta(days=1)


def day_before(now: datetime) -> tuple[datetime, datetime]:
    """Return the last day that has ended: from HOUR to HOUR."""
    end = now.replace(hour=HOUR, minute=0, second=0, microsecond=0)
    end = end if end <= now else end - _DAY
    return end - _DAY, end


def of_each(found: Sequence[Notification]) -> list[dict[str, Any]]:
    """Return the mails about orders that were confirmed, for a tenant that wants each.

    Free orders are only in the mail of the day: a stranger can make many of them.
    """
    sales = [each for each in found if each.type == NotificationType.INTENT_CONFIRMED]
    if not sales:
        return []
    tenant_id = sales[0].tenant_id
    if Tenant.get_by_id(tenant_id).sale_mails != SaleMails.EACH:
        return []
    return [
        mail_queue.new(tenant_id, MailKind.SALE, member_id, notification_id=each.id)
        for each in sales
        if json.loads(each.data)["amount"] > 0
        for member_id in recipients.admins(tenant_id)
    ]


def plan_days() -> None:
    """Plan the mails about the last day that has ended, if something was sold."""
    now = clock.now()
    begin, end = day_before(now)
    to_tell: list[Tenant] = _to_tell.rows(end=end)
    for tenant in to_tell:
        with write_transaction():
            claimed = Tenant.update(sales_told_at=now).where(
                Tenant.id == tenant.id,
                Tenant.sales_told_at.is_null() | (Tenant.sales_told_at < end),
            )
            if claimed.execute() and sold_between(tenant.id, begin, end).exists():
                mail_queue.add(
                    mail_queue.new(tenant.id, MailKind.SALES_OF_DAY, member_id)
                    for member_id in recipients.admins(tenant.id)
                )


def sold_between(tenant_id: str, begin: datetime, end: datetime) -> ModelSelect[PaymentIntent]:
    """Select the orders that were confirmed from `begin` until `end`."""
    own = Event.select(Event.id).where(Event.tenant == tenant_id)
    return PaymentIntent.select().where(
        PaymentIntent.event.in_(own),
        PaymentIntent.confirmed_at >= begin,
        PaymentIntent.confirmed_at < end,
    )


@Prepared
def _to_tell(end: Any) -> ModelSelect[Tenant]:
    return Tenant.select(Tenant.id).where(
        Tenant.sale_mails == literal(SaleMails.DAILY),
        Tenant.sales_told_at.is_null() | (Tenant.sales_told_at < end),
    )
