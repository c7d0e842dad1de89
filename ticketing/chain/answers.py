"""What an Ethereum node answers, as plain values. Whatever is not as it should be: RpcError."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ticketing.chain import address
from ticketing.chain.errors import RpcError
from ticketing.chain.keccak import keccak256

TRANSFER_TOPIC = "0x" + keccak256(b"Transfer(address,address,uint256)").hex()
NOTHING = "0x"

_SUCCESS = "0x1"
_MOST = 2**63 - 1
_MOST_LOGS = 2**31 - 1
_LONGEST_SYMBOL = 100
_MOST_DECIMALS = 2**8 - 1
_LATEST_TIME = 2**32
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_WORD = re.compile(r"0x[0-9a-fA-F]{64}")


@dataclass(frozen=True)
class Block:
    """A block's place in the chain, its hash and its own time.

    `parent_hash` is None where only the block itself was kept.
    """

    number: int
    hash: str
    time: datetime
    parent_hash: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Transfer:
    """One ERC-20 Transfer log. `atomic_amount` is in the token's own units."""

    tx_hash: str
    log_index: int
    block: Block
    sender: str
    recipient: str
    atomic_amount: int


@dataclass(frozen=True)
class TokenFacts:
    """What the node says of itself (EIP-155 id) and of the token at an address (ERC-20).

    `decimals` and `symbol` are None where there is no contract.
    """

    chain_id: int
    decimals: int | None
    symbol: str | None


@dataclass(frozen=True)
class Log:
    """A Transfer log as the node sent it, its block not yet looked up."""

    token_address: str
    tx_hash: str
    log_index: int
    block_number: int
    block_hash: str
    sender: str
    recipient: str
    atomic_amount: int

    def in_block(self, block: Block) -> Transfer:
        """Return it as a transfer of that block."""
        return Transfer(
            self.tx_hash,
            self.log_index,
            block,
            address.checksum(self.sender),
            address.checksum(self.recipient),
            self.atomic_amount,
        )


def parse_logs(answer: Any) -> list[Log]:
    """Read a list of Transfer logs; those that the node marks as removed are left out."""
    if not isinstance(answer, list):
        raise RpcError("the node's list of logs is not a list")
    return [_parse_log(raw) for raw in answer if _field(raw, "removed", default=False) is not True]


def parse_receipt(receipt: Any, token_address: str) -> list[Log]:
    """Read the transfers of a token out of a receipt; none if it failed or there is none yet."""
    if receipt is None or _field(receipt, "status") != _SUCCESS:
        return []
    raw_logs = _field(receipt, "logs")
    if not isinstance(raw_logs, list):
        raise RpcError("the node's list of logs is not a list")
    return [_parse_log(raw) for raw in raw_logs if _is_transfer_of(raw, token_address)]


def _is_transfer_of(raw: Any, token_address: str) -> bool:
    topics = _field(raw, "topics")
    return (
        str(_field(raw, "address")).lower() == token_address.lower()
        and isinstance(topics, list)
        and len(topics) == 3
        and topics[0] == TRANSFER_TOPIC
    )


def _parse_log(raw: Any) -> Log:
    topics = _field(raw, "topics")
    if not isinstance(topics, list) or len(topics) != 3 or topics[0] != TRANSFER_TOPIC:
        raise RpcError("the node sent a log that is not a Transfer")
    token_address = _field(raw, "address")
    if not isinstance(token_address, str):
        raise RpcError("the node sent a log without an address")
    return Log(
        token_address=token_address.lower(),
        tx_hash=_parse_hash(_field(raw, "transactionHash")),
        log_index=parse_quantity(_field(raw, "logIndex"), _MOST_LOGS),
        block_number=parse_quantity(_field(raw, "blockNumber")),
        block_hash=_parse_hash(_field(raw, "blockHash")),
        sender=_parse_topic_address(topics[1]),
        recipient=_parse_topic_address(topics[2]),
        atomic_amount=parse_word(_field(raw, "data")),
    )


def parse_block(raw: Any) -> Block:
    """Read a block's header."""
    time = datetime.fromtimestamp(parse_quantity(_field(raw, "timestamp"), _LATEST_TIME), UTC)
    number = parse_quantity(_field(raw, "number"))
    return Block(
        number, _parse_hash(_field(raw, "hash")), time, _parse_hash(_field(raw, "parentHash"))
    )


def _field(raw: Any, name: str, **default: Any) -> Any:
    if not isinstance(raw, dict) or (name not in raw and not default):
        raise RpcError(f"the node's answer lacks '{name}'")
    return raw.get(name, default.get("default"))


def parse_quantity(raw: Any, most: int = _MOST) -> int:
    """Read a number in hex, no larger than `most`."""
    if not isinstance(raw, str) or not _QUANTITY.fullmatch(raw):
        raise RpcError("the node sent something else where a quantity belongs")
    number = int(raw, 16)
    if number > most:
        raise RpcError("the node sent an impossibly large quantity")
    return number


def parse_decimals(raw: Any) -> int:
    """Read a token's decimals."""
    decimals = parse_word(raw)
    if decimals > _MOST_DECIMALS:
        raise RpcError("the token has impossible decimals")
    return decimals


def parse_word(raw: Any) -> int:
    """Read a 32-byte word as a number."""
    if not isinstance(raw, str) or not _WORD.fullmatch(raw):
        raise RpcError("the node sent something else where a 32-byte word belongs")
    return int(raw, 16)


def _parse_hash(raw: Any) -> str:
    return f"0x{parse_word(raw):064x}"


def _parse_topic_address(raw: Any) -> str:
    word = parse_word(raw)
    if word >> 160:
        raise RpcError("the node sent something else where an address belongs")
    return f"0x{word:040x}"


def is_contract(code: Any) -> bool:
    """Tell whether what eth_getCode answered is a contract's code."""
    if not isinstance(code, str) or not code.startswith(NOTHING):
        raise RpcError("the node sent something else where code belongs")
    return code != NOTHING


def parse_string(raw: Any) -> str:
    """Read an ABI-encoded string, or the bytes32 that some old tokens answer with."""
    try:
        data = bytes.fromhex(raw.removeprefix("0x"))
        if len(data) > 64:
            length = int.from_bytes(data[32:64], "big")
            data = data[64 : 64 + length]
        text = data.rstrip(b"\0").decode()
    except (AttributeError, ValueError):
        raise RpcError("the node sent something else where a string belongs") from None
    return "".join(filter(str.isprintable, text[:_LONGEST_SYMBOL]))
