"""Parse the responses of an Ethereum node. RpcInvalid for everything unexpected."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ticketing.chain import abi, address
from ticketing.chain.errors import RpcInvalid
from ticketing.chain.keccak import keccak256

TRANSFER_TOPIC = "0x" + keccak256(b"Transfer(address,address,uint256)").hex()
NOTHING = "0x"

MOST_WORD = 2**256 - 1
"""The largest number of a contract, and the most of a coin."""

_SUCCESS = "0x1"
_MOST = 2**63 - 1
_MOST_LOGS = 2**31 - 1
_LONGEST_SYMBOL = 100
_MOST_DECIMALS = 2**8 - 1
_LATEST_TIME = 2**32
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_WORD = re.compile(r"0x[0-9a-fA-F]{64}")
_BYTES = re.compile(r"0x(?:[0-9a-fA-F]{2})*")


@dataclass(frozen=True)
class Block:
    """A block: its number, hash and timestamp.

    `parent_hash` is None for a block from the database, which does not store it.
    """

    number: int
    hash: str
    time: datetime
    parent_hash: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Transfer:
    """One ERC-20 Transfer log. `atomic_amount` is in atomic units of the token."""

    tx_hash: str
    log_index: int
    block: Block
    sender: str
    recipient: str
    atomic_amount: int


@dataclass(frozen=True)
class TokenFacts:
    """The node's chain id (EIP-155), and the facts of a token (ERC-20).

    `decimals` and `symbol` are None if there is no contract at the address.
    """

    chain_id: int
    decimals: int | None
    symbol: str | None


@dataclass(frozen=True)
class Log:
    """A Transfer log from the node. Its block has not been read yet."""

    token_address: str
    tx_hash: str
    log_index: int
    block_number: int
    block_hash: str
    sender: str
    recipient: str
    atomic_amount: int

    def in_block(self, block: Block) -> Transfer:
        """Return the transfer, with this block."""
        return Transfer(
            self.tx_hash,
            self.log_index,
            block,
            address.checksum(self.sender),
            address.checksum(self.recipient),
            self.atomic_amount,
        )


def parse_logs(answer: Any) -> list[Log]:
    """Parse a list of Transfer logs. Logs that the node marks as removed are left out."""
    if not isinstance(answer, list):
        raise RpcInvalid("the node's list of logs is not a list")
    return [_parse_log(raw) for raw in answer if _field(raw, "removed", default=False) is not True]


def is_successful(receipt: Any) -> bool:
    """Return whether a transaction is mined and did not fail. RpcInvalid."""
    return receipt is not None and _field(receipt, "status") == _SUCCESS


def parse_receipt(receipt: Any, token_address: str) -> list[Log]:
    """Parse a token's transfers in a receipt. Empty if the transaction failed or is not mined."""
    if not is_successful(receipt):
        return []
    raw_logs = _field(receipt, "logs")
    if not isinstance(raw_logs, list):
        raise RpcInvalid("the node's list of logs is not a list")
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
        raise RpcInvalid("the node sent a log that is not a Transfer")
    token_address = _field(raw, "address")
    if not isinstance(token_address, str):
        raise RpcInvalid("the node sent a log without an address")
    return Log(
        token_address=token_address.lower(),
        tx_hash=parse_hash(_field(raw, "transactionHash")),
        log_index=parse_quantity(_field(raw, "logIndex"), _MOST_LOGS),
        block_number=parse_quantity(_field(raw, "blockNumber")),
        block_hash=parse_hash(_field(raw, "blockHash")),
        sender=_parse_topic_address(topics[1]),
        recipient=_parse_topic_address(topics[2]),
        atomic_amount=parse_word(_field(raw, "data")),
    )


def parse_block(raw: Any) -> Block:
    """Parse a block header."""
    time = datetime.fromtimestamp(parse_quantity(_field(raw, "timestamp"), _LATEST_TIME), UTC)
    number = parse_quantity(_field(raw, "number"))
    return Block(
        number, parse_hash(_field(raw, "hash")), time, parse_hash(_field(raw, "parentHash"))
    )


def parse_transactions(raw: Any) -> frozenset[str] | None:
    """Parse the hashes of a block's transactions. None if its header does not have them."""
    hashes = raw.get("transactions") if isinstance(raw, dict) else None
    if not isinstance(hashes, list):
        return None
    return frozenset(map(parse_hash, hashes))


def _field(raw: Any, name: str, **default: Any) -> Any:
    if not isinstance(raw, dict) or (name not in raw and not default):
        raise RpcInvalid(f"the node's response has no '{name}'")
    return raw.get(name, default.get("default"))


def parse_quantity(raw: Any, most: int = _MOST) -> int:
    """Parse a hex number, at most `most`."""
    if not isinstance(raw, str) or not _QUANTITY.fullmatch(raw):
        raise RpcInvalid("the node sent an invalid quantity")
    number = int(raw, 16)
    if number > most:
        raise RpcInvalid("the node sent a quantity that is too large")
    return number


def parse_decimals(raw: Any) -> int:
    """Parse a token's decimals."""
    decimals = parse_word(raw)
    if decimals > _MOST_DECIMALS:
        raise RpcInvalid("the token's decimals are too large")
    return decimals


def parse_word(raw: Any) -> int:
    """Parse a 32-byte word as a number."""
    if not isinstance(raw, str) or not _WORD.fullmatch(raw):
        raise RpcInvalid("the node sent an invalid 32-byte word")
    return int(raw, 16)


def parse_hash(raw: Any) -> str:
    """Parse the hash of a block or a transaction."""
    return "0x" + abi.word(parse_word(raw)).hex()


def _parse_topic_address(raw: Any) -> str:
    word = parse_word(raw)
    if word >> 160:
        raise RpcInvalid("the node sent an invalid address")
    return f"0x{word:040x}"


def is_contract(code: Any) -> bool:
    """Return whether the result of eth_getCode is the code of a contract."""
    if not isinstance(code, str) or not code.startswith(NOTHING):
        raise RpcInvalid("the node sent invalid code")
    return code != NOTHING


def parse_bytes(raw: Any) -> bytes:
    """Parse bytes, for example code, or what a contract returned."""
    if not isinstance(raw, str) or not _BYTES.fullmatch(raw):
        raise RpcInvalid("the node sent invalid bytes")
    return bytes.fromhex(raw[2:])


def parse_string(raw: Any) -> str:
    """Parse an ABI-encoded string, or bytes32, which some old tokens return."""
    try:
        data = bytes.fromhex(raw.removeprefix("0x"))
        if len(data) > 64:
            length = abi.number_at(data, 32)
            data = data[64 : 64 + length]
        text = data.rstrip(b"\0").decode()
    except (AttributeError, ValueError):
        raise RpcInvalid("the node sent an invalid string") from None
    return "".join(filter(str.isprintable, text[:_LONGEST_SYMBOL]))
