"""Move an order to another chain: a stray account becomes its home, and the home a stray account.

It happens by itself if the order is not paid at home, and one other account alone pays for it; and
when the buyer asks for it. No sum ever contains money of two chains.

Example: Ada's order costs 10 on Base, and she may also pay on Polygon. She paid 4 on Base, and then
10 on Polygon. The order moves to Polygon and is paid there. The 4 on Base are owed.
"""

from typing import Any

from peewee import Case

from ticketing.chain import units
from ticketing.constants import IntentStatus
from ticketing.models.collections import Collection
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.refunds import Refund, RefundAddress, Waiver
from ticketing.models.stray_accounts import StrayAccount, id_of
from ticketing.models.x402 import SETTLING, X402Settlement
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import accounts
from ticketing.services.payments import strays

_ROWS = (Payment, Refund, Waiver, RefundAddress, Collection)

_SHARED = (
    "chain_id",
    "token_address",
    "token_decimals",
    "required_confirmations",
    "early_confirmations",
    "amount_received",
    "refunded",
    "waived",
    "refund_address",
    "refund_by_hand_at",
    "checked_block",
    "search_to",
    "swept_at",
    "swept_balance",
)
"""The columns that an order and a stray account have in common."""


def able(intent: PaymentIntent) -> StrayAccount | None:
    """Return the stray account that pays for a locked order alone, if its home does not. Or None.

    Of several, it is the one whose chain comes first among the order's networks.
    """
    is_unpaid = intent.status == IntentStatus.AWAITING_PAYMENT and strays.is_open(intent)
    if not (is_unpaid and intent.strays_version) or is_settling(intent):
        return None
    found = [
        account
        for account in accounts.strays_of(intent)
        if strays.may_be_home(account) and account.counted >= enough(intent, account.token_decimals)
    ]
    return min(found, key=lambda account: _place(intent, account.chain_id), default=None)


def is_settling(intent: PaymentIntent) -> bool:
    """Return whether a signed transfer to an order's home may be on its way."""
    query = X402Settlement.select().where(X402Settlement.intent == intent.id, SETTLING)
    return bool(query.exists())


def enough(intent: PaymentIntent, decimals: int) -> int:
    """Return for how much an order is paid in a token with so many decimals, in micro-units."""
    ended = intent.ended_at is not None
    return int(intent.amount) - (0 if ended else _tolerance(intent, decimals))


def _tolerance(intent: PaymentIntent, decimals: int) -> int:
    """Return an order's tolerance, rounded down to whole atomic units of a token."""
    return units.from_atomic(units.whole_atomic(intent.tolerance, decimals), decimals)[0]


def _place(intent: PaymentIntent, chain_id: int) -> int:
    ids = [network.chain_id for network in intent.networks or ()]
    return ids.index(chain_id) if chain_id in ids else len(ids)


def swap_home(intent: PaymentIntent, to: StrayAccount, *, automatic: bool) -> dict[str, Any]:
    """Make a stray account the home of a locked order. Return the order's new columns.

    The caller writes them, and settles the order on its new home. `to` need not be stored: a buyer
    may choose a chain on which nothing was received. Then it is an account without money.
    """
    before = intent.chain_id
    former = _former(intent)
    StrayAccount.delete().where(StrayAccount.id == to.id).execute()
    if former is not None:
        former.save(force_insert=True)
    moved = "" if former is None else former.id
    for model in _ROWS:
        of_intent = (model.intent == intent.id) & model.stray.in_(["", to.id])
        swapped = Case(model.stray, [(to.id, "")], moved)
        model.update({model.stray: swapped}).where(of_intent).execute()
    strays.note_change(intent)
    columns = {name: getattr(to, name) for name in _SHARED}
    changed = facts.intent_chain_changed(intent, before, to.chain_id, automatic=automatic)
    feed.record(intent.tenant_id, *changed)
    # They follow from the payments on the new home: the settlement computes them.
    unknown = {"paid_block": None, "pending_block": None, "refund_due": 0, "refund_pending": 0}
    return {**columns, **unknown, "tolerance": _tolerance(intent, to.token_decimals)}


def _former(intent: PaymentIntent) -> StrayAccount | None:
    """Return the home of an order as a stray account. None if nothing was ever received there."""
    has_rows = Payment.select().where(Payment.intent == intent.id, Payment.stray == "").exists()
    if not has_rows and intent.search_to is None:
        return None
    terms = intent.terms
    network = intent.network_on(terms.chain_id)
    return StrayAccount(
        id=id_of(intent.id, terms.chain_id, terms.token_address),
        intent=intent,
        tenant_id=intent.tenant_id,
        address=terms.address,
        symbol=None if network is None else network.symbol,
        is_option=True,
        in_reach=True,
        created_at=intent.created_at,
        **{name: getattr(intent, name) for name in _SHARED},
    )
