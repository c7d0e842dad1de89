"""Ethereum addresses that a request states."""

from ticketing.chain import address as addresses
from ticketing.errors import FieldMessage, Invalid

_CHECKSUM = FieldMessage("checksum", "Must be an address with a valid EIP-55 checksum.")


def parse(text: str, field: str) -> str:
    """Return an address with its EIP-55 checksum. Invalid, with the name of the `field`."""
    try:
        return addresses.parse(text)
    except ValueError:
        raise Invalid({field: [_CHECKSUM]}) from None
