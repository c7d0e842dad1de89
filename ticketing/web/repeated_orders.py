"""The secret of an order in repeated responses. It is derived, and in no stored response."""

from typing import Any

from ticketing import credentials
from ticketing.web.context import config
from ticketing.web.repeated_vouchers import order_again


def client_secret_again(stored: dict[str, Any]) -> dict[str, Any]:
    """Return what a repeat shows of a new order: its secret, and the code of its voucher."""
    secret = credentials.client_secret(config().keyring.current, stored["id"])
    return {"client_secret": secret, **order_again(stored)}
