"""Look for strays of one tenant now: before a list that is signed, and before an export.

The worker looks at live and recently ended orders each minute, and at older ones once a day. What
an organizer signs, or takes away, must know what came since.
"""

from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.chain.node import Node
from ticketing.chain.registry import Chain
from ticketing.models.stray_accounts import StrayAccount
from ticketing.services import chains
from ticketing.services.payments import address_search, stray_search, watched_orders

MOST_ORDERS = 5_000
"""Of how many orders a request reads the balances, the newest first: ten calls of a node."""


def look(node: Node, chain: Chain, tenant_id: str, cursor: Block, most: int | None = None) -> None:
    """Read the balances on a chain of a tenant's orders of the last 30 days. RpcError.

    Money that is found opens a stray account. The worker searches its logs, and books it. `most`:
    see MOST_ORDERS. None: all orders. Call it outside of a transaction.
    """
    states = chains.states()
    state = states.get(chain.chain_id)
    if state is None:
        return
    for token in stray_search.tokens(chain, state):
        orders = watched_orders.elsewhere(
            list(states),
            chain.chain_id,
            token.address,
            clock.now(),
            with_old=True,
            tenant_id=tenant_id,
        )
        newest = sorted(orders, key=lambda order: str(order.id), reverse=True)[:most]
        if newest:
            stray_search.look(node, token, newest, cursor)


def look_and_search(node: Node, chain: Chain, tenant_id: str, cursor: Block) -> None:
    """Do the same for all these orders, and search the logs of what is found. RpcError."""
    look(node, chain, tenant_id, cursor)
    for account in watched_orders.to_search(chain.chain_id):
        if isinstance(account, StrayAccount) and account.tenant_id == tenant_id:
            address_search.go_on(node, account)
