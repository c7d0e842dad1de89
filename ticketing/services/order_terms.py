"""On which networks an order can be paid, and to which address.

An order is paid on one network, its home. Several are possible if all its ticket types that cost
something share them: the buyer chooses, else the first one that can be used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ticketing.chain import units
from ticketing.chain.registry import Chain
from ticketing.config import Config
from ticketing.errors import NetworkUnavailable, NotPayable
from ticketing.models.chains import ChainState
from ticketing.models.order_networks import OrderNetwork
from ticketing.services import chains
from ticketing.services.orders import lines, order_rules
from ticketing.services.orders.lines import Line
from ticketing.services.wallets import issuing
from ticketing.services.wallets.named_addresses import NamedAddress


@dataclass(frozen=True)
class Terms:
    """Where an order is paid: the `columns` of its intent, and of its `account` there."""

    chain_id: int
    columns: Mapping[str, Any]
    account: Mapping[str, Any]


def states_for(wanted: Sequence[Line]) -> dict[int, ChainState]:
    """Return the states of the chains on which an order may be paid. NoCommonNetwork.

    That of an order's only chain was usually read with its ticket type.
    """
    possible, read = order_rules.common_chains(wanted), wanted[0].ticket_type.proposed_chain
    if read is not None and possible == [read.chain_id]:
        return {read.chain_id: read}
    return chains.states_of_all(possible)


def home(
    wanted: Sequence[Line], chosen: int | None, known: Mapping[int, ChainState], config: Config
) -> int | None:
    """Return the chain that an order is paid on. None: it is free. NetworkUnavailable."""
    return _choose(wanted, chosen, known, config)[0] if lines.amount(wanted) else None


def _choose(
    wanted: Sequence[Line], chosen: int | None, known: Mapping[int, ChainState], config: Config
) -> tuple[int, Sequence[Chain]]:
    """Return the chain that an order is paid on, and all that can be used if there are several.

    NetworkUnavailable if the buyer chose one that cannot be used, and another one can be.

    Example: a ticket type is sold on Base, Polygon and Arbitrum, and the organizer's wallet is not
    on Base. Without a choice the order is paid on Polygon. Arbitrum can be chosen, Base cannot.
    """
    possible = order_rules.common_chains(wanted)
    if len(possible) == 1:
        return possible[0], ()
    payable = chains.payable(config.chains, known)
    enabled = [payable[chain_id] for chain_id in possible if chain_id in payable]
    exact = [chain for chain in enabled if _is_exact(wanted, chain)]
    usable = issuing.usable(wanted[0].ticket_type.tenant_id, exact)
    ids = [chain.chain_id for chain in usable]
    if chosen is None or not usable:
        return (chosen or [*ids, *possible][0]), usable
    if chosen not in ids:
        raise NetworkUnavailable
    return chosen, usable


def fix(
    wanted: Sequence[Line],
    chosen: int | None,
    known: Mapping[int, ChainState],
    config: Config,
    named: NamedAddress | None = None,
) -> Terms:
    """Issue an address for an order, and return where and with which token it is paid.

    `named`: the address, if its buyer was told it before. Call it in the transaction that stores
    the order. NotPayable, NetworkUnavailable.
    """
    chain_id, usable = _choose(wanted, chosen, known, config)
    chain = _payable(chain_id, wanted, known, config)
    tenant_id = wanted[0].ticket_type.tenant_id
    # Blocks that were read before this moment cannot contain a payment to the new address.
    if named is None:
        issued = issuing.issue_address(tenant_id, chain)
        read_to = known[chain_id].block_number if chain_id in known else None
    else:
        issued = issuing.issue_named(tenant_id, named.wallet_id, named.index, chain)
        read_to = named.blocks.get(chain_id)
    columns = {
        "chain_id": chain_id,
        "wallet": issued.wallet_id,
        "address_index": issued.index,
        "address": issued.address,
        "token_address": chain.token_address,
        "networks": [_network(each) for each in usable] if len(usable) > 1 else None,
    }
    account = {
        "symbol": chain.symbol,
        "token_decimals": chain.decimals,
        "required_confirmations": chain.confirmations,
        "early_confirmations": _early_confirmations(wanted, chain, config),
        "is_option": True,
        "in_reach": True,
        "checked_block": read_to,
    }
    return Terms(chain_id, columns, account)


def everywhere(
    wanted: Sequence[Line], known: Mapping[int, ChainState], config: Config
) -> Sequence[Chain]:
    """Return the chains on which an order that costs something can be paid, its home first.

    NotPayable.
    """
    chain_id, usable = _choose(wanted, None, known, config)
    if usable:
        return usable
    chain = _payable(chain_id, wanted, known, config)
    if not issuing.usable(wanted[0].ticket_type.tenant_id, [chain]):
        raise NotPayable("The organizer does not take payments on this network.")
    return [chain]


def _payable(
    chain_id: int, wanted: Sequence[Line], known: Mapping[int, ChainState], config: Config
) -> Chain:
    chain = chains.payable(config.chains, known).get(chain_id)
    if chain is None or chain.decimals is None:
        raise NotPayable("The chain of this ticket type is not enabled.")
    if not _is_exact(wanted, chain):
        raise NotPayable("The price cannot be paid exactly in this token.")
    return chain


def _is_exact(wanted: Sequence[Line], chain: Chain) -> bool:
    """Return whether each seat's price is exact in a chain's token, not only the total.

    It, or its deposit, may have to be refunded.
    """
    try:
        for line in wanted:
            units.to_atomic(line.unit_amount, chain.decimals or 0)
            units.to_atomic(line.item.deposit_amount, chain.decimals or 0)
    except units.NotExact:
        return False
    return True


def _early_confirmations(wanted: Sequence[Line], chain: Chain, config: Config) -> int | None:
    """Return how many blocks may confirm the order before it is final. None: it costs too much."""
    return chain.early_confirmations if lines.amount(wanted) <= config.early_most else None


def _network(chain: Chain) -> OrderNetwork:
    return OrderNetwork(
        chain.chain_id,
        chain.token_address,
        chain.symbol,
        chain.decimals or 0,
        chain.confirmations,
    )
