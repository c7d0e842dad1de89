"""For tools.collect: move what receivers hold of one token, on one network, to their owners."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

from ticketing.chain import address, collecting, receivers, units
from ticketing.chain.answers import parse_receipt
from ticketing.chain.collecting import Holding
from ticketing.chain.node import Node
from tools import printable
from tools.collect_files import OwnerWallet, Refused
from tools.collect_sending import COIN_DECIMALS, Sender, TooMuchGas

LOOKED_UP_AT_ONCE = 1_000
LAGGING_SECONDS = 20.0
"""How long a node may take until it shows what a mined transaction changed."""

_OWN_GAS = 4
"""What a collection may take besides its orders, as a number of orders."""

_DEPLOYMENT_GAS = 10
"""What it may take to deploy the factory, as a number of orders."""

_PAUSE = 0.5


class Money:
    """The token that is collected, or the chain's own coin."""

    def __init__(self, node: Node, token_address: str) -> None:
        """Ask the node about it. Refused if there is no such token."""
        self.address = token_address
        if self.is_coin:
            self._decimals, self._symbol = COIN_DECIMALS, "of the network's coin"
            self.name = "the network's coin"
            return
        if not node.is_token(token_address):
            raise Refused(f"there is no token at {token_address} on this network")
        facts = node.token_facts(token_address)
        self._decimals, self._symbol = facts.decimals or 0, printable(facts.symbol or "tokens")
        self.name = self._symbol

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
    """Collects one token on one chain. RpcError, Refused.

    `is_complete`: nothing is left. `leaves_small`: some orders hold less than is worth the gas, and
    nobody has chosen how much that is. `count` orders were collected, and `amount` in all.
    """

    def __init__(
        self,
        node: Node,
        sender: Sender,
        money: Money,
        *,
        least: int,
        is_chosen: bool,
        gas_per_order: int,
    ) -> None:
        """Leave orders alone that hold less than `least`, in atomic units.

        `is_chosen`: somebody has chosen it.
        """
        self._gas_per_order = gas_per_order
        self._node = node
        self._sender = sender
        self.money = money
        self._least = least
        self._is_chosen = is_chosen
        self.is_complete = True
        self.leaves_small = False
        self.count = 0
        self.amount = 0
        self._unassigned = 0

    def __str__(self) -> str:
        collected = f"collected {self.money.written(self.amount)} of {self.count} orders"
        if not self._unassigned:
            return collected
        return f"{collected}; {self.money.written(self._unassigned)} of it belonged to no order"

    def collect(self, wallet: OwnerWallet, holdings: Iterable[Holding]) -> None:
        """Collect receivers of a wallet, in their order."""
        of_wallet = iter(holdings)
        while batch := list(islice(of_wallet, collecting.MOST_ORDERS)):
            self._collect_together(wallet, batch)

    def collect_unassigned(self, wallet: OwnerWallet) -> None:
        """Collect what a wallet's gathering receiver holds. It belongs to no order."""
        (unassigned,) = self.held([receiver(wallet, receivers.GATHERING_SALT)])
        if 0 < unassigned < self._least:
            self._note_small(f"{self.money.written(unassigned)} that belongs to no order")
        elif unassigned:
            print(f"{wallet.owner}: {self.money.written(unassigned)} that belongs to no order")
            self._deploy()
            self._send(wallet, [], is_direct=False)

    def held(self, addresses: Sequence[str]) -> list[int]:
        """Return what addresses hold, in atomic units."""
        return self._node.holdings(self.money.address, addresses)

    def with_holdings(
        self, wallet: OwnerWallet, salts: Iterable[tuple[str, bytes]]
    ) -> Iterator[Holding]:
        """Yield the receivers that hold something, of orders with their names and salts."""
        orders = iter(salts)
        while some := list(islice(orders, LOOKED_UP_AT_ONCE)):
            amounts = self.held([receiver(wallet, salt) for _, salt in some])
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
            total = self.money.written(sum(each.amount for each in small))
            self._note_small(f"{len(small)} orders hold only {total} together")
        worth = [each for each in batch if each.amount >= self._least]
        if not worth:
            return
        self._deploy()
        total = self.money.written(sum(each.amount for each in worth))
        print(f"{wallet.owner}: {len(worth)} orders with {total}", flush=True)

        def passes(holdings: Sequence[Holding], is_direct: bool) -> bool:
            data = self._data(wallet, holdings, is_direct=is_direct)
            return self._node.would_pass(receivers.FACTORY, data)

        found = collecting.sort(worth, passes)
        for each in found.refused:
            amount = self.money.written(each.amount)
            self.leave(f"{each.name} with {amount}: its transfer fails, as of a frozen account")
        for holdings, is_direct in ((found.gathered, False), (found.direct, True)):
            if holdings:
                self._send(wallet, holdings, is_direct=is_direct)

    def _note_small(self, what: str) -> None:
        # It is no failure, and no reason to be called again: it is not worth the gas.
        print(f"  {what}: see --min-amount", flush=True)
        self.leaves_small = self.leaves_small or not self._is_chosen

    def _deploy(self) -> None:
        """Put the factory on the chain, if nobody has yet."""
        if self._node.has_code(receivers.FACTORY):
            return
        print("the factory of receivers, once for this network and for everybody", flush=True)
        most_gas = _DEPLOYMENT_GAS * self._gas_per_order
        try:
            self._sender.send(receivers.PROXY, receivers.deploy_data(), most_gas)
        except TooMuchGas as error:
            raise Refused(f"the factory of receivers is not deployed: {error}") from None
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
        paid = [receiver(wallet, each.salt) for each in holdings]
        if not is_direct:
            paid.append(receiver(wallet, receivers.GATHERING_SALT))
        before = dict(zip(paid, self.held(paid), strict=True))
        total = sum(before.values())
        least = self.money.deposit(wallet.least_collected)
        if min(before.values() if is_direct else [total]) < least:
            said = self.money.written(least)
            self.leave(f"{self.money.written(total)}, because the exchange wants {said} or more")
            return
        data = self._data(wallet, holdings, is_direct=is_direct)
        try:
            most_gas = (len(holdings) + _OWN_GAS) * self._gas_per_order
            receipt = self._sender.send(receivers.FACTORY, data, most_gas)
        except TooMuchGas as error:
            self.leave(f"{self.money.written(total)}: {error}")
            return
        if receipt is None:
            self.leave(f"{self.money.written(total)}: the node says that it would fail")
            return
        if remaining := self._remaining(before, receipt):
            self.leave(f"{self.money.written(remaining)} after a transaction that moved less")
        elif not is_direct:
            self._unassigned += before[paid[-1]]
        self.count += len(holdings)
        self.amount += max(0, total - remaining)
        if not self.money.is_coin:
            logs = parse_receipt(receipt, self.money.address)
            arrived = [each for each in logs if address.checksum(each.recipient) == wallet.owner]
            amount = self.money.written(sum(each.atomic_amount for each in arrived))
            print(f"  arrived: {amount} in {len(arrived)} transfers", flush=True)

    def _remaining(self, before: dict[str, int], receipt: dict[str, Any]) -> int:
        """Return what a transaction left where it was. A node may lag behind its own receipts.

        The status alone proves nothing: a call to an address without code succeeds, too. `before`
        has what each address held. One that holds less now was collected, and paid once more.
        """
        deadline = time.monotonic() + LAGGING_SECONDS
        while remaining := self._unmoved(before):
            if receipt.get("status") != "0x1" or time.monotonic() > deadline:
                break
            time.sleep(_PAUSE)
        return remaining

    def _unmoved(self, before: dict[str, int]) -> int:
        amounts = zip(before.values(), self.held(list(before)), strict=True)
        return sum(now for was, now in amounts if was and now >= was)

    def _data(self, wallet: OwnerWallet, holdings: Sequence[Holding], *, is_direct: bool) -> str:
        salts = [each.salt for each in holdings]
        return receivers.collect_data(wallet.owner, self.money.address, salts, direct=is_direct)


def listed(wallet: OwnerWallet, collector: Collector, are_as_booked: bool) -> list[Holding]:
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


def receiver(wallet: OwnerWallet, salt: bytes) -> str:
    """Return the address of a wallet's receiver."""
    return receivers.receiver_address(wallet.owner, salt)
