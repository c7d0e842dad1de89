"""Which account has proven that it paid, so that money can go back to it without asking.

There are two proofs of a payment, and both need a key:

- `signer`: its sender signed the transfer (EIP-3009), with a nonce that only this order has.
- `wallet`: its sender paid in a browser. The page told the account and the transaction, at the time
  of the payment, and the chain shows that a person's account sent it.

Everybody reads payments on a chain. What a page tells must come soon, so that nobody learns it from
there. And it must not be an exchange that paid: its hot wallet has sent thousands of transactions,
or has paid for others here, and what is sent back to it is lost.

Pages tell (`tell`). Once a payment is final, the worker asks a node where it came from, and
decides (worker/payer_check.py, `take_due`, `decide`). `proven_payee` adds up an account's payments.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from peewee import fn

from ticketing import clock
from ticketing.chain import address as addresses
from ticketing.chain import units
from ticketing.chain.payer_calls import Origin, TransferPlace
from ticketing.constants import PayeeSource
from ticketing.db.connection import write_transaction
from ticketing.errors import NotFound, TooManyPayers
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payment_reports import PaymentReport
from ticketing.models.payments import Payment
from ticketing.models.x402 import X402Settlement
from ticketing.services import stated_addresses
from ticketing.services.orders import intents
from ticketing.services.payments import settlement

LEAST_PERCENT = 99
"""How much of what an account received one sender must have proven. A stranger may add dust."""

REPORTS_PER_ORDER = 10
"""How many payments of an order can be told."""

TOLD_WITHIN = timedelta(minutes=2) + clock.CLOCKS_APART
"""How long after its block a payment can be told: two minutes, and what our clock and the chain's
may differ. A payment that waits for its block was told before.
"""

MOST_TRANSACTIONS = 10_000
"""The number of transactions that a person's account has sent, at most."""

MOST_OTHER_MAILBOXES, MAILBOXES_OF = 3, timedelta(days=30)
"""For how many other mailboxes an account may have paid here, in which time."""

AT_ONCE = 20
"""How many payments one pass asks a node about."""

_SHORTEST_PAUSE, _LONGEST_PAUSE = timedelta(seconds=30), timedelta(days=1)

_MOST_TOTALS = 100


@dataclass(frozen=True)
class Due:
    """A final payment whose proof is looked for, with its account."""

    payment: Payment
    account: OrderAccount

    @property
    def place(self) -> TransferPlace:
        """What a node is asked about."""
        payment, terms = self.payment, self.account.terms
        return TransferPlace(
            payment.tx_hash,
            payment.log_index,
            payment.block_hash,
            terms.token_address,
            payment.sender,
            terms.address,
            units.to_atomic(payment.amount, terms.decimals) + payment.dust,
        )


def tell(tenant_reference: str, intent_id: str, account: str, tx_hash: str, chain_id: int) -> None:
    """Store which account pays for an order, and in which transaction. It proves nothing alone.

    A repeat changes nothing. NotFound, also for an order that costs nothing. Invalid for a wrong
    checksum. TooManyPayers.
    """
    intent = intents.get(tenant_reference, intent_id)
    if intent.chain_id is None:
        raise NotFound("There is nothing to pay.")
    account = stated_addresses.parse(account, "account")
    now = clock.now()
    with write_transaction():
        # A payment of it may be booked now: it looks for what was told, and so do we for it.
        settlement.lock_rows([intent.id])
        told = list(PaymentReport.select().where(PaymentReport.intent == intent.id))
        report = (chain_id, tx_hash, account)
        if report in {(each.chain_id, each.tx_hash, each.account) for each in told}:
            return
        if len(told) >= REPORTS_PER_ORDER:
            raise TooManyPayers
        PaymentReport.insert(
            intent=intent.id, chain_id=chain_id, tx_hash=tx_hash, account=account, told_at=now
        ).execute()
        Payment.update(proof_due_at=now).where(
            Payment.chain_id == chain_id,
            Payment.tx_hash == tx_hash,
            Payment.intent == intent.id,
            Payment.sender == account,
            Payment.canonical,
            Payment.proven.is_null(),
        ).execute()


def take_due(chain_id: int, cursor: int) -> list[Due]:
    """Return some payments that are final at the cursor and whose proof is to be looked for.

    They are tried again later, unless they are decided until then: a node may lack them. Pauses
    grow with the age of a payment.
    """
    now = clock.now()
    depth = OrderAccount.required_confirmations
    rows: Iterable[Any] = (
        Payment.select(Payment, OrderAccount, PaymentIntent)
        .join(OrderAccount)
        .join(PaymentIntent)
        .where(
            Payment.chain_id == chain_id,
            Payment.proof_due_at <= now,
            Payment.canonical,
            Payment.block_number + depth - 1 <= cursor,
        )
        .order_by(Payment.proof_due_at)
        .limit(AT_ONCE)
    )
    taken = []
    with write_transaction():
        for payment in list(rows):
            pause = max(_SHORTEST_PAUSE, min(_LONGEST_PAUSE, (now - payment.seen_at) / 4))
            # With the chain it is found by its id, or by the whole key of the index.
            is_same = (Payment.id == payment.id) & (Payment.chain_id == chain_id)
            is_same &= Payment.proof_due_at == payment.proof_due_at
            if Payment.update(proof_due_at=now + pause).where(is_same).execute():
                taken.append(Due(payment, payment.account))
    return taken


def totals_before(payment: Payment) -> Sequence[int]:
    """Return what an account had received before a payment: after none, the first one, and so on.

    One of these sums is in the nonce that its payer signed. Of a payment after very many others it
    is not known which one, and the first ones are returned.
    """
    rows = (
        Payment.select(Payment.amount)
        .where(
            Payment.account == payment.account_id,
            Payment.canonical,
            Payment.block_number <= payment.block_number,
            Payment.id != payment.id,
        )
        .order_by(Payment.block_number, Payment.log_index)
        .limit(_MOST_TOTALS)
    )
    totals = [0]
    for each in rows:
        totals.append(totals[-1] + each.amount)
    return totals


def decide(due: Due, origin: Origin, own_nonces: Collection[bytes]) -> None:
    """Store how a payment is proven, if it is still in the block that a node was asked about.

    `own_nonces`: those that a payer of its order may have signed. A claim's are known here.
    """
    asked = due.payment
    with write_transaction():
        settlement.lock_rows([asked.intent_id])
        payment = Payment.get_by_id(asked.id)
        is_same = (payment.intent_id, payment.block_hash) == (asked.intent_id, asked.block_hash)
        if not (payment.canonical and is_same):
            return
        proven = None
        if _is_signed(due, origin, own_nonces):
            proven = PayeeSource.SIGNER
        elif _is_of_wallet(payment, origin):
            proven = PayeeSource.WALLET
        columns = {Payment.proven: proven, Payment.proof_due_at: None}
        Payment.update(columns).where(Payment.id == payment.id).execute()


def proven_payee(account: OrderAccount) -> tuple[str, PayeeSource] | None:
    """Return the address that has proven that it paid an account, and how. None: nobody has.

    It has proven at least LEAST_PERCENT of what the account received, payments that are not final
    included. If it takes payments of both proofs to reach that, the source is WALLET, the weaker
    one. Never the zero address, and never an address of an order. Call it under the order's lock.
    """
    decimals = account.token_decimals
    rows: Iterable[Any] = (
        Payment.select(Payment.sender, Payment.proven, fn.SUM(Payment.amount), fn.SUM(Payment.dust))
        .where(Payment.account == account.id, Payment.canonical)
        .group_by(Payment.sender, Payment.proven)
        .tuples()
    )
    booked = 0
    sums: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for sender, proven, amount, dust in rows:
        # Postgres returns a sum as a Decimal.
        atomic = units.to_atomic(int(amount), decimals) + int(dust)
        booked += atomic
        if proven is not None:
            sums[sender][proven] += atomic
    received = max(booked, units.to_atomic(account.received, decimals))
    for sender, of_sender in sums.items():
        if 100 * sum(of_sender.values()) < LEAST_PERCENT * received or _is_refused(sender):
            continue
        is_signed = 100 * of_sender[PayeeSource.SIGNER] >= LEAST_PERCENT * received
        return sender, PayeeSource.SIGNER if is_signed else PayeeSource.WALLET
    return None


def _is_signed(due: Due, origin: Origin, own_nonces: Collection[bytes]) -> bool:
    """Return whether its sender has signed a payment for this order."""
    nonce, payment = origin.authorization, due.payment
    if nonce is None:
        return False
    of_claim = X402Settlement.select().where(
        X402Settlement.chain_id == payment.chain_id,
        X402Settlement.token_address == due.account.token_address,
        X402Settlement.payer == payment.sender,
        X402Settlement.nonce == nonce.hex(),
        X402Settlement.intent == payment.intent_id,
    )
    return nonce in own_nonces or bool(of_claim.exists())


def _is_of_wallet(payment: Payment, origin: Origin) -> bool:
    """Return whether its sender has paid in a browser, whose page told it in time.

    A transaction that somebody else sent, such as a bundler, a relayer or the owner of a contract,
    shows nothing about the sender of its transfer.
    """
    sent_itself = origin.sent_by == payment.sender and origin.of_key
    if not sent_itself or origin.nonce >= MOST_TRANSACTIONS:
        return False
    told_in_time = PaymentReport.select().where(
        PaymentReport.intent == payment.intent_id,
        PaymentReport.chain_id == payment.chain_id,
        PaymentReport.tx_hash == payment.tx_hash,
        PaymentReport.account == payment.sender,
        PaymentReport.told_at <= payment.block_time + TOLD_WITHIN,
    )
    return bool(told_in_time.exists()) and not _pays_for_many(payment)


def _pays_for_many(payment: Payment) -> bool:
    """Return whether its sender paid for orders of too many other mailboxes, on any network."""
    mailbox = fn.LOWER(PaymentIntent.buyer_email)
    found: Iterable[Any] = (
        Payment.select(mailbox)
        .join(PaymentIntent)
        .where(
            Payment.sender == payment.sender,
            Payment.block_time > payment.block_time - MAILBOXES_OF,
            Payment.canonical,
            PaymentIntent.buyer_email.is_null(False),
        )
        .distinct()
        .limit(MOST_OTHER_MAILBOXES + 2)
        .tuples()
    )
    own = (payment.intent.buyer_email or "").lower()
    return len({each for (each,) in found} - {own}) > MOST_OTHER_MAILBOXES


def _is_refused(sender: str) -> bool:
    """Return whether money must not go to an address: nobody's, or that of an order."""
    of_order = PaymentIntent.select().where(PaymentIntent.address == sender)
    return sender == addresses.ZERO or bool(of_order.exists())
