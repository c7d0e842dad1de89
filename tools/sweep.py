r"""Sign, offline, transfers from all exported addresses to one address of yours.

    pip install eth-account
    python -m tools.sweep addresses.csv --to 0x... --chain-id 8453 \
        --token-name "USD Coin" --token-version 2 --output authorizations.json

It reads the file of `flask --app app wallet export` and asks for the wallet's seed phrase. Then it
signs an EIP-3009 TransferWithAuthorization of the full balance for each address with a balance and
with `yes` in the column `sweep`. It skips addresses of live orders, of orders that ended less than
24 hours before the export, and addresses whose balance differs from the recorded payments. Nobody
has a key of a receiver: it is skipped too, and `tools.collect` collects it. `--to`
must not be the address of an order: money that arrives there belongs to the buyer. The next 100
addresses of the account are rejected too, because orders since the export may have them.

    python -m tools.sweep --refunds refunds.csv --chain-id 8453 \
        --token-name "USD Coin" --token-version 2 --output authorizations.json

With `--refunds` it reads the file of `flask --app app refunds export`, and signs the refunds that
are due, from the payment addresses to the addresses that the buyers stated. It skips those of
receivers: the organizer pays them from a wallet of his own. Of two exports with the
same refund, the token accepts only one: the nonce is the same until the refund is settled.

It makes no network connection. Of this repository it needs only tools/sweep*.py, and no server.
Run it on a machine where you may type your seed phrase. The account that submits the calldata to
the token's contract pays the gas. It cannot change the recipient, or use an authorization twice.
"""

import argparse
import json
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.sweep_export import (
    choose,
    parse_address,
    parse_number,
    parse_small_number,
    read_export,
)
from tools.sweep_keys import FIRST_HARDENED_INDEX, Refused, ask_phrase, derive_key
from tools.sweep_packages import Account, LocalAccount, keccak
from tools.sweep_refunds import LONGEST_VALID_SECONDS, choose_refunds, read_refunds

DAY = 86400
LATER_ADDRESSES = 100
"""How many addresses after the last one of an export orders may have got since."""
TYPES = {
    "TransferWithAuthorization": [
        {"name": "from", "type": "address"},
        {"name": "to", "type": "address"},
        {"name": "value", "type": "uint256"},
        {"name": "validAfter", "type": "uint256"},
        {"name": "validBefore", "type": "uint256"},
        {"name": "nonce", "type": "bytes32"},
    ]
}
SELECTOR = keccak(
    text="transferWithAuthorization("
    "address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"
)[:4]


@dataclass(frozen=True)
class Terms:
    """The values that all authorizations share."""

    chain_id: int
    token_name: str
    token_version: str
    valid_before: int


@dataclass(frozen=True)
class Payout:
    """A transfer to sign: from an address with its index, of a token's value, to an address."""

    address: str
    index: int
    token: str
    value: int
    to: str
    nonce: bytes


def find_accounts(
    phrase: str, account: int, payouts: list[Payout], *, skip_others: bool
) -> Iterator[tuple[Payout, LocalAccount]]:
    """Return each payout with the key that owns its address.

    Refused if an address does not belong to the phrase; with `skip_others`, only if none does.
    """
    pairs = [(payout, derive_key(phrase, account, payout.index)) for payout in payouts]
    strange = [payout for payout, key in pairs if key.address != payout.address]
    if strange and not (skip_others and len(strange) < len(payouts)):
        raise Refused(
            f"{len(strange)} of {len(payouts)} addresses are not of account {account} of this seed"
            f" phrase; the first one is {strange[0].address}"
        )
    return ((payout, key) for payout, key in pairs if key.address == payout.address)


def authorize(payout: Payout, key: LocalAccount, terms: Terms) -> dict[str, Any]:
    """Sign a payout. Return it in the format for a relayer."""
    signed = key.sign_typed_data(
        domain_data={
            "name": terms.token_name,
            "version": terms.token_version,
            "chainId": terms.chain_id,
            "verifyingContract": payout.token,
        },
        message_types=TYPES,
        message_data={
            "from": payout.address,
            "to": payout.to,
            "value": payout.value,
            "validAfter": 0,
            "validBefore": terms.valid_before,
            "nonce": payout.nonce,
        },
    )
    words = (
        int(payout.address, 16),
        int(payout.to, 16),
        payout.value,
        0,
        terms.valid_before,
        int.from_bytes(payout.nonce, "big"),
        signed.v,
        signed.r,
        signed.s,
    )
    return {
        "token": payout.token,
        "chain_id": terms.chain_id,
        "from": payout.address,
        "to": payout.to,
        "value": str(payout.value),
        "valid_after": 0,
        "valid_before": terms.valid_before,
        "nonce": f"0x{payout.nonce.hex()}",
        "v": signed.v,
        "r": f"0x{signed.r:064x}",
        "s": f"0x{signed.s:064x}",
        "calldata": "0x" + SELECTOR.hex() + "".join(f"{word:064x}" for word in words),
    }


def sweep(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the signed authorizations. Refused."""
    payouts = find_payouts(options)
    terms = Terms(
        options.chain_id,
        options.token_name,
        options.token_version,
        int(time.time()) + options.valid_seconds,
    )
    Account.enable_unaudited_hdwallet_features()
    phrase = ask_phrase()
    owned = find_accounts(phrase, options.account, payouts, skip_others=options.skip_others)
    if options.refunds is None:
        last = max(each.index for each in read_export(options.csv))
        check_recipient(options.to, phrase, options.account, last)
    return [authorize(payout, key, terms) for payout, key in owned]


def check_recipient(to: str, phrase: str, account: int, last: int) -> None:
    """Check that the recipient is none of the addresses after the index `last`. Refused."""
    for index in range(last + 1, min(last + 1 + LATER_ADDRESSES, FIRST_HARDENED_INDEX)):
        if derive_key(phrase, account, index).address == to:
            raise Refused(f"--to is an address for orders: 0/{index} of this account")


def find_payouts(options: argparse.Namespace) -> list[Payout]:
    """Return what to sign: the refunds that are due, or all balances to one address. Refused."""
    if options.refunds is not None:
        if options.valid_seconds > LONGEST_VALID_SECONDS:
            raise Refused(f"--valid-seconds is above {LONGEST_VALID_SECONDS}, the most for refunds")
        owed = choose_refunds(read_refunds(options.refunds), options.chain_id)
        return [
            Payout(each.address, each.index, each.token, each.amount, each.to, each.nonce)
            for each in owed
            if each.to is not None
        ]
    holdings = choose(read_export(options.csv), options.chain_id, options.to)
    return [
        Payout(
            each.address, each.index, each.token, each.value, options.to, secrets.token_bytes(32)
        )
        for each in holdings
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Sign all transfers, or exit with the reason. The default arguments are the command line's."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.sweep",
        description="Sign, offline, transfers from exported addresses: all to one, or refunds.",
    )
    add = parser.add_argument
    add("csv", type=Path, nargs="?", help="the file of 'flask --app app wallet export'")
    add("--to", type=_argument(parse_address), help="the recipient (EIP-55)")
    add("--refunds", type=Path, help="instead: the file of 'flask --app app refunds export'")
    add(
        "--chain-id",
        required=True,
        type=_argument(parse_number),
        help="the chain of the rows to sign",
    )
    add("--token-name", required=True, help="the result of the token's name()")
    add("--token-version", required=True, help="the result of the token's version()")
    add(
        "--valid-seconds",
        type=_argument(parse_small_number),
        default=DAY,
        help="default: %(default)s",
    )
    add(
        "--account",
        type=_argument(parse_small_number),
        default=0,
        help="N of m/44'/60'/N', default 0",
    )
    add("--skip-others", action="store_true", help="skip addresses of other wallets")
    add("--output", type=Path, help="the file to write; default: standard output")
    options = parser.parse_args(arguments)
    given = [options.csv is not None, options.to is not None]
    if given != [options.refunds is None] * 2:
        parser.error("give either a wallet export and --to, or --refunds")
    try:
        authorizations = sweep(options)
    except Refused as refusal:
        sys.exit(f"Error: {refusal}. Nothing was signed.")
    _write(json.dumps(authorizations, indent=2) + "\n", options.output)
    total = sum(int(each["value"]) for each in authorizations)
    print(f"signed {len(authorizations)} transfers of {total} atomic units in all", file=sys.stderr)


def _write(text: str, path: Path | None) -> None:
    if path is None:
        sys.stdout.write(text)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        sys.exit(f"Error: cannot write {path}: {error.strerror}.")


def _argument(parse: Any) -> Any:
    """Let argparse print the parser's message for an invalid argument."""

    def run(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return run


if __name__ == "__main__":
    main()
