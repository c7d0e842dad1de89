"""The 409s of admissions that are given back."""

from ticketing.errors.base import Conflict


class NotReturnable(Conflict):
    """The admission cannot be given back: not on these terms, or not by its present holder."""

    code = "not_returnable"
    detail = "This admission cannot be given back."


class ReturnsClosed(Conflict):
    """The doors open too soon to give anything back."""

    code = "returns_closed"
    detail = "Admissions of this event can no longer be given back."


class ReturnInProgress(Conflict):
    """Somebody is paying for the place of the admission that is given back."""

    code = "return_in_progress"
    detail = "Somebody is paying for this place now. It cannot be taken back any more."

    def __init__(self, *, retry_after: int | None = None) -> None:
        """`retry_after`: when the order ends, if it is not paid yet."""
        super().__init__()
        self.retry_after = retry_after


class ReturnOffered(Conflict):
    """The admission is being given back."""

    code = "return_offered"
    detail = "This admission is being given back. First keep it."


class RefundAddressMissing(Conflict):
    """The order has no address to which the money could go."""

    code = "refund_address_missing"
    detail = "First state the address to which the money goes."
