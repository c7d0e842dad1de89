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
from ticketing.models.base import literal
from ticketing.models.payment_intents import AWAITING, EARLY, UNSETTLED, PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.stray_accounts import SEARCHED, Account, StrayAccount
from ticketing.services.payments import block_history

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
    """Return the addresses to read logs of after `since`: live and recently ended intents.

    And of those with another home that were paid here before.
    """
    is_watched = _LIVE | (PaymentIntent.watch_until > since.time)
    homes = PaymentIntent.select(PaymentIntent.address).where(
        PaymentIntent.chain_id == chain_id,
        PaymentIntent.token_address == token_address,
        is_watched,
    )
    strays = (
        StrayAccount.select(StrayAccount.address)
        .join(PaymentIntent)
        .where(
            StrayAccount.chain_id == chain_id,
            StrayAccount.token_address == token_address,
            is_watched,
        )
    )
    rows: Iterable[Any] = (*homes.tuples(), *strays.tuples())
    return frozenset(address for (address,) in rows)


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
    asked = {
        "chain_id": chain_id,
        "token_address": token_address,
        "since": now - OLD_UNTIL if with_old else now,
        "canceled_after": now - WATCH_AFTER_END,
    }
    found: list[PaymentIntent] = []
    for each in chain_ids:
        found += _elsewhere.rows(home=each, **asked)
    return [each for each in found if tenant_id in (None, each.tenant_id)]


@Prepared
def _elsewhere(
    home: Any, chain_id: Any, token_address: Any, since: Any, canceled_after: Any
) -> ModelSelect[PaymentIntent]:
    is_here = (PaymentIntent.chain_id == chain_id) & (PaymentIntent.token_address == token_address)
    # An unpaid order that was canceled is not watched by its logs.
    is_canceled = _CANCELED & (PaymentIntent.ended_at > canceled_after)
    is_watched = _LIVE | (PaymentIntent.watch_until > since) | is_canceled
    of_home = PaymentIntent.select().where(PaymentIntent.chain_id == home, is_watched, ~is_here)
    return of_home.order_by(PaymentIntent.id)


def watch_again(account: Account, now: datetime) -> None:
    """Read the logs of an ended intent's address again, as if it had just ended."""
    until = max(now, clock.now()) + WATCH_AFTER_END
    (
        PaymentIntent.update(watch_until=until)
        .where(PaymentIntent.id == account.intent_id, PaymentIntent.watch_until < until)
        .execute()
    )


def to_sweep(chain_id: int, now: datetime) -> list[PaymentIntent]:
    """Return ended intents whose balance must be compared, each at most once in SWEEP_EVERY.

    These are all that were canceled within a day, because their logs are not read; and of the
    others, at most COLD_ADDRESSES_PER_SWEEP, the longest wait first. Once an address was swept, it
    is always swept, even while its logs are read again: the logs lack payments of the time between.
    """
    asked = {"chain_id": chain_id, "swept_before": now - SWEEP_EVERY}
    canceled: list[PaymentIntent] = _canceled.rows(**asked, canceled_after=now - WATCH_AFTER_END)
    new: list[PaymentIntent] = _never_swept.rows(chain_id=chain_id, now=now)
    cold = [*new, *_swept.rows(**asked)]
    return list({each.id: each for each in [*canceled, *cold[:COLD_ADDRESSES_PER_SWEEP]]}.values())


@Prepared
def _canceled(chain_id: Any, swept_before: Any, canceled_after: Any) -> ModelSelect[PaymentIntent]:
    return PaymentIntent.select().where(
        PaymentIntent.chain_id == chain_id,
        _CANCELED,
        PaymentIntent.ended_at > canceled_after,
        PaymentIntent.swept_at.is_null() | (PaymentIntent.swept_at <= swept_before),
    )


@Prepared
def _never_swept(chain_id: Any, now: Any) -> ModelSelect[PaymentIntent]:
    is_new = PaymentIntent.swept_at.is_null() & (PaymentIntent.watch_until <= now)
    return _ended(chain_id).where(is_new).limit(COLD_ADDRESSES_PER_SWEEP)


@Prepared
def _swept(chain_id: Any, swept_before: Any) -> ModelSelect[PaymentIntent]:
    found = _ended(chain_id).where(PaymentIntent.swept_at <= swept_before)
    return found.order_by(PaymentIntent.swept_at).limit(COLD_ADDRESSES_PER_SWEEP)


def _ended(chain_id: Any) -> ModelSelect[PaymentIntent]:
    has_ended = PaymentIntent.status.not_in(LIVE)
    return PaymentIntent.select().where(PaymentIntent.chain_id == chain_id, has_ended)


def note_balances(checks: Sequence[tuple[Account, int]], at: Block) -> None:
    """Store explained balances. All transfers up to `at` are known, unless a search is running.

    `checks` has the balance of each account's address.
    """
    of_balance: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for account, balance in checks:
        place = account.chain_id, account.token_address
        of_balance[type(account), *place, str(balance)].append(account.id)
    for (model, chain_id, token, balance_text), account_ids in of_balance.items():
        checked = Case(None, [(model.search_to.is_null(), at.number)], None)
        update = model.update(
            swept_at=at.time,
            swept_balance=balance_text,
            checked_block=fn.COALESCE(checked, model.checked_block),
        )
        # Bookings write several stray accounts in another order, so each has its own transaction.
        parts = [account_ids] if model is PaymentIntent else [[each] for each in account_ids]
        for some in parts:
            update.where(model.id.in_(some), _is_at(model, chain_id, token)).execute()


def note_unexplained(account: Account, balance: int, at: Block) -> None:
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
    model = type(account)
    model.update(columns).where(_is(account)).execute()


def _is(account: Account) -> Expression:
    """Return the condition of an account's row, if it is still on the same chain.

    An order may have moved since it was read. Then a block of one chain must not be stored for
    another one.
    """
    model = type(account)
    place = _is_at(model, account.chain_id, account.token_address)
    found: Expression = (model.id == account.id) & place
    return found


def _is_at(model: type[Account], chain_id: int | None, token_address: str | None) -> Expression:
    found: Expression = (model.chain_id == chain_id) & (model.token_address == token_address)
    return found


def search_again(chain_id: int, addresses: Collection[str], block: Block) -> None:
    """Let the logs of one block be searched again for the accounts with these addresses.

    A running search goes on. If this one finds nothing either, the balance is compared before the
    hold ends, or after the address is no longer watched.
    """
    for model in (PaymentIntent, StrayAccount):
        (
            model.update(search_to=block.number, checked_block=block.number - 1)
            .where(
                model.chain_id == chain_id,
                model.address.in_(list(addresses)),
                model.search_to.is_null(),
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
    is_watched = _LIVE | (PaymentIntent.watch_until > cursor.time)
    of_watched = StrayAccount.intent.in_(PaymentIntent.select(PaymentIntent.id).where(is_watched))
    watched: Sequence[tuple[type[Account], Any]] = (
        (PaymentIntent, is_watched),
        (StrayAccount, of_watched),
    )
    for model, condition in watched:
        is_new = model.search_to.is_null()
        begins = Case(None, [(is_new, back)], model.checked_block)
        ends = Case(None, [(is_new, to.number - 1)], to.number)
        (
            model.update(search_to=ends, checked_block=begins)
            .where(model.chain_id == chain_id, condition)
            .execute()
        )


def was_skipped(account: Account, read_from: int) -> bool:
    """Return whether the logs of an ended account lack the newest gap, and are not searched yet.

    `read_from` is the block after the gap, or 0.
    """
    return account.search_to is None and (account.checked_block or 0) < read_from - 1


def search_skipped(account: Account, read_from: int) -> None:
    """Let an account's logs be searched up to the end of the newest gap: see search_gap."""
    last_block, model = account.checked_block, type(account)
    back = None if last_block is None else max(-1, last_block - block_history.MOST_BLOCKS_BACK)
    (
        model.update(search_to=read_from - 1, checked_block=back)
        .where(_is(account), model.search_to.is_null())
        .execute()
    )


def end_searches(accounts: Iterable[Account], at: Block) -> None:
    """End searches: all transfers up to a block are known."""
    for account in accounts:
        model = type(account)
        (
            model.update(search_to=None, checked_block=at.number)
            .where(_is(account), model.search_to <= at.number)
            .execute()
        )


def to_search(chain_id: int) -> list[Account]:
    """Return the accounts whose logs must be read again, the oldest orders first."""
    homes: list[Account] = _searched_homes.rows(chain_id=chain_id)
    strays: list[Account] = _searched_strays.rows(chain_id=chain_id)
    return sorted([*homes, *strays], key=lambda account: str(account.id))


@Prepared
def _searched_homes(chain_id: Any) -> ModelSelect[PaymentIntent]:
    is_searched = PaymentIntent.search_to.is_null(False)
    return PaymentIntent.select().where(PaymentIntent.chain_id == chain_id, is_searched)


@Prepared
def _searched_strays(chain_id: Any) -> ModelSelect[StrayAccount]:
    of_chain = (StrayAccount.chain_id == chain_id) & SEARCHED
    return StrayAccount.select(StrayAccount, PaymentIntent).join(PaymentIntent).where(of_chain)


def note_searched(account: Account, to: int) -> None:
    """Store that an account's logs were read up to a block. The search ends at `search_to`."""
    model = type(account)
    ends = Case(None, [(model.search_to > to, model.search_to)], None)
    is_same = _is(account) & (model.search_to == account.search_to)
    model.update(checked_block=to, search_to=ends).where(is_same).execute()
