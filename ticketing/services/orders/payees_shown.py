"""What an order shows of its payees: where its refunds go, and what waits to replace that."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ticketing.constants import PayeeSource
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import RefundAddress


@dataclass(frozen=True)
class Payee:
    """The payee of one account, beside its `refund_address`: who decided it, and since when.

    `waiting_address` was stated and does not count yet. It will at `waits_until`; None: only a
    button in a mail makes it count.
    """

    source: PayeeSource | None = None
    effective_at: datetime | None = None
    waiting_address: str | None = None
    waits_until: datetime | None = None


NONE = Payee()


def of(intents: Iterable[PaymentIntent]) -> Mapping[int, Payee]:
    """Return the payees of orders, by the id of the account. Without any, nothing is read."""
    wanted = [intent.id for intent in intents if intent.payees_version]
    found = current(wanted) if wanted else {}
    return {account_id: _shown(rows) for account_id, rows in found.items()}


def current(intent_ids: Collection[str]) -> Mapping[int, list[RefundAddress]]:
    """Return the payees that count and the statements that wait, by the id of the account."""
    rows = RefundAddress.select().where(
        RefundAddress.intent.in_(list(intent_ids)), RefundAddress.replaced_at.is_null()
    )
    found: dict[int, list[RefundAddress]] = {}
    for row in rows.order_by(RefundAddress.id):
        found.setdefault(row.account_id, []).append(row)
    return found


def ids_of(intent: PaymentIntent) -> list[str]:
    """Return the ids of all payees that an order's accounts have or had. Mails are about them."""
    if not intent.payees_version:
        return []
    return [row.id for row in RefundAddress.select().where(RefundAddress.intent == intent.id)]


def payee_in(rows: Iterable[RefundAddress]) -> RefundAddress | None:
    """Return the payee that counts, of one account's rows. None: it has none."""
    return next((each for each in rows if each.is_payee), None)


def waiting_in(rows: Iterable[RefundAddress]) -> RefundAddress | None:
    """Return the statement that waits, of one account's rows. None: nothing waits."""
    return next((each for each in rows if each.waits), None)


def _shown(rows: Iterable[RefundAddress]) -> Payee:
    every = list(rows)
    payee, waiting = payee_in(every), waiting_in(every)
    return Payee(
        source=None if payee is None else PayeeSource(payee.source),
        effective_at=None if payee is None else payee.counts_since,
        waiting_address=None if waiting is None else waiting.address,
        waits_until=None if waiting is None else waiting.effective_at,
    )
