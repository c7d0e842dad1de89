"""Settle refunds: count a transfer on the chain as a refund. The service never sends money."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from peewee import Expression, ModelSelect, fn

from ticketing import clock, ids
from ticketing.chain import units
from ticketing.chain.answers import Block, Transfer
from ticketing.chain.registry import Chain
from ticketing.constants import IntentStatus
from ticketing.errors import ChainUnavailable, NoRefundDue, RefundNotSeen
from ticketing.models.order_accounts import TO_REFUND, OrderAccount
from ticketing.models.payments import Payment
from ticketing.models.refunds import WAITING, Refund, RefundAddress
from ticketing.services import node_slots
from ticketing.services.access import audit_log
from ticketing.services.access.audit_log import Actor
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import accounts, intents
from ticketing.services.payments import (
    balances,
    chain_settlement,
    chain_view,
    payee_rows,
    payees,
    payment_sums,
    payout_ids,
    refund_addresses,
    refunds,
    restored_payouts,
    settlement,
)
from ticketing.services.payments.balances import Position
from ticketing.services.payments.chain_view import ChainView
from ticketing.services.payments.payees import Debts, Reduction
from ticketing.services.payments.refunds import RefundOwed

ORDERS_AT_ONCE, TRANSFERS_AT_ONCE, TOKENS_AT_ONCE = 500, 200, 5
"""The most due orders, transfers of a token, and tokens that one call tries."""

# A waiver writes off what payments up to its block left owed, so its place is after their logs.
_AFTER_ALL_LOGS = 2**31


@dataclass(frozen=True)
class SettledOrder:
    """What one transaction paid back for one order in one token, in micro-units."""

    intent_id: str
    token_address: str
    amount: int


@dataclass(frozen=True)
class SettledOrders:
    """What one transaction paid back, and how many due orders were not tried."""

    settled: Sequence[SettledOrder]
    left: int


def settle(
    tenant_id: str,
    intent_id: str,
    tx_hash: str,
    recipient: str | None,
    enabled: Mapping[int, Chain],
    by: Actor,
    chain_id: int | None = None,
    token_address: str | None = None,
) -> RefundOwed:
    """Count the transfers of a transaction as refunds of an intent. A repeat changes nothing.

    They are refunds of one account: the home, or the one on `chain_id`, see accounts.named.

    Each transfer counts as far as payees.countable says, and up to what other orders of the tenant
    have left of its value. It must be final, like a payment, and on the chain that the worker
    reads. The worker compares its block once more (worker/refund_check.py). `recipient`: one more
    address that counts, on the organizer's word. NotFound, Invalid for the recipient, NoRefundDue,
    RefundNotSeen, ChainUnavailable.
    """
    account = accounts.owing(intents.get(tenant_id, intent_id), chain_id, token_address)
    if recipient is not None:
        recipient = refund_addresses.parse(recipient, account, "recipient")
    if _is_repeat(account, tx_hash, recipient):
        return refunds.owed_for(account)
    if not account.returnable_now:
        raise NoRefundDue
    view = _view(account, tx_hash, enabled, intent_id)

    def book(locked: OrderAccount, cursor: Block) -> dict[str, int]:
        if _is_repeat(locked, tx_hash, recipient):
            return {}
        if not locked.returnable_now:
            raise NoRefundDue
        changes = _book(locked, cursor, view, tx_hash, recipient, by)
        if not changes:
            raise RefundNotSeen
        return changes

    return refunds.owed_for(chain_settlement.reduce_due(account, book))


def settle_all(
    tenant_id: str, tx_hash: str, chain_id: int, enabled: Mapping[int, Chain], by: Actor
) -> SettledOrders:
    """Count the transfers of a transaction as refunds of all due orders of a tenant on a chain.

    Each counts as in `settle`, without a `recipient`. At most ORDERS_AT_ONCE orders and
    TRANSFERS_AT_ONCE transfers of each token are tried. An order that is due exactly what a
    transfer sends comes first, then the oldest. Each order is a transaction of its own, so a call
    that was interrupted is repeated, and a repeat answers with the same orders. ChainUnavailable.

    Example: one transfer sends Ada 7. Order A owes her 4, and the newer order B owes her 7. It pays
    B. If B owed 8, it would pay 4 for A, and 3 for B.
    """
    left = 0
    for first in _due_of_each_token(tenant_id, chain_id):
        view = _view(first, tx_hash, enabled, f"{tenant_id} {tx_hash}")
        view = replace(view, transfers=view.transfers[:TRANSFERS_AT_ONCE])
        payees = {each.recipient for each in view.transfers}
        due = _due_to(first, payees)
        oldest = list(due.clone().limit(ORDERS_AT_ONCE))
        left += max(0, due.count() - ORDERS_AT_ONCE)
        _settle_each(oldest, view, tx_hash, by)
    return SettledOrders(_settled_by(tenant_id, tx_hash, chain_id), left)


def _settle_each(due: Sequence[OrderAccount], view: ChainView, tx_hash: str, by: Actor) -> None:
    """Settle orders one by one, first those for which a transfer has exactly the amount."""
    of_value: dict[int, list[Transfer]] = defaultdict(list)
    for each in view.transfers:
        of_value[each.atomic_amount].append(each)
    exact = []
    for account in due:
        amount = units.whole_atomic(account.due_now, account.terms.decimals)
        if amount in of_value:
            exact.append((account, replace(view, transfers=of_value[amount])))
    is_moved = False

    for account, part in [*exact, *((each, view) for each in due)]:

        def book(locked: OrderAccount, cursor: Block, part: ChainView = part) -> dict[str, int]:
            nonlocal is_moved
            if _is_repeat(locked, tx_hash, None) or not locked.due_now:
                return {}
            try:
                return _book(locked, cursor, part, tx_hash, None, by)
            except ChainUnavailable:
                # Nothing is wrong with the order.
                is_moved = True
                return {}

        chain_settlement.reduce_due_of_each([account], book)
    if is_moved:
        raise ChainUnavailable("The chain was reorganized. Retry.")


def _due_of_each_token(tenant_id: str, chain_id: int) -> Sequence[OrderAccount]:
    """Return one due account of each token. A chain whose token was changed has a few."""
    found: list[OrderAccount] = []
    due = accounts.of_tenant(tenant_id).where(TO_REFUND, OrderAccount.chain_id == chain_id)
    while len(found) < TOKENS_AT_ONCE:
        tokens = [account.token_address for account in found]
        first = due.where(OrderAccount.token_address.not_in(tokens)).first()
        if first is None:
            break
        found.append(first)
    return found


def _due_to(like: OrderAccount, payees: Collection[str]) -> ModelSelect[OrderAccount]:
    """Select the due accounts that a transfer to one of the payees may pay, the oldest first.

    They are of the tenant, chain and token of `like`.
    """
    stated = RefundAddress.select(RefundAddress.id).where(
        RefundAddress.account == OrderAccount.id,
        ~WAITING,
        RefundAddress.address.in_(list(payees)),
    )
    paid = Payment.select(Payment.id).where(
        Payment.account == OrderAccount.id, Payment.canonical, Payment.sender.in_(list(payees))
    )
    query = accounts.of_tenant(like.tenant_id).where(
        TO_REFUND,
        OrderAccount.chain_id == like.chain_id,
        OrderAccount.token_address == like.token_address,
        fn.EXISTS(stated) | fn.EXISTS(paid),
    )
    return query.order_by(OrderAccount.intent, OrderAccount.id)


def _settled_by(tenant_id: str, tx_hash: str, chain_id: int) -> list[SettledOrder]:
    """Return what counts of a transaction for each order of a tenant, by token."""
    of_account = (OrderAccount.intent, OrderAccount.token_address)
    rows: Iterable[Any] = (
        Refund.select(*of_account, fn.SUM(Refund.amount))
        .join(OrderAccount)
        .where(
            Refund.chain_id == chain_id,
            Refund.tx_hash == tx_hash,
            Refund.canonical,
            OrderAccount.tenant_id == tenant_id,
        )
        .group_by(*of_account)
        .order_by(*of_account)
        .tuples()
    )
    # Postgres returns a sum as a Decimal.
    return [SettledOrder(intent_id, token, int(amount)) for intent_id, token, amount in rows]


def _book(
    locked: OrderAccount,
    cursor: Block,
    view: ChainView,
    tx_hash: str,
    recipient: str | None,
    by: Actor,
) -> dict[str, int]:
    """Record what counts of a view for a locked order. Return its new `refunded`, or nothing."""
    if chain_view.is_outdated(locked.terms.chain_id, view, cursor):
        # The worker may have just removed the blocks of these transfers.
        raise ChainUnavailable("The chain was reorganized. Retry.")
    settlement.lock_tenant(locked.tenant_id)
    final_up_to = locked.terms.final_up_to(view.as_of.number)
    # A node may have left out an event: then the worker has not seen that it was paid.
    seen = [each for each in view.paid if each.block.number <= final_up_to]
    owners = payout_ids.owners_of_ids([locked])
    place = payout_ids.place_of(locked)
    is_restored = restored_payouts.is_restored(locked.terms.chain_id)
    payout_ids.note_events(seen, dict.fromkeys(owners, place), restored=is_restored)
    final = [each for each in view.transfers if each.block.number <= final_up_to]
    counted = count(locked, payout_ids.transfers_for(locked, final, view.paid, owners), recipient)
    if not counted:
        return {}
    fact = facts.refund_settled(locked, counted, tx_hash, automatic=False)
    feed.record(locked.tenant_id, *fact)
    before, after = {"refunded": locked.refunded}, {"refunded": locked.refunded + counted}
    named = {} if recipient is None else {"recipient": recipient}
    audit_log.record(
        locked.tenant_id,
        by,
        locked.intent_id,
        before=before,
        after={**after, "tx_hash": tx_hash, **named, **accounts.in_audit(locked)},
    )
    return after


def _is_repeat(account: OrderAccount, tx_hash: str, recipient: str | None) -> bool:
    """Return whether the transaction counts already for the account, and for the recipient."""
    to_recipient = [] if recipient is None else [Refund.recipient == recipient]
    return bool(
        Refund.select()
        .where(_of(account), Refund.tx_hash == tx_hash, Refund.canonical, *to_recipient)
        .exists()
    )


def _view(
    account: OrderAccount, tx_hash: str, enabled: Mapping[int, Chain], slot: str
) -> ChainView:
    """Return the transfers of the account's token in a transaction. `slot`: see node_slots."""
    with node_slots.slot(slot):
        return chain_view.look_at(account, tx_hash, enabled)


def count(
    account: OrderAccount,
    transfers: Sequence[Transfer],
    recipient: str | None,
    *,
    may_grow: bool = False,
) -> int:
    """Record what counts of final transfers for a locked account, in micro-units. It may be 0.

    The tenant is locked. `may_grow`: of a transfer that counts already, more may count.
    ChainUnavailable if a transfer is recorded in another block.

    Example: Ada is owed 4 for order A and 7 for order B. One transfer sends her 10. For A it counts
    4, and then for B the unused 6. For B, 1 stays due.
    """
    shares = _shares(account, transfers, recipient, may_grow=may_grow)
    for each in shares:
        _write(account, each)
    return sum(each.amount for each in shares)


def would_count(account: OrderAccount, transfer: Transfer, recipient: str | None) -> int:
    """Return what `count` would record of a transfer that may grow. ChainUnavailable."""
    return sum(each.amount for each in _shares(account, [transfer], recipient, may_grow=True))


@dataclass(frozen=True)
class _Share:
    """What counts of a transfer for an account. `counted`: the refund that has a part of it."""

    transfer: Transfer
    amount: int
    counted: Refund | None


def _shares(
    account: OrderAccount,
    transfers: Sequence[Transfer],
    recipient: str | None,
    *,
    may_grow: bool,
) -> list[_Share]:
    debts, decimals = _debts_of(account, recipient), account.terms.decimals
    left = account.returnable_now
    recorded = _recorded(account, transfers)
    found = []
    for transfer in transfers:
        value = units.from_atomic(transfer.atomic_amount, decimals)[0]
        of_transfer = [each for each in recorded if each.log_index == transfer.log_index]
        unused = value - sum(each.amount for each in of_transfer)
        amount = min(left, unused, payees.countable(debts, transfer))
        own = next((each for each in of_transfer if _is_of(each, account)), None)
        if amount <= 0 or (own is not None and not may_grow):
            continue
        found.append(_Share(transfer, amount, own))
        counted = Reduction(payees.position_of(transfer), amount, transfer.recipient)
        debts = replace(debts, reductions=[*debts.reductions, counted])
        left -= amount
    return found


def may_receive(account: OrderAccount, transfer: Transfer) -> bool:
    """Return whether the payee of a transfer may get an account's refunds, if any are due."""
    return payees.is_payee(_debts_of(account, None), transfer)


def _debts_of(account: OrderAccount, recipient: str | None) -> Debts:
    received, sent = payment_sums.received_by_payer(account)
    paid_back = [
        Reduction(_position_of(refund), refund.amount, refund.recipient)
        for refund in Refund.select().where(_of(account), Refund.canonical)
    ]
    waived = [
        Reduction((waiver.block_number, _AFTER_ALL_LOGS), payment_sums.in_effect(account, waiver))
        for waiver in payment_sums.waivers_of(account)
    ]
    return Debts(
        received,
        sent,
        _kept_of(account),
        [*paid_back, *waived],
        payee_rows.of(account),
        recipient,
    )


def _kept_of(account: OrderAccount) -> Callable[[int], int]:
    """Return a function of what was received: what is kept of it. Nothing of a stray account."""
    if not account.is_home:
        return lambda _: 0
    return partial(balances.kept, account.order, IntentStatus(account.order.status))


def _of(account: OrderAccount) -> Expression:
    """Return the condition of the refunds of an account."""
    found: Expression = Refund.account == account.id
    return found


def _is_of(refund: Refund, account: OrderAccount) -> bool:
    return refund.account_id == int(account.id)


def _position_of(refund: Refund) -> Position:
    return int(refund.block_number), int(refund.log_index)


def _recorded(account: OrderAccount, transfers: Sequence[Transfer]) -> Sequence[Refund]:
    """Return what counts of a transaction already, for all orders of the tenant.

    ChainUnavailable if it was recorded in another block: the worker must first take that back.
    """
    if not transfers:
        return []
    recorded = list(
        Refund.select(Refund)
        .join(OrderAccount)
        .where(
            Refund.chain_id == account.chain_id,
            Refund.tx_hash == transfers[0].tx_hash,
            Refund.canonical,
            OrderAccount.tenant_id == account.tenant_id,
        )
    )
    if any(each.block_hash not in (None, transfers[0].block.hash) for each in recorded):
        raise ChainUnavailable("The transaction moved to another block. Retry.")
    return recorded


def _write(account: OrderAccount, share: _Share) -> None:
    """Record a refund, or more of it, or mark one as canonical again after a reorganization."""
    transfer = share.transfer
    if share.counted is not None:
        grown = {Refund.amount: Refund.amount + share.amount}
        Refund.update(grown).where(Refund.id == share.counted.id).execute()
        return
    columns = {
        Refund.account: account.id,
        Refund.sender: transfer.sender,
        Refund.recipient: transfer.recipient,
        Refund.amount: share.amount,
        Refund.block_number: transfer.block.number,
        Refund.block_hash: transfer.block.hash,
        Refund.canonical: True,
        Refund.checked: False,
    }
    Refund.insert(
        {
            Refund.id: ids.new(ids.REFUND),
            Refund.intent: account.intent_id,
            Refund.chain_id: account.chain_id,
            Refund.tx_hash: transfer.tx_hash,
            Refund.log_index: transfer.log_index,
            Refund.created_at: clock.now(),
            **columns,
        }
    ).on_conflict(
        conflict_target=[Refund.intent, Refund.chain_id, Refund.tx_hash, Refund.log_index],
        update=columns,
        where=~Refund.canonical,
    ).execute()
