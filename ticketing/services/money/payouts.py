"""List the refunds that an organizer owes, for one account to sign.

The refunds go through the factory of receivers, from the payer's own wallet: an `approve` of the
sum, and then `refund`, at most 100 orders in each. The factory accepts each id of a payer once. An
order on a list of one payer is on no list of another one until that list has ended. So nobody is
paid twice, whoever signs, and however often.

An order may stand on a list if its address has what the books say (payout_checks.covered), if two
nodes have seen its payments (services/payments/witnesses.py), if no earlier id of it is used
(payout_checks.unpaid), and if nobody has to look at its payee first
(services/payments/payee_states.py). Every other order that is due is named with a reason, or
counted.

Each list is stored before it is answered. From then on, the worker reads what is paid with its ids,
and books it: services/payments/payout_events.py.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from peewee import EXCLUDED, Case

from ticketing import clock
from ticketing.chain import address as addresses
from ticketing.chain import receivers, units
from ticketing.chain.answers import Block
from ticketing.chain.errors import RpcError
from ticketing.chain.node import Node, connect
from ticketing.chain.payout_calls import PayerState
from ticketing.chain.registry import Chain
from ticketing.constants import MAX_SAFE_INTEGER, PayoutReason
from ticketing.db.connection import write_transaction
from ticketing.errors import ChainUnavailable, FieldMessage, Invalid
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payouts import Payout
from ticketing.services import chains, counters, node_slots, stated_addresses
from ticketing.services.access import audit_log
from ticketing.services.access.audit_log import Actor
from ticketing.services.money import payout_candidates, payout_checks, payout_lists
from ticketing.services.money.collectable import Sum
from ticketing.services.money.payout_candidates import SHOWN, Due, Wanted
from ticketing.services.money.payout_lists import (
    ORDERS_PER_TRANSACTION,
    BlockedOrder,
    OrderOfAnother,
    OrderPayment,
    PayoutList,
    PayoutPreview,
    PreviewOrder,
)
from ticketing.services.payments import (
    fresh_look,
    payee_changes,
    payee_states,
    payout_events,
    restored_payouts,
    settlement,
    witnesses,
)

ORDERS_AT_ONCE = 10 * ORDERS_PER_TRANSACTION

LOOK_SECONDS = 15.0
"""After so long, no further order is tried."""

VALID_FOR = timedelta(hours=72)
"""How long a list can be paid. A replaced refund address counts as long."""

log = logging.getLogger(__name__)

_NOT_ENABLED = FieldMessage("choice", "This network is not enabled.")
_NO_RECEIVERS = FieldMessage("choice", "This network has no receivers.")
_NO_OWNER = FieldMessage(
    "address",
    "For 72 hours after a backup was restored, only an address of the wallet can pay.",
)
_NO_ACCOUNT = FieldMessage("address", "Must be the address of the account that signs.")


@dataclass
class _Tried:
    """What one call has found out about the due orders."""

    state: PayerState
    listed: list[Due] = field(default_factory=list)
    blocked: list[BlockedOrder] = field(default_factory=list)


def preview(
    tenant_id: str,
    chain_id: int,
    token: str | None,
    payer: str,
    enabled: Mapping[int, Chain],
) -> PayoutPreview:
    """Return what may stand on a list of `payer`, and what a person should look at before.

    It is answered from the books, without a node, and nothing is stored. At most ORDERS_AT_ONCE
    orders, the oldest first. Parameters and errors are those of `propose`.
    """
    wanted = _parse(
        tenant_id,
        chain_id,
        token,
        payer,
        enabled,
        accept_unwitnessed=True,
        include_cautioned=True,
    )
    blocked = payout_candidates.held_back(wanted)
    orders: list[PreviewOrder] = []
    for page, held in payout_candidates.pages(wanted):
        blocked += held
        orders += _previewed(page[: ORDERS_AT_ONCE - len(orders)])
        if len(orders) >= ORDERS_AT_ONCE:
            break
    for_another = payout_candidates.of_another(wanted)
    shown = _shown(blocked)
    amounts = [*_amounts(orders), *_amounts(shown), *_amounts(for_another)]
    return PayoutPreview(
        chain_id=chain_id,
        token_address=wanted.token_address,
        payer=wanted.payer,
        factory=receivers.FACTORY,
        orders=orders,
        blocked=shown,
        listed_for_another=for_another,
        unbooked=payout_candidates.unbooked(wanted),
        left=_left(wanted, len(amounts), sum(amounts)),
    )


def _previewed(page: Sequence[Due]) -> list[PreviewOrder]:
    found = [each.account for each in page]
    states, unwitnessed = payee_states.of(found), witnesses.unwitnessed(found)
    ids = payout_candidates.unknown_ids(found)
    return [
        PreviewOrder(
            intent_id=each.account.intent_id,
            amount=each.due,
            to=each.payment.to,
            payee=states[each.account.id],
            witnessed=each.account.id not in unwitnessed,
            payments=unwitnessed.get(each.account.id, ()),
            ids=ids[each.account.id],
        )
        for each in page
    ]


def propose(
    tenant_id: str,
    chain_id: int,
    token: str | None,
    payer: str,
    enabled: Mapping[int, Chain],
    by: Actor,
    only: Collection[str] | None = None,
    *,
    accept_unwitnessed: bool = False,
    include_cautioned: bool = False,
) -> PayoutList:
    """Return what `payer` must sign to pay back what a tenant owes on a chain, the oldest first.

    `token`: the address of another token than the chain's present one. `only`: the orders to list.
    `accept_unwitnessed`: also those whose payments no second node has seen. `include_cautioned`:
    also those whose payee should be looked at. What exceeds the payer's balance is left out. Each
    payment is tried before it is listed. The same payer gets the same ids again. Call it outside of
    a write transaction. Invalid; ChainUnavailable.
    """
    wanted = _parse(
        tenant_id,
        chain_id,
        token,
        payer,
        enabled,
        only=None if only is None else frozenset(only),
        accept_unwitnessed=accept_unwitnessed,
        include_cautioned=include_cautioned,
    )
    cursor = chains.cursor(chain_id)
    if cursor is None:
        raise ChainUnavailable("The worker has not read this chain yet.")
    payee_changes.take_effect(tenant_id)
    with node_slots.slot(f"payouts {tenant_id}"):
        try:
            node = connect(wanted.chain)
            fresh_look.before_list(node, wanted.chain, wanted.token_address, tenant_id, cursor)
            tried = _try_all(node, wanted, cursor)
        except RpcError as error:
            log.warning("chain %s: %s", chain_id, error)
            counters.add(counters.RPC_ERRORS, str(chain_id))
            raise ChainUnavailable from None
    valid_before, listed = _store(wanted, tried.listed, by)
    return _answer(wanted, tried, valid_before, listed)


def _parse(
    tenant_id: str,
    chain_id: int,
    token: str | None,
    payer: str,
    enabled: Mapping[int, Chain],
    *,
    only: frozenset[str] | None = None,
    accept_unwitnessed: bool,
    include_cautioned: bool,
) -> Wanted:
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
    return Wanted(
        tenant_id,
        # The node of a chain is known by its configuration, without what the worker found out.
        enabled[chain_id],
        token_address,
        account,
        known.decimals or 0,
        only,
        accept_unwitnessed,
        include_cautioned,
    )


def _try_all(node: Node, wanted: Wanted, at: Block) -> _Tried:
    """Try the due orders page by page, until there are enough, the time is over, or none is left.

    `at` is the last block that the worker has read.

    Example: the payer has 10. Of orders that are due 4, 7 and 5, the first and the third are tried:
    9. The second one is left for another day.
    """
    deadline = time.monotonic() + LOOK_SECONDS

    def is_over() -> bool:
        return time.monotonic() > deadline

    tried = _Tried(node.payouts.payer_state(wanted.token_address, wanted.payer))
    unspent = tried.state.balance
    for page, blocked in payout_candidates.pages(wanted):
        tried.blocked += blocked
        # What the payer has paid already exceeds his balance, perhaps, and is not left over.
        unpaid, paid = payout_checks.unpaid(node, wanted, page, at) if page else ([], [])
        some: list[Due] = []
        rest, room = unspent, ORDERS_AT_ONCE - len(tried.listed)
        for each in unpaid:
            if each.payment.atomic_amount > rest:
                tried.blocked.append(each.blocked(PayoutReason.BEYOND_BALANCE))
            elif len(some) < room:
                some.append(each)
                rest -= each.payment.atomic_amount
        covered, uncovered = payout_checks.covered(node, wanted, some, at)
        passing, refused = payout_checks.passing(node, wanted, covered, is_over)
        tried.listed += passing
        tried.blocked += [*paid, *uncovered, *refused]
        unspent -= sum(each.payment.atomic_amount for each in passing)
        if is_over() or unspent <= 0 or len(tried.listed) >= ORDERS_AT_ONCE:
            break
    return tried


def _store(wanted: Wanted, chosen: Sequence[Due], by: Actor) -> tuple[datetime, list[Due]]:
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
                "sum": sum(each.amount for each in listed),
                "valid_before": clock.rfc3339(valid_before),
            }
            audit_log.record(wanted.tenant_id, by, wanted.payer, before=None, after=after)
    return valid_before, listed


def _still_due(wanted: Wanted, chosen: Sequence[Due]) -> list[Due]:
    """Lock the orders that were chosen. Return those whose accounts have not changed."""
    ids = [each.account.intent_id for each in chosen]
    settlement.lock_rows(ids)
    now = list(payout_candidates.payable(wanted).where(OrderAccount.intent.in_(ids)))
    held = payout_events.undecided(now).keys() | payout_events.paid_elsewhere(now).keys()
    free = [each for each in now if each.id not in held]
    payments = {
        each.account.intent_id: each.payment
        for each in payout_candidates.due_of_each(free, wanted.payer)
    }
    return [each for each in chosen if payments.get(each.account.intent_id) == each.payment]


def _write(wanted: Wanted, listed: Sequence[Due], valid_before: datetime, cursor: Block) -> None:
    payout_events.begin(wanted.chain.chain_id, cursor)
    now = clock.now()
    rows = [
        {
            Payout.payer: wanted.payer,
            Payout.payment_id: each.payment.id,
            Payout.recipient: each.payment.to,
            Payout.atomic_amount: str(each.payment.atomic_amount),
            Payout.tenant_id: wanted.tenant_id,
            Payout.intent: each.account.intent_id,
            Payout.chain_id: wanted.chain.chain_id,
            Payout.token_address: wanted.token_address,
            Payout.amount: each.amount,
            Payout.created_at: now,
            Payout.valid_before: valid_before,
        }
        for each in listed
    ]
    # An earlier list with the same row can be paid until its own end.
    is_later = EXCLUDED.valid_before > Payout.valid_before
    latest = Case(None, [(is_later, EXCLUDED.valid_before)], Payout.valid_before)
    row = [Payout.payer, Payout.payment_id, Payout.recipient, Payout.atomic_amount]
    for start in range(0, len(rows), ORDERS_PER_TRANSACTION):
        (
            Payout.insert_many(rows[start : start + ORDERS_PER_TRANSACTION])
            .on_conflict(conflict_target=row, update={Payout.valid_before: latest})
            .execute()
        )


def _answer(
    wanted: Wanted, tried: _Tried, valid_before: datetime, listed: Sequence[Due]
) -> PayoutList:
    blocked = _shown([*payout_candidates.held_back(wanted), *tried.blocked])
    for_another = payout_candidates.of_another(wanted)
    payments = [OrderPayment(each.account.intent_id, each.payment, each.amount) for each in listed]
    amounts = [*_amounts(payments), *_amounts(blocked), *_amounts(for_another)]
    state, decimals = tried.state, wanted.decimals
    if listed:
        decimals = listed[0].account.terms.decimals
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
        blocked=blocked,
        listed_for_another=for_another,
        unbooked=payout_candidates.unbooked(wanted),
        left=_left(wanted, len(amounts), sum(amounts)),
    )


def _amounts(
    found: Iterable[PreviewOrder | OrderPayment | BlockedOrder | OrderOfAnother],
) -> list[int]:
    return [each.amount for each in found]


def _shown(blocked: Sequence[BlockedOrder]) -> list[BlockedOrder]:
    """Return at most SHOWN orders for each reason, an order once."""
    found: dict[str, BlockedOrder] = {}
    shown: dict[PayoutReason, int] = {}
    for each in blocked:
        if each.intent_id not in found and shown.get(each.reason, 0) < SHOWN:
            found[each.intent_id] = each
            shown[each.reason] = shown.get(each.reason, 0) + 1
    return list(found.values())


def _left(wanted: Wanted, orders: int, amount: int) -> Sum:
    """Return what is due and neither listed nor named: `orders` and `amount` are."""
    due = payout_candidates.total(wanted)
    return Sum(max(0, due.orders - orders), max(0, due.amount - amount))
