"""Ask every URL of a chain whether it has the payments that were booked.

See services/payments/witnesses.py. A chain with one URL has no second witness: nothing is asked.
"""

import logging
import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from ticketing import clock
from ticketing.chain.errors import RpcError
from ticketing.chain.node import Node, connect_each
from ticketing.chain.registry import Chain
from ticketing.config import Config
from ticketing.services import chains
from ticketing.services.payments import witnesses
from ticketing.services.payments.witnesses import ToWitness

AT_ONCE = 50

AGAIN_SECONDS = 60.0
"""How long payments wait that a URL could not be asked about, or did not have yet."""

MAY_LAG = timedelta(days=1)
"""For how long a URL without a receipt may be late. Later, it has deleted the receipt."""

ENOUGH = 2

log = logging.getLogger(__name__)

_waits_until: dict[int, float] = {}


def ask(chain: Chain, config: Config) -> None:
    """Ask about some final payments, the newest first. Those without two answers wait."""
    urls = connect_each(chain)
    cursor = chains.cursor(chain.chain_id)
    if len(urls) < ENOUGH or cursor is None:
        return
    if time.monotonic() < _waits_until.get(chain.chain_id, 0.0):
        return
    final_up_to = cursor.number - chain.confirmations + 1
    asked = witnesses.to_ask(chain.chain_id, final_up_to, AT_ONCE)
    if not asked:
        return
    agreed, denied, silent = _ask_each(chain, urls, asked)
    seen = [each for each in asked if agreed[each.id] >= ENOUGH]
    unseen = [each for each in asked if agreed[each.id] < ENOUGH]
    # Who has another content, or had a day to get the block, will not agree later.
    final = [
        each
        for each in unseen
        if each.id in denied or not (silent or clock.is_within(MAY_LAG, each.transfer.block.time))
    ]
    witnesses.note(seen, witnessed=True)
    witnesses.note(final, witnessed=False)
    if len(seen) + len(final) < len(asked):
        _waits_until[chain.chain_id] = time.monotonic() + AGAIN_SECONDS


def _ask_each(
    chain: Chain, urls: Sequence[Node], asked: Sequence[ToWitness]
) -> tuple[Counter[str], set[str], bool]:
    """Return how many URLs agree about each payment, which one denies, and if one was silent."""
    agreed: Counter[str] = Counter()
    denied: set[str] = set()
    is_silent = False
    for number, node in enumerate(urls, 1):
        try:
            answers = node.payouts.has_transfers(
                [(each.token_address, each.transfer) for each in asked]
            )
        except RpcError as error:
            log.info("chain %s: URL %s: %s", chain.chain_id, number, error)
            is_silent = True
            continue
        agreed.update(each.id for each, has in zip(asked, answers, strict=True) if has)
        for each, has in zip(asked, answers, strict=True):
            if has is False:
                denied.add(each.id)
                log.error(
                    "chain %s: URL %s has transaction %s without the payment that was booked."
                    " No refund of it is listed without a second look",
                    chain.chain_id,
                    number,
                    each.transfer.tx_hash,
                )
    return agreed, denied, is_silent
