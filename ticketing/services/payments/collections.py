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
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.wallets import Wallet
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
    for intent, transfer in found:
        before = counted.get((transfer.tx_hash, transfer.log_index))
        if before is not None and before.block_hash == transfer.block.hash:
            continue
        amount, dust = units.from_atomic(transfer.atomic_amount, intent.terms.decimals)
        total = collected.get(intent.id, 0) + amount
        if total > payments.LARGEST_AMOUNT:
            log.error("collection %s is too large: not recorded", transfer.tx_hash)
            continue
        _write(chain_id, intent, transfer, amount, dust)
        collected[intent.id] = total


def held(intents: Sequence[PaymentIntent]) -> dict[str, Held]:
    """Return what each intent's address must hold."""
    booked = payments.booked_atomic(intents)
    exact = receivers_among(intents)
    collected = _collected([intent for intent in intents if intent.id in exact])
    result = {}
    for intent in intents:
        amount, dust = collected.get(intent.id, (0, 0))
        taken = units.to_atomic(amount, intent.terms.decimals) + dust
        result[intent.id] = Held(booked[intent.id] - taken, intent.id in exact)
    return result


def held_atomic(intents: Sequence[PaymentIntent]) -> dict[str, int]:
    """Return what each intent's address must hold, in atomic units: see Held."""
    return {intent_id: each.atomic for intent_id, each in held(intents).items()}


def receivers_among(intents: Iterable[PaymentIntent]) -> set[str]:
    """Return the ids of those intents whose address is a receiver."""
    wallet_of = {intent.id: intent.wallet_id for intent in intents}
    rows: Iterable[Any] = (
        Wallet.select(Wallet.id)
        .where(Wallet.id.in_(list(set(wallet_of.values()))), Wallet.owner.is_null(False))
        .tuples()
    )
    of_address = {wallet_id for (wallet_id,) in rows}
    return {intent_id for intent_id, wallet_id in wallet_of.items() if wallet_id in of_address}


def collected_of(intents: Sequence[PaymentIntent]) -> set[str]:
    """Return the ids of those intents that have a canonical collection."""
    return set(_collected(intents))


def _receivers(
    chain_id: int, token_address: str, senders: Iterable[str]
) -> dict[str, PaymentIntent]:
    """Return the intents whose receivers are among the senders, by address, with their wallets.

    An owner may be a busy address, so most senders may be strangers. One query looks up many.
    """
    found: dict[str, PaymentIntent] = {}
    asked = sorted(senders)
    for start in range(0, len(asked), SENDERS_PER_QUERY):
        some = asked[start : start + SENDERS_PER_QUERY]
        query = (
            PaymentIntent.select(PaymentIntent, Wallet)
            .join(Wallet)
            .where(
                PaymentIntent.address.in_(some),
                PaymentIntent.chain_id == chain_id,
                PaymentIntent.token_address == token_address,
                Wallet.owner.is_null(False),
            )
        )
        found |= {intent.terms.address: intent for intent in query}
    return found


def _is_collection(transfer: Transfer, issued: dict[str, PaymentIntent]) -> bool:
    intent = issued.get(transfer.sender)
    if intent is None or intent.wallet is None:
        return False
    owner = str(intent.wallet.owner)
    return transfer.recipient in (owner, issuing.gathering_address(owner))


def _collected(intents: Iterable[PaymentIntent]) -> dict[str, tuple[int, int]]:
    """Return the sums of the canonical collections, in micro-units and dust. Without any: none."""
    intent_ids = list({intent.id for intent in intents})
    if not intent_ids:
        return {}
    sums = Collection.select(
        Collection.intent, fn.SUM(Collection.amount), fn.SUM(Collection.dust)
    ).where(Collection.intent.in_(intent_ids), Collection.canonical)
    rows: Iterable[Any] = sums.group_by(Collection.intent).tuples()
    # Postgres returns a sum as a Decimal.
    return {intent_id: (int(amount), int(dust)) for intent_id, amount, dust in rows}


def _canonical(chain_id: int, transfers: Iterable[Transfer]) -> dict[tuple[str, int], Collection]:
    """Return the canonical collections of some transactions, by their position."""
    rows = Collection.select().where(
        Collection.chain_id == chain_id,
        Collection.tx_hash.in_(list({transfer.tx_hash for transfer in transfers})),
        Collection.canonical,
    )
    return {(each.tx_hash, each.log_index): each for each in rows}


def _take_out_moved(
    found: Sequence[tuple[PaymentIntent, Transfer]], counted: Iterable[Collection]
) -> None:
    """Remove collections whose transaction is now in another block, at another position.

    Only of the intents of `found`: one transaction collects up to a hundred orders, and a search
    reads the transfers of one. See payments.record.
    """
    blocks = {transfer.tx_hash: transfer.block.hash for _, transfer in found}
    places = {(transfer.tx_hash, transfer.log_index) for _, transfer in found}
    concerned = {intent.id for intent, _ in found}
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
    chain_id: int, intent: PaymentIntent, transfer: Transfer, amount: int, dust: int
) -> None:
    columns = {
        Collection.intent: intent.id,
        Collection.token_address: intent.terms.token_address,
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
