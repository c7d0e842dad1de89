r"""Send what the receivers of a tenant's orders hold to their owners, and pay the gas for it.

    pip install eth-account
    flask --app app wallet collections acme --chain-id 8453 --output c.json
    python -m tools.collect c.json --rpc https://... --key-file gas.key

`gas.key` has the private key, in hex, of an account with a little of the network's coin. It cannot
spend what orders hold: receivers pay their owner, whoever asks. Who steals it steals the gas.

    python -m tools.collect recovery.json --rpc https://... --key-file gas.key

With a recovery file, no database and no service is needed: it computes the addresses of all orders,
asks the node what they hold, and collects it. It looks at `--gap` addresses beyond the last that
holds something, and beyond the last that the file knows.

With `--chain-id` and `--token`, it looks for money that arrived on other networks, or in other
tokens (the zero address: the network's coin). Write the file with `--all` then.

It signs no bytes of a file: it builds each transaction itself, to the factory of receivers and
without value. One that would fail is halved until the orders are found that make it fail. It can be
stopped at any moment. The next run continues: it asks the chain what is left.

Exit code 0: all is collected. 3: something is left, and the output says what. 1: an error.
"""

from __future__ import annotations

import argparse
import sys
import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Any

from ticketing.chain import address, collecting, receivers, units
from ticketing.chain.answers import parse_quantity, parse_receipt
from ticketing.chain.collecting import Holding
from ticketing.chain.errors import RpcError
from ticketing.chain.node import Node
from ticketing.chain.registry import REGISTRY, Chain
from ticketing.constants import MICRO_UNIT_DECIMALS
from tools import printable
from tools.collect_files import CollectFile, OwnerWallet, Refused, read_file, read_key
from tools.collect_sending import GWEI, PatientClient, Sender, TooExpensive

SOMETHING_LEFT = 3
GAP = 1_000_000
LOOKED_UP_AT_ONCE = 1_000
PROGRESS = 50_000
COIN_DECIMALS = 18
LAGGING_SECONDS = 20.0
"""How long a node may take until it shows what a mined transaction changed."""

_PAUSE = 0.5
_MOST_AMOUNT = 10**30


class Money:
    """The token that is collected, or the chain's own coin."""

    def __init__(self, node: Node, token_address: str) -> None:
        """Ask the node about it. Refused if there is no such token."""
        self.address = token_address
        if self.is_coin:
            self._decimals, self._symbol = COIN_DECIMALS, "of the network's coin"
            return
        if not node.is_token(token_address):
            raise Refused(f"there is no token at {token_address} on this network")
        facts = node.token_facts(token_address)
        self._decimals, self._symbol = facts.decimals or 0, printable(facts.symbol or "tokens")

    @property
    def is_coin(self) -> bool:
        """Whether it is the chain's own coin."""
        return self.address == address.ZERO

    def written(self, atomic: int) -> str:
        """Return an amount for people: 5000000 is "5 USDC"."""
        return f"{Decimal(atomic).scaleb(-self._decimals).normalize():f} {self._symbol}"

    def atomic(self, amount: Decimal) -> int:
        """Return the atomic units in an amount of whole tokens, rounded down."""
        return int(amount.scaleb(self._decimals))

    def deposit(self, least: int | None) -> int:
        """Return the minimum deposit of an exchange, from micro-units, in atomic units."""
        return 0 if least is None or self.is_coin else units.whole_atomic(least, self._decimals)


class Collector:
    """Collects one token on one chain. `is_complete`: nothing is left. RpcError, Refused."""

    def __init__(self, node: Node, sender: Sender, money: Money, least: int) -> None:
        """Leave orders alone that hold less than `least`, in atomic units."""
        self._node = node
        self._sender = sender
        self._money = money
        self._least = least
        self.is_complete = True
        self.count = 0
        self.amount = 0

    @property
    def token_address(self) -> str:
        """The token, or the zero address."""
        return self._money.address

    def collect(self, wallet: OwnerWallet, holdings: Iterable[Holding]) -> None:
        """Collect receivers of a wallet, in their order, and what its gathering receiver holds."""
        of_wallet = iter(holdings)
        while batch := list(islice(of_wallet, collecting.MOST_ORDERS)):
            self._collect_together(wallet, batch)
        (unassigned,) = self.held([_receiver(wallet, receivers.GATHERING_SALT)])
        if unassigned >= max(1, self._least):
            print(f"{wallet.owner}: {self._money.written(unassigned)} that belongs to no order")
            self._deploy()
            self._send(wallet, [], is_direct=False)

    def held(self, addresses: Sequence[str]) -> list[int]:
        """Return what addresses hold, in atomic units."""
        return self._node.holdings(self._money.address, addresses)

    def with_holdings(
        self, wallet: OwnerWallet, salts: Iterable[tuple[str, bytes]]
    ) -> Iterator[Holding]:
        """Yield the receivers that hold something, of orders with their names and salts."""
        orders = iter(salts)
        while some := list(islice(orders, LOOKED_UP_AT_ONCE)):
            amounts = self.held([_receiver(wallet, salt) for _, salt in some])
            for (name, salt), amount in zip(some, amounts, strict=True):
                if amount:
                    yield Holding(name, salt, amount)

    def leave(self, what: str) -> None:
        """Say what is left, and remember that something is."""
        print(f"  left: {what}", flush=True)
        self.is_complete = False

    def _collect_together(self, wallet: OwnerWallet, batch: Sequence[Holding]) -> None:
        small = [each for each in batch if each.amount < self._least]
        if small:
            # It is no failure, and no reason to be called again: it is not worth the gas.
            total = self._money.written(sum(each.amount for each in small))
            print(f"  {len(small)} orders hold only {total} together: see --min-amount")
        worth = [each for each in batch if each.amount >= self._least]
        if not worth:
            return
        self._deploy()
        total = self._money.written(sum(each.amount for each in worth))
        print(f"{wallet.owner}: {len(worth)} orders with {total}", flush=True)

        def passes(holdings: Sequence[Holding], is_direct: bool) -> bool:
            data = self._data(wallet, holdings, is_direct=is_direct)
            return self._node.would_pass(receivers.FACTORY, data)

        found = collecting.sort(worth, passes)
        for each in found.refused:
            amount = self._money.written(each.amount)
            self.leave(f"{each.name} with {amount}: its transfer fails, as of a frozen account")
        for holdings, is_direct in ((found.gathered, False), (found.direct, True)):
            if holdings:
                self._send(wallet, holdings, is_direct=is_direct)

    def _deploy(self) -> None:
        """Put the factory on the chain, if nobody has yet."""
        if self._node.has_code(receivers.FACTORY):
            return
        print("the factory of receivers, once for this network and for everybody", flush=True)
        self._sender.send(receivers.PROXY, receivers.deploy_data())
        deadline = time.monotonic() + LAGGING_SECONDS
        # It fails if somebody else was faster. Only the code shows that the factory is there.
        while not self._node.has_code(receivers.FACTORY):
            if time.monotonic() > deadline:
                raise Refused("the factory of receivers could not be deployed")
            time.sleep(_PAUSE)
        if not self._node.can_collect():
            raise Refused("there is other code at the address of the factory of receivers")

    def _send(self, wallet: OwnerWallet, holdings: Sequence[Holding], *, is_direct: bool) -> None:
        """Send one collection. What the addresses hold then shows whether it did something."""
        total = sum(each.amount for each in holdings)
        least = self._money.deposit(wallet.least_collected)
        transfers = [each.amount for each in holdings] if is_direct else [total]
        if holdings and min(transfers) < least:
            said = self._money.written(least)
            self.leave(f"{self._money.written(total)}, because the exchange wants {said} or more")
            return
        data = self._data(wallet, holdings, is_direct=is_direct)
        receipt = self._sender.send(receivers.FACTORY, data)
        if receipt is None:
            self.leave(f"{self._money.written(total)}: the node says that it would fail")
            return
        paid = [_receiver(wallet, each.salt) for each in holdings]
        if not is_direct:
            paid.append(_receiver(wallet, receivers.GATHERING_SALT))
        if remaining := self._remaining(paid, receipt):
            self.leave(f"{self._money.written(remaining)} after a transaction that moved less")
        self.count += len(holdings)
        self.amount += max(0, total - remaining)
        if not self._money.is_coin:
            logs = parse_receipt(receipt, self._money.address)
            arrived = [each for each in logs if address.checksum(each.recipient) == wallet.owner]
            amount = self._money.written(sum(each.atomic_amount for each in arrived))
            print(f"  arrived: {amount} in {len(arrived)} transfers", flush=True)

    def _remaining(self, addresses: Sequence[str], receipt: dict[str, Any]) -> int:
        """Return what addresses hold after a transaction. A node may lag behind its own receipts.

        The status alone proves nothing: a call to an address without code succeeds, too.
        """
        deadline = time.monotonic() + LAGGING_SECONDS
        while remaining := sum(self.held(addresses)):
            if receipt.get("status") != "0x1" or time.monotonic() > deadline:
                break
            time.sleep(_PAUSE)
        return remaining

    def _data(self, wallet: OwnerWallet, holdings: Sequence[Holding], *, is_direct: bool) -> str:
        salts = [each.salt for each in holdings]
        return receivers.collect_data(wallet.owner, self._money.address, salts, direct=is_direct)


def listed(wallet: OwnerWallet, collector: Collector, *, are_as_booked: bool) -> list[Holding]:
    """Return the orders of a file that hold something.

    `are_as_booked`: only those that hold what the file says. Another balance means that somebody
    paid or collected since, and that the service has not booked it yet.
    """
    orders = [each for each in wallet.orders if each.amount or not are_as_booked]
    found = collector.with_holdings(wallet, ((each.name, each.salt) for each in orders))
    if not are_as_booked:
        return list(found)
    booked = {each.name: each.amount for each in orders}
    as_booked = []
    for holding in found:
        if holding.amount == booked[holding.name]:
            as_booked.append(holding)
        else:
            collector.leave(
                f"{holding.name}, which holds another sum than the file says: the worker has not"
                " read the newest block yet. Wait a minute, write the file again, and repeat this"
            )
    return as_booked


def recovered(wallet: OwnerWallet, collector: Collector, gap: int) -> Iterator[Holding]:
    """Yield the receivers of a recovery file's wallet that hold something, the last one first.

    All are searched before the first is yielded, and only their indexes are kept. The order
    matters: if this program is stopped, each one that is left is still within `gap` of another one
    or of the file's, so the next run finds it.

    Example: with a gap of 100, orders 80 and 160 hold money, and the file knows 5. The search ends
    after 260. If 80 were collected first and the program then stopped, the next search would end
    after 104, and not find 160.
    """
    secret = wallet.secret or b""
    indexes = array("Q")
    index, end = 1, min(wallet.next_index - 1 + gap, receivers.MOST_INDEX)
    while index <= end:
        some = range(index, min(index + LOOKED_UP_AT_ONCE, end + 1))
        addresses = [_receiver(wallet, receivers.order_salt(secret, each)) for each in some]
        for each, amount in zip(some, collector.held(addresses), strict=True):
            if amount:
                indexes.append(each)
                end = min(max(end, each + gap), receivers.MOST_INDEX)
        index = some.stop
        if (index - 1) % PROGRESS == 0:
            print(
                f"{wallet.owner}: {index - 1} addresses, {len(indexes)} hold something", flush=True
            )
    print(f"{wallet.owner}: {index - 1} addresses, {len(indexes)} hold something", flush=True)
    salts = ((f"order {each}", receivers.order_salt(secret, each)) for each in reversed(indexes))
    yield from collector.with_holdings(wallet, salts)


def run(options: argparse.Namespace) -> bool:
    """Collect. Return whether nothing is left. RpcError, Refused, TooExpensive."""
    file = read_file(options.file)
    key = read_key(options.key_file)
    chain_id = options.chain_id or file.chain_id
    rpc = PatientClient((options.rpc,))
    (found,) = rpc.batch([("eth_chainId", [])])
    if chain_id is None:
        chain_id = parse_quantity(found)
    if parse_quantity(found) != chain_id:
        raise Refused(f"--rpc is a node of network {parse_quantity(found)}, not of {chain_id}")
    node = Node(rpc, chain_id)
    if not node.can_collect():
        raise Refused("receivers have other addresses on this network, or none")
    usual = _usual_token(file, chain_id)
    money = Money(node, options.token or usual or _no_token())
    least = options.min_amount
    if least is None:
        least = _least_sensible(chain_id) if money.address == usual else Decimal(0)
    most_fee = None if options.max_fee_gwei is None else int(options.max_fee_gwei * GWEI)
    sender = Sender(rpc, chain_id, key, most_fee)
    # What a killed run has sent changes what is left.
    sender.wait_for_earlier()
    collector = Collector(node, sender, money, money.atomic(least))
    for wallet in file.wallets:
        if _is_controlled(wallet, chain_id, is_confirmed=options.yes):
            _collect(wallet, collector, file, options.gap, chain_id)
        else:
            collector.leave(f"what orders of {wallet.owner} hold")
    print(f"collected {money.written(collector.amount)} of {collector.count} orders")
    return collector.is_complete


def _collect(
    wallet: OwnerWallet, collector: Collector, file: CollectFile, gap: int, chain_id: int
) -> None:
    if wallet.secret is not None:
        collector.collect(wallet, recovered(wallet, collector, gap))
        return
    is_usual = (file.chain_id, file.token_address) == (chain_id, collector.token_address)
    collector.collect(wallet, listed(wallet, collector, are_as_booked=is_usual))


def _is_controlled(wallet: OwnerWallet, chain_id: int, *, is_confirmed: bool) -> bool:
    """Return whether money may be sent to a wallet's owner on a chain."""
    if is_confirmed or chain_id in wallet.chain_ids:
        return True
    known = REGISTRY.get(chain_id)
    network = f"network {chain_id}" if known is None else known.name
    print(f"The wallet does not name {network}. If this is true, run it again with --yes:")
    print(f"  I control {wallet.owner} on {network}.")
    return False


def _usual_token(file: CollectFile, chain_id: int) -> str | None:
    if file.chain_id == chain_id:
        return file.token_address
    known = REGISTRY.get(chain_id)
    return None if known is None else known.token_address


def _no_token() -> str:
    raise Refused("no token is known for this network: name it with --token")


def _receiver(wallet: OwnerWallet, salt: bytes) -> str:
    return receivers.receiver_address(wallet.owner, salt)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.collect",
        description="Send what receivers of orders hold to their owners, and pay the gas for it.",
    )
    add = parser.add_argument
    add("file", type=Path, help="of 'flask --app app wallet collections', or a recovery file")
    add("--rpc", required=True, help="the URL of a node")
    add("--key-file", required=True, type=Path, help="the private key of the account with gas")
    add("--chain-id", type=int, help="another network than the file's")
    add("--token", type=_token, help="another token; the zero address: the network's coin")
    add("--min-amount", type=_amount, help="leave orders with less, default: what is worth the gas")
    add("--max-fee-gwei", type=_amount, help="stop while gas costs more")
    add("--gap", type=int, default=GAP, help="of a recovery file, default %(default)s")
    add("--yes", action="store_true", help="I control the owner's address on this network")
    return parser


def _token(text: str) -> str:
    try:
        return address.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _least_sensible(chain_id: int) -> Decimal:
    """Return what an order must hold, in tokens: of less, the gas may take all."""
    network = REGISTRY.get(chain_id)
    least = Chain.least_sensible_price if network is None else network.least_sensible_price
    return Decimal(least).scaleb(-MICRO_UNIT_DECIMALS)


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
        is_complete = run(options)
    except TooExpensive as error:
        print(f"Stopped: {error}. Run it again later.", file=sys.stderr)
        sys.exit(SOMETHING_LEFT)
    except (Refused, RpcError) as error:
        sys.exit(f"Error: {error}. What was sent is safe: run it again to continue.")
    if not is_complete:
        sys.exit(SOMETHING_LEFT)


if __name__ == "__main__":
    main()
