"""Ask the facilitator of a chain whether it can settle: at the start, and every few minutes.

Without this, a wrong URL or token looks like payments that are on their way.
"""

import logging
from datetime import timedelta

from ticketing import clock
from ticketing.chain.registry import Chain, Facilitator
from ticketing.config import Config
from ticketing.services import chains
from ticketing.services.x402 import facilitator, requirements

EVERY, AGAIN = timedelta(minutes=3), timedelta(seconds=30)
"""How often one is asked that can be used, and one that cannot."""

log = logging.getLogger(__name__)

_asked: dict[int, Facilitator] = {}
"""Whom this process has asked: a new URL or token is tried at once."""


def ask(chain: Chain, _: Config) -> None:
    """Ask the facilitator of a chain, if it has one and it is time."""
    named = chain.facilitator
    state = None if named is None else chains.state(chain.chain_id)
    if named is None or state is None:
        return
    pause = EVERY if state.facilitator_refusal is None else AGAIN
    is_recent = clock.is_within(pause, state.facilitator_asked_at)
    if is_recent and _asked.get(chain.chain_id) == named:
        return
    _asked[chain.chain_id] = named
    refusal = facilitator.refusal(named, requirements.network(chain.chain_id))
    if refusal is not None:
        log.warning("chain %s: x402 is off. Its facilitator: %s", chain.chain_id, refusal)
    elif state.facilitator_refusal is not None:
        log.info("chain %s: x402 is on again", chain.chain_id)
    chains.note_facilitator(chain.chain_id, refusal)
