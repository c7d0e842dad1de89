"""Refunds: list what is due and to whom."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import Expression, fn

from ticketing.chain import address, eip681, units
from ticketing.constants import MAX_PAYERS_SHOWN, RefundStatus
from ticketing.models.base import literal
from ticketing.models.order_accounts import REFUNDED, TO_REFUND, WAIVED, OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.services.orders import accounts
from ticketing.services.pagination import Computed, Page, PageRequest, paginate
from ticketing.services.payments import payee_states
from ticketing.services.payments.payee_states import PayeeState


@dataclass(frozen=True)
class _Listed:
    """The refunds with a status: which, and what is due or was done.

    `negated` is the same amount for a list that has the largest first.
    """

    condition: Expression
    amount: Any
    negated: Computed


def listed(status: RefundStatus) -> _Listed:
    """Return how refunds with a status are found. There is a partial index for each."""
    match status:
        case RefundStatus.DUE:
            return _Listed(
                TO_REFUND,
                OrderAccount.due - OrderAccount.pending,
                Computed(
                    "negated due",
                    OrderAccount.pending - OrderAccount.due,
                    lambda account: -account.due_now,
                ),
            )
        case RefundStatus.WAIVED:
            negated = Computed(
                "negated waived", literal(0) - OrderAccount.waived, lambda account: -account.waived
            )
            return _Listed(WAIVED, OrderAccount.waived, negated)
        case RefundStatus.SETTLED:
            negated = Computed(
                "negated refunded",
                literal(0) - OrderAccount.refunded,
                lambda account: -account.refunded,
            )
            return _Listed(REFUNDED, OrderAccount.refunded, negated)


@dataclass(frozen=True)
class Payer:
    """An address that paid an intent, and what it sent in micro-units."""

    sender: str
    amount: int


@dataclass(frozen=True)
class RefundOwed:
    """The refund that is, or was, due for one account of an order, and who paid it.

    `payers` are the MAX_PAYERS_SHOWN who sent the most, of `payer_count`. `payee` is to whom it
    goes, and what an organizer should look at before.
    """

    account: OrderAccount
    payers: Sequence[Payer]
    payer_count: int
    payee: PayeeState

    @property
    def intent(self) -> PaymentIntent:
        """The order of the account."""
        return self.account.order

    @property
    def amount(self) -> int:
        """The amount that can be refunded now, in micro-units, without pending payments."""
        return self.account.due_now

    @property
    def payment_uri(self) -> str | None:
        """A link to pay what is due to the payee. None: no payee, it waits, or nothing is due."""
        waits = self.payee.waits_until is not None
        if self.account.refund_address is None or waits or not self.amount:
            return None
        terms = self.account.terms
        return eip681.payment_uri(
            terms.chain_id,
            terms.token_address,
            self.account.refund_address,
            units.whole_atomic(self.amount, terms.decimals),
        )

    @property
    def by_hand_since(self) -> datetime | None:
        """Since when the organizer pays it by hand. None: not so, or nothing is due."""
        at: datetime | None = self.account.by_hand_at
        return at if self.account.due else None

    @property
    def status(self) -> RefundStatus:
        """Whether something is still due, and if not, what became of it."""
        if self.account.due:
            return RefundStatus.DUE
        return RefundStatus.WAIVED if self.account.waived else RefundStatus.SETTLED


def list_page(
    tenant_id: str,
    page: PageRequest,
    status: RefundStatus,
    min_amount: int | None = None,
    sort: str = "created_at",
    event_ids: Collection[str] | None = None,
) -> Page[RefundOwed]:
    """Return a page of a tenant's refunds with a status, in the order of their intents.

    Each account of an order is a row of its own.
    `min_amount` leaves out those of which less, in micro-units, is due, was waived or was paid
    back: what `status` says. With the `sort` "-amount", the largest of these amounts comes first.
    Strangers can make many refunds of a tiny amount. `event_ids`: only of orders of these events.
    """
    scope = f"refunds {tenant_id} {status}"
    largest_first = sort == "-amount"
    if min_amount is not None:
        scope += f" {min_amount}"
    of_status = listed(status)
    query = accounts.of_tenant(tenant_id).where(of_status.condition)
    if event_ids is not None:
        query = query.where(OrderAccount.event_id.in_(list(event_ids)))
    if min_amount is not None:
        # In the order of amounts, the index on the negated ones is searched up to this one.
        of_index = of_status.negated.expression <= -min_amount
        query = query.where(of_index if largest_first else of_status.amount >= min_amount)
    order: list[Any] = [OrderAccount.intent, OrderAccount.id]
    if largest_first:
        order = [of_status.negated, *order]
    found: Page[OrderAccount] = paginate(query, order, page, scope=scope)
    return Page(_with_payers(found.data), found.next_cursor)


def owed_for(account: OrderAccount) -> RefundOwed:
    """Return the refund of one account."""
    return _with_payers([account])[0]


def _with_payers(page: Sequence[OrderAccount]) -> list[RefundOwed]:
    """Return the refund of each account with its largest payers, those seen first coming first.

    The zero address is left out: nobody can receive money there.
    """
    payers: dict[int, list[Payer]] = {account.id: [] for account in page}
    counts = dict.fromkeys(payers, 0)
    decimals = {account.id: account.token_decimals for account in page}
    of_account, first_seen = Payment.account, fn.MIN(Payment.id)
    by_size = [fn.SUM(Payment.amount).desc(), first_seen]
    ranked = (
        Payment.select(
            of_account,
            Payment.sender,
            fn.SUM(Payment.amount).alias("amount"),
            fn.SUM(Payment.dust).alias("dust"),
            first_seen.alias("first_seen"),
            fn.ROW_NUMBER().over(partition_by=[of_account], order_by=by_size).alias("place"),
            fn.COUNT(Payment.sender).over(partition_by=[of_account]).alias("payer_count"),
        )
        .where(of_account.in_(list(payers)), Payment.canonical, Payment.sender != address.ZERO)
        .group_by(of_account, Payment.sender)
    )
    of = ranked.c
    columns = (of.account_id, of.sender, of.amount, of.dust, of.payer_count)
    shown = ranked.select_from(*columns).where(of.place <= MAX_PAYERS_SHOWN)
    rows: Iterable[Any] = shown.order_by(of.first_seen).tuples()
    for account_id, sender, amount, dust, count in rows:
        # Postgres returns a sum as a Decimal.
        atomic = units.to_atomic(int(amount), decimals[account_id]) + int(dust)
        sent = units.from_atomic(atomic, decimals[account_id])[0]
        payers[account_id].append(Payer(sender, sent))
        counts[account_id] = count
    states = payee_states.of(page)
    return [
        RefundOwed(account, payers[account.id], counts[account.id], states[account.id])
        for account in page
    ]
