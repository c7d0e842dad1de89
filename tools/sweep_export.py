"""For tools.sweep: read the file of `flask --app app wallet export` and choose what to sweep."""

import csv
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tools.sweep_keys import FIRST_HARDENED_INDEX, Refused
from tools.sweep_packages import to_checksum_address

COLUMNS = (
    "address",
    "derivation_path",
    "chain_id",
    "token_address",
    "balance",
    "intent_id",
    "status",
    "ended_at",
    "booked",
    "sweep",
)
RECEIVER = "receiver"
"""The reason of rows whose address has no key. They have no path."""

LEFT_OUT = {"live", "ended_recently", "not_as_booked", "not_seen", RECEIVER}
SWEPT = "yes"
NOBODY = "0x" + "0" * 40

_PATH = re.compile(r"0/([0-9]{1,10})")
_NUMBER = re.compile(r"[0-9]{1,78}")


R = TypeVar("R")


@dataclass(frozen=True)
class Holding:
    """An address with its token balance and its path below the account.

    The index of a receiver is 0, which no order has.
    """

    address: str
    index: int
    token: str
    value: int
    chain_id: int
    sweep: str


def read_export(path: Path) -> list[Holding]:
    """Read all rows of a wallet's export. Refused if it is not one."""
    return read_rows(path, COLUMNS, _parse)


def read_rows(path: Path, columns: Sequence[str], parse: Callable[[list[str]], R]) -> list[R]:
    """Read a CSV file with these columns. Refused if a row cannot be parsed."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file, strict=True))
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, csv.Error) as error:
        raise Refused(f"cannot read {path}: {error}") from None
    if not rows or rows[0] != [*columns]:
        raise Refused(f"{path} is not an export: its first line must be {','.join(columns)}")
    parsed = []
    for number, row in enumerate(rows[1:], start=2):
        try:
            parsed.append(parse(row))
        except ValueError:
            raise Refused(f"row {number} of {path} is not a row of an export") from None
    return parsed


def print_skipped(reasons: Iterable[str], *, use: str) -> None:
    """Print how many rows are skipped, by their reason. `use`: what to use for receivers."""
    for reason, count in sorted(Counter(reasons).items()):
        advice = f", use {use}" if reason == RECEIVER else ""
        print(f"skipped ({reason.replace('_', ' ')}{advice}): {count}", file=sys.stderr)


def choose(holdings: list[Holding], chain_id: int, to: str) -> list[Holding]:
    """Return the holdings to sweep on a chain, and print what is skipped. Refused."""
    if any(holding.address == to for holding in holdings):
        raise Refused(
            "--to is the address of an order: money that arrives there belongs to its buyer"
        )
    funded = [each for each in holdings if each.chain_id == chain_id and each.value > 0]
    if not funded:
        raise Refused(f"no address of the export has a balance on chain {chain_id}")
    if any(holding.token == to for holding in funded):
        raise Refused("--to is the token's own contract, which cannot send the money on")
    left_out = (holding.sweep for holding in funded if holding.sweep != SWEPT)
    print_skipped(left_out, use="tools.collect")
    chosen = [holding for holding in funded if holding.sweep == SWEPT]
    if not chosen:
        raise Refused(f"all addresses with a balance on chain {chain_id} are skipped")
    return chosen


def _parse(row: list[str]) -> Holding:
    address, path, chain_id, token, balance, _, _, _, _, sweep = row
    # The balance is empty if the chain was not enabled.
    value = parse_number(balance or "0")
    if sweep not in {SWEPT, *LEFT_OUT}:
        raise ValueError("not a value of the column `sweep`")
    addresses = parse_address(address), parse_address(token)
    index = parse_path_of(path, sweep)
    return Holding(addresses[0], index, addresses[1], value, parse_number(chain_id), sweep)


def parse_path_of(text: str, reason: str) -> int:
    """Parse a row's path, such as 0/7, and return the index. A receiver has none. ValueError."""
    if reason == RECEIVER and text == "":
        return 0
    return parse_path(text)


def parse_path(text: str) -> int:
    """Parse a path below an account, such as 0/7, and return the index. ValueError."""
    relative = _PATH.fullmatch(text)
    if relative is None or int(relative[1]) >= FIRST_HARDENED_INDEX:
        raise ValueError("not a path below an account")
    return int(relative[1])


def parse_number(text: str) -> int:
    """Parse a whole number below 2**256. ValueError."""
    if not _NUMBER.fullmatch(text) or int(text) >= 2**256:
        raise ValueError("not a number")
    return int(text)


def parse_small_number(text: str) -> int:
    """Parse a whole number below 2**31. ValueError."""
    if parse_number(text) >= FIRST_HARDENED_INDEX:
        raise ValueError("too large a number")
    return int(text)


def parse_address(text: str) -> str:
    """Parse an address with its EIP-55 checksum. ValueError."""
    if to_checksum_address(text) != text or text == NOBODY:
        raise ValueError("not an address with its EIP-55 checksum")
    return text
