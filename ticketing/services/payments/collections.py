"""Collections: what receivers passed on to their owners, so that each balance can be explained."""

from collections.abc import Iterable, Sequence
from typing import Any

from peewee import fn

from ticketing.chain import units
from ticketing.models.collections import Collection
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.payments import payments


def held_atomic(intents: Sequence[PaymentIntent]) -> dict[str, int]:
    """Return what each intent's address must hold: its payments less its collections.

    In atomic units. For an address of an xpub, nobody books what its owner took: see
    watched_orders.is_explained.
    """
    held = payments.booked_atomic(intents)
    decimals = {intent.id: intent.terms.decimals for intent in intents}
    sums = Collection.select(
        Collection.intent, fn.SUM(Collection.amount), fn.SUM(Collection.dust)
    ).where(Collection.intent.in_(list(decimals)), Collection.canonical)
    rows: Iterable[Any] = sums.group_by(Collection.intent).tuples()
    for intent_id, amount, dust in rows:
        # Postgres returns a sum as a Decimal.
        held[intent_id] -= units.to_atomic(int(amount), decimals[intent_id]) + int(dust)
    return held
