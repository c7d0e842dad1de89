"""The worker's part of x402: go on with transfers whose request ended without an outcome."""

from __future__ import annotations

import logging

from ticketing.chain.registry import Chain
from ticketing.config import Config
from ticketing.errors import X402NotEnabled
from ticketing.services.x402 import claims, requirements, sales, settling
from ticketing.services.x402.requirements import Market

log = logging.getLogger(__name__)


def go_on(chain: Chain, config: Config) -> None:
    """Go on with the transfers of a chain that are due. RpcError if it cannot be read."""
    for row in claims.due(chain.chain_id):
        if not claims.take(row):
            continue
        intent, is_read = sales.look(sales.order(row.intent_id), config)
        if not is_read:
            claims.wait(row)
            continue
        market: Market | None = None
        try:
            market = requirements.market_for(intent, config)
        except X402NotEnabled:
            log.error("x402 order %s: its chain has no facilitator that can be used now", intent.id)
        settling.go_on(row, intent, chain, market, config)
