"""Which requests come first when all threads are busy: see ticketing/server/request_queue.py."""

from ticketing import links

_FIRST = (
    links.ORDER,
    links.PAYMENT,
    links.TICKET,
    links.TRANSFER,
    "/v1/door/",
    "/healthz",
    "/readyz",
)
_CHECKOUT = "/v1/checkout/"
_PREFLIGHT = "/preflight"


def comes_first(path: str) -> bool:
    """Whether a request is of somebody who has an order, a ticket or a door device.

    They must not wait behind a crowd that wants to buy. Health checks come first too, so that
    nobody restarts a process that is only busy.
    """
    if path.startswith(_CHECKOUT):
        return not path.endswith(_PREFLIGHT)
    return path.startswith(_FIRST)
