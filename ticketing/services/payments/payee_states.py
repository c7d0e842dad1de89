"""What an organizer should know about the payee of a refund before signing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from peewee import Expression, fn

from ticketing import clock
from ticketing.constants import PayeeCaution, PayeeSource
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payments import Payment
from ticketing.models.payouts import Payout, PayoutEvent
from ticketing.models.refunds import WAITING, RefundAddress
from ticketing.services.access import actors
from ticketing.services.orders import mailboxes, payees_shown

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class PayeeState:
    """The payee of one account: who decided, since when it counts, and what to look at.

    `waits_until`: a statement of the buyer waits, and keeps the debt off lists until then.
    `waiting_address`: what was stated and does not count yet, also if only a button in a mail can
    make it count. `entered_by` is shown for 24 hours. `stated_today` and `differs_from_payer` are
    labels: they are true of every honest buyer who paid from an exchange.
    """

    source: PayeeSource | None = None
    effective_at: datetime | None = None
    waits_until: datetime | None = None
    cautions: tuple[PayeeCaution, ...] = ()
    entered_by: str | None = None
    stated_today: bool = False
    differs_from_payer: bool = False
    waiting_address: str | None = None


def waiting() -> Expression:
    """Return the condition that a statement which waits keeps an account off lists."""
    counts_later = RefundAddress.effective_at.is_null(False)
    of_account = RefundAddress.account == OrderAccount.id
    statement = RefundAddress.select().where(of_account, WAITING, counts_later)
    found: Any = fn.EXISTS(statement)
    return cast(Expression, found)


def of(accounts: Sequence[OrderAccount]) -> dict[int, PayeeState]:
    """Return the state of each account's payee, by the account's id.

    Orders without any payee are known by themselves: for them, nothing is read.
    """
    found = {account.id: PayeeState() for account in accounts}
    some = [account for account in accounts if account.order.payees_version]
    if some:
        current = payees_shown.current({account.intent_id for account in some})
        rows = {account.id: current.get(account.id, []) for account in some}
        facts = _Facts(
            names=_names(some[0].tenant_id, rows),
            payers=_payers(some, rows),
            set_by_staff=mailboxes.changed_by_staff([account.intent_id for account in some]),
        )
        for account in some:
            found[account.id] = _state(account, rows[account.id], facts)
    return found


def prepared_until(account: OrderAccount, payee: str) -> datetime | None:
    """Return until when a list that was made before can still pay an account to another payee."""
    terms, now = account.terms, clock.now()
    last: datetime | None = (
        Payout.select(fn.MAX(Payout.valid_before))
        .where(
            Payout.intent == account.intent_id,
            Payout.chain_id == terms.chain_id,
            Payout.token_address == terms.token_address,
            Payout.recipient != payee,
            Payout.valid_before >= now,
            ~fn.EXISTS(
                PayoutEvent.select(PayoutEvent.payer).where(
                    PayoutEvent.payer == Payout.payer,
                    PayoutEvent.payment_id == Payout.payment_id,
                )
            ),
        )
        .scalar()
    )
    return last


@dataclass(frozen=True)
class _Facts:
    """What was read for several accounts: names of members and keys; who paid which account; when
    the organizer's side set the email address that an order has now."""

    names: Mapping[str, str]
    payers: Mapping[int, set[str]]
    set_by_staff: Mapping[str, datetime]


def _state(account: OrderAccount, rows: Sequence[RefundAddress], facts: _Facts) -> PayeeState:
    payee, waits = payees_shown.payee_in(rows), payees_shown.waiting_in(rows)
    waiting_address = None if waits is None else waits.address
    waits_until = None if waits is None else waits.effective_at
    if payee is None:
        return PayeeState(waits_until=waits_until, waiting_address=waiting_address)
    is_entered = payee.source == PayeeSource.ENTERED
    by = facts.names.get(payee.decided_by or "", payee.decided_by)
    return PayeeState(
        source=PayeeSource(payee.source),
        effective_at=payee.counts_since,
        waits_until=waits_until,
        waiting_address=waiting_address,
        cautions=tuple(_cautions(payee, facts.set_by_staff.get(account.intent_id))),
        entered_by=by if is_entered and clock.is_within(_DAY, payee.stated_at) else None,
        stated_today=not payee.is_proven and clock.is_within(_DAY, payee.stated_at),
        differs_from_payer=payee.address not in facts.payers.get(account.id, ()),
    )


def _cautions(payee: RefundAddress, set_by_staff: datetime | None) -> Iterable[PayeeCaution]:
    """Yield what to look at. `set_by_staff`: when the organizer's side set the present email.

    What the buyer's mailbox has confirmed since then is the buyer's.
    """
    if payee.source == PayeeSource.STATED and set_by_staff is not None:
        # What was stated before, nobody of the organizer's side could state by the new mailbox.
        is_later = payee.stated_at > set_by_staff
        if is_later and payee.decided_by != RefundAddress.BY_MAILBOX:
            yield PayeeCaution.EMAIL_CHANGED_BY_STAFF
    yield from map(PayeeCaution, payee.cautions.split())
    if payee.source == PayeeSource.ENTERED:
        yield PayeeCaution.ENTERED


def _names(tenant_id: str, rows: Mapping[int, Sequence[RefundAddress]]) -> Mapping[str, str]:
    every = [row for of_account in rows.values() for row in of_account]
    wanted = {row.decided_by for row in every if row.source == PayeeSource.ENTERED}
    return actors.names(tenant_id, [each for each in wanted if each])


def _payers(
    accounts: Sequence[OrderAccount], rows: Mapping[int, Sequence[RefundAddress]]
) -> Mapping[int, set[str]]:
    """Return which of the payees have paid, by account."""
    payees = {row.address for of_account in rows.values() for row in of_account}
    paid: Iterable[Any] = (
        Payment.select(Payment.account, Payment.sender)
        .where(
            Payment.account.in_([account.id for account in accounts]),
            Payment.canonical,
            Payment.sender.in_(list(payees)),
        )
        .distinct()
        .tuples()
    )
    found: dict[int, set[str]] = {}
    for account_id, sender in paid:
        found.setdefault(account_id, set()).add(sender)
    return found
