"""For tools.collect: go through networks, tokens and wallets, and say what was not looked at."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from ticketing.chain import address, receivers, registry, units
from ticketing.chain.answers import parse_quantity
from ticketing.chain.errors import RpcError
from ticketing.chain.node import Node
from ticketing.chain.registry import REGISTRY, Chain
from tools.collect_files import CollectFile, OwnerWallet, Refused, read_file, read_key
from tools.collect_moving import Collector, Money, listed
from tools.collect_search import State, salts, search, windows
from tools.collect_sending import (
    GWEI,
    MOST_FEE_GWEI,
    MOST_GAS_PER_ORDER,
    OTHER_MOST_FEE_GWEI,
    OTHER_MOST_GAS_PER_ORDER,
    PatientClient,
    Sender,
    TooExpensive,
)

DONE, FAILED, SOMETHING_LEFT = 0, 1, 3
"""Exit codes."""

GAP = receivers.SEARCH_GAP


@dataclass
class Report:
    """What a run has done. `is_complete`: nothing of what was looked at is left."""

    is_complete: bool = True
    has_failed: bool = False
    not_done: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)

    def fail(self, what: str, error: Exception) -> None:
        """Say what failed, and go on with the rest."""
        print(
            f"Error: {what}: {error}. What was sent is safe: run it again to continue.",
            file=sys.stderr,
        )
        self.has_failed = True

    def end(self, *, is_all_wanted: bool) -> int:
        """Say what was not done. Return the exit code."""
        if self.not_done and not is_all_wanted:
            print("Not done (if this is all you want, add --complete):")
            for each in self.not_done:
                print(f"  {each}")
        if self.has_failed:
            return FAILED
        is_done = self.is_complete and (is_all_wanted or not self.not_done)
        return DONE if is_done else SOMETHING_LEFT


def run(options: argparse.Namespace) -> int:
    """Collect, and return the exit code.

    RpcError and Refused if there is only one network. An error on one of several ends none of the
    others: it is in the output, and in the exit code.
    """
    file, key, report = read_file(options.file), read_key(options.key_file), Report()
    if not file.is_recovery and (options.coin or options.also_token or options.state):
        raise Refused("--also-token, --coin and --state are for recovery files: use --token")
    clients = _clients(options.rpc, report)
    only: int | None = options.chain_id or file.chain_id
    for chain_id in clients:
        if only not in (None, chain_id):
            raise Refused(f"--rpc is a node of network {chain_id}, not of {only}")
    state = State(options.state)
    for chain_id in sorted(file.chain_ids | clients.keys() if only is None else {only}):
        if chain_id not in clients:
            report.not_done.append(f"{_named(chain_id)}: no --rpc")
            continue
        if file.is_recovery:
            print(f"{_named(chain_id)}:", flush=True)
        try:
            _Network(chain_id, clients[chain_id], file, options, report).collect(key, state)
        except TooExpensive as error:
            print(f"Stopped: {error}. Run it again later.", file=sys.stderr)
            report.is_complete = False
        except (RpcError, Refused) as error:
            if len(clients) == 1:
                raise
            report.fail(_named(chain_id), error)
    anywhere = {token for chain_id, token in options.also_token if chain_id is None}
    for each in sorted(anywhere - report.tokens):
        report.not_done.append(f"there is no token at {each} on these networks: see --also-token")
    exit_code = report.end(is_all_wanted=options.complete)
    if exit_code == DONE:
        state.forget()
    return exit_code


def _clients(urls: Sequence[tuple[int | None, str]], report: Report) -> Mapping[int, PatientClient]:
    """Return a client for each network. Several nodes of one network stand in for each other.

    RpcError if the only node does not answer; Refused if one is of another network than stated.
    """
    of_chain: dict[int, list[str]] = defaultdict(list)
    for number, (stated, url) in enumerate(urls, 1):
        try:
            (answer,) = PatientClient((url,)).batch([("eth_chainId", [])])
            chain_id = parse_quantity(answer)
        except RpcError as error:
            if len(urls) == 1:
                raise
            report.fail(f"--rpc number {number}", error)
            continue
        if stated not in (None, chain_id):
            raise Refused(f"--rpc is a node of network {chain_id}, not of {stated}")
        of_chain[chain_id].append(url)
    return {each: PatientClient(tuple(urls), each) for each, urls in of_chain.items()}


class _Network:
    """Collects on one network. RpcError, Refused, TooExpensive."""

    def __init__(
        self,
        chain_id: int,
        rpc: PatientClient,
        file: CollectFile,
        options: argparse.Namespace,
        report: Report,
    ) -> None:
        self._chain_id = chain_id
        self._rpc = rpc
        self._node = Node(rpc, chain_id)
        self._file = file
        self._options = options
        self._report = report
        known = REGISTRY.get(chain_id)
        self._usual = None if known is None else known.token_address
        if file.chain_id == chain_id:
            self._usual = file.token_address

    def collect(self, key: str, state: State) -> None:
        """Collect all tokens of all wallets. `key` pays for gas."""
        if not self._node.can_collect():
            raise Refused("receivers have other addresses on this network, or none")
        moneys = self._moneys()
        if not moneys:
            return
        most_fee = self._options.max_fee_gwei
        if most_fee is None:
            most_fee = MOST_FEE_GWEI.get(self._chain_id, OTHER_MOST_FEE_GWEI)
        sender = Sender(self._rpc, self._chain_id, key, int(most_fee * GWEI))
        if self._file.is_recovery:
            coins = f"{sender.coins:.6f} of the network's coin"
            print(f"gas is paid by {sender.address}, which has {coins}", flush=True)
        # What a killed run has sent changes what is left.
        sender.wait_for_earlier()
        collectors = [self._collector(sender, each) for each in moneys]
        for wallet in self._file.wallets:
            if not self._is_asked(wallet):
                continue
            if not self._is_confirmed(wallet, moneys):
                collectors[0].leave(f"what orders of {wallet.owner} hold")
            elif wallet.secret is None:
                (collector,) = collectors
                collector.collect(wallet, listed(wallet, collector, self._is_as_booked(moneys[0])))
                collector.collect_unassigned(wallet)
            else:
                self._recover(wallet, collectors, state)
        for each in collectors:
            print(each, flush=True)
            self._report.is_complete &= each.is_complete
            if each.leaves_small and self._file.is_recovery:
                said = f"{_named(self._chain_id)}: small sums of {each.money.name}"
                self._report.not_done.append(f"{said}: see --min-amount")

    def _recover(self, wallet: OwnerWallet, collectors: Sequence[Collector], state: State) -> None:
        progress = {
            each.money.address: state.progress(self._chain_id, wallet, each.money.address)
            for each in collectors
        }
        search(wallet, progress, self._node.holdings, self._options.gap, state)
        found = [each.found for each in progress.values()]
        for window in windows(found, wallet, self._options.gap):
            for each in collectors:
                orders = salts(wallet, progress[each.money.address].found, window)
                each.collect(wallet, each.with_holdings(wallet, orders))
        for each in collectors:
            each.collect_unassigned(wallet)

    def _moneys(self) -> list[Money]:
        """Return what is collected here, and report the rest that may have arrived."""
        named, options = _named(self._chain_id), self._options
        if options.token is not None:
            return [Money(self._node, options.token)]
        if not self._file.is_recovery:
            if self._usual is None:
                raise Refused("no token is known for this network: name it with --token")
            return [Money(self._node, self._usual)]
        tokens = [] if self._usual is None else [self._usual]
        of_file = frozenset().union(*(each.tokens for each in self._file.wallets))
        tokens += sorted(token for chain_id, token in of_file if chain_id == self._chain_id)
        tokens += [token for chain_id, token in options.also_token if chain_id == self._chain_id]
        anywhere = [token for chain_id, token in options.also_token if chain_id is None]
        tokens += [each for each in anywhere if self._node.is_token(each)]
        if not tokens:
            self._report.not_done.append(f"{named}: no token is known, --also-token")
        if options.coin:
            tokens.append(address.ZERO)
        moneys = []
        for each in dict.fromkeys(tokens):
            try:
                moneys.append(Money(self._node, each))
            except Refused as error:
                self._report.not_done.append(f"{named}: {error}")
        self._report.tokens.update(tokens)
        known = REGISTRY.get(self._chain_id)
        for look_alike in () if known is None else known.look_alikes:
            if look_alike.token_address not in tokens:
                option = f"--also-token {self._chain_id}={look_alike.token_address}"
                self._report.not_done.append(f"{named}: {look_alike.symbol} not asked, {option}")
        if not options.coin:
            self._report.not_done.append(f"{named}: coins of the network not asked, --coin")
        return moneys

    def _collector(self, sender: Sender, money: Money) -> Collector:
        least, gas = self._options.min_amount, self._options.max_gas_per_order
        if least is None:
            least = self._least_sensible() if money.address == self._usual else Decimal(0)
        if gas is None:
            gas = MOST_GAS_PER_ORDER.get(self._chain_id, OTHER_MOST_GAS_PER_ORDER)
        return Collector(
            self._node,
            sender,
            money,
            least=money.atomic(least),
            is_chosen=self._options.min_amount is not None,
            gas_per_order=gas,
        )

    def _least_sensible(self) -> Decimal:
        """Return what an order must hold, in tokens: of less, the gas may take all."""
        known = REGISTRY.get(self._chain_id)
        least = Chain.least_sensible_price if known is None else known.least_sensible_price
        return Decimal(least).scaleb(-units.MICRO_DECIMALS)

    def _is_asked(self, wallet: OwnerWallet) -> bool:
        """Return whether a wallet's orders may hold something here, as far as the file says."""
        if self._options.chain_id is not None or not self._file.is_recovery:
            return True
        if self._chain_id in wallet.chain_ids | wallet.other_chain_ids:
            return True
        print(f"{wallet.owner}: the file does not name this network. To look: see --chain-id")
        return False

    def _is_confirmed(self, wallet: OwnerWallet, moneys: Sequence[Money]) -> bool:
        """Return whether money may be sent to a wallet's owner here."""
        network = registry.name_of(self._chain_id)
        said = []
        if self._chain_id not in wallet.chain_ids:
            said.append(f"I control {wallet.owner} on {network}.")
        if wallet.is_exchange:
            what = ", ".join(each.name for each in moneys)
            account = f"The exchange's account of {wallet.owner}"
            said.append(f"{account} is still open, and takes {what} on {network}.")
        if not said or self._options.yes:
            return True
        print("If this is true, run it again with --yes:")
        for each in said:
            print(f"  {each}")
        return False

    def _is_as_booked(self, money: Money) -> bool:
        """Return whether the file says what its orders hold of this token here."""
        booked = (self._file.chain_id, self._file.token_address)
        return booked == (self._chain_id, money.address)


def _named(chain_id: int) -> str:
    known = REGISTRY.get(chain_id)
    return f"network {chain_id}" if known is None else f"network {chain_id} ({known.name})"
