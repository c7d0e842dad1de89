"""What a node is asked for payouts: whether payments can be made, and which ones were."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ticketing.chain import abi, receivers, refunded_events
from ticketing.chain.answers import (
    Block,
    Log,
    Transfer,
    is_contract,
    is_successful,
    parse_block,
    parse_bytes,
    parse_quantity,
    parse_receipt,
    parse_word,
)
from ticketing.chain.block_headers import (
    HEAD_CALL,
    check_link,
    header_call,
    match_blocks,
    read_header,
)
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import ChainMoved, RpcError, RpcInvalid, RpcRefused
from ticketing.chain.refunded_events import ListedPayment, PaidRefund, Refunded
from ticketing.chain.rpc import CHAIN_ID_CALL, RpcClient

_BALANCE = abi.selector("balanceOf(address)")
_ALLOWANCE = abi.selector("allowance(address,address)")
_REFUNDED = abi.selector("refunded(address,bytes32)")
_TRANSFER = abi.selector("transfer(address,uint256)")


@dataclass(frozen=True)
class PayerState:
    """What an account has of a token, and lets the factory spend, in atomic units.

    `has_factory`: the factory has code on this chain.
    """

    balance: int
    allowance: int
    has_factory: bool


class PayoutCalls:
    """Asks one chain about payouts. Every method may raise RpcError."""

    def __init__(self, rpc: RpcClient, chain_id: int | None) -> None:
        """Ask with `rpc`. With a `chain_id` (EIP-155), reject answers of other chains."""
        self._rpc = rpc
        self._chain_id = chain_id

    def payer_state(self, token_address: str, payer: str) -> PayerState:
        """Return what a payer can pay now."""
        of_payer = abi.address_word(payer)
        allowed = _ALLOWANCE + (of_payer + abi.address_word(receivers.FACTORY)).hex()
        balance, allowance, code = self._ask(
            [
                _call(token_address, _BALANCE + of_payer.hex()),
                _call(token_address, allowed),
                ("eth_getCode", [receivers.FACTORY, "latest"]),
            ]
        )
        return PayerState(parse_word(balance), parse_word(allowance), is_contract(code))

    def used(self, ids: Collection[tuple[str, str]], known: Block) -> set[tuple[str, str]]:
        """Return those ids that were used, each with its payer.

        Where the factory has no code, none was. `known` is a block that the node must have:
        NotLinked, ChainMoved.
        """
        asked = [
            _call(receivers.FACTORY, _REFUNDED + abi.address_word(payer).hex() + id_[2:])
            for payer, id_ in ids
        ]
        header, code, *answers = self._ask(
            [header_call(known.number), ("eth_getCode", [receivers.FACTORY, "latest"]), *asked]
        )
        check_link(known, read_header(known.number, header))
        if not is_contract(code):
            return set()
        return {each for each, used in zip(ids, answers, strict=True) if parse_word(used)}

    def payable(
        self,
        token_address: str,
        payer: str,
        payments: Sequence[ListedPayment],
        is_over: Callable[[], bool],
    ) -> dict[str, bool]:
        """Try each payment as a transfer of the payer. Return by id whether it would pass.

        This needs no allowance. All are tried in one request. If the node refuses it, each half is
        tried, until those that fail are found: one frozen payee of 100 costs 13 more requests.
        `is_over` ends that early: payments that were not tried by then are left out.
        """
        found: dict[str, bool] = {}
        waiting = [list(payments)] if payments else []
        while waiting and not is_over():
            some = waiting.pop()
            try:
                answers = self._ask([_try(token_address, payer, each) for each in some])
            except RpcRefused:
                if len(some) == 1:
                    found[some[0].id] = False
                else:
                    middle = len(some) // 2
                    waiting += [some[middle:], some[:middle]]
                continue
            for each, answer in zip(some, answers, strict=True):
                found[each.id] = _is_success(answer)
        return found

    def newest_events(self, ids: Sequence[str], first: int) -> list[Refunded]:
        """Return the events with some ids, of any payer, from block `first` on, however new."""
        calls: list[Call] = [HEAD_CALL]
        (head,) = self._ask(calls)
        last = parse_block(head).number
        if last < first:
            return []
        logs = self._ask(refunded_events.log_calls(ids, first, last))
        events = [each for answer in logs for each in refunded_events.parse_events(answer)]
        return [each for each in events if each.id in ids]

    def refunded(
        self, known: Block, ids: Sequence[str] | None, first: int, last: int
    ) -> tuple[Block, list[tuple[Refunded, Block]]]:
        """Return block `last`, and the events with some ids in the blocks `first` to `last`.

        They are of any payer. `ids` None: of any id, too.
        Each event has its block. `known` is a block that was read before, not below `last`. It is
        asked for in the same batch: NotLinked if the node is on another fork, ChainMoved if it
        lacks the block, or if the chain changes meanwhile.
        """
        found, last_block, *answers = self._ask(self.refunded_calls(known, ids, first, last))
        check_link(known, read_header(known.number, found))
        end = read_header(last, last_block)
        if end is None:
            raise ChainMoved(f"the node does not have block {last}")
        events = [each for answer in answers for each in refunded_events.parse_events(answer)]
        wanted = {each.id for each in events} if ids is None else set(ids)
        if any(each.id not in wanted or not first <= each.block_number <= last for each in events):
            raise RpcInvalid("the node sent a log that was not requested")
        blocks = self._blocks(known, {each.block_number for each in events})
        return end, [(each, _block_of(each, blocks)) for each in events]

    def refunded_calls(
        self, known: Block, ids: Sequence[str] | None, first: int, last: int
    ) -> list[Call]:
        """Return the calls of `refunded`, if there are no events."""
        headers = [header_call(known.number), header_call(last)]
        return [*headers, *refunded_events.log_calls(ids, first, last)]

    def refunds_of(
        self, tx_hash: str, token_address: str, known: Block
    ) -> tuple[Block, list[Transfer], list[PaidRefund]]:
        """Return the newest block, and a token's transfers and refunds in one transaction.

        The refunds are those of all payers. None of both if the transaction failed or is unknown.
        `known`, NotLinked, ChainMoved: see `refunded`.
        """
        receipt_call: Call = ("eth_getTransactionReceipt", [tx_hash])
        (receipt,) = self._ask([receipt_call])
        asked = [known.number, *_numbers(receipt, token_address)]
        head, receipt, *headers = self._ask([HEAD_CALL, receipt_call, *map(header_call, asked)])
        found, *blocks = map(read_header, asked, headers)
        check_link(known, found)
        logs, events = _of_token(receipt, token_address)
        by_number = match_blocks(logs, blocks)
        transfers = [each.in_block(by_number[each.block_number]) for each in logs]
        own = refunded_events.own_transfers(events, transfers)
        return (
            parse_block(head),
            transfers,
            [
                PaidRefund(each, _block_of(each, by_number), own.get(each.log_index))
                for each in events
            ],
        )

    def has_transfers(self, asked: Sequence[tuple[str, Transfer]]) -> list[bool | None]:
        """Return of each token's transfer whether the node has it with this content.

        None: the node has no receipt of the transaction.
        """
        hashes = list(dict.fromkeys(transfer.tx_hash for _, transfer in asked))
        answers = self._ask([("eth_getTransactionReceipt", [each]) for each in hashes])
        receipts = dict(zip(hashes, answers, strict=True))
        found: list[bool | None] = []
        for token_address, transfer in asked:
            receipt = receipts[transfer.tx_hash]
            if receipt is None:
                found.append(None)
                continue
            logs = parse_receipt(receipt, token_address)
            same_block = [each for each in logs if each.block_hash == transfer.block.hash]
            found.append(transfer in [each.in_block(transfer.block) for each in same_block])
        return found

    def _blocks(self, known: Block, numbers: Iterable[int]) -> dict[int, Block]:
        """Return blocks by number, from a node that has the block `known`."""
        asked = [known.number, *sorted(numbers)]
        if len(asked) == 1:
            return {}
        found, *rest = map(read_header, asked, self._ask([header_call(each) for each in asked]))
        check_link(known, found)
        return {each.number: each for each in rest if each is not None}

    def _ask(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of `calls`. The same batch checks the chain id."""
        chain_id, *answers = self._rpc.batch([CHAIN_ID_CALL, *calls])
        if self._chain_id is not None and parse_quantity(chain_id) != self._chain_id:
            raise RpcError(f"the node serves chain {parse_quantity(chain_id)}")
        return answers


def _of_token(receipt: Any, token_address: str) -> tuple[list[Log], list[Refunded]]:
    """Return a token's transfers and refunds in a receipt, which may be None.

    A token may write no Transfer at all.
    """
    if not is_successful(receipt):
        return [], []
    events = refunded_events.parse_events(receipt["logs"])
    of_token = [each for each in events if each.token_address.lower() == token_address.lower()]
    return parse_receipt(receipt, token_address), of_token


def _numbers(receipt: Any, token_address: str) -> list[int]:
    logs, events = _of_token(receipt, token_address)
    return sorted({each.block_number for each in logs} | {each.block_number for each in events})


def _block_of(event: Refunded, blocks: dict[int, Block]) -> Block:
    block = blocks.get(event.block_number)
    if block is None or block.hash != event.block_hash:
        raise ChainMoved("the block of a log is no longer on the chain")
    return block


def _call(target: str, data: str) -> Call:
    return "eth_call", [{"to": target, "data": data}, "latest"]


def _try(token_address: str, payer: str, payment: ListedPayment) -> Call:
    data = _TRANSFER + (abi.address_word(payment.to) + abi.word(payment.atomic_amount)).hex()
    return "eth_call", [{"from": payer, "to": token_address, "data": data}, "latest"]


def _is_success(answer: Any) -> bool:
    """Return whether a transfer passed: some tokens return nothing, others true or false."""
    data = parse_bytes(answer)
    return not data or (len(data) == abi.WORD_BYTES and abi.number_at(data, 0) == 1)
