"""Each request is counted against whoever sends it (draft-ietf-httpapi-ratelimit-headers-10)."""

from flask import Response, current_app, g

from ticketing.blueprints import client
from ticketing.blueprints.context import config
from ticketing.constants import CallClass
from ticketing.errors import TooManyRequests
from ticketing.services.limits import SECONDS, Limiter


def count(call_class: CallClass | None) -> None:
    """Count the present request. TooManyRequests.

    A good credential counts for itself. Everybody else counts by their address, in
    `call_class`; None: not at all.
    """
    if "caller" in g:
        call_class, who = CallClass.ADMIN, g.caller.credential_id
    elif call_class is not None:
        who = client.address()
    else:
        return
    limit = config().rate_limits[call_class]
    if limit:
        limiter: Limiter = current_app.extensions["limiter"]
        g.allowance = limiter.spend(call_class, who, limit)
        if not g.allowance.granted:
            raise TooManyRequests(retry_after=g.allowance.reset)


def tell(response: Response) -> None:
    """Say how much of what is allowed the caller still has."""
    allowance = g.get("allowance")
    if allowance is not None:
        name = allowance.call_class
        headers = response.headers
        headers.add("RateLimit-Policy", f'"{name}";q={allowance.limit};w={SECONDS}')
        headers.add("RateLimit", f'"{name}";r={allowance.remaining};t={allowance.reset}')
