"""Ask a chain where payments came from that a page has told, or that a payer has signed.

Nothing is asked about others. An error delays: each payment is asked about again.
"""

import logging
from collections.abc import Sequence

from ticketing.chain.answers import Block
from ticketing.chain.errors import RpcInvalid, RpcRefused
from ticketing.chain.node import Node, connect
from ticketing.chain.payer_calls import Origin
from ticketing.chain.registry import Chain
from ticketing.config import Config
from ticketing.services import chains
from ticketing.services.payments import payer_proofs
from ticketing.services.payments.payer_proofs import Due
from ticketing.services.x402 import gasless

log = logging.getLogger(__name__)


def ask(chain: Chain, config: Config) -> None:
    """Ask one chain about some payments, and decide how they are proven. RpcError."""
    cursor = chains.cursor(chain.chain_id)
    due = [] if cursor is None else payer_proofs.take_due(chain.chain_id, cursor.number)
    if cursor is None or not due:
        return
    found = _origins(connect(chain), cursor, due)
    for each, origin in zip(due, found, strict=True):
        if origin is None:
            log.info("chain %s: payment %s is looked at later", chain.chain_id, each.payment.id)
            continue
        totals = [] if origin.authorization is None else payer_proofs.totals_before(each.payment)
        own = gasless.nonces(each.payment.intent_id, totals, config.keyring)
        payer_proofs.decide(each, origin, own)


def _origins(node: Node, cursor: Block, due: Sequence[Due]) -> list[Origin | None]:
    """Return where payments came from. A refused or odd answer keeps no other from its own."""
    try:
        return node.payers.origins(cursor, [each.place for each in due])
    except (RpcRefused, RpcInvalid) as error:
        if len(due) == 1:
            log.warning("payment %s: %s", due[0].payment.id, error)
            return [None]
        middle = len(due) // 2
        return [*_origins(node, cursor, due[:middle]), *_origins(node, cursor, due[middle:])]
