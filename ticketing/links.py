"""The paths of pages with secrets, and of frames.

Everybody who has a secret can act for its owner, or pay.
"""

from ticketing import credentials
from ticketing.credentials import Keyring

EMBED = "/_e/"
"""The path before the cards of events. Other websites show them in frames."""

ORDER, PAYMENT, TICKET, TRANSFER, PLACE, MAILBOX = "/o/", "/_p/", "/t/", "/x/", "/_w/", "/_m/"
PAYEE_CHANGE = "/_r/"
ORDERS = "/_l/"
"""The path before the link to all orders of an address (services/mail/lost_links.py)."""


def order(intent_id: str, generation: int, keyring: Keyring) -> str:
    """Return the path of an order's page. `generation`: that of the order's links."""
    secret = credentials.client_secret(keyring.current, intent_id, generation)
    return f"{ORDER}{intent_id}.{secret}"


def payment(intent_id: str, generation: int, keyring: Keyring) -> str:
    """Return the path of the page on which anybody can pay for an order."""
    return f"{PAYMENT}{intent_id}.{credentials.pay_secret(keyring.current, intent_id, generation)}"


def payee_change(intent_id: str, change_id: str, salt: str, keyring: Keyring) -> str:
    """Return the path of the page that confirms or stops a new address for an order's refund."""
    secret = credentials.change_secret(keyring.current, intent_id, change_id, salt)
    return f"{PAYEE_CHANGE}{intent_id}.{change_id}.{secret}"


def ticket(code: str) -> str:
    """Return the path of a ticket's page."""
    return TICKET + code


def transfer(offer: str) -> str:
    """Return the path of the page that accepts a transfer."""
    return TRANSFER + offer


def place(entry_id: str, keyring: Keyring) -> str:
    """Return the path of the page of somebody who waits, and of what they are offered."""
    return f"{PLACE}{entry_id}.{credentials.place_secret(keyring.current, entry_id)}"


def mailbox(intent_id: str, place: int, salt: str, keyring: Keyring) -> str:
    """Return the path of a button in a mail about an order's addresses. `place`: EmailPlace."""
    secret = credentials.change_secret(keyring.current, intent_id, f"email {place}", salt)
    return f"{MAILBOX}{intent_id}.{place}.{secret}"
