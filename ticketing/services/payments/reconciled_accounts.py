"""The rules for the accounts of orders: see reconciliation.py.

Example: an order on Base has 24 on Polygon, an option, and awaits its payment. All 24 must be
open. If the order has ended, all of it must be owed.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from peewee import JOIN, Case, ModelSelect, fn

from ticketing.chain import units
from ticketing.constants import LIVE, MICRO_UNIT_DECIMALS, SOLD, IntentStatus
from ticketing.models.collections import Collection
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import IS_HOME, KEPT, PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.refunds import Refund
from ticketing.models.wallets import Wallet
from ticketing.services.payments.rule_scope import (
    BREACHES_PER_RULE,
    Rows,
    Scope,
    of_tenant,
    total,
)

_DECIMALS = range(MICRO_UNIT_DECIMALS + 1, units.MAX_DECIMALS + 1)
# A token of 18 decimals: 10^12 atomic units of dust make one micro-unit.
_DUST_PER_MICRO_UNIT = Case(
    OrderAccount.token_decimals, [(n, 10 ** (n - MICRO_UNIT_DECIMALS)) for n in _DECIMALS], 1
)
_COUNTED = OrderAccount.received - OrderAccount.refunded - OrderAccount.waived
_LEFT = Case(None, [(_COUNTED > 0, _COUNTED)], 0)

_IS_LIVE = PaymentIntent.status.in_(LIVE)
_ENDED = PaymentIntent.status.in_([IntentStatus.EXPIRED, IntentStatus.CANCELED])
_PRICE = Case(None, [(_ENDED, 0), (PaymentIntent.status.in_(SOLD), KEPT)], PaymentIntent.amount)
_BEYOND = _COUNTED - _PRICE
# Negative if a reorganization removed payments, refunded ones too. Then no refund is due.
_HOME_DUE = Case(None, [(_BEYOND > 0, _BEYOND)], 0)
_MAY_BE_HOME = (
    _IS_LIVE
    & PaymentIntent.ended_at.is_null()
    & OrderAccount.is_option
    & OrderAccount.in_reach
    & OrderAccount.asked_back_at.is_null()
)
_DUE = Case(None, [(IS_HOME, _HOME_DUE), (~OrderAccount.in_reach | _MAY_BE_HOME, 0)], _LEFT)
_REST = _COUNTED - OrderAccount.due
_OPEN = Case(None, [(IS_HOME & _IS_LIVE, _REST), (IS_HOME, 0), (_MAY_BE_HOME, _LEFT)], 0)
_KEPT = Case(None, [(IS_HOME & ~_IS_LIVE, _REST)], 0)
_OUT_OF_REACH = Case(None, [(IS_HOME | OrderAccount.in_reach, 0)], _LEFT)
_IS_SHORT = IS_HOME & (PaymentIntent.status == IntentStatus.CONFIRMED) & (_COUNTED < _PRICE)
_UNACCOUNTED = (
    (OrderAccount.due != _DUE)
    | (OrderAccount.open != _OPEN)
    | (OrderAccount.kept != _KEPT)
    | (OrderAccount.out_of_reach != _OUT_OF_REACH)
    | (OrderAccount.pending < 0)
    | (OrderAccount.pending > OrderAccount.due)
    | _IS_SHORT
)


def doubtful(tenant_id: str | None) -> Sequence[int] | None:
    """Return the ids of accounts that may violate a rule. None if there are too many to list."""
    doubt = _UNACCOUNTED | (OrderAccount.received != _payments()) | _is_misfit()
    doubt |= OrderAccount.refunded != _refunds()
    query = OrderAccount.select(OrderAccount.id).join(PaymentIntent).where(doubt)
    query = of_tenant(query, PaymentIntent, tenant_id)
    ids = [row.id for row in query.limit(BREACHES_PER_RULE + 1)]
    return ids if len(ids) <= BREACHES_PER_RULE else None


def intents_have_homes(scope: Scope) -> Rows:
    """An intent that costs something has an account on its chain, and in its token."""
    query = (
        PaymentIntent.select(PaymentIntent.id)
        .join(OrderAccount, JOIN.LEFT_OUTER, on=IS_HOME)
        .where(PaymentIntent.chain_id.is_null(False), OrderAccount.id.is_null())
    )
    query = of_tenant(query, PaymentIntent, scope.tenant_id).order_by(PaymentIntent.id)
    rows: Iterable[Any] = query.limit(BREACHES_PER_RULE).tuples()
    for (intent,) in rows:
        yield [intent], "it has no account on its chain, in its token"


def accounts_fit_intents(scope: Scope) -> Rows:
    """An account belongs to what its intent does. Its payments and refunds are on its chain."""
    for (intent,) in _first(scope, _is_misfit(), OrderAccount.intent):
        yield (
            [intent],
            "the tenant, event, wallet, address, payments or refunds of an account are not its own",
        )


def received_is_payments(scope: Scope) -> Rows:
    """What an account received is the sum of its payments."""
    sums, received = _payments(), OrderAccount.received
    wrong = received != sums
    for intent, stored, sum_ in _first(scope, wrong, OrderAccount.intent, received, sums):
        yield [intent], f"received is {stored}, its payments add up to {sum_}"


def refunded_is_refunds(scope: Scope) -> Rows:
    """What was refunded of an account is the sum of its refunds."""
    sums, refunded = _refunds(), OrderAccount.refunded
    wrong = refunded != sums
    for intent, stored, sum_ in _first(scope, wrong, OrderAccount.intent, refunded, sums):
        yield [intent], f"refunded is {stored}, its refunds add up to {sum_}"


def every_unit_accounted(scope: Scope) -> Rows:
    """What was received is kept, open, owed, out of reach, refunded or waived."""
    columns = (
        PaymentIntent.status,
        PaymentIntent.amount,
        OrderAccount.received,
        OrderAccount.refunded,
        OrderAccount.due,
        OrderAccount.pending,
        OrderAccount.open,
        OrderAccount.kept,
        _DUE,
        _OPEN,
        _KEPT,
    )
    for intent, *numbers in _first(scope, _UNACCOUNTED, OrderAccount.intent, *columns):
        yield (
            [intent],
            "a {} intent of {} has received {} and refunded {}: {} are due ({} pending), {} open"
            " and {} kept, not {}, {} and {}".format(*numbers),
        )


def collections_fit_intents(scope: Scope) -> Rows:
    """A collection is on the chain and in the token of its account, and paid the wallet."""
    query = (
        Collection.select(Collection.id, Collection.intent)
        .join(OrderAccount)
        .join(Wallet, JOIN.LEFT_OUTER, on=(Wallet.id == OrderAccount.wallet_id))
        .join_from(Collection, PaymentIntent)
        .where(
            (OrderAccount.intent != Collection.intent)
            | (OrderAccount.chain_id != Collection.chain_id)
            | (OrderAccount.token_address != Collection.token_address)
            | Wallet.id.is_null()
            | Collection.recipient.not_in((Wallet.owner, Wallet.gathering))
        )
    )
    query = of_tenant(query, PaymentIntent, scope.tenant_id).order_by(PaymentIntent.id)
    misfits: Iterable[Any] = query.limit(BREACHES_PER_RULE).tuples()
    for collection, intent in misfits:
        yield [collection, intent], "its chain, token or recipient is not that of its account"


def _payments() -> Any:
    """Return the SQL sum of an account's canonical payments, in micro-units."""
    amount = total(Case(None, [(Payment.canonical, Payment.amount)], 0))
    dust = total(Case(None, [(Payment.canonical, Payment.dust)], 0))
    sums = Payment.select(amount + dust / _DUST_PER_MICRO_UNIT)
    return sums.where(Payment.account == OrderAccount.id)


def _refunds() -> Any:
    """Return the SQL sum of an account's canonical refunds."""
    sums = Refund.select(total(Case(None, [(Refund.canonical, Refund.amount)], 0)))
    return sums.where(Refund.account == OrderAccount.id)


def _is_misfit() -> Any:
    wrong = (
        (OrderAccount.tenant_id != PaymentIntent.tenant)
        | (OrderAccount.event_id != PaymentIntent.event)
        | (OrderAccount.wallet_id != PaymentIntent.wallet)
        | (OrderAccount.address != PaymentIntent.address)
    )
    for model in (Payment, Refund):
        of_account = model.account == OrderAccount.id
        elsewhere = (model.chain_id != OrderAccount.chain_id) | (
            model.intent != OrderAccount.intent
        )
        wrong |= fn.EXISTS(model.select(model.id).where(of_account, elsewhere))
    return wrong


def _first(scope: Scope, wrong: Any, *columns: Any) -> Iterable[Any]:
    """Return the first accounts that violate a rule, with these columns. Only doubtful ones."""
    if scope.accounts == []:
        return []
    query: ModelSelect[OrderAccount] = (
        OrderAccount.select(*columns).join(PaymentIntent).where(wrong)
    )
    if scope.accounts is not None:
        query = query.where(OrderAccount.id.in_(scope.accounts))
    query = of_tenant(query, PaymentIntent, scope.tenant_id)
    in_order = query.order_by(PaymentIntent.id, OrderAccount.id)
    rows: Iterable[Any] = in_order.limit(BREACHES_PER_RULE).tuples()
    return rows
