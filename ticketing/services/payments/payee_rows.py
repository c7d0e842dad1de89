"""The payees of a locked account: who is the payee, what waits, and how one follows another.

An account has at most one payee that counts, and at most one statement that waits. `refund_address`
of the account is the address of that payee.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ticketing import clock, ids
from ticketing.constants import PayeeSource
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import WAITING, RefundAddress
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import accounts


def of(account: OrderAccount) -> Sequence[RefundAddress]:
    """Return every payee that an account has or had, and what waits, the oldest first."""
    of_account = RefundAddress.select().where(RefundAddress.account == account.id)
    return list(of_account.order_by(RefundAddress.id))


def account_of(row: RefundAddress, order: PaymentIntent) -> OrderAccount:
    """Return the account of an order that a payee belongs to."""
    return next(each for each in order.accounts if each.id == row.account_id)


def stated_for(intent_id: str) -> Sequence[RefundAddress]:
    """Return every statement for an order's accounts, the oldest first."""
    of_order = RefundAddress.select().where(RefundAddress.intent == intent_id)
    rows = of_order.order_by(RefundAddress.id)
    return [each for each in rows if each.source == PayeeSource.STATED]


def is_closed(intent_id: str) -> bool:
    """Return whether the order's link alone changes no payee any more."""
    return any(each.ended_at is not None for each in stated_for(intent_id))


def add(
    account: OrderAccount, address: str, source: PayeeSource, stated_at: datetime, **columns: Any
) -> RefundAddress:
    """Insert a payee, or a statement that waits. The caller decides what follows from it."""
    row: RefundAddress = RefundAddress.create(
        id=ids.new(ids.REFUND_ADDRESS),
        intent=account.intent_id,
        account=account.id,
        address=address,
        source=source,
        stated_at=stated_at,
        **columns,
    )
    return row


def make_payee(
    account: OrderAccount,
    row: RefundAddress,
    since: datetime,
    decided_by: str | None,
    cautions: str,
) -> None:
    """Let a row be the payee of its account from now on. What waited beside it ends.

    `since`: from when it counts, `decided_by` and `cautions` as in RefundAddress.
    """
    now = clock.now()
    for other in of(account):
        if other.id == row.id:
            continue
        if other.waits:
            end_waiting(other)
        elif other.is_payee:
            _change(other, replaced_at=now)
    is_payee = {"waits": False, "replaced_at": None, "effective_at": since}
    _change(row, **is_payee, decided_by=decided_by, cautions=cautions)
    _write(account, row.address)
    _tell(account, row)


def end_waiting(row: RefundAddress, **columns: datetime) -> None:
    """End a statement that waits. It counts for nothing."""
    _change(row, waits=False, effective_at=None, **{"replaced_at": clock.now(), **columns})


def withdraw(account: OrderAccount, row: RefundAddress, **columns: datetime) -> None:
    """End a statement that waits, so that the payee of before stays."""
    end_waiting(row, **columns)
    note_change(account.order)
    _tell(account, row)


def end_payee(account: OrderAccount, row: RefundAddress) -> None:
    """End the payee that counts. The one before counts again, unless somebody ended it, too."""
    now = clock.now()
    _change(row, replaced_at=now, ended_at=now)
    before = [each for each in of(account) if each.counts_since is not None and not each.is_proven]
    again = max(before, key=_place, default=None)
    if again is not None:
        _change(again, replaced_at=None)
    _write(account, None if again is None else again.address)
    _tell(account, row)


def change(account: OrderAccount, row: RefundAddress, **columns: Any) -> None:
    """Change what is known of a row of an account."""
    _change(row, **columns)
    note_change(account.order)


def close_link(intent_id: str) -> None:
    """Let no statement of an order that waits count by waiting. A button can still confirm it."""
    waiting = (RefundAddress.intent == intent_id) & WAITING
    RefundAddress.update(effective_at=None).where(waiting).execute()


def note_stated(account: OrderAccount, row: RefundAddress) -> None:
    """Tell whoever follows the feed that a statement waits."""
    note_change(account.order)
    _tell(account, row)


def note_change(order: PaymentIntent) -> None:
    """Count a change of the payees of a locked order."""
    order.payees_version += 1
    changed = {PaymentIntent.payees_version: order.payees_version}
    PaymentIntent.update(changed).where(PaymentIntent.id == order.id).execute()


def _place(row: RefundAddress) -> tuple[datetime, str]:
    return row.counts_since or row.stated_at, str(row.id)


def _change(row: RefundAddress, **columns: Any) -> None:
    for name, value in columns.items():
        setattr(row, name, value)
    RefundAddress.update(columns).where(RefundAddress.id == row.id).execute()


def _write(account: OrderAccount, address: str | None) -> None:
    note_change(account.order)
    accounts.write(account, {"refund_address": address})


def _tell(account: OrderAccount, row: RefundAddress) -> None:
    feed.record(account.tenant_id, *facts.refund_address_changed(account, row))
