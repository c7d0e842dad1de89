"""A payer who signs what the service asks for, without a network fee."""

from collections.abc import Mapping
from typing import Any

from eth_account import Account

from tests.support.x402 import BUYER_KEY


def address_of(key: str = BUYER_KEY) -> str:
    return str(Account.from_key(key).address)


def signed(typed_data: Mapping[str, Any], key: str = BUYER_KEY, **changes: str) -> dict[str, str]:
    """Return the body that pays. `changes` are of the message that is signed."""
    data = {**typed_data, "message": {**typed_data["message"], **changes}}
    signature = Account.sign_typed_data(key, full_message=data).signature
    return {**data["message"], "signature": "0x" + signature.hex()}
