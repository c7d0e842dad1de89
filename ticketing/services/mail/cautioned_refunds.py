"""Tell administrators once of each refund that nobody has looked at, because it has cautions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from peewee import Expression, Tuple, fn

from ticketing import clock
from ticketing.config import Config
from ticketing.db.connection import write_transaction
from ticketing.models.order_accounts import TO_REFUND, OrderAccount
from ticketing.models.refunds import PROVEN, RefundAddress
from ticketing.notification_types import MailKind
from ticketing.services.mail import recipients
from ticketing.services.notifications import mail_queue
from ticketing.services.orders import accounts, payees_shown
from ticketing.services.payments import payee_states

TOLD_AFTER = timedelta(days=3)
"""For how long a payee with cautions has counted when administrators get a mail."""

_AT_ONCE = 500


def plan(config: Config) -> None:
    """Plan a mail to each administrator of a tenant that has new refunds to look at."""
    if config.smtp is None:
        return
    for tenant_id in list(accounts.owing_tenants()):
        is_new = RefundAddress.warned_at.is_null()
        new = [payee.id for payee in _cautioned(tenant_id, is_new)]
        with write_transaction():
            of_these = RefundAddress.id.in_(new) & is_new
            if new and RefundAddress.update(warned_at=clock.now()).where(of_these).execute():
                mail_queue.add(
                    mail_queue.new(tenant_id, MailKind.REFUNDS_CAUTIONED, member_id)
                    for member_id in recipients.admins(tenant_id)
                )


def count(tenant_id: str) -> int:
    """Return how many refunds of a tenant wait for somebody who looks at their cautions."""
    return len(list(_cautioned(tenant_id)))


def _cautioned(tenant_id: str, *wanted: Expression) -> Iterator[RefundAddress]:
    """Yield the payees of a tenant's refunds that are due and have had cautions for TOLD_AFTER.

    `wanted`: further conditions of the payees.
    """
    payee = RefundAddress.select().where(
        RefundAddress.account == OrderAccount.id,
        ~RefundAddress.waits,
        RefundAddress.replaced_at.is_null(),
        RefundAddress.effective_at <= clock.now() - TOLD_AFTER,
        RefundAddress.source.not_in(PROVEN),
        *wanted,
    )
    due = accounts.of_tenant(tenant_id).where(TO_REFUND, fn.EXISTS(payee))
    in_order = due.order_by(OrderAccount.intent, OrderAccount.id).limit(_AT_ONCE)
    after: tuple[str, int] = ("", 0)
    while page := list(in_order.where(Tuple(OrderAccount.intent, OrderAccount.id) > Tuple(*after))):
        after = accounts.place(page[-1])
        states = payee_states.of(page)
        current = payees_shown.current([account.intent_id for account in page])
        for account in page:
            found = payees_shown.payee_in(current.get(account.id, ()))
            if found is not None and states[account.id].cautions:
                yield found
