"""Look for strays of one tenant now, before a list that is signed.

The worker looks at live and recently ended orders each minute, and at older ones once a day. What
an organizer signs must know what came since.
"""

from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.chain.node import Node
from ticketing.chain.registry import Chain
from ticketing.services import chains
from ticketing.services.payments import stray_search, watched_orders

PAGE = 500
"""How many balances one request reads."""

MOST_ORDERS = 5_000
"""Of how many orders a list reads the balances, the newest first: ten calls of a node."""


def before_list(node: Node, chain: Chain, token_address: str, tenant_id: str, at: Block) -> None:
    """Read the balances of a token of a tenant's newest orders of the last 30 days. RpcError.

    `at` is the worker's cursor on the chain. Money that is found opens a stray account. The worker
    searches its logs, and books it. Call it outside of a transaction.
    """
    state = chains.state(chain.chain_id)
    tokens = () if state is None else stray_search.tokens(chain, state)
    token = next((each for each in tokens if each.address == token_address), None)
    # Look-alikes are not on each chain: on a local one, usually.
    if token is None or not (token_address == chain.token_address or node.is_token(token_address)):
        return
    orders = watched_orders.elsewhere(
        list(chains.states()),
        chain.chain_id,
        token_address,
        clock.now(),
        with_old=True,
        tenant_id=tenant_id,
    )
    newest = sorted(orders, key=lambda order: str(order.id), reverse=True)[:MOST_ORDERS]
    for start in range(0, len(newest), PAGE):
        stray_search.look(node, token, newest[start : start + PAGE], at)
