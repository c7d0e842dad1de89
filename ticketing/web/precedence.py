"""Which requests come first when all threads are busy (ticketing/server/request_queue.py).

And whose response times say how busy they are (services/waiting_room).
"""

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


_OF_ORGANIZERS = ("/console", "/v1/admin", "/v1/auth", "/v1/x402", "/mcp", "/metrics", "/readyz")
_ORDERS = (_PREFLIGHT, "/order")


def shows_load(method: str, path: str) -> bool:
    """Whether the response time of a request shows how busy this service is.

    Those that may wait for a node, or work long for one organizer, do not.
    """
    if method in ("GET", "HEAD"):
        return not path.startswith(_OF_ORGANIZERS)
    return path.endswith(_ORDERS)


def comes_first(path: str) -> bool:
    """Whether a request is of somebody who has an order, a ticket or a door device.

    They must not wait behind a crowd that wants to buy. Health checks come first too, so that
    nobody restarts a process that is only busy.
    """
    if path.startswith(_CHECKOUT):
        return not path.endswith(_PREFLIGHT)
    return path.startswith(_FIRST)
