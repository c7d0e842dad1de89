"""The networks on which an order could be paid, and how it can be paid there."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from peewee import AnyField


class OrderNetwork(NamedTuple):
    """A network on which an order could be paid, with its terms at order time."""

    chain_id: int
    token_address: str
    symbol: str | None
    decimals: int
    required_confirmations: int


class NetworksField(AnyField):
    """Networks in their order, stored as JSON."""

    field_type = "TEXT"

    def db_value(self, value: Sequence[OrderNetwork] | None) -> str | None:
        """Convert networks to JSON."""
        return None if value is None else json.dumps(value)

    def python_value(self, value: str | None) -> tuple[OrderNetwork, ...] | None:
        """Convert JSON to networks."""
        return None if value is None else tuple(OrderNetwork(*each) for each in json.loads(value))


@dataclass(frozen=True)
class PaymentOption:
    """A network on which an order can be paid, as buyers see it.

    It begins with the fields of OrderNetwork. `atomic_amount`: the order's amount in the token's
    own units. `atomic_due` is what is missing there, and `payment_uri` pays it. None: do not pay
    there now.
    """

    chain_id: int
    token_address: str
    symbol: str | None
    decimals: int
    required_confirmations: int
    name: str
    atomic_amount: int
    atomic_due: int | None
    payment_uri: str | None

    @property
    def available(self) -> bool:
        """Whether the order can be paid there now."""
        return self.payment_uri is not None
