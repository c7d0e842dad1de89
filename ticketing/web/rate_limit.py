"""Each request is counted against whoever sends it (draft-ietf-httpapi-ratelimit-headers-10)."""

from typing import Any

from flask import current_app, request

from ticketing.config import Config
from ticketing.constants import CallClass
from ticketing.errors import TooManyRequests
from ticketing.services.access.rate_limits import SECONDS, Allowance, Limiter
from ticketing.web import client_ip
from ticketing.web.context import caller_or_none, config

_ALLOWANCE = "ticketing.allowance"


def count(call_class: CallClass | None) -> None:
    """Count the present request, once. TooManyRequests.

    A good credential counts for itself. Everybody else counts by their address, in
    `call_class`; None: not at all.
    """
    environ = request.environ
    allowance: Allowance | None = environ.get(_ALLOWANCE)
    if allowance is None:
        limiter, who = current_app.extensions["limiter"], None
        caller = caller_or_none()
        if caller is not None:
            call_class, who = CallClass.ADMIN, caller.credential_id
        if call_class is None:
            return
        allowance = spend(environ, limiter, config(), call_class, who)
    if allowance is not None and not allowance.granted:
        raise TooManyRequests(retry_after=allowance.reset)


def spend(
    environ: dict[str, Any],
    limiter: Limiter,
    config: Config,
    call_class: CallClass,
    who: str | None = None,
) -> Allowance | None:
    """Count a request of `who`, None for its address. Return None where there is no limit."""
    limit = config.rate_limits[call_class]
    if not limit:
        return None
    if who is None:
        who = client_ip.address(environ, config.trusted_proxies)
    allowance = limiter.spend(call_class, who, limit)
    environ[_ALLOWANCE] = allowance
    return allowance


def headers(environ: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what tells how much of what is allowed the caller still has."""
    allowance: Allowance | None = environ.get(_ALLOWANCE)
    if allowance is None:
        return []
    _, name, limit, remaining, reset = allowance
    return [
        ("RateLimit-Policy", f'"{name}";q={limit};w={SECONDS}'),
        ("RateLimit", f'"{name}";r={remaining};t={reset}'),
    ]
