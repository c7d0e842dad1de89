"""Export every address of a tenant's intents, with its balance and whether it may be swept."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ticketing.chain.answers import Block
from ticketing.chain.errors import RpcError
from ticketing.chain.node import connect
from ticketing.chain.registry import Chain
from ticketing.constants import LIVE, WATCH_AFTER_END, IntentStatus
from ticketing.errors import ChainUnavailable
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains
from ticketing.services.payments import address_search, collections, payments, watched_orders

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
    """An intent's address. Its fields, in their order, are the columns of the export.

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

    Addresses of replaced wallets are included. Free orders have no address. ChainUnavailable if an
    enabled chain cannot be read.
    """
    after = ""
    while page := _page(tenant_id, after):
        balances = balances_of(page, enabled)
        page = _book_found(page, balances, enabled)
        booked = payments.booked_atomic(page)
        receivers = collections.receivers_among(page)
        chain_states = chains.states()
        for intent in page:
            terms = intent.terms
            balance = balances.get(terms.address)
            now = chains.now_on(terms.chain_id, chain_states)
            is_receiver = intent.id in receivers
            yield ExportedAddress(
                terms.address,
                "" if is_receiver else f"0/{intent.address_index}",
                terms.chain_id,
                terms.token_address,
                balance,
                intent.id,
                intent.status,
                _ended_at(intent),
                booked[intent.id],
                Sweep.RECEIVER if is_receiver else _sweep(intent, balance, booked[intent.id], now),
            )
        after = page[-1].id


def _sweep(intent: PaymentIntent, balance: int | None, booked: int, now: datetime) -> Sweep:
    ended_at = _ended_at(intent)
    if ended_at is None and not intent.final:
        return Sweep.LIVE
    if ended_at is not None and now < ended_at + WATCH_AFTER_END:
        return Sweep.ENDED_RECENTLY
    if balance is None:
        return Sweep.NOT_SEEN
    return Sweep.YES if _is_as_booked(intent, balance, booked) else Sweep.NOT_AS_BOOKED


def _is_as_booked(intent: PaymentIntent, balance: int, booked: int) -> bool:
    """Return whether the balance of an address matches the recorded payments.

    Withdrawals by the owner are not recorded. But the worker keeps the balance that it found last,
    and how far that was below the recorded payments.

    Example: 10 are booked. A balance of 10 matches. A balance of 4 matches only once the worker has
    found it: then the owner took 6.
    """
    is_as_found = str(balance) == intent.swept_balance
    return balance <= booked and (is_as_found or balance - booked == int(intent.swept_surplus or 0))


def _ended_at(intent: PaymentIntent) -> datetime | None:
    ended_at: datetime | None = intent.ended_at
    return ended_at if intent.status in ENDED else None


def _book_found(
    page: list[PaymentIntent], balances: Mapping[str, int], enabled: Mapping[int, Chain]
) -> list[PaymentIntent]:
    """Search for what the books lack of ended intents' addresses. Return the updated page.

    Only blocks up to the worker's cursor are searched. The worker reads newer ones.
    """
    ended: dict[int, list[PaymentIntent]] = defaultdict(list)
    held = collections.held(page)
    for intent in page:
        balance = balances.get(intent.terms.address)
        is_over = intent.status not in LIVE
        if balance is None or not is_over:
            continue
        if not watched_orders.is_explained(intent, balance, held[intent.id]):
            ended[intent.terms.chain_id].append(intent)
    for chain_id, intents in ended.items():
        cursor = chains.cursor(chain_id)
        if cursor is not None:
            _search(enabled[chain_id], intents, cursor)
    return payments.intents_of([intent.id for intent in page]) if ended else page


def _search(chain: Chain, intents: list[PaymentIntent], cursor: Block) -> None:
    try:
        node = connect(chain)
        unexplained = address_search.compare(node, chain.chain_id, intents, cursor)
        for intent in payments.intents_of([each.id for each in unexplained]):
            address_search.go_on(node, intent)
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


def balances_of(intents: Sequence[PaymentIntent], enabled: Mapping[int, Chain]) -> dict[str, int]:
    """Return the balances of the intents' addresses on enabled chains, in atomic units.

    ChainUnavailable if an enabled chain cannot be read.
    """
    holders: dict[tuple[int, str], list[str]] = defaultdict(list)
    for intent in intents:
        terms = intent.terms
        if terms.chain_id in enabled:
            holders[terms.chain_id, terms.token_address].append(terms.address)
    balances: dict[str, int] = {}
    for (chain_id, token_address), group in holders.items():
        balances |= zip(group, _ask(enabled[chain_id], token_address, group), strict=True)
    return balances


def _ask(chain: Chain, token_address: str, holders: Sequence[str]) -> list[int]:
    try:
        node = connect(chain)
        facts = node.token_facts(token_address)
        if facts.chain_id != chain.chain_id:
            raise RpcError(f"the node serves chain {facts.chain_id}, not {chain.chain_id}")
        if facts.decimals is None:
            raise RpcError(f"there is no token at {token_address}")
        return node.balances(token_address, holders)
    except RpcError as error:
        raise ChainUnavailable(f"chain {chain.chain_id} cannot be read: {error}") from None
