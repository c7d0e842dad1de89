"""Settle a signed transfer in a request: one claim, one call of the facilitator, one look."""

from __future__ import annotations

from ticketing.chain.eip3009 import Authorization
from ticketing.config import Config
from ticketing.constants import IntentStatus
from ticketing.errors import NodesBusy
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.x402 import Outcome, SettlementState, X402Settlement
from ticketing.services import node_slots
from ticketing.services.x402 import claims, sales, settling
from ticketing.services.x402.facilitator import Verdict
from ticketing.services.x402.requirements import Market


def submit(
    intent: PaymentIntent,
    signed: Authorization,
    signature: bytes,
    market: Market,
    config: Config,
    *,
    is_read: bool,
) -> str | None:
    """Claim a transfer that was checked, and let the facilitator settle it.

    Return why the facilitator refused it, if the chain does not have it either: then the order
    waits for another one. None: it is settled or on its way, or another transfer of the order is.
    None, too, if the order moved or ended before the claim: the caller reads the order again.
    If the chain could not be read just now (`is_read` False), or too many wait, the worker goes on:
    it looks first whether the order is paid. X402CallsUsed.
    """
    if not is_read:
        claims.claim(intent, market.chain, signed, signature, calls=0)
        return None
    try:
        with node_slots.slot(intent.id):
            row = claims.claim(intent, market.chain, signed, signature, calls=1)
            verdict = None if row is None else settling.settle(row, intent, market, config)
    except NodesBusy:
        claims.claim(intent, market.chain, signed, signature, calls=0)
        return None
    if row is None or verdict is None:
        return None
    return _conclude(row, verdict, market, config)


def _conclude(row: X402Settlement, verdict: Verdict, market: Market, config: Config) -> str | None:
    """Write what the chain says about a transfer. Return why it was refused, if it is not used."""
    # Its home may be another one than before the claim.
    intent, _ = sales.look(sales.order(row.intent_id), config)
    if intent.status in settling.PAID:
        claims.end(row, SettlementState.SETTLED)
    elif verdict.outcome is Outcome.REFUSED and _is_unused(row, intent, verdict, market):
        claims.give_up(row)
        intent = sales.order(intent.id)
        if intent.status == IntentStatus.AWAITING_PAYMENT:
            return verdict.reason
    else:
        claims.wait(row)
    return None


def _is_unused(
    row: X402Settlement, intent: PaymentIntent, verdict: Verdict, market: Market
) -> bool:
    """Return whether the chain does not have a refused transfer. If too many wait: not known."""
    try:
        with node_slots.slot(intent.id):
            return settling.is_unused(row, verdict, market)
    except NodesBusy:
        return False
