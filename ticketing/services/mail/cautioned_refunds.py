"""Tell administrators once of each refund that nobody has looked at, because it has cautions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from peewee import fn

from ticketing import clock
from ticketing.config import Config
from ticketing.db.connection import write_transaction
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import PROVEN, RefundAddress
from ticketing.models.stray_accounts import Account, StrayAccount
from ticketing.notification_types import MailKind
from ticketing.services.mail import recipients
from ticketing.services.notifications import mail_queue
from ticketing.services.orders import accounts, payees_shown
from ticketing.services.orders.accounts import Kind
from ticketing.services.payments import payee_states

TOLD_AFTER = timedelta(days=3)
"""For how long a payee with cautions has counted when administrators get a mail."""

_AT_ONCE = 500


def plan(config: Config) -> None:
    """Plan a mail to each administrator of a tenant that has new refunds to look at."""
    if config.smtp is None:
        return
    new: dict[str, list[str]] = defaultdict(list)
    for account, payee in _cautioned(RefundAddress.warned_at.is_null()):
        new[account.tenant_id].append(payee.id)
    for tenant_id, payee_ids in new.items():
        with write_transaction():
            is_new = RefundAddress.id.in_(payee_ids) & RefundAddress.warned_at.is_null()
            if RefundAddress.update(warned_at=clock.now()).where(is_new).execute():
                mail_queue.add(
                    mail_queue.new(tenant_id, MailKind.REFUNDS_CAUTIONED, member_id)
                    for member_id in recipients.admins(tenant_id)
                )


def count(tenant_id: str) -> int:
    """Return how many refunds of a tenant wait for somebody who looks at their cautions."""
    return sum(account.tenant_id == tenant_id for account, _ in _cautioned(_of(tenant_id)))


def _of(tenant_id: str) -> Any:
    return RefundAddress.intent.in_(
        PaymentIntent.select(PaymentIntent.id).where(PaymentIntent.tenant == tenant_id)
    )


def _cautioned(wanted: Any) -> Iterator[tuple[Account, RefundAddress]]:
    """Yield the accounts with a refund that is due and has cautions for long, with their payees.

    `wanted`: a condition of the payees.
    """
    for kind in accounts.KINDS:
        after = ""
        while page := _page(kind, wanted, after):
            after = page[-1].id
            states = payee_states.of(page)
            current = payees_shown.current([account.intent_id for account in page])
            for account in page:
                payee = payees_shown.payee_in(current.get(account.id, ()))
                if payee is not None and states[account.id].cautions:
                    yield account, payee


def _page(kind: Kind, wanted: Any, after: str) -> list[Account]:
    payee = RefundAddress.select().where(
        kind.rows(RefundAddress),
        ~RefundAddress.waits,
        RefundAddress.replaced_at.is_null(),
        RefundAddress.effective_at <= clock.now() - TOLD_AFTER,
        RefundAddress.source.not_in(PROVEN),
        wanted,
    )
    query: Any = PaymentIntent.select()
    if kind.model is StrayAccount:
        query = StrayAccount.select(StrayAccount, PaymentIntent).join(PaymentIntent)
    due = query.where(kind.to_refund, fn.EXISTS(payee), kind.model.id > after)
    return list(due.order_by(kind.model.id).limit(_AT_ONCE))
