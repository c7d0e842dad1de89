"""Which account has proven that it paid, so that money can go back to it without asking."""

from ticketing.constants import PayeeSource
from ticketing.models.stray_accounts import Account


def proven_payee(account: Account) -> tuple[str, PayeeSource] | None:
    """Return the address that has proven that it paid an account, and how. None: nobody has."""
    return None
