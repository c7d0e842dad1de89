"""Collections: what receivers passed on to their owners, so that each balance can be explained.

A receiver can send only to its owner and to its gathering receiver (docs/receivers.md). Each such
transfer is a row. So what a receiver must hold is known exactly: its payments less its collections.
What the owner of an xpub took is not recorded.

A collection changes no status and nothing that is owed. The worker reads collections by their
recipients, two for each wallet, however many orders there are. It therefore also reads what
strangers send to an owner. A search of one order reads them by their sender instead.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import fn

from ticketing import clock, ids
from ticketing.chain import units
from ticketing.chain.answers import Transfer
from ticketing.models.collections import Collection
from ticketing.models.stray_accounts import Account
from ticketing.models.wallets import Wallet
from ticketing.services.orders import accounts
from ticketing.services.payments import payments
from ticketing.services.wallets import issuing

SENDERS_PER_QUERY = 1000

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Held:
    """What an order's address must hold, in atomic units: its payments less its collections.

    `is_exact`: the address is a receiver. Of an xpub, it is the most: the owner may have taken some
    of it, and nobody has recorded that.
    """

    atomic: int
    is_exact: bool

    def may_be(self, balance: int) -> bool:
        """Return whether the books allow this balance.

        Example: 10 are held. A balance of 12 is a payment that is not recorded. A balance of 4 is
        allowed of an xpub: the owner took 6. Of a receiver it is a collection that is not recorded,
        and the payment that made it possible may not be recorded either.
        """
        return balance == self.atomic if self.is_exact else balance <= self.atomic


def recipients() -> frozenset[str]:
    """Return to whom receivers may have passed money on: for each wallet, two addresses."""
    rows: Iterable[Any] = (
        Wallet.select(Wallet.owner)
        .where(Wallet.owner.is_null(False), Wallet.next_index > 1)
        .distinct()
        .tuples()
    )
    owners = [owner for (owner,) in rows]
    return frozenset([*owners, *map(issuing.gathering_address, owners)])


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


def held(found: Sequence[Account]) -> dict[str, Held]:
    """Return what the address of each account must hold of its token, by the account's id."""
    booked = payments.booked_atomic(found)
    exact = receivers_among(found)
    collected = _collected([account for account in found if account.id in exact])
    result = {}
    for account in found:
        amount, dust = collected.get(account.id, (0, 0))
        taken = units.to_atomic(amount, account.terms.decimals) + dust
        result[account.id] = Held(booked[account.id] - taken, account.id in exact)
    return result


def held_atomic(found: Sequence[Account]) -> dict[str, int]:
    """Return what the address of each account must hold, in atomic units: see Held."""
    return {account_id: each.atomic for account_id, each in held(found).items()}


def receivers_among(found: Iterable[Account]) -> set[str]:
    """Return the ids of those accounts whose address is a receiver."""
    wallet_of = {account.id: account.wallet_id for account in found}
    rows: Iterable[Any] = (
        Wallet.select(Wallet.id)
        .where(Wallet.id.in_(list(set(wallet_of.values()))), Wallet.owner.is_null(False))
        .tuples()
    )
    of_address = {wallet_id for (wallet_id,) in rows}
    return {account_id for account_id, wallet_id in wallet_of.items() if wallet_id in of_address}


def collected_of(found: Sequence[Account]) -> set[str]:
    """Return the ids of those accounts that have a canonical collection."""
    return set(_collected(found))


def _receivers(chain_id: int, token_address: str, senders: Iterable[str]) -> dict[str, Account]:
    """Return the accounts whose receivers are among the senders, by address, with their wallets.

    An owner may be a busy address, so most senders may be strangers. One query looks up many.
    """
    found: dict[str, Account] = {}
    asked = sorted(senders)
    for start in range(0, len(asked), SENDERS_PER_QUERY):
        some = accounts.at(chain_id, token_address, asked[start : start + SENDERS_PER_QUERY])
        found |= {address: each for address, each in some.items() if _owner_of(each) is not None}
    return found


def _owner_of(account: Account) -> str | None:
    """Return whom the receiver of an account pays. None: its address is of an xpub."""
    wallet = account.order.wallet
    return None if wallet is None else wallet.owner


def _is_collection(transfer: Transfer, issued: dict[str, Account]) -> bool:
    account = issued.get(transfer.sender)
    owner = None if account is None else _owner_of(account)
    if owner is None:
        return False
    return transfer.recipient in (owner, issuing.gathering_address(owner))


def _collected(found: Iterable[Account]) -> dict[str, tuple[int, int]]:
    """Return the sums of the canonical collections, in micro-units and dust. Without any: none."""
    ids_ = {account.id: account.intent_id for account in found}
    if not ids_:
        return {}
    columns = (Collection.intent, Collection.stray)
    sums = Collection.select(*columns, fn.SUM(Collection.amount), fn.SUM(Collection.dust)).where(
        Collection.intent.in_(list(set(ids_.values()))), Collection.canonical
    )
    rows: Iterable[Any] = sums.group_by(*columns).tuples()
    # Postgres returns a sum as a Decimal.
    sums_of = {stray or intent: (int(amount), int(dust)) for intent, stray, amount, dust in rows}
    return {account_id: sums_of[account_id] for account_id in ids_ if account_id in sums_of}


def _canonical(chain_id: int, transfers: Iterable[Transfer]) -> dict[tuple[str, int], Collection]:
    """Return the canonical collections of some transactions, by their position."""
    rows = Collection.select().where(
        Collection.chain_id == chain_id,
        Collection.tx_hash.in_(list({transfer.tx_hash for transfer in transfers})),
        Collection.canonical,
    )
    return {(each.tx_hash, each.log_index): each for each in rows}


def _take_out_moved(
    found: Sequence[tuple[Account, Transfer]], counted: Iterable[Collection]
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


def _write(chain_id: int, account: Account, transfer: Transfer, amount: int, dust: int) -> None:
    columns = {
        Collection.intent: account.intent_id,
        Collection.stray: account.stray,
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
