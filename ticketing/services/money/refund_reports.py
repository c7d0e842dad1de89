"""What the page "Pay back what I owe" saw on the network that is not as the server listed it.

The browser's wallet asks a node of its own. A report changes nothing in the books: it is a reason
for the operator to look, and for the worker to read the network at once.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from ticketing.chain.registry import Chain
from ticketing.errors import FieldMessage, Invalid
from ticketing.models.payment_intents import PaymentIntent
from ticketing.refund_reports import RefundReport
from ticketing.services import chains, counters

log = logging.getLogger(__name__)

_NOT_ENABLED = FieldMessage("choice", "This network is not enabled.")
_NO_ORDER = FieldMessage("choice", "None of these is an order of yours.")


def note(
    tenant_id: str,
    enabled: Mapping[int, Chain],
    *,
    chain_id: int,
    kind: RefundReport,
    intent_ids: Collection[str],
    tx_hash: str | None,
    payer: str | None,
) -> None:
    """Log and count a report about orders of a tenant, and let the worker read the chain. Invalid.

    `payer` is the account that paid or used an id; `tx_hash` the transaction, if it is known. Ids
    of others' orders are left out, so that the log has no text of a stranger.
    """
    if chain_id not in enabled:
        raise Invalid({"chain_id": [_NOT_ENABLED]})
    query = PaymentIntent.select(PaymentIntent.id).where(
        PaymentIntent.tenant == tenant_id, PaymentIntent.id.in_(list(intent_ids))
    )
    known = sorted(each.id for each in query)
    if not known:
        raise Invalid({"intent_ids": [_NO_ORDER]})
    log.error(
        "refunds of tenant %s on chain %s: %s, transaction %s, account %s: orders %s",
        tenant_id,
        chain_id,
        kind,
        tx_hash or "unknown",
        payer or "unknown",
        " ".join(known),
    )
    counters.add(counters.REFUND_REPORTS, f"{chain_id} {kind}")
    chains.await_blocks(chain_id)
