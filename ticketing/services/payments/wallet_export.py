"""Every address that was ever issued for a tenant, and what lies there now."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ticketing.chain.errors import RpcError
from ticketing.chain.node import connect
from ticketing.chain.registry import Chain
from ticketing.errors import ChainUnavailable
from ticketing.models.payment_intents import PaymentIntent

PAGE = 500


@dataclass(frozen=True)
class ExportedAddress:
    """An intent's address; its fields, in their order, are the columns of the export.

    `derivation_path` begins at the key of the account. `balance` is in the token's own units,
    None where the chain is not enabled.
    """

    address: str
    derivation_path: str
    chain_id: int
    token_address: str
    balance: int | None
    intent_id: str


def addresses(tenant_id: str, enabled: Mapping[int, Chain]) -> Iterator[ExportedAddress]:
    """Yield the addresses of a tenant's intents, by intent id, reading a page at a time.

    Those of wallets that were replaced since are among them; a free order has none.
    ChainUnavailable if an enabled chain cannot be seen.
    """
    after = ""
    while page := _page(tenant_id, after):
        held = _balances(page, enabled)
        for intent in page:
            terms = intent.terms
            yield ExportedAddress(
                terms.address,
                f"0/{intent.address_index}",
                terms.chain_id,
                terms.token_address,
                held.get(terms.address),
                intent.id,
            )
        after = page[-1].id


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
