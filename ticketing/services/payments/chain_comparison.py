"""Compare all recorded payments, refunds and collections with the nodes: `reconcile --chain`.

The rules of reconciliation.py show that the rows agree with each other. This shows that they agree
with the chain: each block has the stored hash, and the transaction's receipt has the transfer. What
no node can tell is counted with the reason: it is not proved to be right.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import ModelSelect, fn

from ticketing.chain import units
from ticketing.chain.answers import Block, Log
from ticketing.chain.errors import ChainMoved, RpcError, RpcLimited, RpcRefused
from ticketing.chain.node import Evidence, Node, connect
from ticketing.chain.registry import Chain
from ticketing.models.collections import Collection
from ticketing.models.order_accounts import OrderAccount, PaymentTerms
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.refunds import Refund
from ticketing.services import chains
from ticketing.services.payments.reconciliation import Breach

ROWS_PER_PAGE = 50
"""How many rows are in memory at a time."""

WAITS_FOR_A_PAGE = 5
"""So often the rate limit of a node is waited for. After that, its rows are left out."""

NOT_ENABLED = "the chain is not enabled"
NOT_READ = "the worker has not read their blocks yet"
OTHER_FORK = "the node lags behind the worker, or is on another fork"
NO_ANSWER = "the node does not answer"
NO_BLOCK = "no node has their blocks any more"
NO_RECEIPT = "no node has the receipts of their transactions any more"
REFUSED = "the node refuses their blocks or receipts"

Row = Payment | Refund | Collection

RULES: dict[type[Row], str] = {
    Payment: "payment_on_chain",
    Refund: "refund_on_chain",
    Collection: "collection_on_chain",
}
"""The name of the rule for each kind of row, in the order in which they are compared."""


@dataclass(frozen=True)
class LeftOut:
    """How many rows of a chain could not be compared, and why."""

    chain_id: int
    reason: str
    count: int


@dataclass(frozen=True)
class _Kept:
    """A row, and the account of its order that it belongs to."""

    row: Row
    account: OrderAccount


@dataclass(frozen=True)
class _Doubt:
    """Why a row could not be compared."""

    reason: str


class Comparison:
    """One comparison of a tenant's rows, or of all (None). `run` does it.

    `total` is how many rows there were at the start, `done` how many it has passed since.
    """

    def __init__(self, tenant_id: str | None, enabled: Mapping[int, Chain]) -> None:
        self._tenant_id = tenant_id
        self._enabled = enabled
        self._doubts: Counter[tuple[int, str]] = Counter()
        self.total = sum(self._rows(model).count() for model in RULES)
        self.done = 0

    @property
    def left_out(self) -> list[LeftOut]:
        """What could not be compared so far."""
        return [LeftOut(*key, count) for key, count in sorted(self._doubts.items())]

    @property
    def compared(self) -> int:
        """How many rows were compared so far."""
        return self.done - self._doubts.total()

    def run(self) -> Iterator[list[Breach]]:
        """Compare all rows. Yield the differences of each page; there may be none."""
        for model in RULES:
            after = ""
            while page := list(
                self._rows(model).where(model.id > after).order_by(model.id).limit(ROWS_PER_PAGE)
            ):
                after = page[-1].id
                differences = self._compare(page)
                self.done += len(page)
                yield differences

    def _rows(self, model: type[Row]) -> ModelSelect[Any]:
        query = model.select(model, PaymentIntent).join(PaymentIntent).where(model.canonical)
        if self._tenant_id is None:
            return query
        return query.where(PaymentIntent.tenant == self._tenant_id)

    def _compare(self, page: Sequence[Row]) -> list[Breach]:
        of_chain: dict[int, list[_Kept]] = defaultdict(list)
        for each in _with_accounts(page):
            of_chain[each.row.chain_id].append(each)
        found: list[Breach] = []
        for chain_id, rows in of_chain.items():
            for row, verdict in self._judge(chain_id, rows):
                if isinstance(verdict, _Doubt):
                    self._doubts[chain_id, verdict.reason] += 1
                elif verdict is not None and _is_unchanged(row):
                    found.append(Breach(RULES[type(row)], [row.id, row.intent_id], verdict))
        return found

    def _judge(
        self, chain_id: int, rows: Sequence[_Kept]
    ) -> Iterator[tuple[Row, str | _Doubt | None]]:
        """Yield for each row its difference, None if there is none, or a doubt."""
        chain, cursor = self._enabled.get(chain_id), chains.cursor(chain_id)
        if chain is None or cursor is None:
            doubt = _Doubt(NOT_ENABLED if chain is None else NOT_READ)
            yield from ((each.row, doubt) for each in rows)
            return
        read = [each for each in rows if int(each.row.block_number) <= cursor.number]
        yield from ((each.row, _Doubt(NOT_READ)) for each in rows if each not in read)
        for each, evidence in zip(read, _ask(connect(chain), cursor, read), strict=True):
            if isinstance(evidence, _Doubt):
                yield each.row, evidence
            else:
                yield each.row, _difference(each, evidence)


def _with_accounts(rows: Sequence[Row]) -> list[_Kept]:
    """Return rows with their accounts: each has a chain, a token and an address."""
    found = OrderAccount.select().where(OrderAccount.id.in_([row.account_id for row in rows]))
    by_id = {account.id: account for account in found}
    return [_Kept(row, by_id[row.account_id]) for row in rows]


def _ask(node: Node, cursor: Block, rows: Sequence[_Kept]) -> Sequence[Evidence | _Doubt]:
    """Return what the node has for each row. The rows that it refuses are found by halving."""
    if not rows:
        return []
    try:
        return _patiently(node, cursor, rows)
    except RpcRefused:
        if len(rows) == 1:
            return [_Doubt(REFUSED)]
        middle = len(rows) // 2
        return [*_ask(node, cursor, rows[:middle]), *_ask(node, cursor, rows[middle:])]
    except ChainMoved:
        return [_Doubt(OTHER_FORK)] * len(rows)
    except RpcError:
        return [_Doubt(NO_ANSWER)] * len(rows)


def _patiently(node: Node, cursor: Block, rows: Sequence[_Kept]) -> Sequence[Evidence]:
    asked = [
        (each.row.block_number, each.row.tx_hash, each.account.terms.token_address) for each in rows
    ]
    for _ in range(WAITS_FOR_A_PAGE):
        try:
            return node.evidence(cursor, asked)
        except RpcLimited as error:
            # Only the operator at the command line waits. Nothing is locked meanwhile.
            time.sleep(error.retry_after)
    return node.evidence(cursor, asked)


def _difference(kept: _Kept, evidence: Evidence) -> str | _Doubt | None:
    """Return how a row differs from what a node has. None if it does not."""
    row, terms = kept.row, kept.account.terms
    place = f"transaction {row.tx_hash}, log {row.log_index}"
    if evidence.block is None:
        return _Doubt(NO_BLOCK)
    if evidence.block.hash != row.block_hash:
        return f"block {row.block_number} has the hash {evidence.block.hash}, not {row.block_hash}"
    if evidence.logs is None:
        if evidence.transactions is None or row.tx_hash in evidence.transactions:
            return _Doubt(NO_RECEIPT)
        return f"block {row.block_number} does not have {place}"
    log = next((each for each in evidence.logs if each.log_index == row.log_index), None)
    if log is None:
        return f"there is no transfer of the token in {place}"
    if row.block_hash != log.block_hash:
        return f"{place} is in block {log.block_number} with the hash {log.block_hash}"
    if isinstance(row, Refund):
        faults = _refund_faults(row, terms, log)
    else:
        faults = _payment_faults(row, terms, log)
    return f"{place}: {'; '.join(faults)}" if faults else None


def _payment_faults(row: Payment | Collection, terms: PaymentTerms, log: Log) -> list[str]:
    sender, recipient = (
        (row.sender, terms.address) if isinstance(row, Payment) else (terms.address, row.recipient)
    )
    amount, dust = units.from_atomic(log.atomic_amount, terms.decimals)
    return _other(
        ("sender", log.sender, sender),
        ("recipient", log.recipient, recipient),
        ("amount", f"{amount} and dust {dust}", f"{row.amount} and dust {row.dust}"),
    )


def _refund_faults(refund: Refund, terms: PaymentTerms, log: Log) -> list[str]:
    value = units.from_atomic(log.atomic_amount, terms.decimals)[0]
    faults = _other(("recipient", log.recipient, refund.recipient))
    shared = (
        Refund.select(fn.SUM(Refund.amount).cast("BIGINT"))
        .join(PaymentIntent)
        .where(
            Refund.chain_id == refund.chain_id,
            Refund.tx_hash == refund.tx_hash,
            Refund.log_index == refund.log_index,
            Refund.canonical,
            PaymentIntent.tenant == refund.intent.tenant_id,
        )
        .scalar()
    )
    if shared is not None and shared > value:
        faults.append(f"it has {value}, and {shared} of it were counted as refunds")
    return faults


def _other(*parts: tuple[str, str, str]) -> list[str]:
    """Name the parts whose value on the chain, the first one, is not what is stored."""
    return [
        f"its {name} is {there}, not {stored}"
        for name, there, stored in parts
        if there.lower() != stored.lower()
    ]


def _is_unchanged(row: Row) -> bool:
    """Return whether a row still counts in the same block: a worker may have removed it since."""
    now = type(row).get_by_id(row.id)
    return bool(now.canonical and now.block_hash == row.block_hash)
