"""Ethereum addresses that a request states."""

from collections.abc import Iterable

from ticketing.chain import address as addresses
from ticketing.chain import known_addresses, receivers
from ticketing.chain.registry import REGISTRY, Chain, LookAlike
from ticketing.errors import FieldMessage, Invalid

_CHECKSUM = FieldMessage("checksum", "Must be an address with a valid EIP-55 checksum.")

_OURS = {
    receivers.FACTORY: FieldMessage(
        "factory_address", "This is the contract that collects money, not a wallet."
    ),
    receivers.IMPLEMENTATION: FieldMessage(
        "implementation_address", "This is the contract of receivers, not a wallet."
    ),
    receivers.PROXY: FieldMessage(
        "proxy_address", "This is a contract that deploys others, not a wallet."
    ),
}


def parse(text: str, field: str) -> str:
    """Return an address with its EIP-55 checksum. Invalid, with the name of the `field`."""
    try:
        return addresses.parse(text)
    except ValueError:
        raise Invalid({field: [_CHECKSUM]}) from None


def refusal(address: str, enabled: Iterable[Chain]) -> FieldMessage | None:
    """Return why nobody can be paid at an address, which has its checksum. None: no list has it.

    Neither a node nor the database is asked. `enabled`: the enabled chains, whose tokens may be
    others than those of the registry.
    """
    if address == addresses.ZERO:
        return FieldMessage("zero_address", "Must not be the zero address.")
    if known_addresses.is_burning(address):
        return FieldMessage("burn_address", "Nobody can spend from this address.")
    if address in _OURS:
        return _OURS[address]
    name = known_addresses.CONTRACTS.get(address)
    if name is not None:
        text = f"This is {name}, a contract that many people use. It is nobody's wallet."
        return FieldMessage("known_contract", text, name=name)
    if known_addresses.is_of_network(address):
        return FieldMessage("reserved_address", "This address belongs to the network.")
    return _token(address, (*enabled, *REGISTRY.values()))


def _token(address: str, chains: Iterable[Chain]) -> FieldMessage | None:
    """Return that an address is a token of one of the chains, or one that people take for it."""
    for chain in chains:
        known: tuple[Chain | LookAlike, ...] = (chain, *chain.look_alikes)
        for each in known:
            if address.lower() != each.token_address.lower():
                continue
            if each.symbol is None:  # of a chain outside the registry
                return FieldMessage("token_address", "Must not be the address of the token.")
            text = f"This is the address of {each.symbol} on {chain.name}, not of a wallet."
            return FieldMessage("known_token", text, symbol=each.symbol, network=chain.name)
    return None
