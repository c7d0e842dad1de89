"""What to sign so that what orders hold is sent to their owners. The service signs nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from ticketing.chain import address as addresses
from ticketing.chain import collecting, receivers, units
from ticketing.chain.collecting import Holding
from ticketing.chain.errors import RpcError
from ticketing.chain.node import Node, connect
from ticketing.chain.registry import Chain
from ticketing.constants import BlockedReason, CollectionPurpose
from ticketing.errors import ChainUnavailable, FieldMessage, Invalid, OwnerNotConfirmed
from ticketing.models.chains import ChainState
from ticketing.models.wallets import Wallet
from ticketing.services import chains, node_slots, stated_addresses
from ticketing.services.money import collectable, safe_files, unassigned
from ticketing.services.money.collectable import Asked, Order
from ticketing.services.payments import fresh_look

MOST_TRANSACTIONS = 10
MOST_SECONDS = 15.0
"""How long one answer may ask the node. A question that was begun may take its own time."""

MOST_LOOKED_UP = 5_000
"""Of how many orders in other tokens one answer reads the balances."""

MOST_BLOCKED = 1_000
"""How many orders that wait one answer names."""

_MOST_HOLDINGS = MOST_TRANSACTIONS * collecting.MOST_ORDERS


@dataclass(frozen=True)
class Transaction:
    """A transaction that anybody may send, without value.

    `amount` is what its `orders` hold, in atomic units. `is_direct`: each order's address pays the
    owner itself. `is_tried`: a node has tried it, and it would succeed now.
    """

    purpose: CollectionPurpose
    to: str
    data: str
    owner: str | None = None
    orders: int = 0
    amount: int = 0
    is_direct: bool = False
    is_tried: bool = True


@dataclass(frozen=True)
class Blocked:
    """An order that cannot be collected at the moment. `amount` is what it holds, in atomic units.

    `intent_id` None: a backup was restored, and the database does not know the order, or it is the
    money of a gathering receiver.
    """

    intent_id: str | None
    reason: BlockedReason
    amount: int


@dataclass
class Left:
    """What is in no transaction, and not blocked by name. `amount` is in atomic units."""

    orders: int = 0
    amount: int = 0

    def add(self, orders: int, amount: int) -> None:
        """Add some orders, and what they hold together."""
        self.orders += orders
        self.amount += amount


@dataclass
class Proposal:
    """What to sign on one chain, in this order. `as_of`: the time of the last block in the books.

    Each order that holds something is in one of `transactions`, `blocked` and `left`.
    `looked_up_to`: the last order in another token whose balance was read. None: there is no more.
    """

    chain_id: int
    token_address: str
    as_of: datetime
    factory: str = receivers.FACTORY
    transactions: list[Transaction] = field(default_factory=list)
    blocked: list[Blocked] = field(default_factory=list)
    left: Left = field(default_factory=Left)
    looked_up_to: str | None = None

    @property
    def safe(self) -> dict[str, Any]:
        """The transactions as a file for Safe's Transaction Builder."""
        orders = sum(each.orders for each in self.transactions)
        calls = ((each.to, each.data) for each in self.transactions)
        return safe_files.file_of(self.chain_id, f"Money of {orders} orders", calls)


def propose(
    tenant_id: str,
    enabled: Mapping[int, Chain],
    chain_id: int,
    token: str | None = None,
    *,
    after: str = "",
    is_owner_confirmed: bool = False,
) -> Proposal:
    """Return what to sign on a chain to collect a token, by default the one of its orders.

    `token`: with the zero address, the chain's own coin. Of orders in other tokens, the balances of
    MOST_LOOKED_UP are read, after the order `after`. `is_owner_confirmed`: the organizer controls
    the owners also on a chain that their wallet does not name. Call it outside of a write
    transaction, because it may take some seconds. Invalid; OwnerNotConfirmed; ChainUnavailable.
    """
    chain = enabled.get(chain_id)
    if chain is None:
        raise Invalid({"chain_id": [FieldMessage("choice", "This network is not enabled.")]})
    token_address = chain.token_address if token is None else stated_addresses.parse(token, "token")
    asked = Asked(tenant_id, chain_id, token_address)
    states = chains.states_of(chain_id)
    cursor = chains.cursor_of(states.get(chain_id))
    if cursor is None:
        raise ChainUnavailable("The worker has not read this network yet. Retry.")
    found = Proposal(chain_id, asked.token_address, cursor.time)
    with node_slots.slot(f"collections {tenant_id}"):
        try:
            decimals = _decimals(states[chain_id], asked.token_address)
            wallets, node = collectable.wallets(tenant_id), connect(chain)
            fresh_look.before_list(node, chain, token_address, tenant_id, cursor)
            search = _Search(node, found, wallets, decimals)
            search.check_token()
            now = chains.now_on(chain_id, states)
            search.add_holding(
                collectable.holding(asked, cursor, now, is_owner_confirmed=is_owner_confirmed)
            )
            search.add_unknown(unassigned.unknown_orders(asked))
            search.add_others(collectable.others(asked, after))
            search.check_owners(chain, is_confirmed=is_owner_confirmed)
            search.fill()
        except RpcError as error:
            raise ChainUnavailable(f"chain {chain_id} cannot be read: {error}") from None
    return found


def _decimals(state: ChainState, token_address: str) -> int | None:
    """Return the decimals of the token that the chain's orders are paid in. None: another one."""
    return state.decimals if state.token_address == token_address else None


class _OutOfTime(Exception):
    """MOST_SECONDS are over."""


@dataclass(frozen=True)
class _Draft:
    """Receivers of one wallet for one transaction. `amount` is what it moves, in atomic units.

    Without holdings, it moves what the gathering receiver holds.
    """

    wallet: Wallet
    holdings: Sequence[Holding]
    amount: int
    is_direct: bool = False

    @property
    def owner(self) -> str:
        return self.wallet.owner


class _Search:
    """Fills a proposal with what a node says about a token. Its methods may raise RpcError."""

    def __init__(
        self, node: Node, found: Proposal, wallets: Mapping[str, Wallet], decimals: int | None
    ) -> None:
        """`decimals`: of the token, None if orders are not paid in it."""
        self._node = node
        self._decimals = decimals
        self._found = found
        self._wallets = wallets
        self._holdings: dict[str, list[Holding]] = {wallet_id: [] for wallet_id in wallets}
        self._count = 0
        self._deadline = time.monotonic() + MOST_SECONDS

    @property
    def _is_full(self) -> bool:
        return self._count >= _MOST_HOLDINGS or time.monotonic() >= self._deadline

    def check_token(self) -> None:
        """Check that the token is one. Invalid."""
        token = self._found.token_address
        if token != addresses.ZERO and not self._node.is_token(token):
            message = FieldMessage("address", "There is no token at this address.")
            raise Invalid({"token": [message]})

    def add_holding(self, orders: Iterator[Order]) -> None:
        """Add orders whose address holds what is booked and final, or more.

        Less means that the books and the chain differ: it was collected just now, or the issuer
        took it. After the last transaction that has room, no balance is read.

        Example: 100 are booked and final, and the address holds 105. The 5 arrived just now. They
        are moved with the 100, as anybody may do, and the worker books them.
        """
        while not self._is_full and (some := list(islice(orders, collectable.PAGE))):
            for order, held in zip(some, self._held(some), strict=True):
                if order.blocked is not None:
                    self._block(order, order.blocked, held)
                elif held < order.final:
                    self._block(order, BlockedReason.ANOTHER_BALANCE, held)
                else:
                    self._add(order, held)
        for order in orders:
            if order.blocked is not None:
                self._block(order, order.blocked, order.held)
            else:
                self._found.left.add(1, order.held)

    def add_unknown(self, orders: Iterator[Order]) -> None:
        """Add orders that the database does not know, since a backup was restored."""
        while some := list(islice(orders, collectable.PAGE)):
            for order, held in zip(some, self._held(some), strict=True):
                if held:
                    self._add(order, held)

    def add_others(self, orders: Iterator[Order]) -> None:
        """Add orders in other tokens that hold this one: a buyer sent the wrong token."""
        looked_up = 0
        while some := list(islice(orders, collectable.PAGE)):
            if looked_up and (self._is_full or looked_up >= MOST_LOOKED_UP):
                return
            for order, held in zip(some, self._held(some), strict=True):
                if held:
                    self._add(order, held)
            looked_up += len(some)
            self._found.looked_up_to = some[-1].intent_id
        self._found.looked_up_to = None

    def check_owners(self, chain: Chain, *, is_confirmed: bool) -> None:
        """Check that the owners are the organizer's on this chain, as he says.

        OwnerNotConfirmed. A wallet without holdings is left out instead.
        """
        owners = []
        for wallet in list(self._wallets.values()):
            if is_confirmed or chain.chain_id in wallet.chain_ids:
                continue
            if self._holdings.pop(wallet.id):
                owners.append(wallet.owner)
        if owners:
            error = OwnerNotConfirmed(
                f"Money would go to {', '.join(owners)} on {chain.name}. Confirm that this is yours"
                " on that network."
            )
            error.owners = owners
            raise error

    def fill(self) -> None:
        """Write the transactions."""
        if not self._node.can_collect():
            raise RpcError("its factory of receivers is not the known one")
        drafts = list(self._drafts())
        if not self._node.has_code(receivers.FACTORY):
            self._propose_untried(drafts)
            return
        failing = []
        for draft in drafts:
            if not self._is_enough(draft):
                self._leave(draft)
            elif self._passes(draft):
                self._propose(draft)
            else:
                failing.append(draft)
        for draft in failing:
            self._sort(draft)
        # Those that failed came last. The owners are in the order of their wallets again.
        owners = [wallet.owner for wallet in self._wallets.values()]
        self._found.transactions.sort(key=lambda each: owners.index(each.owner or ""))

    def _held(self, orders: Sequence[Order]) -> list[int]:
        token = self._found.token_address
        return self._node.holdings(token, [order.address for order in orders])

    def _block(self, order: Order, reason: BlockedReason, held: int) -> None:
        if not held and order.held <= 0:
            return  # its logs are being searched, and nothing is there any more
        if len(self._found.blocked) < MOST_BLOCKED:
            self._found.blocked.append(Blocked(order.intent_id, reason, held))
        else:
            self._found.left.add(1, held)

    def _add(self, order: Order, held: int) -> None:
        wallet = self._wallets[order.wallet_id]
        holding = Holding(order.intent_id or "", order.salt(wallet), held)
        self._holdings[wallet.id].append(holding)
        self._count += 1

    def _drafts(self) -> Iterator[_Draft]:
        """Yield what to collect, wallet by wallet.

        What a gathering receiver holds moves with any other collection of its wallet.
        """
        wallets = [self._wallets[wallet_id] for wallet_id in self._holdings]
        gathering = [wallet.gathering for wallet in wallets]
        held = self._node.holdings(self._found.token_address, gathering) if wallets else []
        for wallet, gathered in zip(wallets, held, strict=True):
            holdings = self._holdings[wallet.id]
            for batch in collecting.in_batches(holdings):
                yield _of(wallet, batch)
            if gathered and not holdings:
                yield _Draft(wallet, (), gathered)

    def _is_enough(self, draft: _Draft) -> bool:
        """Return whether an exchange credits the transfer: it may have a minimum deposit.

        Each transfer counts: one for all orders together, or with `is_direct` one for each.
        """
        least = draft.wallet.least_collected
        if least is None or self._decimals is None:
            return True
        transfers = [each.amount for each in draft.holdings] if draft.is_direct else [draft.amount]
        return all(units.from_atomic(each, self._decimals)[0] >= least for each in transfers)

    def _propose_untried(self, drafts: Sequence[_Draft]) -> None:
        """Write a deployment and collections: without the factory, nothing can be tried."""
        enough = [draft for draft in drafts if self._is_enough(draft)]
        if enough:
            deploy = CollectionPurpose.DEPLOY, receivers.PROXY, receivers.deploy_data()
            self._found.transactions.append(Transaction(*deploy))
        for draft in drafts:
            if draft in enough:
                self._propose(draft, is_tried=False)
            else:
                self._leave(draft)

    def _propose(self, draft: _Draft, *, is_tried: bool = True) -> None:
        """Write a collection, if there is room for one more."""
        if len(self._found.transactions) >= MOST_TRANSACTIONS:
            self._leave(draft)
            return
        self._found.transactions.append(
            Transaction(
                CollectionPurpose.COLLECT,
                receivers.FACTORY,
                self._data(draft),
                draft.owner,
                len(draft.holdings),
                draft.amount,
                draft.is_direct,
                is_tried,
            )
        )

    def _leave(self, draft: _Draft) -> None:
        self._found.left.add(len(draft.holdings), draft.amount)

    def _passes(self, draft: _Draft) -> bool:
        """Return whether a collection would succeed. True, too, if no room needs the answer."""
        if len(self._found.transactions) >= MOST_TRANSACTIONS:
            return True
        return self._node.would_pass(receivers.FACTORY, self._data(draft))

    def _sort(self, draft: _Draft) -> None:
        """Write what of a failing collection would succeed, and which orders are blocked."""

        def passes(holdings: Sequence[Holding], is_direct: bool) -> bool:
            if time.monotonic() >= self._deadline:
                raise _OutOfTime
            return self._passes(_of(draft.wallet, holdings, is_direct=is_direct))

        if not draft.holdings:
            self._found.blocked.append(Blocked(None, BlockedReason.FAILS, draft.amount))
            return
        try:
            found = collecting.sort(draft.holdings, passes)
        except _OutOfTime:
            self._leave(draft)
            return
        self._found.blocked += [
            Blocked(each.name or None, BlockedReason.FAILS, each.amount) for each in found.refused
        ]
        for holdings, is_direct in ((found.gathered, False), (found.direct, True)):
            part = _of(draft.wallet, holdings, is_direct=is_direct)
            # All parts passed alone. Together they fail only if the chain has changed since.
            if holdings and self._is_enough(part) and self._passes(part):
                self._propose(part)
            else:
                self._leave(part)

    def _data(self, draft: _Draft) -> str:
        salts = [each.salt for each in draft.holdings]
        token = self._found.token_address
        return receivers.collect_data(draft.owner, token, salts, direct=draft.is_direct)


def _of(wallet: Wallet, holdings: Sequence[Holding], *, is_direct: bool = False) -> _Draft:
    return _Draft(wallet, holdings, sum(each.amount for each in holdings), is_direct)
