"""Find the accounts of orders, and write them. The lock of an account is that of its order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from peewee import JOIN, Expression, ModelSelect

from ticketing.constants import LIVE, SOLD, WATCH_AFTER_END, IntentStatus
from ticketing.errors import NoRefundDue
from ticketing.models.order_accounts import OWING, OrderAccount
from ticketing.models.order_networks import OrderNetwork
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared, new_row, prepared_insert
from ticketing.models.wallets import Wallet

_insert = prepared_insert(OrderAccount)


def open_home(intent: PaymentIntent, columns: Mapping[str, Any]) -> None:
    """Store the account that a new order is paid in, with these terms."""
    home = new_row(
        OrderAccount,
        {
            "intent": intent.id,
            "chain_id": intent.chain_id,
            "token_address": intent.token_address,
            "tenant_id": intent.tenant_id,
            "event_id": intent.event_id,
            "wallet_id": intent.wallet_id,
            "address": intent.address,
            **columns,
        },
    )
    _insert(home)
    home.intent = intent
    intent.accounts = [home]


def new(
    intent: PaymentIntent, network: OrderNetwork, *, is_option: bool, in_reach: bool, **columns: Any
) -> OrderAccount:
    """Return another account of an order, on a network. It is not stored."""
    return OrderAccount(
        intent=intent,
        chain_id=network.chain_id,
        token_address=network.token_address,
        tenant_id=intent.tenant_id,
        event_id=intent.event_id,
        wallet_id=intent.wallet_id,
        address=intent.address,
        symbol=network.symbol,
        token_decimals=network.decimals,
        required_confirmations=network.required_confirmations,
        is_option=is_option,
        in_reach=in_reach,
        **state_of(intent),
        **columns,
    )


def store(account: OrderAccount) -> None:
    """Store a new account of a locked order."""
    intent = account.order
    account.save(force_insert=True)
    intent.accounts = [*intent.accounts, account]


def state_of(intent: PaymentIntent) -> dict[str, datetime | None]:
    """Return what the accounts of an order know of its state: see OrderAccount.

    A live order is watched, and one that has ended as long as its home.
    """
    collectable_at = None
    if intent.status == IntentStatus.CONFIRMED:
        collectable_at = intent.confirmed_at
    elif intent.status in (IntentStatus.EXPIRED, IntentStatus.CANCELED) and intent.accounts:
        collectable_at = intent.ended_at + WATCH_AFTER_END
    return {
        "watch_until": None if intent.status in LIVE else intent.home.watch_until,
        "sold_at": intent.confirmed_at,
        "collectable_at": collectable_at,
    }


def differs(account: OrderAccount, columns: Mapping[str, Any]) -> bool:
    """Return whether an account has another value in one of these columns."""
    return any(getattr(account, name) != value for name, value in columns.items())


def write(account: OrderAccount, columns: Mapping[str, Any]) -> None:
    """Write what is new of the columns of an account of a locked order."""
    changes = {name: value for name, value in columns.items() if getattr(account, name) != value}
    if changes:
        OrderAccount.update(changes).where(OrderAccount.id == account.id).execute()
        for name, value in changes.items():
            setattr(account, name, value)


def note_change(intent: PaymentIntent) -> None:
    """Count a change of what the accounts of a locked order hold."""
    intent.books_version += 1
    columns = {PaymentIntent.books_version: intent.books_version}
    PaymentIntent.update(columns).where(PaymentIntent.id == intent.id).execute()


def read(intents: Iterable[PaymentIntent]) -> None:
    """Read the accounts of orders, with one statement for all."""
    found: dict[str, list[OrderAccount]] = {}
    by_id = {str(each.id): each for each in intents if each.chain_id is not None}
    if by_id:
        rows: list[OrderAccount] = _of_intents.rows(intent_ids=tuple(by_id))
        for account in rows:
            account.intent = by_id[account.intent_id]
            found.setdefault(account.intent_id, []).append(account)
    for intent_id, intent in by_id.items():
        intent.accounts = found[intent_id]


def keep(intent: PaymentIntent, found: Sequence[OrderAccount]) -> None:
    """Set the accounts of an intent that were read with it."""
    for account in found:
        account.intent = intent
    intent.accounts = sorted(found, key=lambda account: int(account.id or 0))


@Prepared
def _of_intents(intent_ids: Any) -> ModelSelect[OrderAccount]:
    query = OrderAccount.select().where(OrderAccount.intent.in_(intent_ids))
    return query.order_by(OrderAccount.id)


def of_tenant(tenant_id: str) -> ModelSelect[OrderAccount]:
    """Select the accounts of a tenant with their orders, for a condition that few of them meet.

    There are partial indexes by tenant for such conditions, and none for all accounts.
    """
    query = OrderAccount.select(OrderAccount, PaymentIntent).join(PaymentIntent)
    return query.where(OrderAccount.tenant_id == tenant_id)


def owing_tenants() -> Iterator[str]:
    """Yield the tenants that owe something, one after another, each by a look into an index."""
    tenant, after = OrderAccount.tenant_id, ""
    while True:
        later = OrderAccount.select(tenant).where(OWING, tenant > after).order_by(tenant)
        row = later.limit(1).tuples().first()
        if row is None:
            return
        after = row[0]
        yield after


def at_place(model: Any) -> Expression:
    """Return the condition that a payout, or a payment by a list, is one of the account."""
    found: Expression = (
        (model.intent == OrderAccount.intent)
        & (model.chain_id == OrderAccount.chain_id)
        & (model.token_address == OrderAccount.token_address)
    )
    return found


def place(account: OrderAccount) -> tuple[str, int]:
    """Return where an account stands in a list: by its order, then as it was opened."""
    return account.intent_id, int(account.id)


def at(chain_id: int, token_address: str, addresses: Collection[str]) -> dict[str, OrderAccount]:
    """Return the accounts for a token on a chain that have some of these addresses, by address.

    Each has its order, with the wallet.
    """
    query = (
        OrderAccount.select(OrderAccount, PaymentIntent, Wallet)
        .join(PaymentIntent)
        .join(Wallet, JOIN.LEFT_OUTER)
        .where(
            OrderAccount.address.in_(list(addresses)),
            OrderAccount.chain_id == chain_id,
            OrderAccount.token_address == token_address,
        )
    )
    return {account.address: account for account in query}


def named(
    intent: PaymentIntent, chain_id: int | None, token_address: str | None = None
) -> OrderAccount | None:
    """Return the account of an order on a chain, by default its home. None: it has none there.

    A chain may have several, for different tokens. Without a token it is the home, else the one
    that the order can be paid in, else the first. The home of a free order has no money.
    """
    wanted = intent.chain_id if chain_id is None else chain_id
    if wanted is None:
        return intent.home
    found = [each for each in intent.accounts if each.chain_id == wanted]
    if token_address is not None:
        token = token_address.lower()
        found = [each for each in found if each.token_address.lower() == token]
    return min(found, key=lambda each: (not each.is_home, not each.is_option), default=None)


def owing(
    intent: PaymentIntent, chain_id: int | None, token_address: str | None = None
) -> OrderAccount:
    """Return the account whose refund somebody names: see `named`. NoRefundDue: there is none."""
    account = named(intent, chain_id, token_address)
    if account is None:
        raise NoRefundDue
    return account


def in_audit(account: OrderAccount) -> dict[str, Any]:
    """Return what an entry of the audit log says besides the order: nothing of the home."""
    if account.is_home:
        return {}
    return {"chain_id": account.chain_id, "token_address": account.token_address}


def has_money(order: PaymentIntent) -> bool:
    """Return whether money was received for an order. It may be undone, or sent back."""
    if order.amount > 0 and order.status in SOLD:
        return True
    return any(account.received > 0 for account in order.accounts)
