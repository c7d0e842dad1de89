"""Payments: transfers on a chain, each identified by its position there.

Reads only add payments. A payment is removed only if its block is no longer on the chain: the block
with its number has another hash.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from peewee import Case, Expression, Node, fn

from ticketing import clock, ids
from ticketing.chain import units
from ticketing.chain.answers import Transfer
from ticketing.models.collections import Collection as Collected
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payment_reports import PaymentReport
from ticketing.models.payments import Payment
from ticketing.models.refunds import Refund
from ticketing.models.wallets import Wallet
from ticketing.models.x402 import X402Settlement
from ticketing.services.orders import accounts
from ticketing.services.wallets import issuing

M = TypeVar("M", Payment, Refund, Collected)

VALUES_PER_QUERY = 1000

LARGEST_AMOUNT = 2**62
"""The most micro-units that one intent may receive: the limit of the column."""

log = logging.getLogger(__name__)


def concerned(chain_id: int, transfers: Sequence[Transfer], hashes: Mapping[int, str]) -> set[str]:
    """Return the intents whose rows `record` and `take_out_replaced` may write: lock them first.

    They are found by their address, whatever their home is: it may move until they are locked.
    """
    found = issued_to({each.recipient for each in transfers})
    for some in _in_parts({each.tx_hash for each in transfers}):
        of_chain = (Payment.chain_id == chain_id) & Payment.tx_hash.in_(some)
        found |= {each.intent_id for each in Payment.select(Payment.intent).where(of_chain)}
    found |= {each.intent_id for each in _replaced(Payment, chain_id, hashes, None)}
    return found | {each.intent_id for each in _replaced(Refund, chain_id, hashes, None)}


def issued_to(addresses: Collection[str]) -> set[str]:
    """Return the intents that have one of these addresses. Most may be of strangers."""
    found: set[str] = set()
    for some in _in_parts(addresses):
        of_part = PaymentIntent.select(PaymentIntent.id).where(PaymentIntent.address.in_(some))
        found |= {intent.id for intent in of_part}
    return found


def _in_parts(values: Collection[str]) -> Iterator[list[str]]:
    """Yield the values in lists that one statement can have as parameters."""
    every = sorted(values)
    for start in range(0, len(every), VALUES_PER_QUERY):
        yield every[start : start + VALUES_PER_QUERY]


def record(
    chain_id: int, token_address: str, transfers: Sequence[Transfer], *, of_one: bool = False
) -> set[str]:
    """Record transfers, or mark them as canonical again. Return the intents concerned.

    Transfers of 0, to unknown addresses, and to intents without an account for this chain and token
    are ignored, and so is what receivers pay their owner. After a reorganization, a transfer can
    have the position of another one. Then it replaces that one, except if the caller settles only
    `of_one` intent and the other counted for another intent.
    """
    if not transfers:
        return set()
    recipients = {transfer.recipient for transfer in transfers}
    paid = accounts.at(chain_id, token_address, recipients)
    received = {account.id: account.received for account in paid.values()}
    counted = _canonical_of(chain_id, {transfer.tx_hash for transfer in transfers})
    touched = _take_out_moved(transfers, counted.values(), recipients if of_one else None)
    new = [each for each in transfers if each.recipient in paid and not _is_known(each, counted)]
    collected = _collected_among(new)
    for transfer in new:
        if transfer in collected:
            continue
        account = paid[transfer.recipient]
        before = counted.get((transfer.tx_hash, transfer.log_index))
        other = before.intent_id if before is not None else account.intent_id
        if of_one and other != account.intent_id:
            continue
        amount, dust = units.from_atomic(transfer.atomic_amount, account.terms.decimals)
        if received[account.id] + amount > LARGEST_AMOUNT:
            log.error("transfer %s is too large: not recorded", transfer.tx_hash)
        elif amount or dust:
            _write(chain_id, account, transfer, amount, dust)
            received[account.id] += amount
            touched |= {account.intent_id, other}
    return touched


def honour(transfer: Payment) -> None:
    """Record that a late transfer pays for its order, which had ended."""
    Payment.update(honoured=True).where(Payment.id == transfer.id).execute()


def refuse_undecided(account: OrderAccount) -> None:
    """Record that no transfer to an account that is not decided yet pays for its ended order."""
    Payment.update(honoured=False).where(undecided_of(account)).execute()


def undecided_of(account: OrderAccount) -> Expression:
    """Return the condition of the transfers to an account that are not decided yet."""
    of_account = (Payment.account == account.id) & Payment.canonical
    return of_account & Payment.honoured.is_null()


def intents_of(intent_ids: Collection[str]) -> list[PaymentIntent]:
    """Return the intents with these ids, in the same order."""
    query = PaymentIntent.select().where(PaymentIntent.id.in_(list(intent_ids)))
    return list(query.order_by(PaymentIntent.id))


def booked_atomic(accounts: Sequence[OrderAccount]) -> dict[int, int]:
    """Return the sum of each account's canonical payments, in atomic units, by its id."""
    decimals = {account.id: account.terms.decimals for account in accounts}
    booked = dict.fromkeys(decimals, 0)
    of_each = Payment.select(Payment.account, fn.SUM(Payment.amount), fn.SUM(Payment.dust))
    canonical = of_each.where(Payment.account.in_(list(decimals)), Payment.canonical)
    rows: Iterable[Any] = canonical.group_by(Payment.account).tuples()
    for account_id, amount, dust in rows:
        # Postgres returns a sum as a Decimal.
        booked[account_id] = units.to_atomic(int(amount), decimals[account_id]) + int(dust)
    return booked


def blocks_after(chain_id: int, number: int) -> set[int]:
    """Return the blocks after `number` with a payment, a recorded refund or a collection."""
    blocks = _blocks(
        (Payment.chain_id == chain_id) & (Payment.block_number > number),
        (Refund.chain_id == chain_id) & (Refund.block_number > number),
    )
    collected: Iterable[Any] = (
        Collected.select(Collected.block_number)
        .where(Collected.chain_id == chain_id, Collected.block_number > number, Collected.canonical)
        .distinct()
        .tuples()
    )
    return blocks | {block for (block,) in collected}


def blocks_of(chain_id: int, intent_ids: Collection[str], after: int) -> set[int]:
    """Return a chain's blocks after `after` with a payment or recorded refund of these intents."""
    id_list = list(intent_ids)
    return _blocks(
        Payment.intent.in_(id_list)
        & (Payment.chain_id == chain_id)
        & (Payment.block_number > after),
        Refund.intent.in_(id_list) & (Refund.chain_id == chain_id) & (Refund.block_number > after),
    )


def _blocks(of_payments: Expression, of_refunds: Expression) -> set[int]:
    rows: Iterable[Any] = (
        *Payment.select(Payment.block_number)
        .where(of_payments, Payment.canonical)
        .distinct()
        .tuples(),
        *Refund.select(Refund.block_number).where(of_refunds, Refund.canonical).tuples(),
    )
    return {number for (number,) in rows}


def take_out_replaced(
    chain_id: int, hashes: Mapping[int, str], *, only: str | None = None
) -> set[str]:
    """Remove payments and refunds whose block was replaced. Return the intents concerned.

    `hashes` are the current hashes of blocks, by number. `only`: change only payments of this
    intent. None: all, and collections too. These change no intent.
    """
    payments = _replaced(Payment, chain_id, hashes, only)
    refunds = _replaced(Refund, chain_id, hashes, only)
    if payments:
        _take_out(payments)
    if refunds:
        _take_back(refunds)
    if only is None and (collected := _replaced(Collected, chain_id, hashes, None)):
        gone = [each.id for each in collected]
        Collected.update(canonical=False).where(Collected.id.in_(gone)).execute()
    return {each.intent_id for each in payments} | {each.intent_id for each in refunds}


def refunds_to_check(chain_id: int, cursor: int, after: str, most: int) -> list[Refund]:
    """Return refunds that are final at the cursor and were not checked, from the id `after` on."""
    query = (
        Refund.select(Refund)
        .join(OrderAccount)
        .where(
            Refund.chain_id == chain_id,
            Refund.canonical,
            ~Refund.checked,
            Refund.id > after,
            Refund.block_number + OrderAccount.required_confirmations - 1 <= cursor,
        )
    )
    return list(query.order_by(Refund.id).limit(most))


def note_checked(refunds: Iterable[Refund]) -> None:
    """Store that refunds were checked, except for those that are in another block meanwhile."""
    for each in refunds:
        same = (Refund.id == each.id) & (Refund.block_hash == each.block_hash)
        Refund.update(checked=True).where(same, Refund.canonical).execute()


def _replaced(
    model: type[M], chain_id: int, hashes: Mapping[int, str], only: str | None
) -> list[M]:
    """Return the canonical rows whose block has another hash now."""
    of_intent: list[Any] = [] if only is None else [model.intent == only]
    found: tuple[Any, ...] = (model.chain_id == chain_id, model.canonical, *of_intent)
    # One block may have thousands of payments: first see whether any block was replaced.
    held = model.select(model.block_number, model.block_hash).distinct()
    blocks: Iterable[Any] = held.where(model.block_number.in_(list(hashes)), *found).tuples()
    replaced = {number for number, hash_ in blocks if hash_ != hashes[number]}
    if not replaced:
        return []
    rows = model.select().where(model.block_number.in_(list(replaced)), *found)
    return [row for row in rows if row.block_hash != hashes[int(row.block_number or 0)]]


def _take_out(gone: Sequence[Payment]) -> None:
    # If a late transfer returns, the decision on it is made again. So are those on its proofs.
    columns = {
        Payment.canonical: False,
        Payment.honoured: None,
        Payment.witnessed: None,
        Payment.proven: None,
        Payment.proof_due_at: None,
    }
    Payment.update(columns).where(Payment.id.in_([each.id for each in gone])).execute()


def _take_back(gone: Sequence[Refund]) -> None:
    """Mark refunds that are no longer on the chain as not canonical."""
    Refund.update(canonical=False).where(Refund.id.in_([each.id for each in gone])).execute()
    for refund in gone:
        account: OrderAccount = refund.account
        # It is open until the order is settled, in this transaction. If it were due at once, that
        # would not see that a refund is due again, and nobody would be told.
        rest = account.counted + refund.amount - account.kept - account.due - account.out_of_reach
        (
            OrderAccount.update(refunded=account.refunded - refund.amount, open=max(0, rest))
            .where(OrderAccount.id == account.id)
            .execute()
        )


def _canonical_of(chain_id: int, tx_hashes: Collection[str]) -> dict[tuple[str, int], Payment]:
    """Return the canonical payments of some transactions, by their position."""
    rows = Payment.select().where(
        Payment.chain_id == chain_id, Payment.tx_hash.in_(list(tx_hashes)), Payment.canonical
    )
    return {(payment.tx_hash, payment.log_index): payment for payment in rows}


def _is_known(transfer: Transfer, counted: Mapping[tuple[str, int], Payment]) -> bool:
    before = counted.get((transfer.tx_hash, transfer.log_index))
    return before is not None and before.block_hash == transfer.block.hash


def _collected_among(transfers: Sequence[Transfer]) -> set[Transfer]:
    """Return those transfers that a receiver made to its own owner. No buyer paid them.

    An owner is usually no payment address. But an organizer can predict the addresses of its next
    orders, and name one as an owner. Anybody can collect, so a buyer could let others' money pay
    that order.

    A gathering receiver can pay its owner only. So its address shows whose it is, also if the owner
    is a wallet of another installation.
    """
    if not transfers:
        return set()
    senders = {transfer.sender for transfer in transfers}
    rows: Iterable[Any] = (
        PaymentIntent.select(PaymentIntent.address, Wallet.owner)
        .join(Wallet)
        .where(PaymentIntent.address.in_(senders))
        .tuples()
    )
    owners = dict(rows)
    return {
        each
        for each in transfers
        if owners.get(each.sender) == each.recipient
        or each.sender == issuing.gathering_address(each.recipient)
    }


def _take_out_moved(
    transfers: Sequence[Transfer], counted: Iterable[Payment], only: Collection[str] | None
) -> set[str]:
    """Remove payments whose transaction is now in another block, at another position.

    A transaction is in one block only. `only`: change only payments to these addresses. None: all.
    Return the intents concerned.

    Example: transaction T paid 10 as log 3 of block 105. After a reorganization it is log 7 of
    block 106. Without this, (T, 3) and (T, 7) would count as two payments of 10.
    """
    blocks = {transfer.tx_hash: transfer.block.hash for transfer in transfers}
    places = {(transfer.tx_hash, transfer.log_index) for transfer in transfers}
    moved = [
        payment
        for payment in counted
        if payment.block_hash != blocks[payment.tx_hash]
        and (payment.tx_hash, payment.log_index) not in places
        and (only is None or payment.intent.address in only)
    ]
    if moved:
        _take_out(moved)
    return {payment.intent_id for payment in moved}


def _write(
    chain_id: int, account: OrderAccount, transfer: Transfer, amount: int, dust: int
) -> None:
    columns = {
        Payment.intent: account.intent_id,
        Payment.account: account.id,
        Payment.sender: transfer.sender,
        Payment.amount: amount,
        Payment.dust: dust,
        Payment.block_number: transfer.block.number,
        Payment.block_hash: transfer.block.hash,
        Payment.block_time: transfer.block.time,
        Payment.canonical: True,
        Payment.proven: None,
        Payment.proof_due_at: _proof_due_at(chain_id, account, transfer),
    }
    # A decision on a transfer to another intent does not hold for this one.
    same_intent = Payment.intent == account.intent_id
    # What nodes saw was in the block before.
    same_block = Payment.block_hash == transfer.block.hash
    Payment.insert(
        {
            Payment.id: ids.new(ids.PAYMENT),
            Payment.chain_id: chain_id,
            Payment.tx_hash: transfer.tx_hash,
            Payment.log_index: transfer.log_index,
            Payment.seen_at: clock.now(),
            **columns,
        }
    ).on_conflict(
        conflict_target=[Payment.chain_id, Payment.tx_hash, Payment.log_index],
        update={
            **columns,
            Payment.honoured: Case(None, [(same_intent, Payment.honoured)], None),
            Payment.witnessed: Case(None, [(same_intent & same_block, Payment.witnessed)], None),
        },
    ).execute()


def _proof_due_at(chain_id: int, account: OrderAccount, transfer: Transfer) -> Node:
    """Return since when the worker may look who paid: since a page told it, or a payer signed.

    It is a part of the payment's own statement, so that it costs no other. Most have neither: NULL.
    """
    told = PaymentReport.select(fn.MIN(PaymentReport.told_at)).where(
        PaymentReport.intent == account.intent_id,
        PaymentReport.chain_id == chain_id,
        PaymentReport.tx_hash == transfer.tx_hash,
        PaymentReport.account == transfer.sender,
    )
    signed = X402Settlement.select(fn.MIN(X402Settlement.created_at)).where(
        X402Settlement.intent == account.intent_id,
        X402Settlement.chain_id == chain_id,
        X402Settlement.payer == transfer.sender,
    )
    due_at: Node = fn.COALESCE(told, signed)
    return due_at
