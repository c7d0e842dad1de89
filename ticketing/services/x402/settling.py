"""Let the facilitator settle a claimed transfer, and find out from the chain what happened."""

from __future__ import annotations

import logging
from typing import Any

from ticketing.chain.errors import RpcError
from ticketing.chain.node import Node, connect
from ticketing.chain.registry import Chain, Facilitator
from ticketing.config import Config
from ticketing.constants import IntentStatus
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.x402 import Outcome, SettlementState, X402Settlement
from ticketing.services import counters
from ticketing.services.x402 import claims, facilitator, goods, requirements
from ticketing.services.x402.facilitator import Verdict
from ticketing.services.x402.payment_header import VERSION
from ticketing.services.x402.requirements import Market, Way

ENDED = (IntentStatus.EXPIRED, IntentStatus.CANCELED)
PAID = (IntentStatus.PROCESSING, IntentStatus.CONFIRMED)

log = logging.getLogger(__name__)


def settle(row: X402Settlement, intent: PaymentIntent, market: Market, config: Config) -> Verdict:
    """Ask the facilitator to settle a transfer whose call is counted. Keep what it names."""
    named = market.chain.facilitator
    if named is None:
        raise ValueError(f"chain {row.chain_id} has no facilitator")
    verdict = _ask(named, row, intent, market, config)
    counters.add(counters.X402_SETTLES, f"{row.chain_id} {verdict.outcome}")
    claims.note_transaction(row, verdict.tx_hash)
    log.info("x402 order %s: %s %s", intent.id, verdict.outcome, verdict.tx_hash or "")
    return verdict


def is_unused(row: X402Settlement, verdict: Verdict, market: Market) -> bool:
    """Return whether a refused transfer can be given up, because the chain does not have it.

    False if that is not known: the buyer must not pay twice.
    """
    node = connect(market.chain)
    try:
        if verdict.tx_hash is not None and not node.is_mined(verdict.tx_hash):
            return False
        return not _is_used(node, row)
    except RpcError as error:
        log.warning("chain %s: %s", row.chain_id, error)
        return False


def go_on(
    row: X402Settlement,
    intent: PaymentIntent,
    chain: Chain,
    market: Market | None,
    config: Config,
) -> None:
    """Go on with a transfer that was left over. `intent` is as the chain is now. RpcError.

    Without a market, the facilitator is not asked.
    """
    if intent.status in PAID:
        claims.end(row, SettlementState.SETTLED)
        return
    node = connect(chain)
    head = node.head()
    if _is_used(node, row):
        # The watcher books it. If the order has ended, it decides too.
        if intent.status == IntentStatus.AWAITING_PAYMENT:
            claims.wait(row)
        else:
            claims.end(row, SettlementState.SETTLED)
        return
    # If the facilitator submits it after its order has ended, it is a late payment.
    if claims.has_passed(row, head.time) or intent.status in ENDED:
        claims.give_up(row)
        return
    is_open = intent.status == IntentStatus.AWAITING_PAYMENT
    is_in_time = is_open and market is not None and intent.expires_at > market.now
    if market is not None and is_in_time and claims.count_call(row):
        verdict = settle(row, intent, market, config)
        if verdict.outcome is Outcome.REFUSED and is_unused(row, verdict, market):
            claims.give_up(row)
            return
    claims.wait(row)


def _is_used(node: Node, row: X402Settlement) -> bool:
    return node.is_authorization_used(row.token_address, row.payer, bytes.fromhex(row.nonce))


def _ask(
    named: Facilitator, row: X402Settlement, intent: PaymentIntent, market: Market, config: Config
) -> Verdict:
    """Send the transfer. What the facilitator gets is made here, so it never has the claim."""
    way = Way(market, int(row.value))
    accepted = requirements.public(way, intent.terms.address, intent.expires_at)
    sold = goods.of_order(intent)
    payload = {
        "x402Version": VERSION,
        "resource": sold.resource(config.public_url or ""),
        "extensions": sold.extensions,
        "accepted": accepted,
        "payload": {
            "signature": f"0x{row.signature}",
            "authorization": {
                "from": row.payer,
                "to": intent.terms.address,
                "value": row.value,
                "validAfter": str(row.valid_after),
                "validBefore": str(row.valid_before),
                "nonce": f"0x{row.nonce}",
            },
        },
    }
    request: dict[str, Any] = {
        "x402Version": VERSION,
        "paymentPayload": payload,
        "paymentRequirements": accepted,
    }
    return facilitator.settle(named, request)
