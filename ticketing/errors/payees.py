"""The 409s of where refunds go."""

from ticketing.errors.base import Conflict


class SignatureRequired(Conflict):
    """Nobody can be told that a proven payee is replaced. `signer` must sign the `message`."""

    detail = (
        "Nobody can be told about this change. Send a signature of `message` by the account that"
        " paid, `signer`, or ask the organizer to enter the address."
    )


class RefundAddressFixed(Conflict):
    """The order's link alone can change no payee any more, and nobody can confirm a change."""

    detail = "Nobody can confirm this change. Ask the organizer to enter the address."


class TooManyPayers(Conflict):
    detail = "No more payments can be told for this order. They count without it."
