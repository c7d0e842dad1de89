"""Find the accounts of orders: the home of each, and its stray accounts."""

from collections.abc import Collection, Iterable, Sequence

from peewee import JOIN

from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.stray_accounts import Account, StrayAccount
from ticketing.models.wallets import Wallet


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
