"""Which refunds may stand on a list, by the books. The chain is not asked here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import Expression, ModelSelect, fn

from ticketing.chain import units
from ticketing.chain.refunded_events import ListedPayment
from ticketing.chain.registry import Chain
from ticketing.constants import PayoutReason
from ticketing.models.order_accounts import OWING, TO_REFUND, OrderAccount
from ticketing.models.payment_intents import SET_ASIDE
from ticketing.models.payouts import PassedId, Payout, PayoutEvent
from ticketing.services.money.collectable import Sum
from ticketing.services.money.payout_lists import (
    ORDERS_PER_TRANSACTION,
    BlockedOrder,
    ListedId,
    OrderOfAnother,
    UnbookedPayment,
)
from ticketing.services.orders import accounts
from ticketing.services.payments import payee_states, payout_events, payout_ids, witnesses

SHOWN = 100
"""How many orders that are not listed are named for each reason. The others are counted."""


@dataclass(frozen=True)
class Wanted:
    """Whose refunds are listed, for whom. `only`: these orders. None: all."""

    tenant_id: str
    chain: Chain
    token_address: str
    payer: str
    decimals: int
    only: frozenset[str] | None = None
    accept_unwitnessed: bool = False
    include_cautioned: bool = False


@dataclass(frozen=True)
class Due:
    """An account as it was when it was tried: what it is due, and its payment.

    An order has one account at most in the token on the chain.
    """

    account: OrderAccount
    due: int
    payment: ListedPayment

    @property
    def amount(self) -> int:
        """What the payment pays, in micro-units."""
        return units.from_atomic(self.payment.atomic_amount, self.account.terms.decimals)[0]

    def blocked(self, reason: PayoutReason, **known: Any) -> BlockedOrder:
        """Return it as an order that is not listed."""
        return BlockedOrder(self.account.intent_id, self.due, reason, **known)


def due(wanted: Wanted) -> ModelSelect[OrderAccount]:
    """Select the accounts that owe something, final or not."""
    return accounts.of_tenant(wanted.tenant_id).where(
        OWING,
        OrderAccount.chain_id == wanted.chain.chain_id,
        OrderAccount.token_address == wanted.token_address,
    )


def payable(wanted: Wanted) -> ModelSelect[OrderAccount]:
    """Select the accounts that can be paid back by the payer, whatever `only` says."""
    return _ready(wanted).where(~fn.EXISTS(_of_others(wanted)))


def _ready(wanted: Wanted) -> ModelSelect[OrderAccount]:
    return due(wanted).where(
        TO_REFUND,
        OrderAccount.refund_address.is_null(False),
        OrderAccount.by_hand_at.is_null(),
        ~payee_states.waiting(),
        ~SET_ASIDE,
    )


def chosen(wanted: Wanted) -> ModelSelect[OrderAccount]:
    """Select those that the call has named."""
    query = payable(wanted)
    return (
        query if wanted.only is None else query.where(OrderAccount.intent.in_(sorted(wanted.only)))
    )


def pages(wanted: Wanted) -> Iterator[tuple[list[Due], list[BlockedOrder]]]:
    """Yield the accounts that may be listed, the oldest first, and those that are held back."""
    after = ""
    while page := _page(wanted, after):
        after = page[-1].intent_id
        yield _sorted_out(wanted, page)


def _page(wanted: Wanted, after: str) -> list[OrderAccount]:
    query = chosen(wanted).where(OrderAccount.intent > after).order_by(OrderAccount.intent)
    return list(query.limit(ORDERS_PER_TRANSACTION))


def _sorted_out(
    wanted: Wanted, page: Sequence[OrderAccount]
) -> tuple[list[Due], list[BlockedOrder]]:
    free: list[Due] = []
    blocked: list[BlockedOrder] = []
    held, paid = payout_events.paid_elsewhere(page), payout_events.undecided(page)
    states = payee_states.of(page)
    unwitnessed = {} if wanted.accept_unwitnessed else witnesses.unwitnessed(page)
    for each in due_of_each(page, wanted.payer):
        account = each.account
        if account.id in held:
            event = held[account.id]
            known = {"payer": event.payer, "payment_id": event.payment_id}
            blocked.append(
                each.blocked(PayoutReason.PAID_ELSEWHERE, tx_hash=event.tx_hash, **known)
            )
        elif account.id in paid:
            blocked.append(each.blocked(PayoutReason.ALREADY_PAID, tx_hash=paid[account.id]))
        elif not each.payment.atomic_amount:
            blocked.append(each.blocked(PayoutReason.BELOW_ONE_UNIT))
        elif states[account.id].cautions and not wanted.include_cautioned:
            blocked.append(each.blocked(PayoutReason.CAUTIONED))
        elif account.id in unwitnessed:
            blocked.append(each.blocked(PayoutReason.UNWITNESSED))
        else:
            free.append(each)
    return free, blocked


def due_of_each(page: Sequence[OrderAccount], payer: str) -> list[Due]:
    """Return the payment of each account by a payer."""
    ids = payout_ids.next_ids(page, payer)
    return [
        Due(
            account,
            account.due_now,
            ListedPayment(
                ids[account.id],
                str(account.refund_address),
                units.whole_atomic(account.due_now, account.terms.decimals),
            ),
        )
        for account in page
    ]


def unknown_ids(found: Sequence[OrderAccount]) -> dict[int, list[ListedId]]:
    """Return the ids of earlier lists of each account whose use is not known, with their payers."""
    used = [
        fn.EXISTS(
            model.select(model.payer).where(
                model.payer == Payout.payer, model.payment_id == Payout.payment_id
            )
        )
        for model in (PayoutEvent, PassedId)
    ]
    rows = (
        Payout.select()
        .where(
            Payout.intent.in_(list({each.intent_id for each in found})), *(~each for each in used)
        )
        .order_by(Payout.created_at, Payout.payer)
    )
    of_place: dict[Any, dict[ListedId, None]] = {}
    for row in rows:
        listed = ListedId(row.payer, row.payment_id)
        of_place.setdefault(payout_ids.place_of_row(row), {})[listed] = None
    return {each.id: list(of_place.get(payout_ids.place_of(each), ())) for each in found}


def held_back(wanted: Wanted) -> list[BlockedOrder]:
    """Return the due orders that the database holds back, at most SHOWN for each reason."""
    final = due(wanted).where(TO_REFUND)
    automatic = final.where(OrderAccount.by_hand_at.is_null())
    waits = payee_states.waiting()
    no_payee = automatic.where(~waits, OrderAccount.refund_address.is_null())
    not_final = due(wanted).where(OrderAccount.due == OrderAccount.pending)
    by_hand = final.where(OrderAccount.by_hand_at.is_null(False))
    found = [
        *_named(not_final, PayoutReason.NOT_FINAL),
        *_named(by_hand, PayoutReason.BY_HAND),
        *_named(no_payee, PayoutReason.NO_PAYEE),
        *_waiting(automatic.where(waits)),
    ]
    if wanted.only is not None:
        others = payable(wanted).where(OrderAccount.intent.not_in(sorted(wanted.only)))
        found += _named(others, PayoutReason.NOT_CHOSEN)
    return found


def _named(query: ModelSelect[OrderAccount], reason: PayoutReason) -> list[BlockedOrder]:
    rows: Iterable[OrderAccount] = query.order_by(OrderAccount.intent).limit(SHOWN)
    return [BlockedOrder(each.intent_id, owed_now(each), reason) for each in rows]


def _waiting(query: ModelSelect[OrderAccount]) -> list[BlockedOrder]:
    rows: list[OrderAccount] = list(query.order_by(OrderAccount.intent).limit(SHOWN))
    states = payee_states.of(rows)
    return [
        BlockedOrder(
            each.intent_id,
            owed_now(each),
            PayoutReason.WAITS_UNTIL,
            until=states[each.id].waits_until,
        )
        for each in rows
    ]


def owed_now(account: OrderAccount) -> int:
    """Return what a list leaves out of an account: what is due, or what is not final at all."""
    return account.due_now or account.due


def total(wanted: Wanted) -> Sum:
    """Return how many accounts are due, and what: see owed_now."""
    found = Sum()
    amount = OrderAccount.due - OrderAccount.pending
    sums = due(wanted).select(fn.COUNT(OrderAccount.id), fn.SUM(amount), fn.SUM(OrderAccount.due))
    is_final = OrderAccount.due > OrderAccount.pending
    for condition, column in ((is_final, 1), (~is_final, 2)):
        row = sums.where(condition).scalar(as_tuple=True)
        found += Sum(int(row[0]), int(row[column] or 0))
    return found


def of_another(wanted: Wanted) -> list[OrderOfAnother]:
    """Return due orders that are on a list of another payer which can be paid."""
    listed = _ready(wanted).where(fn.EXISTS(_of_others(wanted)))
    due_to = {each.intent_id: each for each in listed.order_by(OrderAccount.intent).limit(SHOWN)}
    rows = Payout.select().where(
        Payout.intent.in_(list(due_to)), _is_of_other(wanted), _of_place(wanted)
    )
    latest = {row.intent_id: row for row in rows.order_by(Payout.valid_before)}
    found = [
        OrderOfAnother(id_, owed_now(due_to[id_]), row.payer, row.valid_before)
        for id_, row in latest.items()
    ]
    return sorted(found, key=lambda each: each.intent_id)


def _of_others(wanted: Wanted) -> ModelSelect[Payout]:
    """Select the payments of an account that are on a list of another payer which can be paid."""
    return Payout.select(Payout.intent).where(accounts.at_place(Payout), _is_of_other(wanted))


def _is_of_other(wanted: Wanted) -> Expression:
    found: Expression = (Payout.payer != wanted.payer) & payout_events.can_be_paid(
        wanted.chain.chain_id
    )
    return found


def _of_place(wanted: Wanted) -> Expression:
    found: Expression = (Payout.chain_id == wanted.chain.chain_id) & (
        Payout.token_address == wanted.token_address
    )
    return found


def unbooked(wanted: Wanted) -> list[UnbookedPayment]:
    """Return the newest payments that were seen and do not count, or not entirely."""
    rows = PayoutEvent.select().where(
        PayoutEvent.tenant_id == wanted.tenant_id,
        PayoutEvent.chain_id == wanted.chain.chain_id,
        PayoutEvent.token_address == wanted.token_address,
        PayoutEvent.unbooked.is_null(False),
        ~payout_events.PASSED_OVER,
    )
    return [
        UnbookedPayment(
            row.intent_id, row.payment_id, row.payer, row.tx_hash, row.paid_to, str(row.unbooked)
        )
        for row in rows.order_by(PayoutEvent.block_number.desc()).limit(SHOWN)
    ]
