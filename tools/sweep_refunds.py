"""For tools.sweep: read the file of `flask --app app refunds export` and choose what to pay."""

from dataclasses import dataclass
from pathlib import Path

from tools.sweep_export import (
    RECEIVER,
    parse_address,
    parse_number,
    parse_path_of,
    parse_small_number,
    print_skipped,
    read_rows,
)
from tools.sweep_keys import Refused
from tools.sweep_packages import keccak

COLUMNS = (
    "intent_id",
    "address",
    "derivation_path",
    "chain_id",
    "token_address",
    "balance",
    "refund_address",
    "amount",
    "settled_refunds",
    "send",
)
SENT = "yes"
LEFT_OUT = {"no_refund_address", "waits", "balance_too_low", "not_seen", RECEIVER}
LONGEST_VALID_SECONDS = 72 * 3600


@dataclass(frozen=True)
class OwedRefund:
    """A refund that is due: from which payment address, where to, and how much."""

    intent_id: str
    address: str
    index: int
    chain_id: int
    token: str
    to: str | None
    amount: int
    settled: int
    send: str

    @property
    def nonce(self) -> bytes:
        """The nonce of the authorization. It is new only after the refund was settled.

        So of all authorizations that were signed for this refund, the token accepts one.
        """
        numbers = self.chain_id.to_bytes(32, "big"), self.settled.to_bytes(32, "big")
        return keccak(numbers[0] + self.intent_id.encode() + numbers[1])


def read_refunds(path: Path) -> list[OwedRefund]:
    """Read all rows of an export. Refused if it is not one."""
    return read_rows(path, COLUMNS, _parse)


def choose_refunds(owed: list[OwedRefund], chain_id: int) -> list[OwedRefund]:
    """Return the refunds to pay on a chain, and print what is skipped. Refused."""
    here = [each for each in owed if each.chain_id == chain_id]
    if not here:
        raise Refused(f"no refund of the export is due on chain {chain_id}")
    addresses = {each.address for each in owed}
    for each in here:
        if each.to is not None and each.to in {*addresses, each.token}:
            raise Refused(f"the refund address of {each.intent_id} is an order's or the token's")
    print_skipped((each.send for each in here if each.send != SENT), use="your own wallet")
    chosen = [each for each in here if each.send == SENT]
    if not chosen:
        raise Refused(f"all refunds on chain {chain_id} are skipped")
    return chosen


def _parse(row: list[str]) -> OwedRefund:
    intent_id, address, path, chain_id, token, balance, to, amount, settled, send = row
    if send not in {SENT, *LEFT_OUT}:
        raise ValueError("not a value of the column `send`")
    value = parse_number(amount)
    if send == SENT and not 0 < value <= parse_number(balance):
        raise ValueError("more than the address holds")
    return OwedRefund(
        intent_id,
        parse_address(address),
        parse_path_of(path, send),
        parse_number(chain_id),
        parse_address(token),
        parse_address(to) if to or send == SENT else None,
        value,
        parse_small_number(settled),
        send,
    )
