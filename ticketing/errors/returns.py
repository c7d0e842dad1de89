"""The 409s of admissions that are given back, and of where refunds go."""

from ticketing.errors.base import Conflict


class NotReturnable(Conflict):
    """The admission cannot be given back: not on these terms, or not by its present holder."""

    detail = "This admission cannot be given back."


class ReturnsClosed(Conflict):
    detail = "Admissions of this event can no longer be given back."


class ReturnInProgress(Conflict):
    detail = "Somebody is paying for this place now. It cannot be taken back any more."

    def __init__(self, *, retry_after: int | None = None) -> None:
        """`retry_after`: when the order ends, if it is not paid yet."""
        super().__init__()
        self.retry_after = retry_after


class ReturnOffered(Conflict):
    detail = "This admission is being given back. First keep it."


class RefundAddressMissing(Conflict):
    detail = "First state the address to which the money goes."


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
