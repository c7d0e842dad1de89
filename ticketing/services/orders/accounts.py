"""Find the accounts of orders: the home of each, and its stray accounts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import JOIN, Expression, ModelSelect, fn

from ticketing.constants import SOLD
from ticketing.errors import NoRefundDue
from ticketing.models.base import literal
from ticketing.models.payment_intents import (
    OWING,
    REFUNDED,
    TO_REFUND,
    WAIVED,
    PaymentIntent,
)
from ticketing.models.payouts import Payout, PayoutEvent
from ticketing.models.stray_accounts import (
    STRAY_OWING,
    STRAY_REFUNDED,
    STRAY_TO_REFUND,
    STRAY_WAIVED,
    Account,
    StrayAccount,
)
from ticketing.models.wallets import Wallet


@dataclass(frozen=True)
class Kind:
    """One of the two tables of accounts, for queries that ask both in turn.

    `intent` and `stray` are the columns that its own rows (payments, refunds and so on) have.
    `owing`, `to_refund`, `waived` and `refunded` are conditions with partial indexes by tenant.
    """

    model: Any
    intent: Any
    stray: Any
    owing: Expression
    to_refund: Expression
    waived: Expression
    refunded: Expression

    def few_of_tenant(self, tenant_id: str) -> ModelSelect[Any]:
        """Select a tenant's accounts, for a further condition that few of them meet.

        The partial indexes for such conditions contain these expressions. Each account has its
        order.
        """
        if self.model is StrayAccount:
            query = StrayAccount.select(StrayAccount, PaymentIntent).join(PaymentIntent)
            return query.where(StrayAccount.tenant_id == tenant_id)
        return PaymentIntent.select().where(fn.LOWER(PaymentIntent.tenant) == tenant_id)

    def owing_tenants(self) -> Iterator[str]:
        """Yield the tenants that owe something, one after another, each by a look into an index."""
        tenant = self.model.tenant_id
        if self.model is PaymentIntent:
            tenant = fn.LOWER(PaymentIntent.tenant)
        after = ""
        while True:
            later = self.model.select(tenant).where(self.owing, tenant > after)
            row = later.order_by(tenant).limit(1).tuples().first()
            if row is None:
                return
            after = row[0]
            yield after

    def rows(self, model: Any) -> Expression:
        """Return the condition that a row belongs to the account: of payments, refunds, waivers,
        refund addresses or collections.
        """
        found: Expression = (model.intent == self.intent) & (model.stray == self.stray)
        return found

    @property
    def payouts(self) -> Expression:
        """The condition that a payout belongs to the account. It has no other with this place."""
        return self._at_place(Payout)

    @property
    def payout_events(self) -> Expression:
        """The condition that a payment by a list belongs to the account."""
        return self._at_place(PayoutEvent)

    def _at_place(self, model: Any) -> Expression:
        of_place = model.chain_id == self.model.chain_id
        of_place &= model.token_address == self.model.token_address
        found: Expression = (model.intent == self.intent) & of_place
        return found


HOMES = Kind(PaymentIntent, PaymentIntent.id, literal(""), OWING, TO_REFUND, WAIVED, REFUNDED)
STRAYS = Kind(
    StrayAccount,
    StrayAccount.intent,
    StrayAccount.id,
    STRAY_OWING,
    STRAY_TO_REFUND,
    STRAY_WAIVED,
    STRAY_REFUNDED,
)
KINDS = (HOMES, STRAYS)


def place(account: Account) -> tuple[str, bool]:
    """Return where an account stands in a list of both kinds: a stray comes after its order.

    Both lists are ordered by id in the database, whose order of signs may be another one than
    Python's. The ids of orders are in one order everywhere.
    """
    return account.intent_id, bool(account.stray)


def at(chain_id: int, token_address: str, addresses: Collection[str]) -> dict[str, Account]:
    """Return the accounts for a token on a chain that have some of these addresses, by address.

    Each has its order's wallet.
    """
    wanted = list(addresses)
    homes = (
        PaymentIntent.select(PaymentIntent, Wallet)
        .join(Wallet, JOIN.LEFT_OUTER)
        .where(
            PaymentIntent.address.in_(wanted),
            PaymentIntent.chain_id == chain_id,
            PaymentIntent.token_address == token_address,
        )
    )
    strays = (
        StrayAccount.select(StrayAccount, PaymentIntent, Wallet)
        .join(PaymentIntent)
        .join(Wallet)
        .where(
            StrayAccount.address.in_(wanted),
            StrayAccount.chain_id == chain_id,
            StrayAccount.token_address == token_address,
        )
    )
    found: list[Account] = [*homes, *strays]
    return {each.terms.address: each for each in found}


def named(
    intent: PaymentIntent, chain_id: int | None, token_address: str | None = None
) -> Account | None:
    """Return the account of an order on a chain, by default its home. None: it has none there.

    A chain may have several, for different tokens. Without a token it is the one that the order can
    be paid in, else the first.
    """
    every: list[Account] = [intent, *strays_of(intent)]
    wanted = intent.chain_id if chain_id is None else chain_id
    found = [each for each in every if each.chain_id == wanted]
    if token_address is not None:
        token = token_address.lower()
        found = [each for each in found if (each.token_address or "").lower() == token]
    return min(found, key=_cannot_be_home, default=None)


def owing(intent: PaymentIntent, chain_id: int | None, token_address: str | None = None) -> Account:
    """Return the account whose refund somebody names: see `named`. NoRefundDue: there is none."""
    account = named(intent, chain_id, token_address)
    if account is None:
        raise NoRefundDue
    return account


def in_audit(account: Account) -> dict[str, Any]:
    """Return what an entry of the audit log says besides the order: nothing of the home."""
    if not account.stray:
        return {}
    return {"chain_id": account.chain_id, "token_address": account.token_address}


def _cannot_be_home(account: Account) -> bool:
    return isinstance(account, StrayAccount) and not account.is_option


def strays_of(intent: PaymentIntent) -> Sequence[StrayAccount]:
    """Return the stray accounts of an order, by id. Without any, nothing is read."""
    if not intent.strays_version:
        return ()
    found = list(StrayAccount.select().where(StrayAccount.intent == intent.id))
    for account in found:
        account.intent = intent
    return sorted(found, key=lambda account: str(account.id))


def has_money(order: PaymentIntent) -> bool:
    """Return whether money was received for an order. It may be undone, or sent back."""
    if order.amount_received > 0 or (order.amount > 0 and order.status in SOLD):
        return True
    return any(account.amount_received > 0 for account in strays_of(order))


def of_intents(intents: Iterable[PaymentIntent]) -> dict[str, Sequence[StrayAccount]]:
    """Return the stray accounts of each order, by the order's id. Without any, nothing is read."""
    by_id = {intent.id: intent for intent in intents if intent.strays_version}
    found: dict[str, list[StrayAccount]] = {}
    if by_id:
        rows = StrayAccount.select().where(StrayAccount.intent.in_(list(by_id)))
        for account in rows.order_by(StrayAccount.id):
            account.intent = by_id[account.intent_id]
            found.setdefault(account.intent_id, []).append(account)
    return dict(found)
