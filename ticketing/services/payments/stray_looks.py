"""When each chain was looked at for money of orders with another home.

Before an order expires, the other chains must have been looked at, unless they are down.
"""

from collections.abc import Sequence
from datetime import timedelta

from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains

YOUNG = timedelta(seconds=120)
"""How old the last look for strays may be when an order expires."""

WAIT_AT_MOST = timedelta(minutes=5)
"""How long after its deadline an order waits for looks on other chains."""


def note_look(chain_id: int, at: Block) -> None:
    """Store that the balances of all live orders with another home were read after a block."""
    columns = {ChainState.strays_looked_at: clock.now(), ChainState.strays_block: at.number}
    ChainState.update(columns).where(ChainState.chain_id == chain_id).execute()


def looked_at_elsewhere(intent_ids: Sequence[str], chain_id: int, cursor: Block) -> list[str]:
    """Return which of these orders of a chain may expire: no other chain must be looked at first.

    What is found later falls under the late rule.
    """
    if not intent_ids or not _waits_for_others(chain_id):
        return list(intent_ids)
    past = PaymentIntent.expires_at < cursor.time - WAIT_AT_MOST
    query = PaymentIntent.select(PaymentIntent.id).where(PaymentIntent.id.in_(list(intent_ids)))
    return [intent.id for intent in query.where(past)]


def _waits_for_others(chain_id: int) -> bool:
    others = [state for state in chains.states().values() if state.chain_id != chain_id]
    return any(
        chains.is_fresh(state) and not clock.is_within(YOUNG, state.strays_looked_at)
        for state in others
    )
