"""Read a token's transfers to many addresses, or from them, in ranges that the node accepts."""

import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ticketing.chain import abi
from ticketing.chain.answers import TRANSFER_TOPIC, Block, Log, Transfer, parse_logs
from ticketing.chain.block_headers import blocks_of, header_call, read_block, read_header
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import (
    ChainMoved,
    NotLinked,
    RpcError,
    RpcInvalid,
    RpcLimited,
    RpcSilent,
)
from ticketing.chain.request_size import RequestSize
from ticketing.chain.rpc import RpcClient

ADDRESSES_PER_FILTER = 1000
"""The maximum number of alternatives in one topic position in geth."""

FILTERS_PER_REQUEST = 10
"""10,000 addresses are 700 KB. anvil accepts requests of 2 MB, geth of 5 MB."""

BLOCKS_PER_RANGE = 2000

SPLIT_BLOCKS_KEPT = 32
"""Of so many blocks it is remembered which recipients' logs the node refused."""


class _Party(NamedTuple):
    """An address whose transfers are read: those to it, or those from it if it `sends`."""

    address: str
    sends: bool = False


@dataclass(frozen=True)
class Range:
    """The transfers in some blocks, and the last of these blocks.

    `left_out`: addresses whose logs in one block the node refused, even for each one by itself.
    """

    last: Block
    transfers: list[Transfer]
    left_out: frozenset[str] = frozenset()


@dataclass
class _Split:
    """How the parties are divided for one block whose logs the node refused for all of them.

    A new request begins at each party in `cuts`. Those in `left_out` were refused by themselves.
    """

    cuts: set[_Party] = field(default_factory=set)
    left_out: set[_Party] = field(default_factory=set)

    def pieces(self, parties: Sequence[_Party]) -> list[list[_Party]]:
        """Divide sorted parties at the cuts, without those that are left out."""
        pieces: list[list[_Party]] = [[]]
        for party in parties:
            if party in self.cuts:
                pieces.append([])
            if party not in self.left_out:
                pieces[-1].append(party)
        return [piece for piece in pieces if piece]

    def refused(self, piece: Sequence[_Party]) -> None:
        """Divide a piece that was refused, or leave its only party out."""
        if len(piece) == 1:
            self.left_out.add(piece[0])
        else:
            self.cuts.add(piece[len(piece) // 2])


class TransferReader:
    """Reads ranges of one chain. It keeps the width that works."""

    def __init__(self, rpc: RpcClient) -> None:
        self._rpc = rpc
        self.width = RequestSize(BLOCKS_PER_RANGE)
        self._splits: dict[str, _Split] = {}
        """By block hash, the newest last."""

    def read(
        self,
        token_address: str,
        recipients: Iterable[str],
        first: int,
        head: Block,
        *,
        after: Block | None = None,
        senders: Iterable[str] = (),
    ) -> Iterator[Range]:
        """Read blocks `first` to `head`. Yield a Range for each response, in order.

        Transfers to `recipients` and from `senders` are read, each of them once.

        `after` is the block that was read before. The next block must be its child, and each range
        must follow the one before, otherwise NotLinked. Blocks up to `after` are not checked.

        A range that fails is requested again at half its width. If the node is silent or limits
        its rate, the error is raised at once. After silence, the next call uses half the width.

        If one block alone fails, its addresses are halved, and one that fails alone is left out,
        unless the node also refuses the logs of an address that nobody has.

        ChainMoved if the last block of a range changed while its logs were read. This also finds
        a node that lags: it answers with an empty list for blocks that it does not have.

        Example: `first` is 101, `head` is block 5000, and the width is 2000. The ranges are 101 to
        2100, 2101 to 4100, and 4101 to 5000. With `after` block 100, block 101 must be its child,
        block 2101 the child of 2100, and block 4101 that of 4100.
        """
        of_party = {_Party(each.lower()): each for each in recipients}
        of_party |= {_Party(each.lower(), sends=True): each for each in senders}
        parties = sorted(of_party)
        while first <= head.number:
            width = self.width.now if parties else head.number - first + 1
            last_number = min(first + width - 1, head.number)
            try:
                last = head if last_number == head.number else read_block(self._rpc, last_number)
                link = after if after is not None and after.number < last_number else None
                if first == last_number and parties:
                    transfers, refused = self._block(token_address, parties, last, link)
                else:
                    refused = []
                    transfers = self._range(token_address, parties, first, last, link)
            except (ChainMoved, RpcLimited):
                raise
            except RpcError as error:
                self.width.failed(last_number - first + 1)
                if isinstance(error, RpcSilent) or last_number == first:
                    raise
                continue
            if parties:
                self.width.passed(last_number - first + 1)
            yield Range(last, transfers, frozenset(of_party[each] for each in refused))
            first = last_number + 1
            after = last if link is not None else after

    def calls(
        self, token_address: str, recipients: Iterable[str], first: int, last: Block, after: Block
    ) -> list[Call]:
        """Return the calls of the first request of `read`, if the blocks are one range for it."""
        parties = sorted(_Party(each.lower()) for each in recipients)
        asked = _log_calls(token_address, parties, first, last.number)
        headers = {last.number, after.number + 1}
        return [*asked[:FILTERS_PER_REQUEST], *map(header_call, sorted(headers))]

    def _block(
        self, token_address: str, parties: list[_Party], block: Block, after: Block | None
    ) -> tuple[list[Transfer], Collection[_Party]]:
        """Return the transfers in one block, and the parties whose logs the node refused.

        A response with a log that cannot be right is no refusal: the error is raised.

        The division is kept for the next call, because after silence the node gets no requests.

        Example: 4 recipients are refused. The first 2 are accepted, 3 and 4 are refused; 3 alone is
        accepted, 4 alone is refused. The transfers to 1, 2 and 3 are returned, and 4 is left out.
        """
        split = self._splits.get(block.hash)
        if split is None:
            try:
                return self._range(token_address, parties, block.number, block, after), []
            except (ChainMoved, RpcInvalid, RpcLimited):
                raise
            except RpcError as error:
                split = self._new_split(block)
                if isinstance(error, RpcSilent):
                    raise
        try:
            # Does the node refuse only some logs of this block, or all?
            self._range(token_address, [_Party(_nobody())], block.number, block, after)
        except RpcError:
            self._splits.pop(block.hash, None)
            raise
        transfers: list[Transfer] = []
        pieces = split.pieces(parties)
        while pieces:
            piece = pieces.pop(0)
            try:
                transfers += self._range(token_address, piece, block.number, block, after)
            except (ChainMoved, RpcInvalid, RpcLimited):
                raise
            except RpcError as error:
                split.refused(piece)
                if isinstance(error, RpcSilent):
                    raise
                pieces[:0] = split.pieces(piece)
        return transfers, split.left_out.intersection(parties)

    def _new_split(self, block: Block) -> _Split:
        while len(self._splits) >= SPLIT_BLOCKS_KEPT:
            self._splits.pop(next(iter(self._splits)), None)
        self._splits[block.hash] = split = _Split()
        return split

    def _range(
        self,
        token_address: str,
        parties: list[_Party],
        first: int,
        last: Block,
        after: Block | None,
    ) -> list[Transfer]:
        if after is not None and after.number + 1 == last.number:
            _check_link(after, last)
            after = None
        calls = _log_calls(token_address, parties, first, last.number)
        if not calls and after is not None:
            _check_link(after, read_block(self._rpc, after.number + 1))
        logs: list[Log] = []
        for start in range(0, len(calls), FILTERS_PER_REQUEST):
            # Also ask for the last block: a node that lags does not have it, and after a
            # reorganization it has another hash. Then an empty list of logs proves nothing.
            batch = [*calls[start : start + FILTERS_PER_REQUEST], header_call(last.number)]
            if after is not None:
                batch.append(header_call(after.number + 1))
            answers = self._rpc.batch(batch)
            if after is not None:
                _check_link(after, read_header(after.number + 1, answers.pop()))
                after = None
            if read_header(last.number, answers.pop()) != last:
                raise ChainMoved(f"block {last.number} changed while it was read")
            logs += [log for answer in answers for log in parse_logs(answer)]
        _check_asked_for(logs, token_address, parties, first, last)
        # A transfer from one party to another is in two answers.
        logs = list(dict.fromkeys(logs))
        blocks = blocks_of(self._rpc, logs)
        return [log.in_block(blocks[log.block_number]) for log in logs]


def probe_call(token_address: str, number: int) -> Call:
    """Return the call for the logs of one block to an address that nobody has."""
    (call,) = _log_calls(token_address, [_Party(_nobody())], number, number)
    return call


def _nobody() -> str:
    return "0x" + secrets.token_hex(20)


def _check_link(parent: Block, child: Block | None) -> None:
    if child is None:
        raise ChainMoved(f"the node does not have block {parent.number + 1}")
    if child.parent_hash != parent.hash:
        raise NotLinked(f"block {child.number} does not follow block {parent.number}")


def _log_calls(token_address: str, parties: list[_Party], first: int, last: int) -> list[Call]:
    calls: list[Call] = []
    for sends in (False, True):
        topics = [
            "0x" + abi.address_word(each.address).hex() for each in parties if each.sends is sends
        ]
        for start in range(0, len(topics), ADDRESSES_PER_FILTER):
            some = topics[start : start + ADDRESSES_PER_FILTER]
            asked = {
                "address": token_address,
                "topics": [TRANSFER_TOPIC, some] if sends else [TRANSFER_TOPIC, None, some],
                "fromBlock": hex(first),
                "toBlock": hex(last),
            }
            calls.append(("eth_getLogs", [asked]))
    return calls


def _check_asked_for(
    logs: Sequence[Log], token_address: str, parties: list[_Party], first: int, last: Block
) -> None:
    asked = set(parties)
    for log in logs:
        if not (
            log.token_address == token_address.lower()
            and (_Party(log.recipient) in asked or _Party(log.sender, sends=True) in asked)
            and first <= log.block_number <= last.number
        ):
            raise RpcInvalid("the node sent a log that was not requested")
