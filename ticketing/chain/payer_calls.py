"""Where a payment came from: who sent its transaction, and who signed the transfer (EIP-3009)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ticketing.chain import abi, address
from ticketing.chain.answers import (
    Block,
    Log,
    parse_bytes,
    parse_hash,
    parse_quantity,
    parse_receipt,
    parse_word,
)
from ticketing.chain.block_headers import check_link, header_call, read_header
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import RpcError, RpcInvalid
from ticketing.chain.keccak import keccak256
from ticketing.chain.rpc import CHAIN_ID_CALL, RpcClient

_USED_TOPIC = "0x" + keccak256(b"AuthorizationUsed(address,bytes32)").hex()

_OF_A_KEY = (0, 1, 2, 4)
"""The types of transactions that only the key of their sender can sign (EIP-2718).

Rollups have others, whose sender may be a contract of another chain.
"""

_DELEGATION, _DELEGATION_BYTES = bytes.fromhex("ef0100"), 23
"""The code of an account that delegates to a contract (EIP-7702): this, and its address."""

_MOST_LOGS = 2**31 - 1


@dataclass(frozen=True)
class TransferPlace:
    """A transfer that was read before: where it is on the chain, and what it moved."""

    tx_hash: str
    log_index: int
    block_hash: str
    token_address: str
    sender: str
    recipient: str
    atomic_amount: int


@dataclass(frozen=True)
class Origin:
    """Where a transfer came from.

    `sent_by` sent the transaction, as its number `nonce`. `of_key`: nobody without the key of
    `sent_by` could, and the transfer's sender is no contract (it may delegate to one, EIP-7702).
    `authorization`: the nonce that the transfer's sender has signed for it (EIP-3009), None if the
    token does not say so.
    """

    sent_by: str
    nonce: int
    of_key: bool
    authorization: bytes | None


@dataclass(frozen=True)
class _Used:
    """An `AuthorizationUsed` event of a token."""

    log_index: int
    authorizer: str
    nonce: bytes


class PayerCalls:
    """Asks one chain where payments came from. Every method may raise RpcError."""

    def __init__(self, rpc: RpcClient, chain_id: int | None) -> None:
        """Ask with `rpc`. With a `chain_id` (EIP-155), reject answers of other chains."""
        self._rpc = rpc
        self._chain_id = chain_id

    def origins(self, known: Block, places: Sequence[TransferPlace]) -> list[Origin | None]:
        """Return where each transfer came from.

        None if the node does not have it at its place, or has another one there. `known` is a block
        that was read before. The node must have it: NotLinked, ChainMoved. RpcInvalid.
        """
        calls: list[Call] = [header_call(known.number)]
        for each in places:
            calls += [
                ("eth_getTransactionByHash", [each.tx_hash]),
                ("eth_getTransactionReceipt", [each.tx_hash]),
                ("eth_getCode", [each.sender, "latest"]),
            ]
        chain_id, header, *answers = self._rpc.batch([CHAIN_ID_CALL, *calls])
        if self._chain_id is not None and parse_quantity(chain_id) != self._chain_id:
            raise RpcError(f"the node serves chain {parse_quantity(chain_id)}")
        check_link(known, read_header(known.number, header))
        thirds = zip(answers[0::3], answers[1::3], answers[2::3], strict=True)
        return [_origin(place, *of_it) for place, of_it in zip(places, thirds, strict=True)]


def _origin(place: TransferPlace, sent: Any, receipt: Any, code: Any) -> Origin | None:
    if sent is None or receipt is None:
        return None
    if not isinstance(sent, dict) or not isinstance(receipt, dict):
        raise RpcInvalid("the node sent a transaction that is not an object")
    if sent.get("blockHash") is None:
        return None  # it waits to be mined
    blocks = {parse_hash(each.get("blockHash")) for each in (sent, receipt)}
    hashes = {parse_hash(sent.get("hash")), parse_hash(receipt.get("transactionHash"))}
    logs = parse_receipt(receipt, place.token_address)
    if blocks != {place.block_hash} or not any(_is_at(place, log) for log in logs):
        return None
    sent_by = _address(sent.get("from"))
    if hashes != {place.tx_hash} or _address(receipt.get("from")) != sent_by:
        raise RpcInvalid("the node sent another transaction than the requested one")
    kind = parse_quantity(sent.get("type", "0x0"))
    return Origin(
        sent_by=sent_by,
        nonce=parse_quantity(sent.get("nonce")),
        of_key=kind in _OF_A_KEY and _has_key(parse_bytes(code)),
        authorization=_authorization(place, logs, _used(receipt["logs"], place.token_address)),
    )


def _is_at(place: TransferPlace, log: Log) -> bool:
    moved = (log.log_index, log.sender, log.recipient, log.atomic_amount)
    sender, recipient = place.sender.lower(), place.recipient.lower()
    return moved == (place.log_index, sender, recipient, place.atomic_amount)


def _has_key(code: bytes) -> bool:
    """Return whether an account with this code is no contract."""
    return not code or (code.startswith(_DELEGATION) and len(code) == _DELEGATION_BYTES)


def _authorization(
    place: TransferPlace, logs: Sequence[Log], used: Sequence[_Used]
) -> bytes | None:
    """Return the nonce with which a transfer's sender has signed it. None: nothing shows that.

    An event belongs to one Transfer of its authorizer: to the log after it, as USDC writes both,
    or else to the log before it, as other tokens do. A sender's further transfer in the same
    transaction, such as one by an allowance, has none.
    """
    of_sender = [each for each in used if each.authorizer == place.sender.lower()]
    senders = {log.log_index: log.sender for log in logs}
    for each in of_sender:
        is_before = senders.get(each.log_index + 1) == each.authorizer
        if place.log_index == each.log_index + (1 if is_before else -1):
            return each.nonce
    return None


def _used(raw_logs: Any, token_address: str) -> list[_Used]:
    """Parse a token's `AuthorizationUsed` events in the logs of a receipt."""
    found = []
    for raw in raw_logs:
        topics = raw.get("topics")
        is_of_token = str(raw.get("address")).lower() == token_address.lower()
        if is_of_token and isinstance(topics, list) and topics[:1] == [_USED_TOPIC]:
            if len(topics) != 3:
                raise RpcInvalid("the node sent an event with other topics")
            authorizer, nonce = parse_word(topics[1]), parse_word(topics[2])
            index = parse_quantity(raw.get("logIndex"), _MOST_LOGS)
            found.append(_Used(index, f"0x{authorizer:040x}", abi.word(nonce)))
    return found


def _address(raw: Any) -> str:
    try:
        return address.checksum(raw)
    except (TypeError, ValueError):
        raise RpcInvalid("the node sent an invalid address") from None
