"""Move an order to another chain: a stray account becomes its home, and the home a stray account.

It happens by itself if the order is not paid at home, and one other account alone pays for it; and
when the buyer asks for it. No sum ever contains money of two chains.

Example: Ada's order costs 10 on Base, and she may also pay on Polygon. She paid 4 on Base, and then
10 on Polygon. The order moves to Polygon and is paid there. The 4 on Base are owed.
"""

from typing import Any

from ticketing.chain import units
from ticketing.constants import IntentStatus
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.x402 import SETTLING, X402Settlement
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import accounts
from ticketing.services.payments import strays


def able(intent: PaymentIntent) -> OrderAccount | None:
    """Return the stray account that pays for a locked order alone, if its home does not. Or None.

    Of several, it is the one whose chain comes first among the order's networks.
    """
    is_unpaid = intent.status == IntentStatus.AWAITING_PAYMENT and strays.is_open(intent)
    if not (is_unpaid and intent.stray_accounts) or is_settling(intent):
        return None
    found = [
        account
        for account in intent.stray_accounts
        if account.may_be_home and account.counted >= enough(intent, account.token_decimals)
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


def swap_home(intent: PaymentIntent, to: OrderAccount, *, automatic: bool) -> dict[str, Any]:
    """Make a stray account the home of a locked order. Return the order's new columns.

    The caller writes them, and settles both accounts.
    """
    accounts.note_change(intent)
    changed = facts.intent_chain_changed(intent, intent.chain_id, to.chain_id, automatic=automatic)
    feed.record(intent.tenant_id, *changed)
    return {
        "chain_id": to.chain_id,
        "token_address": to.token_address,
        "tolerance": _tolerance(intent, to.token_decimals),
        # It follows from the payments on the new home: the settlement computes it.
        "paid_block": None,
    }
