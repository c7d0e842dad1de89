"""Look for strays of one tenant now: before a list that is signed, and before an export.

The worker looks at live and recently ended orders each minute, and at older ones once a day. What
an organizer signs, or takes away, must know what came since.
"""

from collections.abc import Sequence

from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.chain.node import Node
from ticketing.chain.registry import Chain
from ticketing.services import chains
from ticketing.services.payments import address_search, stray_search, watched_orders
from ticketing.services.payments.stray_search import Token

PAGE = 500
"""How many balances one request reads."""

MOST_ORDERS = 5_000
"""Of how many orders a list reads the balances, the newest first: ten calls of a node."""


def before_list(node: Node, chain: Chain, token_address: str, tenant_id: str, at: Block) -> None:
    """Read the balances of a token of a tenant's newest orders of the last 30 days. RpcError.

    `at` is the worker's cursor on the chain. Money that is found opens a stray account. The worker
    searches its logs, and books it. Call it outside of a transaction.
    """
    for token in _tokens(chain):
        if token.address == token_address:
            _look(node, token, tenant_id, at, MOST_ORDERS)


def before_export(node: Node, chain: Chain, tenant_id: str, at: Block) -> None:
    """Do the same for all tokens and orders, and search the logs of what is found. RpcError."""
    for token in _tokens(chain):
        _look(node, token, tenant_id, at)
    for account in watched_orders.to_search(chain.chain_id):
        if account.tenant_id == tenant_id:
            address_search.go_on(node, account)


def _tokens(chain: Chain) -> Sequence[Token]:
    state = chains.state(chain.chain_id)
    return () if state is None else stray_search.tokens(chain, state)


def _look(node: Node, token: Token, tenant_id: str, at: Block, most: int | None = None) -> None:
    # Look-alikes are not on each chain: on a local one, usually.
    if token.address != token.chain.token_address and not node.is_token(token.address):
        return
    orders = watched_orders.elsewhere(
        list(chains.states()),
        token.chain.chain_id,
        token.address,
        clock.now(),
        with_old=True,
        tenant_id=tenant_id,
    )
    newest = sorted(orders, key=lambda order: str(order.id), reverse=True)[:most]
    for start in range(0, len(newest), PAGE):
        stray_search.look(node, token, newest[start : start + PAGE], at)
