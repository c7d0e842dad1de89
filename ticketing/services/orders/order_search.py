"""Find orders by what people know of them. Each way is answered by an index."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from peewee import Expression, fn

from ticketing import ids
from ticketing.chain import address
from ticketing.models.admissions import Admission
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.services import chains
from ticketing.services.orders import intents
from ticketing.services.pagination import Page, PageRequest

MOST = 100
"""How many orders a search returns."""

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_TRANSACTION = re.compile(r"0x[0-9a-fA-F]{64}")


def list_page(
    tenant_id: str,
    page: PageRequest,
    q: str | None,
    event_ids: Collection[str] | None,
    **filters: Any,
) -> Page[PaymentIntent]:
    """Return a page of a tenant's intents, or with `q` those that it identifies, on one page.

    `q` is an order's id, a ticket's id, a payment address, the transaction of a payment, or the
    buyer's complete email address in any case. Then the filters of `intents.list_page` do not
    apply; the newest come first, and of an email address the latest MOST. `event_ids`: only orders
    of these events, in both cases.
    """
    if q is None:
        return intents.list_page(tenant_id, page, event_ids=event_ids, **filters)
    return Page(_find(tenant_id, q, event_ids), None)


def _find(tenant_id: str, text: str, event_ids: Collection[str] | None) -> Sequence[PaymentIntent]:
    of_tenant = PaymentIntent.select().where(PaymentIntent.tenant == tenant_id)
    if event_ids is not None:
        of_tenant = of_tenant.where(PaymentIntent.event.in_(list(event_ids)))
    named = _named(text)
    if named is None:
        email = fn.LOWER(PaymentIntent.buyer_email) == fn.LOWER(text)
        query = of_tenant.where(email, PaymentIntent.buyer_email.is_null(False))
        orders = list(query.order_by(PaymentIntent.id.desc()).limit(MOST))
    else:
        orders = sorted(of_tenant.where(named), key=lambda order: str(order.id), reverse=True)
    intents.add_payment_details(orders)
    return orders


def _named(text: str) -> Expression | None:
    """Return the condition of the few orders with this id, address or transaction."""
    condition: Expression | None = None
    if ids.is_id(ids.INTENT, text.lower()):
        condition = PaymentIntent.id == text.lower()
    elif ids.is_id(ids.ADMISSION, text.lower()):
        admission = Admission.select(Admission.intent).where(Admission.id == text.lower())
        condition = PaymentIntent.id.in_(admission)
    elif _ADDRESS.fullmatch(text):
        condition = PaymentIntent.address == address.checksum(text)
    elif _TRANSACTION.fullmatch(text):
        # The index of payments begins with the chain.
        paid = Payment.select(Payment.intent).where(
            Payment.chain_id.in_(list(chains.states())), Payment.tx_hash == text.lower()
        )
        condition = PaymentIntent.id.in_(paid)
    return condition
