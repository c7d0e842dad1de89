"""Select the addresses to watch: by logs, or by balance a day after the order ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from peewee import Case, Expression, ModelSelect, fn

from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.constants import LIVE, WATCH_AFTER_END, IntentStatus
from ticketing.db.connection import write_transaction
from ticketing.models.base import literal
from ticketing.models.order_accounts import SEARCHED, OrderAccount
from ticketing.models.payment_intents import AWAITING, EARLY, IS_HOME, UNSETTLED, PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.services.payments import block_history, settlement

SWEEP_EVERY = timedelta(minutes=1)
COLD_ADDRESSES_PER_SWEEP = 1000

OLD_UNTIL = timedelta(days=30)
"""For how long after they ended orders are looked at on other chains than their home."""

_LIVE = AWAITING | (UNSETTLED & (PaymentIntent.status == IntentStatus.PROCESSING))
"""Each part has an index by chain. An unsettled order that is not live is reversed."""

_CANCELED = PaymentIntent.status == literal(IntentStatus.CANCELED)


def has_open_orders(chain_id: int) -> bool:
    """Return whether a chain has an order that may be paid, or whose payment is not final."""
    is_open = _LIVE | EARLY
    found = PaymentIntent.select().where(PaymentIntent.chain_id == chain_id, is_open)
    exists: bool = found.exists()
    return exists


def watched_addresses(chain_id: int, token_address: str, since: Block) -> frozenset[str]:
    """Return the addresses to read logs of after `since`: of live and recently ended intents.

    An intent with another home is among them, if it was paid here before.
    """
    query = OrderAccount.select(OrderAccount.address).where(
        OrderAccount.chain_id == chain_id,
        OrderAccount.token_address == token_address,
        _is_watched(since.time),
    )
    rows: Iterable[Any] = query.tuples()
    return frozenset(address for (address,) in rows)


def _is_watched(since: Any) -> Expression:
    found: Expression = OrderAccount.watch_until.is_null() | (OrderAccount.watch_until > since)
    return found


def elsewhere(
    chain_ids: Collection[int],
    chain_id: int,
    token_address: str,
    now: datetime,
    *,
    with_old: bool = False,
    tenant_id: str | None = None,
) -> list[PaymentIntent]:
    """Return the live and recently ended intents whose home is not this token on this chain.

    `chain_ids`: the chains of their homes. `with_old`: those too that ended within OLD_UNTIL. Money
    for them may arrive here, by mistake or not. `tenant_id`: those of one tenant.
    """
    asked = {"chain_id": chain_id, "token_address": token_address}
    since = now - OLD_UNTIL if with_old else now
    # An unpaid order that was canceled is not watched by its logs.
    canceled_after = now - WATCH_AFTER_END
    found: dict[str, PaymentIntent] = {}
    for home in chain_ids:
        watched: list[PaymentIntent] = _watched_elsewhere.rows(home=home, **asked, since=since)
        watched += _canceled_elsewhere.rows(home=home, **asked, canceled_after=canceled_after)
        found |= {each.id: each for each in watched if tenant_id in (None, each.tenant_id)}
    return [found[each] for each in sorted(found)]


@Prepared
def _watched_elsewhere(
    home: Any, chain_id: Any, token_address: Any, since: Any
) -> ModelSelect[PaymentIntent]:
    return (
        PaymentIntent.select()
        .join(OrderAccount, on=IS_HOME)
        .where(
            OrderAccount.chain_id == home,
            _is_watched(since),
            ~_is_home_at(chain_id, token_address),
        )
    )


@Prepared
def _canceled_elsewhere(
    home: Any, chain_id: Any, token_address: Any, canceled_after: Any
) -> ModelSelect[PaymentIntent]:
    return PaymentIntent.select().where(
        PaymentIntent.chain_id == home,
        _CANCELED,
        PaymentIntent.ended_at > canceled_after,
        ~_is_home_at(chain_id, token_address),
    )


def _is_home_at(chain_id: Any, token_address: Any) -> Expression:
    found: Expression = (PaymentIntent.chain_id == chain_id) & (
        PaymentIntent.token_address == token_address
    )
    return found


def watch_again(intent_id: str, now: datetime) -> None:
    """Read the logs of an ended intent's address again, as if it had just ended."""
    until = max(now, clock.now()) + WATCH_AFTER_END
    is_over = (OrderAccount.intent == intent_id) & (OrderAccount.watch_until < until)
    OrderAccount.update(watch_until=until).where(is_over).execute()


def to_sweep(chain_id: int, now: datetime) -> list[OrderAccount]:
    """Return homes of ended intents whose balance must be compared, at most once in SWEEP_EVERY.

    These are all that were canceled within a day, because their logs are not read; and of the
    others, at most COLD_ADDRESSES_PER_SWEEP, the longest wait first. Once an address was swept, it
    is always swept, even while its logs are read again: the logs lack payments of the time between.
    """
    asked = {"chain_id": chain_id, "swept_before": now - SWEEP_EVERY}
    canceled: list[OrderAccount] = _canceled.rows(**asked, canceled_after=now - WATCH_AFTER_END)
    new: list[OrderAccount] = _never_swept.rows(chain_id=chain_id, now=now)
    cold = [*new, *_swept.rows(**asked)]
    return list({each.id: each for each in [*canceled, *cold[:COLD_ADDRESSES_PER_SWEEP]]}.values())


@Prepared
def _canceled(chain_id: Any, swept_before: Any, canceled_after: Any) -> ModelSelect[OrderAccount]:
    return _homes().where(
        PaymentIntent.chain_id == chain_id,
        _CANCELED,
        PaymentIntent.ended_at > canceled_after,
        OrderAccount.swept_at.is_null() | (OrderAccount.swept_at <= swept_before),
    )


@Prepared
def _never_swept(chain_id: Any, now: Any) -> ModelSelect[OrderAccount]:
    is_new = OrderAccount.swept_at.is_null() & (OrderAccount.watch_until <= now)
    found = _homes().where(OrderAccount.chain_id == chain_id, is_new)
    return found.limit(COLD_ADDRESSES_PER_SWEEP)


@Prepared
def _swept(chain_id: Any, swept_before: Any) -> ModelSelect[OrderAccount]:
    has_ended = PaymentIntent.status.not_in(LIVE)
    found = _homes().where(
        OrderAccount.chain_id == chain_id, OrderAccount.swept_at <= swept_before, has_ended
    )
    return found.order_by(OrderAccount.swept_at).limit(COLD_ADDRESSES_PER_SWEEP)


def _homes() -> ModelSelect[OrderAccount]:
    return OrderAccount.select(OrderAccount, PaymentIntent).join(PaymentIntent, on=IS_HOME)


def note_balances(checks: Sequence[tuple[OrderAccount, int]], at: Block) -> None:
    """Store explained balances. All transfers up to `at` are known, unless a search is running.

    `checks` has the balance of each account's address.
    """
    of_balance: dict[str, list[int]] = defaultdict(list)
    for account, balance in checks:
        of_balance[str(balance)].append(account.id)
    if not checks:
        return
    with write_transaction():
        # Who books payments has locked their orders, and writes the accounts in another order.
        settlement.lock_ids([account.intent_id for account, _ in checks])
        for balance_text, account_ids in of_balance.items():
            checked = Case(None, [(OrderAccount.search_to.is_null(), at.number)], None)
            OrderAccount.update(
                swept_at=at.time,
                swept_balance=balance_text,
                checked_block=fn.COALESCE(checked, OrderAccount.checked_block),
            ).where(OrderAccount.id.in_(account_ids)).execute()


def note_unexplained(account: OrderAccount, balance: int, at: Block) -> None:
    """Store an unexplained balance, and start a search of the address's logs up to `at`.

    The search begins MOST_BLOCKS_BACK before the last block at which the balance was explained: a
    reorganization may have moved a payment there. If that block is unknown, or if the same balance
    was searched for before, all logs are read. A running search for the same balance continues.

    Example: 10 were booked and explained at block 1000, and the balance is 15 at block 1400. Blocks
    745 to 1400 are searched. If the 15 are still unexplained afterwards, all blocks since the order
    was created are searched.
    """
    is_same = account.swept_balance == str(balance)
    columns: dict[str, Any] = {"swept_at": at.time}
    if not is_same or account.search_to is None:
        last_block = None if is_same else account.checked_block
        back = None if last_block is None else max(-1, last_block - block_history.MOST_BLOCKS_BACK)
        columns |= {"swept_balance": str(balance), "search_to": at.number, "checked_block": back}
    _update(account, **columns)


def _update(account: OrderAccount, *conditions: Any, **columns: Any) -> None:
    is_same = OrderAccount.id == account.id
    OrderAccount.update(columns).where(is_same, *conditions).execute()


def search_again(chain_id: int, addresses: Collection[str], block: Block) -> None:
    """Let the logs of one block be searched again for the accounts with these addresses.

    A running search goes on. If this one finds nothing either, the balance is compared before the
    hold ends, or after the address is no longer watched.
    """
    (
        OrderAccount.update(search_to=block.number, checked_block=block.number - 1)
        .where(
            OrderAccount.chain_id == chain_id,
            OrderAccount.address.in_(list(addresses)),
            OrderAccount.search_to.is_null(),
        )
        .execute()
    )


def search_gap(chain_id: int, cursor: Block, to: Block) -> None:
    """Let the logs between the cursor and `to` be searched, because no node had these blocks.

    For all orders that are watched by logs. The balance ends most searches (address_search.py).
    Until then the orders keep their holds. A search begins MOST_BLOCKS_BACK before the cursor: see
    note_unexplained. It ends at the last skipped block, as no other search does. A running one goes
    on where it is, up to `to`. Orders that are watched by balance are asked later: see was_skipped.
    """
    back = max(-1, cursor.number - block_history.MOST_BLOCKS_BACK)
    is_new = OrderAccount.search_to.is_null()
    begins = Case(None, [(is_new, back)], OrderAccount.checked_block)
    ends = Case(None, [(is_new, to.number - 1)], to.number)
    (
        OrderAccount.update(search_to=ends, checked_block=begins)
        .where(OrderAccount.chain_id == chain_id, _is_watched(cursor.time))
        .execute()
    )


def was_skipped(account: OrderAccount, read_from: int) -> bool:
    """Return whether the logs of an ended account lack the newest gap, and are not searched yet.

    `read_from` is the block after the gap, or 0.
    """
    return account.search_to is None and (account.checked_block or 0) < read_from - 1


def search_skipped(account: OrderAccount, read_from: int) -> None:
    """Let an account's logs be searched up to the end of the newest gap: see search_gap."""
    last_block = account.checked_block
    back = None if last_block is None else max(-1, last_block - block_history.MOST_BLOCKS_BACK)
    is_idle = OrderAccount.search_to.is_null()
    _update(account, is_idle, search_to=read_from - 1, checked_block=back)


def end_searches(accounts: Iterable[OrderAccount], at: Block) -> None:
    """End searches: all transfers up to a block are known."""
    for account in accounts:
        is_read = OrderAccount.search_to <= at.number
        _update(account, is_read, search_to=None, checked_block=at.number)


def to_search(chain_id: int) -> list[OrderAccount]:
    """Return the accounts whose logs must be read again, the oldest orders first."""
    return _searched.rows(chain_id=chain_id)


@Prepared
def _searched(chain_id: Any) -> ModelSelect[OrderAccount]:
    query = OrderAccount.select(OrderAccount, PaymentIntent).join(PaymentIntent)
    found = query.where(OrderAccount.chain_id == chain_id, SEARCHED)
    return found.order_by(OrderAccount.intent, OrderAccount.id)


def note_searched(account: OrderAccount, to: int) -> None:
    """Store that an account's logs were read up to a block. The search ends at `search_to`."""
    ends = Case(None, [(OrderAccount.search_to > to, OrderAccount.search_to)], None)
    is_same = OrderAccount.search_to == account.search_to
    _update(account, is_same, checked_block=to, search_to=ends)
