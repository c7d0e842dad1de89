"""Collections: what receivers passed on to their owners, so that each balance can be explained.

A receiver can send only to its owner and to its gathering receiver (docs/receivers.md). Each such
transfer is a row. So what a receiver must hold is known exactly: its payments less its collections.

A collection changes no status and nothing that is owed. The worker reads collections by their
recipients, two for each wallet, however many orders there are. It therefore also reads what
strangers send to an owner. A search of one order reads them by their sender instead.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from peewee import fn

from ticketing import clock, ids
from ticketing.chain import units
from ticketing.chain.answers import Transfer
from ticketing.models.collections import Collection
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.wallets import Wallet
from ticketing.services.orders import accounts
from ticketing.services.payments import payments

SENDERS_PER_QUERY = 1000

log = logging.getLogger(__name__)


def recipients() -> frozenset[str]:
    """Return to whom receivers may have passed money on: for each wallet, two addresses."""
    rows: Iterable[Any] = (
        Wallet.select(Wallet.owner, Wallet.gathering)
        .where(Wallet.next_index > 1)
        .distinct()
        .tuples()
    )
    return frozenset(address for row in rows for address in row)


def record(chain_id: int, token_address: str, transfers: Sequence[Transfer]) -> None:
    """Record the collections among some transfers, or mark them as canonical again.

    All others are ignored: from a stranger, to another recipient, of 0, of another token than the
    order's. After a reorganization, a transfer can have the position of another one. Then it
    replaces that one.
    """
    sent = [transfer for transfer in transfers if transfer.atomic_amount]
    issued = _receivers(chain_id, token_address, {transfer.sender for transfer in sent})
    found = [(issued[each.sender], each) for each in sent if _is_collection(each, issued)]
    if not found:
        return
    counted = _canonical(chain_id, [transfer for _, transfer in found])
    _take_out_moved(found, counted.values())
    collected = {key: sums[0] for key, sums in _collected([each for each, _ in found]).items()}
    for account, transfer in found:
        before = counted.get((transfer.tx_hash, transfer.log_index))
        if before is not None and before.block_hash == transfer.block.hash:
            continue
        amount, dust = units.from_atomic(transfer.atomic_amount, account.terms.decimals)
        total = collected.get(account.id, 0) + amount
        if total > payments.LARGEST_AMOUNT:
            log.error("collection %s is too large: not recorded", transfer.tx_hash)
            continue
        _write(chain_id, account, transfer, amount, dust)
        collected[account.id] = total


def held(found: Sequence[OrderAccount]) -> dict[int, int]:
    """Return what the address of each account must hold, in atomic units, by the account's id.

    It is exact: payments less collections. Example: 10 are held. A balance of 12 shows a payment
    that is not recorded. A balance of 4 shows a collection that is not recorded, and the payment
    that made it possible may not be recorded either.
    """
    booked, collected = payments.booked_atomic(found), _collected(found)
    result = {}
    for account in found:
        amount, dust = collected.get(account.id, (0, 0))
        taken = units.to_atomic(amount, account.terms.decimals) + dust
        result[account.id] = booked[account.id] - taken
    return result


def collected_of(found: Sequence[OrderAccount]) -> set[int]:
    """Return the ids of those accounts that have a canonical collection."""
    return set(_collected(found))


def _receivers(
    chain_id: int, token_address: str, senders: Iterable[str]
) -> dict[str, OrderAccount]:
    """Return the accounts whose receivers are among the senders, by address, with their wallets.

    An owner may be a busy address, so most senders may be strangers. One query looks up many.
    """
    found: dict[str, OrderAccount] = {}
    asked = sorted(senders)
    for start in range(0, len(asked), SENDERS_PER_QUERY):
        some = accounts.at(chain_id, token_address, asked[start : start + SENDERS_PER_QUERY])
        found |= some
    return found


def _is_collection(transfer: Transfer, issued: dict[str, OrderAccount]) -> bool:
    account = issued.get(transfer.sender)
    if account is None:
        return False
    wallet = account.order.wallet
    return wallet is not None and transfer.recipient in (wallet.owner, wallet.gathering)


def _collected(found: Iterable[OrderAccount]) -> dict[int, tuple[int, int]]:
    """Return the sums of the canonical collections, in micro-units and dust. Without any: none."""
    asked = list({account.id for account in found})
    if not asked:
        return {}
    sums = fn.SUM(Collection.amount), fn.SUM(Collection.dust)
    query = Collection.select(Collection.account, *sums).where(
        Collection.account.in_(asked), Collection.canonical
    )
    rows: Iterable[Any] = query.group_by(Collection.account).tuples()
    # Postgres returns a sum as a Decimal.
    return {account_id: (int(amount), int(dust)) for account_id, amount, dust in rows}


def _canonical(chain_id: int, transfers: Iterable[Transfer]) -> dict[tuple[str, int], Collection]:
    """Return the canonical collections of some transactions, by their position."""
    rows = Collection.select().where(
        Collection.chain_id == chain_id,
        Collection.tx_hash.in_(list({transfer.tx_hash for transfer in transfers})),
        Collection.canonical,
    )
    return {(each.tx_hash, each.log_index): each for each in rows}


def _take_out_moved(
    found: Sequence[tuple[OrderAccount, Transfer]], counted: Iterable[Collection]
) -> None:
    """Remove collections whose transaction is now in another block, at another position.

    Only of the intents of `found`: one transaction collects up to a hundred orders, and a search
    reads the transfers of one. See payments.record.
    """
    blocks = {transfer.tx_hash: transfer.block.hash for _, transfer in found}
    places = {(transfer.tx_hash, transfer.log_index) for _, transfer in found}
    concerned = {account.intent_id for account, _ in found}
    moved = [
        each.id
        for each in counted
        if each.intent_id in concerned
        and each.block_hash != blocks[each.tx_hash]
        and (each.tx_hash, each.log_index) not in places
    ]
    if moved:
        Collection.update(canonical=False).where(Collection.id.in_(moved)).execute()


def _write(
    chain_id: int, account: OrderAccount, transfer: Transfer, amount: int, dust: int
) -> None:
    columns = {
        Collection.intent: account.intent_id,
        Collection.account: account.id,
        Collection.token_address: account.terms.token_address,
        Collection.block_number: transfer.block.number,
        Collection.block_hash: transfer.block.hash,
        Collection.block_time: transfer.block.time,
        Collection.recipient: transfer.recipient,
        Collection.amount: amount,
        Collection.dust: dust,
        Collection.canonical: True,
    }
    Collection.insert(
        {
            Collection.id: ids.new(ids.COLLECTION),
            Collection.chain_id: chain_id,
            Collection.tx_hash: transfer.tx_hash,
            Collection.log_index: transfer.log_index,
            Collection.seen_at: clock.now(),
            **columns,
        }
    ).on_conflict(
        conflict_target=[Collection.chain_id, Collection.tx_hash, Collection.log_index],
        update=columns,
    ).execute()
