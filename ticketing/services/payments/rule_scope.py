"""What the rules of reconciliation.py share: what to check, and how to find what breaks a rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import ModelSelect, fn

from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.models.vouchers import Voucher

BREACHES_PER_RULE = 100
"""The most breaches per rule. The reader needs examples to find the cause, not every row."""

Rows = Iterable[tuple[list[str], str]]
"""Breaches of one rule: the ids of the inconsistent rows, and a description."""

Owned = Event | TicketType | Voucher | PaymentIntent
"""Models that belong to a tenant."""


@dataclass(frozen=True)
class Scope:
    """What to check: one tenant, or all (None).

    `ticket_types`, `intents` and `accounts`: the only rows that may be inconsistent. None: all may
    be.
    """

    tenant_id: str | None
    ticket_types: Sequence[str] | None
    intents: Sequence[str] | None
    accounts: Sequence[int] | None


def doubtful(model: type[Owned], doubt: Any, tenant_id: str | None) -> Sequence[str] | None:
    """Return the ids of doubtful rows of `model`. None if there are too many to list."""
    query = of_tenant(model.select(model.id).where(doubt), model, tenant_id)
    ids = [row.id for row in query.limit(BREACHES_PER_RULE + 1)]
    return ids if len(ids) <= BREACHES_PER_RULE else None


def first(query: ModelSelect[Any], model: type[Owned], scope: Scope) -> Iterable[Any]:
    """Return the first rows as tuples, ordered by the id of `model`. Only doubtful rows."""
    ids = {TicketType: scope.ticket_types, PaymentIntent: scope.intents}.get(model)
    if ids == []:
        return []
    if ids is not None:
        query = query.where(model.id.in_(ids))
    query = of_tenant(query, model, scope.tenant_id).order_by(model.id)
    return query.limit(BREACHES_PER_RULE).tuples()


def of_tenant(
    query: ModelSelect[Any], model: type[Owned], tenant_id: str | None
) -> ModelSelect[Any]:
    """Restrict the query to rows of `model` that belong to a tenant, if one is given."""
    return query if tenant_id is None else query.where(model.tenant == tenant_id)


def total(column: Any) -> Any:
    """Return the SQL sum of a column as a whole number, 0 without rows."""
    # In Postgres a sum of bigints is numeric, and its division would not be an integer division.
    return fn.COALESCE(fn.SUM(column), 0).cast("BIGINT")
