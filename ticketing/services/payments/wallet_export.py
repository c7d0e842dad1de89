"""Every address that was ever issued for a tenant, what it holds now, and what may be swept."""

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
from ticketing.services.payments import address_search, payments, watching

PAGE = 500
ENDED = (IntentStatus.EXPIRED, IntentStatus.CANCELED)


class Sweep(StrEnum):
    """Whether an address may be swept: YES, or why not yet."""

    YES = "yes"
    LIVE = "live"
    ENDED_RECENTLY = "ended_recently"
    NOT_AS_BOOKED = "not_as_booked"
    NOT_SEEN = "not_seen"


@dataclass(frozen=True)
class ExportedAddress:
    """An intent's address; its fields, in their order, are the columns of the export.

    `derivation_path` begins at the key of the account. `balance` and `booked`, what the intent's
    payments add up to, are in the token's own units; `balance` is None where the chain is not
    enabled. `ended_at` is when an order expired or was canceled, None for all others.
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
    """Yield the addresses of a tenant's intents, by intent id, reading a page at a time.

    Those of wallets that were replaced since are among them; a free order has none.
    ChainUnavailable if an enabled chain cannot be seen.
    """
    after = ""
    while page := _page(tenant_id, after):
        held = _balances(page, enabled)
        page = _book_found(page, held, enabled)
        booked = payments.booked_atomic(page)
        known = chains.states()
        for intent in page:
            terms = intent.terms
            balance = held.get(terms.address)
            now = chains.now_on(terms.chain_id, known)
            yield ExportedAddress(
                terms.address,
                f"0/{intent.address_index}",
                terms.chain_id,
                terms.token_address,
                balance,
                intent.id,
                intent.status,
                _ended_at(intent),
                booked[intent.id],
                _sweep(intent, balance, booked[intent.id], now),
            )
        after = page[-1].id


def _sweep(intent: PaymentIntent, balance: int | None, booked: int, now: datetime) -> Sweep:
    ended_at = _ended_at(intent)
    if ended_at is None and intent.status != IntentStatus.CONFIRMED:
        return Sweep.LIVE
    if ended_at is not None and now < ended_at + WATCH_AFTER_END:
        return Sweep.ENDED_RECENTLY
    if balance is None:
        return Sweep.NOT_SEEN
    return Sweep.YES if _is_as_booked(intent, balance, booked) else Sweep.NOT_AS_BOOKED


def _is_as_booked(intent: PaymentIntent, balance: int, booked: int) -> bool:
    """Tell whether an address holds what the books say.

    The books do not know what its owner took away, but what the worker found there last, and how
    far below the books that was.
    """
    is_as_found = str(balance) == intent.swept_balance
    return balance <= booked and (is_as_found or balance - booked == int(intent.swept_surplus or 0))


def _ended_at(intent: PaymentIntent) -> datetime | None:
    ended_at: datetime | None = intent.ended_at
    return ended_at if intent.status in ENDED else None


def _book_found(
    page: list[PaymentIntent], held: Mapping[str, int], enabled: Mapping[int, Chain]
) -> list[PaymentIntent]:
    """Search the logs of ended intents that hold more than is known; return the page as it is then.

    What lies above the worker's cursor is the worker's.
    """
    ended: dict[int, list[PaymentIntent]] = defaultdict(list)
    booked = payments.booked_atomic(page)
    for intent in page:
        balance = held.get(intent.terms.address)
        is_over = intent.status not in LIVE
        if balance is None or not is_over:
            continue
        if not watching.is_explained(intent, balance, booked[intent.id]):
            ended[intent.terms.chain_id].append(intent)
    for chain_id, intents in ended.items():
        cursor = chains.cursor(chain_id)
        if cursor is not None:
            _search(enabled[chain_id], intents, cursor)
    return payments.intents_of([intent.id for intent in page]) if ended else page


def _search(chain: Chain, intents: list[PaymentIntent], cursor: Block) -> None:
    try:
        node = connect(chain)
        unexplained = address_search.compare(node, intents, cursor)
        for intent in payments.intents_of([each.id for each in unexplained]):
            address_search.go_on(node, intent)
    except RpcError as error:
        raise ChainUnavailable(f"chain {chain.chain_id} cannot be seen: {error}") from None


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


def _balances(intents: Sequence[PaymentIntent], enabled: Mapping[int, Chain]) -> dict[str, int]:
    """Return what lies at the addresses of intents, as far as their chains are enabled."""
    holders: dict[tuple[int, str], list[str]] = defaultdict(list)
    for intent in intents:
        terms = intent.terms
        if terms.chain_id in enabled:
            holders[terms.chain_id, terms.token_address].append(terms.address)
    held: dict[str, int] = {}
    for (chain_id, token_address), asked in holders.items():
        held |= zip(asked, _ask(enabled[chain_id], token_address, asked), strict=True)
    return held


def _ask(chain: Chain, token_address: str, holders: Sequence[str]) -> list[int]:
    try:
        node = connect(chain)
        facts = node.token_facts(token_address)
        if facts.chain_id != chain.chain_id:
            raise RpcError(f"the node answers for chain {facts.chain_id}")
        if facts.decimals is None:
            raise RpcError(f"there is no token at {token_address}")
        return node.balances(token_address, holders)
    except RpcError as error:
        raise ChainUnavailable(f"chain {chain.chain_id} cannot be seen: {error}") from None
