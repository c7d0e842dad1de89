"""Export every address of a tenant's intents, with its balance and whether it may be swept.

An order that received money on several networks has a line for each.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ticketing.chain.answers import Block
from ticketing.chain.errors import RpcError
from ticketing.chain.node import Node, connect
from ticketing.chain.registry import Chain
from ticketing.constants import LIVE, WATCH_AFTER_END, IntentStatus
from ticketing.errors import ChainUnavailable
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.stray_accounts import Account
from ticketing.services import chains
from ticketing.services.orders import accounts
from ticketing.services.payments import (
    address_search,
    collections,
    fresh_look,
    payments,
    watched_orders,
)

PAGE = 500
ENDED = (IntentStatus.EXPIRED, IntentStatus.CANCELED)


class Sweep(StrEnum):
    """Whether an address may be swept: YES, or the reason why not."""

    YES = "yes"
    LIVE = "live"
    ENDED_RECENTLY = "ended_recently"
    NOT_AS_BOOKED = "not_as_booked"
    NOT_SEEN = "not_seen"
    RECEIVER = "receiver"
    """No key can sign for it: tools.collect collects it."""


@dataclass(frozen=True)
class ExportedAddress:
    """An intent's address on one chain. Its fields, in their order, are the columns of the export.

    `derivation_path` starts at the account's key. A receiver has none. `balance` and `booked`, the
    sum of the intent's payments, are in atomic units of the token. `balance` is None if the chain
    is not enabled. `ended_at` is when the order expired or was canceled, None for other orders.
    """

    address: str
    derivation_path: str
    chain_id: int
    token_address: str
    balance: int | None
    intent_id: str
    status: str
    ended_at: datetime | None
    booked: int
    sweep: Sweep


def addresses(tenant_id: str, enabled: Mapping[int, Chain]) -> Iterator[ExportedAddress]:
    """Yield the addresses of a tenant's intents, ordered by intent id. Reads page by page.

    First, all enabled chains are asked for money of intents of the last 30 days that are paid on
    another chain. Addresses of replaced wallets are included. Free orders have no address.
    ChainUnavailable if an enabled chain cannot be read.
    """
    _look_elsewhere(tenant_id, enabled)
    after = ""
    while page := _page(tenant_id, after):
        after = page[-1].id
        every = _with_strays(page)
        balances = balances_of(every, enabled)
        if _book_found(every, balances, enabled):
            every = _with_strays(payments.intents_of([intent.id for intent in page]))
        booked = payments.booked_atomic(every)
        receivers = collections.receivers_among(every)
        chain_states = chains.states()
        for account in every:
            terms, order = account.terms, account.order
            balance = balances.get(account.id)
            now = chains.now_on(terms.chain_id, chain_states)
            is_receiver = account.id in receivers
            yield ExportedAddress(
                terms.address,
                "" if is_receiver else f"0/{order.address_index}",
                terms.chain_id,
                terms.token_address,
                balance,
                order.id,
                order.status,
                _ended_at(order),
                booked[account.id],
                Sweep.RECEIVER
                if is_receiver
                else _sweep(account, balance, booked[account.id], now),
            )


def _look_elsewhere(tenant_id: str, enabled: Mapping[int, Chain]) -> None:
    for chain in enabled.values():
        cursor = chains.cursor(chain.chain_id)
        if cursor is not None:
            with _asking(chain) as node:
                fresh_look.before_export(node, chain, tenant_id, cursor)


def _with_strays(intents: Sequence[PaymentIntent]) -> list[Account]:
    """Return the accounts of intents: each home, and then its strays that received something."""
    strays = accounts.of_intents(intents)
    found: list[Account] = []
    for intent in intents:
        elsewhere = strays.get(intent.id, ())
        found += [intent, *(each for each in elsewhere if each.amount_received)]
    return found


def _sweep(account: Account, balance: int | None, booked: int, now: datetime) -> Sweep:
    ended_at = _ended_at(account.order)
    if ended_at is None and not account.order.final:
        return Sweep.LIVE
    if ended_at is not None and now < ended_at + WATCH_AFTER_END:
        return Sweep.ENDED_RECENTLY
    if balance is None:
        return Sweep.NOT_SEEN
    return Sweep.YES if _is_as_booked(account, balance, booked) else Sweep.NOT_AS_BOOKED


def _is_as_booked(account: Account, balance: int, booked: int) -> bool:
    """Return whether the balance of an address matches the recorded payments.

    Withdrawals by the owner are not recorded. But the worker keeps the balance that it found last,
    and how far that was below the recorded payments.

    Example: 10 are booked. A balance of 10 matches. A balance of 4 matches only once the worker has
    found it: then the owner took 6.
    """
    is_as_found = str(balance) == account.swept_balance
    return balance <= booked and (
        is_as_found or balance - booked == int(account.swept_surplus or 0)
    )


def _ended_at(intent: PaymentIntent) -> datetime | None:
    ended_at: datetime | None = intent.ended_at
    return ended_at if intent.status in ENDED else None


def _book_found(
    page: Sequence[Account], balances: Mapping[str, int], enabled: Mapping[int, Chain]
) -> bool:
    """Search for what the books lack of ended intents' addresses. Return whether anything is.

    Only blocks up to the worker's cursor are searched. The worker reads newer ones.
    """
    ended: dict[int, list[Account]] = defaultdict(list)
    held = collections.held(page)
    for account in page:
        balance = balances.get(account.id)
        is_over = account.order.status not in LIVE
        if balance is None or not is_over:
            continue
        if not watched_orders.is_explained(account, balance, held[account.id]):
            ended[account.terms.chain_id].append(account)
    for chain_id, some in ended.items():
        cursor = chains.cursor(chain_id)
        if cursor is not None:
            _search(enabled[chain_id], some, cursor)
    return bool(ended)


def _search(chain: Chain, some: Sequence[Account], cursor: Block) -> None:
    with _asking(chain) as node:
        unexplained = address_search.compare(node, chain.chain_id, some, cursor)
        wanted = {each.id for each in unexplained}
        for account in watched_orders.to_search(chain.chain_id):
            if account.id in wanted:
                address_search.go_on(node, account)


@contextmanager
def _asking(chain: Chain) -> Iterator[Node]:
    """Yield the node of a chain. ChainUnavailable if it cannot be read."""
    try:
        yield connect(chain)
    except RpcError as error:
        raise ChainUnavailable(f"chain {chain.chain_id} cannot be read: {error}") from None


def _page(tenant_id: str, after: str) -> list[PaymentIntent]:
    return list(
        PaymentIntent.select()
        .where(
            PaymentIntent.tenant == tenant_id,
            PaymentIntent.id > after,
            PaymentIntent.address.is_null(False),
        )
        .order_by(PaymentIntent.id)
        .limit(PAGE)
    )


def balances_of(page: Sequence[Account], enabled: Mapping[int, Chain]) -> dict[str, int]:
    """Return the balances of accounts on enabled chains, in atomic units, by the account's id.

    ChainUnavailable if an enabled chain cannot be read.
    """
    holders: dict[tuple[int, str], list[Account]] = defaultdict(list)
    for account in page:
        terms = account.terms
        if terms.chain_id in enabled:
            holders[terms.chain_id, terms.token_address].append(account)
    balances: dict[str, int] = {}
    for (chain_id, token_address), group in holders.items():
        addresses = [account.terms.address for account in group]
        held = _ask(enabled[chain_id], token_address, addresses)
        balances |= zip((account.id for account in group), held, strict=True)
    return balances


def _ask(chain: Chain, token_address: str, holders: Sequence[str]) -> list[int]:
    with _asking(chain) as node:
        facts = node.token_facts(token_address)
        if facts.chain_id != chain.chain_id:
            raise RpcError(f"the node serves chain {facts.chain_id}, not {chain.chain_id}")
        if facts.decimals is None:
            raise RpcError(f"there is no token at {token_address}")
        return node.balances(token_address, holders)
