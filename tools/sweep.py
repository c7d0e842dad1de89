r"""Sign, offline, transfers from all exported addresses to one address of yours.

    pip install eth-account
    python -m tools.sweep addresses.csv --to 0x... --chain-id 8453 \
        --token-name "USD Coin" --token-version 2 --output authorizations.json

It reads the file of `flask --app app wallet export` and asks for the wallet's seed phrase. Then it
signs an EIP-3009 TransferWithAuthorization of the full balance for each address with a balance and
with `yes` in the column `sweep`. It skips addresses of live orders, of orders that ended less than
24 hours before the export, and addresses whose balance differs from the recorded payments. `--to`
must not be the address of an order: money that arrives there belongs to the buyer.

It makes no network connection. Of this repository it needs only tools/sweep*.py, and no server.
Run it on a machine where you may type your seed phrase. The account that submits the calldata to
the token's contract pays the gas. It cannot change the recipient, or use an authorization twice.
"""

import argparse
import json
import secrets
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_utils.crypto import keccak

from tools.sweep_export import (
    Holding,
    choose,
    parse_address,
    parse_number,
    parse_small_number,
    read_export,
)
from tools.sweep_keys import Refused, ask_phrase, derive_key

DAY = 86400
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

    to: str
    chain_id: int
    token_name: str
    token_version: str
    valid_before: int


def find_accounts(
    phrase: str, account: int, holdings: list[Holding], *, skip_others: bool
) -> Iterator[tuple[Holding, LocalAccount]]:
    """Return each holding with the key that owns it.

    Refused if a holding does not belong to the phrase; with `skip_others`, only if none does.
    """
    pairs = [(holding, derive_key(phrase, account, holding.index)) for holding in holdings]
    strange = [holding for holding, key in pairs if key.address != holding.address]
    if strange and not (skip_others and len(strange) < len(holdings)):
        raise Refused(
            f"{len(strange)} of {len(holdings)} addresses are not of account {account} of this seed"
            f" phrase; the first one is {strange[0].address}"
        )
    return ((holding, key) for holding, key in pairs if key.address == holding.address)


def authorize(holding: Holding, key: LocalAccount, terms: Terms) -> dict[str, Any]:
    """Sign the transfer of a full balance. Return it in the format for a relayer."""
    nonce = secrets.token_bytes(32)
    signed = key.sign_typed_data(
        domain_data={
            "name": terms.token_name,
            "version": terms.token_version,
            "chainId": terms.chain_id,
            "verifyingContract": holding.token,
        },
        message_types=TYPES,
        message_data={
            "from": holding.address,
            "to": terms.to,
            "value": holding.value,
            "validAfter": 0,
            "validBefore": terms.valid_before,
            "nonce": nonce,
        },
    )
    words = (
        *(int(holding.address, 16), int(terms.to, 16), holding.value, 0, terms.valid_before),
        *(int.from_bytes(nonce, "big"), signed.v, signed.r, signed.s),
    )
    return {
        "token": holding.token,
        "chain_id": terms.chain_id,
        "from": holding.address,
        "to": terms.to,
        "value": str(holding.value),
        "valid_after": 0,
        "valid_before": terms.valid_before,
        "nonce": f"0x{nonce.hex()}",
        "v": signed.v,
        "r": f"0x{signed.r:064x}",
        "s": f"0x{signed.s:064x}",
        "calldata": "0x" + SELECTOR.hex() + "".join(f"{word:064x}" for word in words),
    }


def sweep(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the signed authorizations. Refused."""
    holdings = choose(read_export(options.csv), options.chain_id, options.to)
    terms = Terms(
        options.to,
        options.chain_id,
        options.token_name,
        options.token_version,
        int(time.time()) + options.valid_seconds,
    )
    Account.enable_unaudited_hdwallet_features()
    owned = find_accounts(ask_phrase(), options.account, holdings, skip_others=options.skip_others)
    return [authorize(holding, key, terms) for holding, key in owned]


def main() -> None:
    """Sign all transfers, or exit with the reason."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.sweep",
        description="Sign, offline, transfers from all exported addresses to one address.",
    )
    add = parser.add_argument
    add("csv", type=Path, help="the file of 'flask --app app wallet export'")
    add("--to", required=True, type=_argument(parse_address), help="the recipient (EIP-55)")
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
    options = parser.parse_args()
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
