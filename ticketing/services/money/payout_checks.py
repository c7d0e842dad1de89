"""What the nodes of a chain say about refunds before they are listed.

Whether the money that the books say arrived is there, whether an id was used already, and whether
the payer's transfer would pass.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from peewee import fn

from ticketing.chain import units
from ticketing.chain.answers import Block
from ticketing.chain.errors import ChainMoved, NotLinked, RpcError
from ticketing.chain.node import Node, connect_each
from ticketing.chain.refunded_events import Refunded
from ticketing.chain.registry import Chain
from ticketing.constants import PayoutReason
from ticketing.models.collections import Collection as Collected
from ticketing.models.payments import Payment
from ticketing.services.money import payout_candidates
from ticketing.services.money.payout_candidates import Due, Wanted
from ticketing.services.money.payout_lists import BlockedOrder, ListedId
from ticketing.services.payments import payout_events, payout_ids, restored_payouts

T = TypeVar("T")

BEHIND_SECONDS = 2.0
"""How long a node that lacks the last block of the worker has to get it."""

_BLOCKS_SEARCHED = 2000

log = logging.getLogger(__name__)


def unpaid(
    node: Node, wanted: Wanted, page: Sequence[Due], at: Block
) -> tuple[list[Due], list[BlockedOrder]]:
    """Return those whose ids are not used, and the others.

    Every URL is asked about the id that would be listed and about the ids of earlier lists, of all
    payers: a node may have left out an event, and nobody must pay again. One "yes" holds an order
    back. So does a URL that does not answer, if another id was listed before: the factory stops a
    second payment with the same id, but not one with another id.
    """
    earlier = payout_candidates.unknown_ids([each.account for each in page])
    own = {each.account.id: ListedId(wanted.payer, each.payment.id) for each in page}
    asked: dict[tuple[str, str], Due] = {
        pair: each for each in page for pair in (own[each.account.id], *earlier[each.account.id])
    }
    try:
        used, is_certain = _used(wanted.chain, asked.keys(), at)
    except (ChainMoved, NotLinked):
        return [], [each.blocked(PayoutReason.NODES_BEHIND) for each in page]
    uses = {asked[payer, id_].account.id: (payer, id_) for payer, id_ in used}
    paid_in = _transactions_of(node, wanted.chain, at, list(uses.values()))
    for account_id, event in _not_final_after_restore(wanted, page, at).items():
        uses.setdefault(account_id, (event.payer, event.id))
        paid_in.setdefault((event.payer, event.id), event.tx_hash)
    free: list[Due] = []
    blocked: list[BlockedOrder] = []
    for each in page:
        account_id = each.account.id
        if account_id in uses:
            payer, id_ = uses[account_id]
            tx_hash = paid_in.get((payer, id_))
            known = {"payer": payer, "payment_id": id_, "tx_hash": tx_hash}
            blocked.append(each.blocked(PayoutReason.ALREADY_PAID, **known))
        elif not is_certain and set(earlier[account_id]) - {own[account_id]}:
            blocked.append(each.blocked(PayoutReason.NODES_BEHIND))
        else:
            free.append(each)
    return free, blocked


def _used(
    chain: Chain, asked: Collection[tuple[str, str]], at: Block
) -> tuple[set[tuple[str, str]], bool]:
    """Return the ids that a URL calls used, and whether all URLs have answered. RpcError: none."""
    found: set[tuple[str, str]] = set()
    errors: list[RpcError] = []
    urls = connect_each(chain)
    for number, url in enumerate(urls, 1):
        try:
            found |= _if_behind_again(lambda url=url: url.payouts.used(asked, at))  # type: ignore[misc]
        except RpcError as error:
            log.warning("chain %s: URL %s: %s", chain.chain_id, number, error)
            errors.append(error)
    if len(errors) == len(urls):
        # One that lags is there soon. Nothing is known of one that does not answer.
        raise min(errors, key=lambda error: not isinstance(error, ChainMoved | NotLinked))
    return found, not errors


def _not_final_after_restore(wanted: Wanted, page: Sequence[Due], at: Block) -> dict[int, Refunded]:
    """Return an event of each account that is not final, while its list may be unknown.

    Every URL is asked. RpcError if one does not answer: it may be the only honest one.

    The worker reads events that are final. Somebody may have signed a list that the backup does not
    know, just before the restore.
    """
    chain_id = wanted.chain.chain_id
    if not restored_payouts.is_restored(chain_id):
        return {}
    owners = payout_ids.owners_of_ids([each.account for each in page])
    read = payout_events.cursor(chain_id) or at
    token = wanted.token_address.lower()
    found: dict[int, Refunded] = {}
    for url in connect_each(wanted.chain):
        for each in url.payouts.newest_events(sorted(owners), read.number + 1):
            if each.token_address.lower() == token:
                found[owners[each.id]] = each
    return found


def covered(
    node: Node, wanted: Wanted, page: Sequence[Due], at: Block
) -> tuple[list[Due], list[BlockedOrder]]:
    """Return those whose address has, or has passed on, all that it received by the books.

    Balances are read in the last block that the worker has read, and nothing is subtracted:
    refunds are not paid from there. It finds wrong books, not a node that invents collections, too.

    Example: by the books an address received 12 and passed on 5. It must have at least 7.
    """
    if not page:
        return [], []
    received = _atomic(Payment, page, at)
    collected = _atomic(Collected, page, at)
    addresses = [each.account.terms.address for each in page]
    try:
        held = _if_behind_again(lambda: node.balances_in(at, wanted.token_address, addresses))
    except (ChainMoved, NotLinked) as error:
        log.warning("chain %s: %s", wanted.chain.chain_id, error)
        return [], [each.blocked(PayoutReason.NODES_BEHIND) for each in page]
    free: list[Due] = []
    blocked: list[BlockedOrder] = []
    for each, balance in zip(page, held, strict=True):
        account_id = each.account.id
        if balance + collected.get(account_id, 0) >= received.get(account_id, 0):
            free.append(each)
        else:
            log.error(
                "order %s: its address does not have what the books say it received",
                each.account.intent_id,
            )
            blocked.append(each.blocked(PayoutReason.NOT_COVERED))
    return free, blocked


def passing(
    node: Node, wanted: Wanted, page: Sequence[Due], is_over: Callable[[], bool]
) -> tuple[list[Due], list[BlockedOrder]]:
    """Return those whose transfer would pass, and those that the token refuses.

    When `is_over` says so, the rest is in neither.
    """
    payments = [each.payment for each in page]
    passes = node.payouts.payable(wanted.token_address, wanted.payer, payments, is_over)
    free = [each for each in page if passes.get(each.payment.id)]
    refused = [each for each in page if passes.get(each.payment.id) is False]
    return free, [each.blocked(PayoutReason.TRANSFER_REFUSED) for each in refused]


def _atomic(model: Any, page: Sequence[Due], at: Block) -> dict[int, int]:
    """Return the sums of payments or of collections up to a block, in atomic units, by account."""
    decimals = {each.account.id: each.account.token_decimals for each in page}
    rows: Iterable[Any] = (
        model.select(model.account, fn.SUM(model.amount), fn.SUM(model.dust))
        .where(
            model.account.in_(list(decimals)),
            model.canonical,
            # A purchase may have booked a payment in a newer block than the worker has read.
            model.block_number <= at.number,
        )
        .group_by(model.account)
        .tuples()
    )
    # Postgres returns a sum as a Decimal.
    return {
        account_id: units.to_atomic(int(amount), decimals[account_id]) + int(dust)
        for account_id, amount, dust in rows
    }


def _if_behind_again(ask: Callable[[], T]) -> T:
    """Ask a node, and once more a moment later if it lacks the last block of the worker."""
    try:
        return ask()
    except (ChainMoved, NotLinked):
        time.sleep(BEHIND_SECONDS)
        return ask()


def _transactions_of(
    node: Node, chain: Chain, at: Block, uses: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """Return the transactions that used some ids not long ago, as far as the node says."""
    if not uses:
        return {}
    first = at.number - _BLOCKS_SEARCHED
    read = payout_events.cursor(chain.chain_id)
    if read is not None:
        first = max(first, read.number - chain.confirmations)
    try:
        found = node.payouts.newest_events(sorted({id_ for _, id_ in uses}), max(0, first))
    except RpcError as error:
        # It is only named: the order is not listed anyway.
        log.info("chain %s: %s", chain.chain_id, error)
        return {}
    return {(each.payer, each.id): each.tx_hash for each in found}
