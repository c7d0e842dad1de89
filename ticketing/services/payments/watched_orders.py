"""Select the addresses to watch: by logs, or by balance a day after the order ended."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from peewee import Case, fn

from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.constants import LIVE, WATCH_AFTER_END, IntentStatus
from ticketing.db.connection import write_transaction
from ticketing.models.base import literal
from ticketing.models.payment_intents import AWAITING, EARLY, UNSETTLED, PaymentIntent
from ticketing.services.payments import block_history
from ticketing.services.payments.collections import Held

SWEEP_EVERY = timedelta(minutes=1)
COLD_ADDRESSES_PER_SWEEP = 1000

_LIVE = AWAITING | (UNSETTLED & (PaymentIntent.status == IntentStatus.PROCESSING))
"""Each part has an index by chain. An unsettled order that is not live is reversed."""


def has_open_orders(chain_id: int) -> bool:
    """Return whether a chain has an order that may be paid, or whose payment is not final."""
    is_open = _LIVE | EARLY
    found = PaymentIntent.select().where(PaymentIntent.chain_id == chain_id, is_open)
    exists: bool = found.exists()
    return exists


def watched_addresses(chain_id: int, token_address: str, since: Block) -> frozenset[str]:
    """Return the addresses to read logs of after `since`: live and recently ended intents."""
    query = PaymentIntent.select(PaymentIntent.address).where(
        PaymentIntent.chain_id == chain_id,
        PaymentIntent.token_address == token_address,
        _LIVE | (PaymentIntent.watch_until > since.time),
    )
    rows: Iterable[Any] = query.tuples()
    return frozenset(address for (address,) in rows)


def watch_again(intent: PaymentIntent, now: datetime) -> None:
    """Read the logs of an ended intent's address again, as if it had just ended."""
    until = max(now, clock.now()) + WATCH_AFTER_END
    (
        PaymentIntent.update(watch_until=until)
        .where(PaymentIntent.id == intent.id, PaymentIntent.watch_until < until)
        .execute()
    )


def to_sweep(chain_id: int, now: datetime) -> list[PaymentIntent]:
    """Return ended intents whose balance must be compared, each at most once in SWEEP_EVERY.

    These are all that were canceled within a day, because their logs are not read; and of the
    others, at most COLD_ADDRESSES_PER_SWEEP, the longest wait first. Once an address was swept, it
    is always swept, even while its logs are read again: the logs lack payments of the time between.
    """
    swept_before = now - SWEEP_EVERY
    of_chain = PaymentIntent.select().where(PaymentIntent.chain_id == chain_id)
    canceled = of_chain.where(
        PaymentIntent.status == literal(IntentStatus.CANCELED),
        PaymentIntent.ended_at > now - WATCH_AFTER_END,
        PaymentIntent.swept_at.is_null() | (PaymentIntent.swept_at <= swept_before),
    )
    ended = of_chain.where(PaymentIntent.status.not_in(LIVE))
    new = ended.where(PaymentIntent.swept_at.is_null(), PaymentIntent.watch_until <= now)
    swept = ended.where(PaymentIntent.swept_at <= swept_before).order_by(PaymentIntent.swept_at)
    cold = [*new.limit(COLD_ADDRESSES_PER_SWEEP), *swept.limit(COLD_ADDRESSES_PER_SWEEP)]
    return list({each.id: each for each in [*canceled, *cold[:COLD_ADDRESSES_PER_SWEEP]]}.values())


def is_explained(intent: PaymentIntent, balance: int, held: Held) -> bool:
    """Return whether the books explain a balance, in the token's own units.

    The balance of a receiver must be what the books say. For any other the logs are searched. Of an
    xpub, a balance above that is never explained. One below it is explained if the owner took
    everything, or if nothing else changed since the last check.

    Example: 10 are booked to an address of an xpub. At the first check, 10 or less are explained,
    12 are not. It is 4: the owner took 6. At the next check, 4 are explained, and 0: the owner took
    the rest. 7 are not: 3 arrived that are not booked.

    Example: 25 were paid to a receiver, collected, and paid again. The collection is booked, so 0
    are held. The balance of 25 is not explained: the second payment is searched for.
    """
    surplus = balance - held.atomic
    if held.is_exact:
        return surplus == 0
    if surplus > 0 or intent.swept_balance is None:
        return surplus <= 0
    before = int(intent.swept_surplus or 0)
    took_all = surplus < before and balance in (0, int(intent.swept_balance))
    return surplus == before or took_all


def note_balances(checks: Sequence[tuple[PaymentIntent, int, Held]], at: Block) -> None:
    """Store explained balances. All transfers up to `at` are known, unless a search is running.

    `checks` has for each intent the balance of its address, and what it must hold.
    """
    of_balance: dict[tuple[str, str], list[str]] = defaultdict(list)
    for intent, balance, held in checks:
        of_balance[str(balance), str(balance - held.atomic)].append(intent.id)
    checked = Case(None, [(PaymentIntent.search_to.is_null(), at.number)], None)
    with write_transaction():
        for (balance_text, surplus), intent_ids in of_balance.items():
            (
                PaymentIntent.update(
                    swept_at=at.time,
                    swept_balance=balance_text,
                    swept_surplus=surplus,
                    checked_block=fn.COALESCE(checked, PaymentIntent.checked_block),
                )
                .where(PaymentIntent.id.in_(intent_ids))
                .execute()
            )


def note_unexplained(intent: PaymentIntent, balance: int, held: Held, at: Block) -> None:
    """Store an unexplained balance, and start a search of the address's logs up to `at`.

    The search begins MOST_BLOCKS_BACK before the last block at which the balance was explained: a
    reorganization may have moved a payment there. If that block is unknown, or if the same balance
    was searched for before, all logs are read. A running search for the same balance continues.

    Example: 10 were booked and explained at block 1000, and the balance is 15 at block 1400. Blocks
    745 to 1400 are searched. If the 15 are still unexplained afterwards, all blocks since the order
    was created are searched.
    """
    is_same = intent.swept_balance == str(balance)
    columns: dict[str, Any] = {"swept_at": at.time, "swept_surplus": str(balance - held.atomic)}
    if not is_same or intent.search_to is None:
        last_block = None if is_same else intent.checked_block
        back = None if last_block is None else max(-1, last_block - block_history.MOST_BLOCKS_BACK)
        columns |= {"swept_balance": str(balance), "search_to": at.number, "checked_block": back}
    PaymentIntent.update(columns).where(PaymentIntent.id == intent.id).execute()


def search_again(chain_id: int, addresses: Collection[str], block: Block) -> None:
    """Let the logs of one block be searched again for the intents with these addresses.

    A running search goes on. If this one finds nothing either, the balance is compared before the
    hold ends, or after the address is no longer watched.
    """
    (
        PaymentIntent.update(search_to=block.number, checked_block=block.number - 1)
        .where(
            PaymentIntent.chain_id == chain_id,
            PaymentIntent.address.in_(list(addresses)),
            PaymentIntent.search_to.is_null(),
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
    is_new = PaymentIntent.search_to.is_null()
    begins = Case(None, [(is_new, back)], PaymentIntent.checked_block)
    ends = Case(None, [(is_new, to.number - 1)], to.number)
    (
        PaymentIntent.update(search_to=ends, checked_block=begins)
        .where(
            PaymentIntent.chain_id == chain_id, _LIVE | (PaymentIntent.watch_until > cursor.time)
        )
        .execute()
    )


def was_skipped(intent: PaymentIntent, read_from: int) -> bool:
    """Return whether the logs of an ended intent lack the newest gap, and are not searched yet.

    `read_from` is the block after the gap, or 0.
    """
    return intent.search_to is None and (intent.checked_block or 0) < read_from - 1


def search_skipped(intent: PaymentIntent, read_from: int) -> None:
    """Let an intent's logs be searched up to the end of the newest gap: see search_gap."""
    last_block = intent.checked_block
    back = None if last_block is None else max(-1, last_block - block_history.MOST_BLOCKS_BACK)
    (
        PaymentIntent.update(search_to=read_from - 1, checked_block=back)
        .where(PaymentIntent.id == intent.id, PaymentIntent.search_to.is_null())
        .execute()
    )


def end_searches(intent_ids: Collection[str], at: Block) -> None:
    """End searches: all transfers up to a block are known."""
    (
        PaymentIntent.update(search_to=None, checked_block=at.number)
        .where(PaymentIntent.id.in_(list(intent_ids)), PaymentIntent.search_to <= at.number)
        .execute()
    )


def to_search(chain_id: int) -> list[PaymentIntent]:
    """Return the intents whose logs must be read again, the oldest first."""
    query = PaymentIntent.select().where(
        PaymentIntent.chain_id == chain_id, PaymentIntent.search_to.is_null(False)
    )
    return list(query.order_by(PaymentIntent.id))


def note_searched(intent: PaymentIntent, to: int) -> None:
    """Store that an intent's logs were read up to a block. The search ends at `search_to`."""
    ends = Case(None, [(PaymentIntent.search_to > to, PaymentIntent.search_to)], None)
    (
        PaymentIntent.update(checked_block=to, search_to=ends)
        .where(PaymentIntent.id == intent.id)
        .execute()
    )
