"""The version of an order. It changes whenever the API shows another state of the order.

Names of ticket types, codes of vouchers, and whether a network can be used at the moment are no
state of the order: they do not change it.
"""

from __future__ import annotations

import hashlib
from typing import Any

from peewee import JOIN, ModelSelect, fn

from ticketing.errors import NotFound
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.refunds import Refund
from ticketing.models.tenants import Tenant
from ticketing.services.orders import intents

_SHOWN = (
    PaymentIntent.status,
    PaymentIntent.early,
    PaymentIntent.flags,
    PaymentIntent.paid_block,
    PaymentIntent.expires_at,
    PaymentIntent.confirmed_at,
    PaymentIntent.ended_at,
    PaymentIntent.chain_id,
    PaymentIntent.books_version,
    PaymentIntent.payees_version,
)
"""What can change of an order, and is shown or decides what is shown."""

# Confirmations depend on the chain only once the order is paid.
_COUNTS_BLOCKS = (ChainState.chain_id == PaymentIntent.chain_id) & (
    PaymentIntent.paid_block.is_null(False)
)
# Another refund may have the same amount as one that left the chain.
_LAST_REFUND = Refund.select(fn.MAX(Refund.id)).where(
    Refund.intent == PaymentIntent.id, Refund.canonical
)


@Prepared
def _of(tenant: Any, intent_id: Any) -> ModelSelect[PaymentIntent]:
    return (
        PaymentIntent.select(
            *_SHOWN, ChainState.block_number, _LAST_REFUND, PaymentIntent.link_generation
        )
        .join_from(PaymentIntent, Tenant)
        .join_from(PaymentIntent, ChainState, JOIN.LEFT_OUTER, on=_COUNTS_BLOCKS)
        .where(PaymentIntent.id == intent_id, (Tenant.id == tenant) | (Tenant.slug == tenant))
    )


def tag(tenant_reference: str, intent_id: str, generation: int | None = None) -> str:
    """Return the version of an intent of the tenant with this slug or id. One query. NotFound.

    `generation`: that of the secret that asks, if one does. NotFound, too, if that has ended.
    """
    rows = _of.tuples(tenant=tenant_reference, intent_id=intent_id)
    if not rows:
        raise NotFound("This intent does not exist.")
    *shown, current = rows[0]
    if generation is not None:
        intents.check_link(current, generation)
    return hashlib.blake2b(repr(tuple(shown)).encode(), digest_size=12).hexdigest()
