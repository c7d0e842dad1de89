"""The URLs of pages with secrets, as paths. Everybody who has one can act for its owner."""

from ticketing import credentials
from ticketing.web.context import config


def order(intent_id: str) -> str:
    """Return the path of an order's page."""
    secret = credentials.client_secret(config().keyring.current, intent_id)
    return f"/o/{intent_id}.{secret}"


def ticket(code: str) -> str:
    """Return the path of a ticket's page."""
    return f"/t/{code}"


def transfer(offer: str) -> str:
    """Return the path of the page that accepts a transfer."""
    return f"/x/{offer}"
