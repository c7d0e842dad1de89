"""Read a chain: its head, headers, a token's facts, balances, transfers to addresses."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Any

from ticketing.chain import abi, address, messages, receivers
from ticketing.chain.answers import (
    NOTHING,
    Block,
    Log,
    TokenFacts,
    is_contract,
    parse_block,
    parse_bytes,
    parse_decimals,
    parse_quantity,
    parse_receipt,
    parse_string,
    parse_transactions,
    parse_word,
)
from ticketing.chain.balances import At, BalanceReader, balance_call
from ticketing.chain.block_headers import (
    HEAD_CALL,
    check_link,
    header_call,
    read_header,
)
from ticketing.chain.eip3009 import TokenDomain
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import ChainMoved, RpcError, RpcInvalid, RpcRefused
from ticketing.chain.keccak import keccak256
from ticketing.chain.payer_calls import PayerCalls
from ticketing.chain.payout_calls import PayoutCalls
from ticketing.chain.registry import Chain
from ticketing.chain.rpc import CHAIN_ID_CALL, RpcClient
from ticketing.chain.transfer_logs import Range, TransferReader, probe_call

_LAG_BLOCKS = 128
"""A header missing this near to the head is not pruned: another node behind the URL lags."""

_DECIMALS_CALL = abi.selector("decimals()")
_SYMBOL_CALL = abi.selector("symbol()")
_NAME_CALL = abi.selector("name()")
_VERSION_CALL = abi.selector("version()")
_SEPARATOR_CALL = abi.selector("DOMAIN_SEPARATOR()")
_STATE_SELECTOR = abi.selector("authorizationState(address,bytes32)")

_DELEGATION = bytes.fromhex("ef0100")
_DELEGATION_BYTES = 23
"""The code of an account that delegates to a contract: this, and 20 bytes (EIP-7702)."""


class AccountKind(Enum):
    """What is at an address. `PLAIN`: no contract, so a private key may spend from it."""

    PLAIN = "plain"
    CONTRACT = "contract"
    TOKEN = "token"


@dataclass(frozen=True)
class Evidence:
    """What a node has of a transaction. `block`: the one with its number, None if it has none.

    `transactions`: the hashes of those in the block, None if the node does not say. `logs`: the
    token's transfers in the receipt, None if there is no receipt.
    """

    block: Block | None
    transactions: frozenset[str] | None
    logs: list[Log] | None


@dataclass
class _Search:
    """A search for the first block since `time`: after block `low`, and not after `high`."""

    time: datetime
    high: int
    low: int | None = None
    step: int = 1

    @property
    def next(self) -> int | None:
        """The number to check next, None at the end. Below 0 there is no block."""
        if self.low is None:
            return self.high - self.step
        return (self.low + self.high) // 2 if self.high - self.low > 1 else None

    def note(self, number: int, *, is_since: bool) -> None:
        """Record the answer for a number."""
        if is_since:
            self.high, self.step = number, 2 * self.step
        else:
            self.low = max(number, -1)


class Node:
    """Reads one chain. Every method may raise RpcError."""

    def __init__(self, rpc: RpcClient, chain_id: int | None = None) -> None:
        """Read with `rpc`. With a `chain_id` (EIP-155), reject heads of other chains."""
        self._rpc = rpc
        self._chain_id = chain_id
        self._balances = BalanceReader(rpc)
        self._reader = TransferReader(rpc)
        self._old_reader = TransferReader(rpc)
        self._search: _Search | None = None
        self.payouts = PayoutCalls(rpc, chain_id)
        self.payers = PayerCalls(rpc, chain_id)

    @contextmanager
    def asked_ahead(self, calls: Sequence[Call]) -> Iterator[None]:
        """Ask for the head and `calls` with one request, for the questions in the block.

        See RpcClient.asked_ahead. The methods that end with `_calls` return such calls.
        """
        with self._rpc.asked_ahead([CHAIN_ID_CALL, HEAD_CALL, *calls]):
            yield

    def head(self) -> Block:
        """Return the newest block. RpcError if the node serves another chain."""
        (head,) = self._ask_chain([HEAD_CALL])
        return parse_block(head)

    def blocks(self, numbers: Sequence[int]) -> list[Block | None]:
        """Return the blocks with these numbers. None for each that the node does not have.

        RpcError if the node serves another chain: its different hashes would remove payments.
        """
        if not numbers:
            return []
        found = self._ask_chain([header_call(number) for number in numbers])
        return [read_header(*each) for each in zip(numbers, found, strict=True)]

    def blocks_linked(self, known: Block, numbers: Sequence[int]) -> list[Block | None]:
        """Return the blocks with these numbers, from a node that has the block `known`.

        It is asked for in the same batch: NotLinked if the node is on another fork, ChainMoved if
        it lacks the block.
        """
        found, *blocks = self.blocks([known.number, *numbers])
        check_link(known, found)
        return blocks

    def block(self, number: int) -> Block:
        """Return the block with this number. ChainMoved if the node does not have it."""
        (block,) = self.blocks([number])
        if block is None:
            raise ChainMoved(f"the node does not have block {number}")
        return block

    def has_history(self, token_address: str, number: int) -> bool:
        """Return whether the node has the header and the logs of a block. RpcError."""
        try:
            header, logs = self._ask_chain([header_call(number), probe_call(token_address, number)])
        except RpcRefused:
            return False
        return read_header(number, header) is not None and isinstance(logs, list)

    @property
    def has_failed_url(self) -> bool:
        """Whether one of several URLs failed a moment ago: it may know more than the others."""
        return self._rpc.has_failed_url

    def _ask_chain(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of `calls`. The same batch checks the chain id. RpcError."""
        chain_id, *answers = self._rpc.batch([CHAIN_ID_CALL, *calls])
        if self._chain_id is not None and parse_quantity(chain_id) != self._chain_id:
            raise RpcError(f"the node serves chain {parse_quantity(chain_id)}")
        return answers

    def first_block_since(self, time: datetime, head: Block) -> int:
        """Return the number of the first block whose time is `time` or later, head's + 1 if none.

        The search runs backwards from the head in growing steps. Blocks that the node has pruned
        count as earlier ones. If an error ends it, the next call with the same `time` continues.
        """
        if head.time < time:
            return head.number + 1
        search = self._search
        if search is None or search.time != time or search.high > head.number:
            search = self._search = _Search(time, head.number)
        while (number := search.next) is not None:
            search.note(number, is_since=number >= 0 and self._is_since(number, time, head))
        self._search = None
        return search.high

    def _is_since(self, number: int, time: datetime, head: Block) -> bool:
        try:
            (block,) = self.blocks([number])
        except RpcRefused:
            block = None
        if block is None and number > head.number - _LAG_BLOCKS:
            raise ChainMoved(f"the node does not have block {number}")
        return block is not None and block.time >= time

    def token_facts(self, token_address: str) -> TokenFacts:
        """Return the node's chain id, and the token's decimals and symbol."""
        chain_id, decimals, symbol = self._rpc.batch(
            [
                ("eth_chainId", []),
                _eth_call(token_address, _DECIMALS_CALL),
                _eth_call(token_address, _SYMBOL_CALL),
            ]
        )
        return TokenFacts(
            parse_quantity(chain_id),
            None if decimals == NOTHING else parse_decimals(decimals),
            None if symbol == NOTHING else parse_string(symbol),
        )

    def token_domain(self, chain_id: int, token_address: str) -> TokenDomain | None:
        """Return the name and version that a token's signed messages have (EIP-712).

        None if the token has none, or another DOMAIN_SEPARATOR than follows from them.
        """
        calls = (_NAME_CALL, _VERSION_CALL, _SEPARATOR_CALL)
        try:
            found = self._rpc.batch([_eth_call(token_address, each) for each in calls])
        except RpcRefused:
            return None
        if NOTHING in found:
            return None
        name, version, separator = found
        domain = TokenDomain(parse_string(name), parse_string(version))
        expected = abi.number_at(domain.separator(chain_id, token_address), 0)
        return domain if parse_word(separator) == expected else None

    def is_authorization_used(self, token_address: str, sender: str, nonce: bytes) -> bool:
        """Return whether a signed transfer was submitted or canceled (EIP-3009)."""
        data = _STATE_SELECTOR + (abi.address_word(sender) + nonce).hex()
        (state,) = self._rpc.batch([_eth_call(token_address, data)])
        return parse_word(state) != 0

    def has_code(self, account: str) -> bool:
        """Return whether an account is a contract, or delegates to one (EIP-7702)."""
        (code,) = self._rpc.batch([("eth_getCode", [account, "latest"])])
        return is_contract(code)

    def with_code(self, accounts: Sequence[str]) -> list[str]:
        """Return those of the accounts that are contracts, or delegate to one, in their order."""
        codes = self._ask_chain([("eth_getCode", [each, "latest"]) for each in accounts])
        return [each for each, code in zip(accounts, codes, strict=True) if is_contract(code)]

    def account_kind(self, account: str) -> AccountKind:
        """Return what is at an address on this chain. RpcError.

        A delegation (EIP-7702) is no contract: its account has a private key, on every chain. A
        token answers `decimals` with one word of at most 255, and `balanceOf` with one word.
        """
        (code,) = self._ask_chain([("eth_getCode", [account, "latest"])])
        if not is_contract(code):
            return AccountKind.PLAIN
        stored = parse_bytes(code)
        if len(stored) == _DELEGATION_BYTES and stored.startswith(_DELEGATION):
            return AccountKind.PLAIN
        calls = [_eth_call(account, _DECIMALS_CALL), balance_call(account, account)]
        try:
            decimals, held = self._ask_chain(calls)
        except RpcRefused:  # it has no such functions
            return AccountKind.CONTRACT
        try:
            parse_decimals(decimals)
            parse_word(held)
        except RpcInvalid:
            return AccountKind.CONTRACT
        return AccountKind.TOKEN

    def can_collect(self) -> bool:
        """Return whether receivers have the same addresses on this chain as everywhere.

        The factory must have the known code. Where nobody has deployed it yet, the proxy is asked
        which address it would get: this tries the proxy, CREATE2, the opcodes and the size limit.
        """
        (code,) = self._ask_chain([("eth_getCode", [receivers.FACTORY, "latest"])])
        if is_contract(code):
            return keccak256(parse_bytes(code)).hex() == receivers.FACTORY_CODE_HASH
        try:
            (deployed,) = self._rpc.batch([_eth_call(receivers.PROXY, receivers.deploy_data())])
        except RpcRefused:
            return False
        return parse_bytes(deployed) == bytes.fromhex(receivers.FACTORY[2:])

    def would_pass(self, target: str, data: str) -> bool:
        """Return whether a transaction with this call data would succeed now. RpcError.

        It is tried as a call by nobody's account: no sender has a right that another lacks.
        """
        call = {"from": address.ZERO, "to": target, "data": data}
        try:
            self._rpc.batch([("eth_call", [call, "latest"])])
        except RpcRefused:
            return False
        return True

    def is_token(self, account: str) -> bool:
        """Return whether an account is a contract that says what an address holds. RpcError."""
        try:
            (held,) = self._rpc.batch([balance_call(account, account)])
            parse_word(held)
        except (RpcRefused, RpcInvalid):
            return False
        return True

    def is_signed_by_contract(self, account: str, digest: bytes, signature: bytes) -> bool:
        """Return whether a contract says that a signature of a digest is its own (EIP-1271).

        An account without code has no such signature. RpcError.
        """
        data = messages.validity_data(digest, signature)
        try:
            (answer,) = self._ask_chain([_eth_call(account, data)])
            return messages.is_valid(parse_bytes(answer))
        except (RpcRefused, RpcInvalid):
            return False

    def holdings(self, token_address: str, addresses: Sequence[str]) -> list[int]:
        """Return what each address holds of a token, or with the zero address of the chain's coin.

        In atomic units, or in wei. RpcError if the node serves another chain.
        """
        self._ask_chain([])
        return self._balances.read(token_address, addresses)

    def is_mined(self, tx_hash: str) -> bool:
        """Return whether a block has this transaction."""
        (receipt,) = self._rpc.batch([("eth_getTransactionReceipt", [tx_hash])])
        return receipt is not None

    def evidence(
        self, known: Block, asked: Sequence[tuple[int | None, str, str]]
    ) -> list[Evidence]:
        """Return what the node has of some transactions.

        `asked`: the number of the block, if it is known, the transaction's hash, and the token's
        address. The node must have the block `known`: see blocks_linked. NotLinked, ChainMoved.
        """
        numbers = sorted({number for number, _, _ in asked if number is not None})
        calls = [header_call(each) for each in [known.number, *numbers]]
        receipts = [("eth_getTransactionReceipt", [tx_hash]) for _, tx_hash, _ in asked]
        answers = self._ask_chain([*calls, *receipts])
        check_link(known, read_header(known.number, answers[0]))
        raw_headers = dict(zip(numbers, answers[1 : len(calls)], strict=True))
        found = []
        for (number, _, token), receipt in zip(asked, answers[len(calls) :], strict=True):
            raw = None if number is None else raw_headers[number]
            block = None if number is None else read_header(number, raw)
            logs = None if receipt is None else parse_receipt(receipt, token)
            found.append(Evidence(block, parse_transactions(raw), logs))
        return found

    def balances_at(self, block: Block, token_address: str, addresses: Sequence[str]) -> list[int]:
        """Return the token balance of each address after `block`, in atomic units.

        If the node cannot read the state of a given block, the current balances are read, after a
        check that the node does not lag behind that block.
        """
        try:
            return self.balances(token_address, addresses, at=hex(block.number))
        except RpcRefused:
            if self.head().number < block.number:
                raise
            return self.balances(token_address, addresses)

    def balances_in(self, block: Block, token_address: str, addresses: Sequence[str]) -> list[int]:
        """Return the token balance of each address in exactly this block, in atomic units.

        The block is named by its hash (EIP-1898). A node that refuses that is asked by number, and
        for the block's hash. ChainMoved, NotLinked: the node lacks the block.
        """
        try:
            return self.balances(token_address, addresses, at={"blockHash": block.hash})
        except RpcRefused:
            self.blocks_linked(block, [])
            found = self.balances(token_address, addresses, at=hex(block.number))
            self.blocks_linked(block, [])
            return found

    def balances(
        self, token_address: str, addresses: Sequence[str], *, at: At = "latest"
    ) -> list[int]:
        """Return the token balance of each address, in atomic units.

        One call reads many balances if the chain has Multicall3, else they are read in batches.
        """
        return self._balances.read(token_address, addresses, at)

    def balance_calls(
        self, token_address: str, addresses: Sequence[str], *, at: str = "latest"
    ) -> list[Call]:
        """Return the calls of `balances`. None before it is known if the chain has Multicall3."""
        return self._balances.calls(token_address, addresses, at)

    def transfers(
        self,
        token_address: str,
        recipients: Iterable[str],
        first: int,
        head: Block,
        *,
        after: Block | None = None,
        senders: Iterable[str] = (),
    ) -> Iterator[Range]:
        """Read blocks `first`..`head` in ranges: see TransferReader.read."""
        return self._reader.read(
            token_address, recipients, first, head, after=after, senders=senders
        )

    def transfer_calls(
        self, token_address: str, recipients: Iterable[str], first: int, head: Block, after: Block
    ) -> list[Call]:
        """Return the calls of `transfers`: see TransferReader.calls."""
        return self._reader.calls(token_address, recipients, first, head, after)

    def old_transfers(
        self,
        token_address: str,
        recipients: Iterable[str],
        first: int,
        last: Block,
        *,
        senders: Iterable[str] = (),
    ) -> Iterator[Range]:
        """Read old blocks. Failures there do not narrow the ranges of other reads."""
        return self._old_reader.read(token_address, recipients, first, last, senders=senders)

    @property
    def range_width(self) -> int:
        """How many blocks the node accepts in one request for logs, as far as known."""
        return self._reader.width.now


@lru_cache
def connect_each(chain: Chain) -> tuple[Node, ...]:
    """Return a node for each URL of a chain, to ask every one of them the same."""
    if len(chain.rpc_urls) == 1:
        return (connect(chain),)
    return tuple(Node(RpcClient([url]), chain.chain_id) for url in chain.rpc_urls)


@lru_cache
def connect(chain: Chain) -> Node:
    """Return the node of a chain. There is one per process, to keep connections open."""
    return Node(RpcClient(chain.rpc_urls, chain.chain_id), chain.chain_id)


def _eth_call(target: str, data: str) -> Call:
    return "eth_call", [{"to": target, "data": data}, "latest"]
