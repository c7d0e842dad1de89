r"""Send what the receivers of a tenant's orders hold to their owners, and pay the gas for it.

    pip install eth-account pycryptodome urllib3
    flask --app app wallet collections acme --chain-id 8453 --output c.json
    python -m tools.collect c.json --rpc https://... --key-file gas.key

`gas.key` has the private key, in hex, of an account with a little of the network's coin. It cannot
spend what orders hold: receivers pay their owner, whoever asks. Who steals it steals the gas.

    python -m tools.collect recovery.json --rpc https://... --rpc https://... --key-file gas.key

With a recovery file, no database and no service is needed: it computes the addresses of all orders,
asks the nodes what they hold, and collects it, on all networks of the file and in all tokens that
it names. It looks at `--gap` addresses beyond the last that holds something, and beyond the last
that the file knows. It ends with a list of what it has not looked at. With `--state FILE`, a search
that was interrupted goes on.

`--chain-id` and `--token` collect on one network only, or one token only (the zero address: the
network's coin): also with a file of `wallet collections`, of money that arrived on other networks,
or in other tokens. Write that file with `--all` then.

It signs no bytes of a file: it builds each transaction itself, to the factory of receivers and
without value. One that would fail is halved until the orders are found that make it fail. It can be
stopped at any moment. The next run continues: it asks the chain what is left.

Of this repository it needs tools/collect*.py, tools/__init__.py and ticketing/chain/.

Exit code 0: all is collected. 3: something is left or was not looked at, and the output says what.
1: an error.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

try:
    from ticketing.chain import address
    from ticketing.chain.errors import RpcError
    from tools import collect_networks
    from tools.collect_files import Refused
except ImportError as error:
    if error.name and error.name.startswith("ticketing"):
        sys.exit("Error: run it in a folder with tools/ and ticketing/chain/ of this repository.")
    sys.exit(
        "Error: this program needs eth-account, pycryptodome and urllib3. Install them with"
        f" '{sys.executable} -m pip install eth-account pycryptodome urllib3'."
    )

INTERRUPTED = 130
"""The exit code after Ctrl-C, as of other programs."""

_MOST_AMOUNT = 10**30
_OF_NETWORK = re.compile(r"(?:([0-9]{1,16})=)?(.+)", re.DOTALL)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.collect",
        description="Send what receivers of orders hold to their owners, and pay the gas for it.",
    )
    add = parser.add_argument
    add("file", type=Path, help="of 'flask --app app wallet collections', or a recovery file")
    add(
        "--rpc",
        required=True,
        action="append",
        type=_of_network,
        metavar="[CHAIN_ID=]URL",
        help="a node; repeat it for other networks, or for a second node of one",
    )
    add("--key-file", required=True, type=Path, help="the private key of the account with gas")
    add("--chain-id", type=int, help="this network only, also if the file is of another one")
    add("--token", type=_token, help="this token only; the zero address: the network's coin")
    add(
        "--also-token",
        action="append",
        default=[],
        type=_also_token,
        metavar="[CHAIN_ID=]TOKEN",
        help="another token that may have arrived, with a recovery file; repeat it for more",
    )
    add("--coin", action="store_true", help="also coins of the network, with a recovery file")
    add("--min-amount", type=_amount, help="leave orders with less, default: what is worth the gas")
    add("--max-fee-gwei", type=_amount, help="stop while gas costs more, default: by network")
    add("--max-gas-per-order", type=int, help="leave what takes more gas, default: by network")
    add(
        "--gap",
        type=int,
        default=collect_networks.GAP,
        help="how many addresses in a row"
        " without money end the search with a recovery file, default %(default)s",
    )
    add("--state", type=Path, metavar="FILE", help="keep the search here, and continue it")
    add("--yes", action="store_true", help="what it asked me to confirm is true")
    add("--complete", action="store_true", help="I want no more than this: exit code 0 after it")
    return parser


def _of_network(text: str) -> tuple[int | None, str]:
    match = _OF_NETWORK.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError("empty")
    return None if match[1] is None else int(match[1]), match[2]


def _also_token(text: str) -> tuple[int | None, str]:
    chain_id, token = _of_network(text)
    return chain_id, _token(token)


def _token(text: str) -> str:
    try:
        return address.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _amount(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not (amount.is_finite() and 0 <= amount < _MOST_AMOUNT):
        raise argparse.ArgumentTypeError("not an amount")
    return amount


def main(arguments: Sequence[str] | None = None) -> None:
    """Collect, and exit with 3 if something is left. The default arguments are the command's."""
    options = _parser().parse_args(arguments)
    try:
        exit_code = collect_networks.run(options)
    except KeyboardInterrupt:
        print("Stopped. Run it again to continue.", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except (Refused, RpcError) as error:
        sys.exit(f"Error: {error}. What was sent is safe: run it again to continue.")
    if exit_code:
        sys.exit(exit_code)


if __name__ == "__main__":
    main()
