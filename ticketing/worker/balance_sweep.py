"""Compare balances, because a node's logs may be incomplete: before a hold ends, and later.

Balances are cheap to read. If an address does not hold what is recorded, its logs are read again,
from the block up to which they were complete, some ranges at a time.
"""

import logging
from datetime import datetime, timedelta

from ticketing import clock
from ticketing.backoff import Backoff
from ticketing.chain.answers import Block
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import RpcError, RpcLimited, RpcSilent
from ticketing.chain.node import Node
from ticketing.chain.registry import Chain
from ticketing.constants import IntentStatus
from ticketing.models.order_accounts import OrderAccount
from ticketing.services.orders import accounts
from ticketing.services.payments import address_search, collections, payments, watched_orders

SEARCHES_PER_PASS = 1000
"""How many searches one pass looks at. After a gap there is one for each watched order."""

RANGES_PER_PASS = 8
"""How many requests for logs one pass sends for all searches together."""

BACKOFF = Backoff.doubling(timedelta(minutes=1), timedelta(hours=1))
"""How long to wait after searches that failed or found nothing."""

log = logging.getLogger(__name__)


class BalanceSweep:
    """Reads balances of payment addresses on one chain, and searches logs if they differ."""

    def __init__(self, chain: Chain, node: Node) -> None:
        self._chain = chain
        self._node = node
        self._swept_at: datetime | None = None
        self._searched: dict[int, tuple[datetime, int]] = {}
        """For each account: when its last search failed or ended, and how many did in a row."""

    def before_expiry(self, intent_ids: list[str], cursor: Block) -> list[str]:
        """Return which intents may expire. The balances of the others are not what is recorded.

        Their logs are searched first. RpcError if the balances cannot be read.
        """
        intents = payments.intents_of(intent_ids)
        accounts.read(intents)
        found = address_search.balances(self._node, [each.home for each in intents], cursor)
        held = collections.held([account for account, _ in found])
        explained = [each for each in found if each[1] == held[each[0].id]]
        watched_orders.note_balances(explained, cursor)
        may_expire = [account.intent_id for account, _ in explained]
        for account, balance in found:
            if balance == held[account.id]:
                continue
            if account.swept_balance == str(balance):
                than = "more" if balance > held[account.id] else "less"
                log.error(
                    "intent %s holds %s than its logs show; it expires", account.intent_id, than
                )
                may_expire.append(account.intent_id)
            else:
                address_search.begin(account, balance, held[account.id], cursor)
        return may_expire

    def calls(self, cursor: Block) -> list[Call]:
        """Return the calls of `compare` with a cursor, as far as they are known."""
        if not self._is_due_to_compare:
            return []
        swept = watched_orders.to_sweep(self._chain.chain_id, cursor.time)
        return address_search.balance_calls(self._node, swept, cursor)

    def compare(self, cursor: Block) -> None:
        """Compare balances of ended intents once a minute. RpcError."""
        if not self._is_due_to_compare:
            return
        chain_id = self._chain.chain_id
        swept = watched_orders.to_sweep(chain_id, cursor.time)
        unexplained = address_search.compare(self._node, chain_id, swept, cursor)
        idle = {each.id for each in swept if each.search_to is None}
        for account_id in idle - {each.id for each in unexplained}:
            self._searched.pop(account_id, None)
        self._swept_at = clock.now()

    @property
    def _is_due_to_compare(self) -> bool:
        return not clock.is_within(watched_orders.SWEEP_EVERY, self._swept_at)

    def search(self, cursor: Block) -> None:
        """Continue searches, some ranges in total. A failed search does not stop the others.

        RpcLimited, RpcSilent.
        """
        left = RANGES_PER_PASS
        running = watched_orders.to_search(self._chain.chain_id)
        # Those that failed most come last: the logs of a gap may never be there again.
        due = sorted(filter(self._is_due, running), key=self._failures)[:SEARCHES_PER_PASS]
        for account in address_search.end_explained(self._node, self._chain.chain_id, due, cursor):
            if left == 0:
                break
            _, searches = self._searched.get(account.id, (None, 0))
            try:
                read = address_search.go_on(self._node, account, left)
                if read < left:
                    self._searched[account.id] = (clock.now(), searches + 1)
                left -= read
            except (RpcLimited, RpcSilent):
                raise
            except RpcError as error:
                log.warning("the logs of order %s cannot be read: %s", account.intent_id, error)
                self._searched[account.id] = (clock.now(), searches + 1)
                left -= 1

    def _failures(self, account: OrderAccount) -> int:
        """Return how many searches of an account failed, or found nothing, in a row."""
        return self._searched.get(account.id, (None, 0))[1]

    def _is_due(self, account: OrderAccount) -> bool:
        """Return whether an account's search did not fail a moment ago.

        An order that waits for its payment always is: until then it holds its seats.
        """
        if account.is_home and account.order.status == IntentStatus.AWAITING_PAYMENT:
            return True
        searched_at, searches = self._searched.get(account.id, (None, 0))
        return not clock.is_within(BACKOFF.pause(searches), searched_at)
