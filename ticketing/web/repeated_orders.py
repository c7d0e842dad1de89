"""The secret of an order in repeated responses. It is derived, and in no stored response."""

from typing import Any

from ticketing import credentials
from ticketing.services.orders import intents
from ticketing.web.context import config
from ticketing.web.repeated_vouchers import order_again


def client_secret_again(stored: dict[str, Any]) -> dict[str, Any]:
    """Return what a repeat shows of a new order: its secret, and the code of its voucher.

    NotFound if the organizer has ended the order's links since.
    """
    intents.find_by_link(stored["id"], generation=0)
    secret = credentials.client_secret(config().keyring.current, stored["id"], generation=0)
    return {"client_secret": secret, **order_again(stored)}
