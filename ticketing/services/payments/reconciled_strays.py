"""The rules for money that orders received elsewhere than on their home: see reconciliation.py.

Example: an order on Base has 24 on Polygon, an option, and awaits its payment. All 24 must be
unassigned. If the order has ended, all of it must be owed.
"""

from collections.abc import Iterable
from typing import Any

from peewee import JOIN, Case, ModelSelect, fn

from ticketing.chain import units
from ticketing.constants import LIVE, MICRO_UNIT_DECIMALS
from ticketing.models.base import literal
from ticketing.models.collections import Collection
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.refunds import Refund
from ticketing.models.stray_accounts import StrayAccount
from ticketing.models.wallets import Wallet
from ticketing.services.payments.rule_scope import BREACHES_PER_RULE, Rows, Scope, total

_DECIMALS = range(MICRO_UNIT_DECIMALS + 1, units.MAX_DECIMALS + 1)
_DUST_PER_MICRO_UNIT = Case(
    StrayAccount.token_decimals, [(n, 10 ** (n - MICRO_UNIT_DECIMALS)) for n in _DECIMALS], 1
)
_IS_OPEN = PaymentIntent.status.in_(LIVE) & PaymentIntent.ended_at.is_null()
_MAY_BE_HOME = StrayAccount.is_option & StrayAccount.in_reach & StrayAccount.asked_back_at.is_null()
_COUNTED = StrayAccount.amount_received - StrayAccount.refunded - StrayAccount.waived
_LEFT = Case(None, [(_COUNTED > 0, _COUNTED)], 0)
_UNASSIGNED = Case(None, [(_IS_OPEN & _MAY_BE_HOME, _LEFT)], 0)
_DUE = Case(None, [(~StrayAccount.in_reach, 0), (_IS_OPEN & _MAY_BE_HOME, 0)], _LEFT)


def strays_fit_intents(scope: Scope) -> Rows:
    """A stray account is not the home of its intent. Its payments and refunds are on its chain."""
    is_home = (StrayAccount.chain_id == PaymentIntent.chain_id) & (
        StrayAccount.token_address == PaymentIntent.token_address
    )
    other_chain = Payment.select().where(
        Payment.intent == StrayAccount.intent,
        Payment.stray == StrayAccount.id,
        Payment.chain_id != StrayAccount.chain_id,
    )
    refunded_elsewhere = Refund.select().where(
        Refund.intent == StrayAccount.intent,
        Refund.stray == StrayAccount.id,
        Refund.chain_id != StrayAccount.chain_id,
    )
    wrong = is_home | (StrayAccount.address != PaymentIntent.address)
    wrong |= fn.EXISTS(other_chain) | fn.EXISTS(refunded_elsewhere)
    for account, intent in _first(scope, wrong, PaymentIntent.id):
        yield (
            [account, intent],
            "its chain, token, address, payments or refunds are not those of a stray",
        )


def stray_received_is_payments(scope: Scope) -> Rows:
    """What a stray account received is the sum of its payments."""
    amount = total(Case(None, [(Payment.canonical, Payment.amount)], 0))
    dust = total(Case(None, [(Payment.canonical, Payment.dust)], 0))
    sums = Payment.select(amount + dust / _DUST_PER_MICRO_UNIT).where(
        Payment.intent == StrayAccount.intent, Payment.stray == StrayAccount.id
    )
    received = StrayAccount.amount_received
    for account, stored, sum_ in _first(scope, received != sums, received, sums):
        yield [account], f"amount_received is {stored}, its payments add up to {sum_}"


def stray_refunded_is_refunds(scope: Scope) -> Rows:
    """What was refunded of a stray account is the sum of its refunds."""
    sums = Refund.select(total(Case(None, [(Refund.canonical, Refund.amount)], 0))).where(
        Refund.intent == StrayAccount.intent, Refund.stray == StrayAccount.id
    )
    refunded = StrayAccount.refunded
    for account, stored, sum_ in _first(scope, refunded != sums, refunded, sums):
        yield [account], f"refunded is {stored}, its refunds add up to {sum_}"


def collections_fit_strays(scope: Scope) -> Rows:
    """A collection of a stray account is on its chain and in its token, from a receiver."""
    query = (
        Collection.select(Collection.id, Collection.stray)
        .join(PaymentIntent)
        .join(Wallet, JOIN.LEFT_OUTER)
        .join_from(
            Collection, StrayAccount, JOIN.LEFT_OUTER, on=(StrayAccount.id == Collection.stray)
        )
        .where(
            Collection.stray != literal(""),
            StrayAccount.id.is_null()
            | (StrayAccount.intent != Collection.intent)
            | (StrayAccount.chain_id != Collection.chain_id)
            | (StrayAccount.token_address != Collection.token_address)
            | Collection.recipient.not_in((Wallet.owner, Wallet.gathering)),
        )
    )
    if scope.tenant_id is not None:
        query = query.where(PaymentIntent.tenant == scope.tenant_id)
    misfits: Iterable[Any] = query.order_by(Collection.id).limit(BREACHES_PER_RULE).tuples()
    for collection, account in misfits:
        yield [collection, account], "its chain, token or recipient is not that of its account"


def every_stray_unit_accounted(scope: Scope) -> Rows:
    """What a stray account received is owed, unassigned, out of reach, refunded or waived."""
    due, pending = StrayAccount.refund_due, StrayAccount.refund_pending
    unassigned = StrayAccount.unassigned
    wrong = (due != _DUE) | (unassigned != _UNASSIGNED) | (pending < literal(0)) | (pending > due)
    columns = (StrayAccount.amount_received, due, pending, unassigned, _DUE, _UNASSIGNED)
    for account, *numbers in _first(scope, wrong, *columns):
        yield (
            [account],
            "it has received {}: {} are due ({} pending) and {} unassigned, not {} and {}".format(
                *numbers
            ),
        )


def _first(scope: Scope, wrong: Any, *columns: Any) -> Iterable[Any]:
    """Return the first stray accounts that violate a rule, with these columns."""
    query: ModelSelect[StrayAccount] = (
        StrayAccount.select(StrayAccount.id, *columns).join(PaymentIntent).where(wrong)
    )
    if scope.tenant_id is not None:
        query = query.where(StrayAccount.tenant_id == scope.tenant_id)
    rows: Iterable[Any] = query.order_by(StrayAccount.id).limit(BREACHES_PER_RULE).tuples()
    return rows
