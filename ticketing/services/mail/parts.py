"""Tell buyers once of each part of the price that has arrived, while they have to pay the rest."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from peewee import ModelSelect

from ticketing import clock
from ticketing.db.connection import write_transaction
from ticketing.models.base import literal
from ticketing.models.notifications import Mail
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import AWAITING, IS_HOME, PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.notification_types import MailKind, MailStatus
from ticketing.services.notifications import mail_queue

MOST = 5
"""Of an order. A stranger can send any number of tiny parts."""

AT_ONCE = 200


@Prepared
def _paid_in_part(now: Any, after: Any) -> ModelSelect[OrderAccount]:
    homes = OrderAccount.select(OrderAccount.intent, OrderAccount.tenant_id, OrderAccount.received)
    # The partial index contains the first two conditions.
    found = homes.join(PaymentIntent, on=IS_HOME).where(
        AWAITING,
        PaymentIntent.books_version > literal(0),
        OrderAccount.received > literal(0),
        PaymentIntent.buyer_email.is_null(False),
        PaymentIntent.expires_at > now,
        PaymentIntent.id > after,
    )
    return found.order_by(PaymentIntent.id).limit(AT_ONCE)


def plan() -> None:
    """Plan a mail for each order that has received more than its last mail tells.

    It is due a little later, because the buyer may be paying the rest. It tells what has arrived
    when it is sent. So another part that arrives before needs no mail of its own.
    """
    after, page = "", list[OrderAccount]()
    while page := _paid_in_part.rows(now=clock.now(), after=after):
        after = page[-1].intent_id
        told = _told([each.intent_id for each in page])
        new = [each for each in page if _is_news(each, told[each.intent_id])]
        if new:
            with write_transaction():
                for account in new:
                    _plan(account, told[account.intent_id])


def _told(intent_ids: list[str]) -> dict[str, list[Mail]]:
    """Return the mails about parts of these orders, by order."""
    of_orders: dict[str, list[Mail]] = defaultdict(list)
    for mail in Mail.select().where(
        Mail.subject.in_(intent_ids), Mail.kind == MailKind.PART_ARRIVED, Mail.amount.is_null(False)
    ):
        of_orders[mail.subject].append(mail)
    return of_orders


def _is_news(account: OrderAccount, told: list[Mail]) -> bool:
    last = max((mail.amount or 0 for mail in told), default=0)
    return bool(account.received > last)


def _plan(account: OrderAccount, told: list[Mail]) -> None:
    of_now = {"amount": account.received}
    for mail in told:
        if mail.status == MailStatus.WAITING and mail_queue.correct(mail, **of_now):
            return
    if len(told) < MOST:
        due = {"next_attempt_at": clock.now() + mail_queue.WHILE_PAYING}
        row = mail_queue.new(
            account.tenant_id, MailKind.PART_ARRIVED, account.intent_id, **due, **of_now
        )
        mail_queue.add([row])
