"""List the refunds that an organizer owes, for one account to sign.

The refunds go through the factory of receivers, from the payer's own wallet: an `approve` of the
sum, and then `refund`, at most 100 orders in each. The factory accepts each id of a payer once. An
order on a list of one payer is on no list of another one until that list has ended. So nobody is
paid twice, whoever signs, and however often.

Each list is stored before it is answered. From then on, the worker reads what its payer pays, and
books it: services/payments/payout_events.py. Orders of xpub wallets are never here: their refunds
are sent from their addresses (`tools.sweep`), and two ways could both pay.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from peewee import EXCLUDED, Case, ModelSelect, fn

from ticketing import clock
from ticketing.chain import address as addresses
from ticketing.chain import receivers, refunded_events, units
from ticketing.chain.answers import Block
from ticketing.chain.errors import RpcError
from ticketing.chain.node import Node, connect
from ticketing.chain.payout_calls import PayerState
from ticketing.chain.refunded_events import ListedPayment
from ticketing.chain.registry import Chain
from ticketing.constants import MAX_SAFE_INTEGER
from ticketing.db.connection import write_transaction
from ticketing.errors import ChainUnavailable, FieldMessage, Invalid
from ticketing.models.payment_intents import SET_ASIDE, PaymentIntent
from ticketing.models.payouts import Payout
from ticketing.models.stray_accounts import Account
from ticketing.models.wallets import Wallet
from ticketing.services import chains, counters, node_slots, stated_addresses
from ticketing.services.access import audit_log
from ticketing.services.access.audit_log import Actor
from ticketing.services.money import payout_lists
from ticketing.services.money.payout_lists import (
    ORDERS_PER_TRANSACTION,
    BlockedOrder,
    OrderOfAnother,
    OrderPayment,
    PayoutList,
    UnbookedPayment,
)
from ticketing.services.orders import accounts
from ticketing.services.orders.accounts import Kind
from ticketing.services.payments import (
    fresh_look,
    payout_events,
    payout_ids,
    restored_payouts,
    settlement,
)

ORDERS_AT_ONCE = 10 * ORDERS_PER_TRANSACTION

LOOK_SECONDS = 15.0
"""After so long, no further order is tried."""

VALID_FOR = timedelta(hours=72)
"""How long a list can be paid. A replaced refund address counts as long."""

SHOWN = 100
"""How many orders that are not listed are named, of each kind. The others are counted."""

_BLOCKS_SEARCHED = 2000

log = logging.getLogger(__name__)

_NOT_ENABLED = FieldMessage("choice", "This network is not enabled.")
_NO_RECEIVERS = FieldMessage("choice", "This network has no receivers.")
_NO_OWNER = FieldMessage(
    "address",
    "For 72 hours after a backup was restored, only an address of the wallet can pay.",
)
_NO_ACCOUNT = FieldMessage("address", "Must be the address of the account that signs.")


@dataclass(frozen=True)
class _Wanted:
    """Whose refunds are listed, for whom."""

    tenant_id: str
    chain: Chain
    token_address: str
    payer: str
    decimals: int


@dataclass(frozen=True)
class _Due:
    """An account as it was when it was tried: what it is due, and its payment.

    An order has one account at most in the token on the chain: its home, or a stray account.
    """

    account: Account
    due: int
    payment: ListedPayment


@dataclass
class _Tried:
    """What the node said about the due orders of one call."""

    state: PayerState
    chosen: list[_Due]
    refused: list[str]
    used: dict[str, str]
    """Orders whose id the payer has used, with that id."""
    undecided: dict[str, str]
    """Orders with a payment that was seen and is not settled, with its transaction."""


def propose(
    tenant_id: str,
    chain_id: int,
    token: str | None,
    payer: str,
    enabled: Mapping[int, Chain],
    by: Actor,
) -> PayoutList:
    """Return what `payer` must sign to pay back what a tenant owes on a chain, the oldest first.

    `token`: the address of another token than the chain's present one. What exceeds the payer's
    balance is left out. Each payment is tried before it is listed. The same payer gets the same ids
    again. Call it outside of a write transaction. Invalid; ChainUnavailable.
    """
    wanted = _parse(tenant_id, chain_id, token, payer, enabled)
    with node_slots.slot(f"payouts {tenant_id}"):
        try:
            node = connect(wanted.chain)
            _look_elsewhere(node, wanted)
            tried = _try_all(node, wanted)
            paid_in = _transactions_of(node, wanted, tried.used.values())
        except RpcError as error:
            log.warning("chain %s: %s", chain_id, error)
            counters.add(counters.RPC_ERRORS, str(chain_id))
            raise ChainUnavailable from None
    valid_before, listed = _store(wanted, tried.chosen, by)
    blocked = [
        *(BlockedOrder(intent_id, "transfer_refused") for intent_id in tried.refused),
        *(
            BlockedOrder(intent_id, "already_paid", paid_in.get(id_))
            for intent_id, id_ in tried.used.items()
        ),
        *(
            BlockedOrder(intent_id, "already_paid", tx_hash)
            for intent_id, tx_hash in tried.undecided.items()
        ),
    ]
    return _answer(wanted, tried.state, valid_before, listed, blocked)


def _parse(
    tenant_id: str, chain_id: int, token: str | None, payer: str, enabled: Mapping[int, Chain]
) -> _Wanted:
    known = chains.payable(enabled, chains.states_of(chain_id)).get(chain_id)
    if known is None:
        raise Invalid({"chain_id": [_NOT_ENABLED]})
    if not known.has_receivers:
        raise Invalid({"chain_id": [_NO_RECEIVERS]})
    token_address = known.token_address if token is None else stated_addresses.parse(token, "token")
    account = stated_addresses.parse(payer, "payer")
    never = {addresses.ZERO, addresses.checksum(token_address), receivers.FACTORY, receivers.PROXY}
    is_issued = PaymentIntent.select().where(PaymentIntent.address == account).exists()
    if account in never or is_issued:
        raise Invalid({"payer": [_NO_ACCOUNT]})
    if restored_payouts.is_catching_up(chain_id):
        raise ChainUnavailable(
            "A backup was restored. The worker reads what was paid since then. Retry in a minute."
        )
    is_unsure = restored_payouts.is_restored(chain_id)
    if is_unsure and not restored_payouts.is_owner(tenant_id, account):
        raise Invalid({"payer": [_NO_OWNER]})
    # The node of a chain is known by its configuration, without what the worker found out.
    return _Wanted(tenant_id, enabled[chain_id], token_address, account, known.decimals or 0)


def _look_elsewhere(node: Node, wanted: _Wanted) -> None:
    cursor = chains.cursor(wanted.chain.chain_id)
    if cursor is not None:
        token, tenant_id = wanted.token_address, wanted.tenant_id
        fresh_look.before_list(node, wanted.chain, token, tenant_id, cursor)


def _try_all(node: Node, wanted: _Wanted) -> _Tried:
    """Try the due orders page by page, until there are enough, the time is over, or none is left.

    Example: the payer has 10. Of orders that are due 4, 7 and 5, the first and the third are tried:
    9. The second one is left for another day.
    """
    deadline = time.monotonic() + LOOK_SECONDS

    def is_over() -> bool:
        return time.monotonic() > deadline

    state = node.payouts.payer_state(wanted.token_address, wanted.payer)
    tried, unspent = _Tried(state, [], [], {}, {}), state.balance
    for page in _pages(wanted, tried.undecided):
        # What the payer has paid already exceeds his balance, perhaps, and is not left over.
        used = _used_ids(node, wanted, page) if state.has_factory and page else {}
        tried.used |= used
        some: list[_Due] = []
        rest = unspent
        for each in page:
            has_room = len(tried.chosen) + len(some) < ORDERS_AT_ONCE
            is_unused = each.account.intent_id not in used
            if is_unused and each.payment.atomic_amount <= rest and has_room:
                some.append(each)
                rest -= each.payment.atomic_amount
        _try_page(node, wanted, some, tried, is_over)
        unspent = state.balance - sum(each.payment.atomic_amount for each in tried.chosen)
        if is_over() or unspent <= 0 or len(tried.chosen) >= ORDERS_AT_ONCE:
            break
    return tried


def _try_page(
    node: Node,
    wanted: _Wanted,
    page: Sequence[_Due],
    tried: _Tried,
    is_over: Callable[[], bool],
) -> None:
    if not page:
        return
    payments = [each.payment for each in page]
    passes = node.payouts.payable(wanted.token_address, wanted.payer, payments, is_over)
    for each in page:
        if passes.get(each.payment.id):
            tried.chosen.append(each)
        elif each.payment.id in passes:
            tried.refused.append(each.account.intent_id)


def _used_ids(node: Node, wanted: _Wanted, page: Sequence[_Due]) -> dict[str, str]:
    """Return the orders that were paid by a list whose event was not seen yet, with the id.

    The ids of lists that have ended are asked for too, whoever their payers were: a node may have
    left out an event, and another payer must not pay again.
    """
    order_of = {(wanted.payer, each.payment.id): each.account.intent_id for each in page}
    ended = Payout.select(Payout.payer, Payout.payment_id, Payout.intent).where(
        Payout.intent.in_([each.account.intent_id for each in page]),
        Payout.chain_id == wanted.chain.chain_id,
        Payout.token_address == wanted.token_address,
        Payout.tx_hash.is_null(),
    )
    rows: Iterable[Any] = ended.tuples()
    order_of |= {(payer, id_): intent_id for payer, id_, intent_id in rows}
    return {order_of[each]: each[1] for each in node.payouts.used(order_of.keys())}


def _pages(wanted: _Wanted, undecided: dict[str, str]) -> Iterator[Sequence[_Due]]:
    """Yield the due accounts that are on no list of another payer, the oldest orders first.

    Those with a payment that is not settled are left out, and noted in `undecided`.
    """
    after = ""
    while page := _page(wanted, after):
        after = page[-1].intent_id
        seen, paid = payout_ids.seen_payments(page), payout_events.undecided(page)
        undecided |= {each.intent_id: paid[each.id] for each in page if each.id in paid}
        found = [_due_of(each, seen[each.id]) for each in page if each.id not in paid]
        # What an old order is owed below one atomic unit cannot be sent.
        yield [each for each in found if each.payment.atomic_amount]


def _page(wanted: _Wanted, after: str) -> list[Account]:
    """Return the next due accounts after those of an order."""
    found: list[Account] = []
    for kind in accounts.KINDS:
        query = _due(kind, wanted).where(~fn.EXISTS(_of_others(kind, wanted)), ~SET_ASIDE)
        query = query.where(kind.intent > after).order_by(kind.intent)
        found.extend(query.limit(ORDERS_PER_TRANSACTION))
    return sorted(found, key=accounts.place)[:ORDERS_PER_TRANSACTION]


def _due_of(account: Account, seen: int) -> _Due:
    atomic = units.whole_atomic(account.refund_due_now, account.terms.decimals)
    payment = ListedPayment(payout_ids.id_of(account, seen), str(account.refund_address), atomic)
    return _Due(account, account.refund_due_now, payment)


def _due(kind: Kind, wanted: _Wanted) -> ModelSelect[Any]:
    """Select the accounts of address wallets that can be paid back: to a stated address, finally.

    The address is one that the buyer stated for this account. Those that the organizer pays by hand
    are left out.
    """
    of_address = Wallet.select(Wallet.id).where(
        Wallet.tenant_id == wanted.tenant_id, Wallet.owner.is_null(False)
    )
    return kind.few_of_tenant(wanted.tenant_id).where(
        kind.to_refund,
        kind.model.chain_id == wanted.chain.chain_id,
        kind.model.token_address == wanted.token_address,
        kind.model.refund_address.is_null(False),
        kind.model.refund_by_hand_at.is_null(),
        PaymentIntent.wallet.in_(of_address),
    )


def _of_others(kind: Kind, wanted: _Wanted) -> ModelSelect[Payout]:
    """Select the payments of an account that are on a list of another payer which can be paid."""
    return Payout.select(Payout.intent).where(
        kind.payouts,
        Payout.payer != wanted.payer,
        payout_events.can_be_paid(wanted.chain.chain_id),
    )


def _transactions_of(node: Node, wanted: _Wanted, ids: Iterable[str]) -> dict[str, str]:
    """Return the transactions that used some ids not long ago, by id, as far as the node says."""
    used = list(ids)[: refunded_events.PAYERS_PER_FILTER]
    read, cursor = payout_events.cursor(wanted.chain.chain_id), chains.cursor(wanted.chain.chain_id)
    if not used or cursor is None:
        return {}
    first = cursor.number - _BLOCKS_SEARCHED
    if read is not None:
        first = max(first, read.number - wanted.chain.confirmations)
    try:
        found = node.payouts.events_of_ids(wanted.payer, used, max(0, first))
    except RpcError as error:
        # It is only named: the order is not listed anyway.
        log.info("chain %s: %s", wanted.chain.chain_id, error)
        return {}
    return {each.id: each.tx_hash for each in found}


def _store(wanted: _Wanted, chosen: Sequence[_Due], by: Actor) -> tuple[datetime, list[_Due]]:
    """Store a list. Return its end, and its payments.

    What has changed since it was tried is left out: the debt, the payee, or another payer's list.
    """
    chain_id = wanted.chain.chain_id
    with write_transaction():
        cursor = chains.cursor_of(settlement.lock_chain(chain_id, shared=True))
        if cursor is None:
            raise ChainUnavailable("The worker has not read this chain yet.")
        now = chains.now_on(chain_id, chains.states_of(chain_id))
        valid_before = (now + VALID_FOR).replace(microsecond=0)
        listed = _still_due(wanted, chosen)
        if listed:
            _write(wanted, listed, valid_before, cursor)
            after = {
                "chain_id": chain_id,
                "token_address": wanted.token_address,
                "orders": len(listed),
                "sum": sum(map(_amount, listed)),
                "valid_before": clock.rfc3339(valid_before),
            }
            audit_log.record(wanted.tenant_id, by, wanted.payer, before=None, after=after)
    return valid_before, listed


def _still_due(wanted: _Wanted, chosen: Sequence[_Due]) -> list[_Due]:
    """Lock the orders that were chosen. Return those whose accounts have not changed."""
    ids = [each.account.intent_id for each in chosen]
    settlement.lock_rows(ids)
    now: dict[str, Account] = {}
    for kind in accounts.KINDS:
        free = _due(kind, wanted).where(kind.intent.in_(ids), ~fn.EXISTS(_of_others(kind, wanted)))
        now |= {each.intent_id: each for each in free}
    undecided = payout_events.undecided(list(now.values()))
    free_now = {id_: each for id_, each in now.items() if each.id not in undecided}
    seen = payout_ids.seen_payments(list(free_now.values()))
    payments = {id_: _due_of(each, seen[each.id]).payment for id_, each in free_now.items()}
    return [each for each in chosen if payments.get(each.account.intent_id) == each.payment]


def _write(wanted: _Wanted, listed: Sequence[_Due], valid_before: datetime, cursor: Block) -> None:
    payout_events.begin(wanted.chain.chain_id, cursor)
    now = clock.now()
    rows = [
        {
            Payout.payer: wanted.payer,
            Payout.payment_id: each.payment.id,
            Payout.tenant_id: wanted.tenant_id,
            Payout.intent: each.account.intent_id,
            Payout.chain_id: wanted.chain.chain_id,
            Payout.token_address: wanted.token_address,
            Payout.recipient: each.payment.to,
            Payout.amount: _amount(each),
            Payout.atomic_amount: str(each.payment.atomic_amount),
            Payout.created_at: now,
            Payout.valid_before: valid_before,
        }
        for each in listed
    ]
    # An earlier list with the same id can be paid until its own end.
    is_later = EXCLUDED.valid_before > Payout.valid_before
    latest = Case(None, [(is_later, EXCLUDED.valid_before)], Payout.valid_before)
    for start in range(0, len(rows), ORDERS_PER_TRANSACTION):
        (
            Payout.insert_many(rows[start : start + ORDERS_PER_TRANSACTION])
            .on_conflict(
                conflict_target=[Payout.payer, Payout.payment_id],
                preserve=[Payout.recipient, Payout.amount, Payout.atomic_amount],
                update={Payout.valid_before: latest},
            )
            .execute()
        )


def _amount(each: _Due) -> int:
    """Return what a payment pays, in micro-units."""
    return units.from_atomic(each.payment.atomic_amount, each.account.terms.decimals)[0]


def _answer(
    wanted: _Wanted,
    state: PayerState,
    valid_before: datetime,
    listed: Sequence[_Due],
    blocked: Sequence[BlockedOrder],
) -> PayoutList:
    own = [
        _due(kind, wanted).where(~fn.EXISTS(_of_others(kind, wanted))) for kind in accounts.KINDS
    ]
    count = sum(query.count() for query in own)
    firsts = [each.account for each in listed[:1]] or [
        each for query in own for each in query.limit(1)
    ]
    decimals = firsts[0].terms.decimals if firsts else wanted.decimals
    payments = [
        OrderPayment(each.account.intent_id, each.payment, _amount(each)) for each in listed
    ]
    return PayoutList(
        chain_id=wanted.chain.chain_id,
        token_address=wanted.token_address,
        payer=wanted.payer,
        factory=receivers.FACTORY,
        valid_before=valid_before,
        sum=sum(each.amount for each in payments),
        balance=min(MAX_SAFE_INTEGER, units.from_atomic(state.balance, decimals)[0]),
        allowance=min(MAX_SAFE_INTEGER, units.from_atomic(state.allowance, decimals)[0]),
        transactions=payout_lists.steps(wanted.token_address, valid_before, payments, state),
        payments=payments,
        blocked=blocked[:SHOWN],
        listed_for_another=_listed_for_another(wanted),
        unbooked=_unbooked(wanted),
        left=max(0, count - len(listed) - len(blocked)),
    )


def _listed_for_another(wanted: _Wanted) -> list[OrderOfAnother]:
    found: list[OrderOfAnother] = []
    for kind in accounts.KINDS:
        due = _due(kind, wanted).where(fn.EXISTS(_of_others(kind, wanted))).order_by(kind.intent)
        ids = [each.intent_id for each in due.limit(SHOWN)]
        rows = Payout.select().where(
            Payout.intent.in_(ids),
            Payout.chain_id == wanted.chain.chain_id,
            Payout.token_address == wanted.token_address,
            Payout.payer != wanted.payer,
            payout_events.can_be_paid(wanted.chain.chain_id),
        )
        latest = {row.intent_id: row for row in rows.order_by(Payout.valid_before)}
        found += [OrderOfAnother(id_, row.payer, row.valid_before) for id_, row in latest.items()]
    return sorted(found, key=lambda each: each.intent_id)[:SHOWN]


def _unbooked(wanted: _Wanted) -> list[UnbookedPayment]:
    rows = Payout.select().where(
        Payout.tenant_id == wanted.tenant_id,
        Payout.chain_id == wanted.chain.chain_id,
        Payout.token_address == wanted.token_address,
        Payout.unbooked.is_null(False),
    )
    return [
        UnbookedPayment(
            row.intent_id, row.payment_id, row.tx_hash or "", row.paid_to or "", row.unbooked or ""
        )
        for row in rows.order_by(Payout.block_number.desc()).limit(SHOWN)
    ]
