"""The errors with status 429: the caller has reached a limit. One class a code."""

from ticketing.errors import TooMany


class TooManyRequests(TooMany):
    """The caller has reached the limit of requests per minute."""

    code = "too_many_requests"
    detail = "Too many requests. Retry after the seconds in Retry-After."


class TooMuchUnpaid(TooMany):
    """The caller's address holds too many unpaid seats."""

    code = "too_much_unpaid"
    detail = "This address holds too many unpaid seats. Pay for some orders or cancel them."


class TooManyOrders(TooMany):
    """The caller's address has made too many orders today."""

    code = "too_many_orders"
    detail = "This address has made too many orders today."


class TooManyFree(TooMany):
    """The caller's address has ordered too many free seats of this event."""

    code = "too_many_free"
    detail = "This address has ordered too many free seats of this event today."


class TooManyTransfers(TooMany):
    """The admission was offered too often today."""

    code = "too_many_transfers"
    detail = "This admission was offered too often. Retry after the seconds in Retry-After."


class TooManyDeliveries(TooMany):
    """Too many deliveries that were asked for are not sent yet."""

    code = "too_many_deliveries"
    detail = "Too many deliveries of this endpoint wait to be sent. Retry later."
