"""Count each request against its caller's limit (draft-ietf-httpapi-ratelimit-headers-10)."""

from collections.abc import Sequence
from typing import Any

from flask import Flask, current_app, request

from ticketing.config import Config
from ticketing.errors import NetworkBlocked, TooManyRequests
from ticketing.limits import ORDERS_OF_ADDRESS, CallClass
from ticketing.services.access.blocked_networks import Blocks
from ticketing.services.access.rate_limits import SECONDS, Allowance, Limiter
from ticketing.web import client_ip
from ticketing.web.context import config

_ALLOWANCE = "ticketing.allowance"

_HEALTH = "/healthz"
"""It must answer without the database, which may hang: else the process is restarted for that."""


def register(app: Flask) -> None:
    """Refuse blocked networks. Count requests outside the surfaces: pages, files, other paths."""
    app.before_request(_check_network)
    app.before_request(_count_other_requests)


def is_blocked(environ: dict[str, Any], extensions: dict[str, Any]) -> bool:
    """Return whether the operator blocks the client's network. Never for the check of health."""
    if environ["PATH_INFO"] == _HEALTH:
        return False
    settings: Config = extensions["ticketing"]
    blocks: Blocks = extensions["blocks"]
    return blocks.has(client_ip.address(environ, settings.trusted_proxies))


def _check_network() -> None:
    if is_blocked(request.environ, current_app.extensions):
        raise NetworkBlocked


def _count_other_requests() -> None:
    if request.blueprint is None:
        count(CallClass.PUBLIC)


def count(call_class: CallClass | None, caller: str | None = None, factor: int = 1) -> None:
    """Count the current request once, for `caller` or for its address. TooManyRequests.

    `call_class` None: do not count it. `factor`: how many times the limit of the class it has.
    """
    if call_class is None:
        return
    environ = request.environ
    allowance: Allowance | None = environ.get(_ALLOWANCE)
    if allowance is None:
        limiter = current_app.extensions["limiter"]
        allowance = spend(environ, limiter, config(), call_class, caller, factor)
    _raise_unless_granted(allowance)


def count_also(call_class: CallClass, caller: str | None = None) -> None:
    """Count the current request also for `caller`, or for its address. TooManyRequests."""
    limiter = current_app.extensions["limiter"]
    _raise_unless_granted(spend(request.environ, limiter, config(), call_class, caller))


def count_order_for_address() -> None:
    """Count a request with an order's secret also for its address. TooManyRequests.

    Many buyers share one address, so its limit is wide. It bounds what one client can do with many
    orders.
    """
    limit = config().rate_limits[CallClass.ORDER] * ORDERS_OF_ADDRESS
    if not limit:
        return
    environ = request.environ
    networks = client_ip.networks(environ, config().trusted_proxies)
    callers = [f"orders of {each}" for each in networks]
    limiter = current_app.extensions["limiter"]
    allowance = limiter.spend(CallClass.ORDER, callers, limit)
    if not allowance.granted:
        environ[_ALLOWANCE] = allowance
        _raise_unless_granted(allowance)


def spend(
    environ: dict[str, Any],
    limiter: Limiter,
    config: Config,
    call_class: CallClass,
    caller: str | None = None,
    factor: int = 1,
) -> Allowance | None:
    """Count a request for `caller` (None: for its address). Return None if there is no limit."""
    limit = config.rate_limits[call_class] * factor
    if not limit:
        return None
    callers: Sequence[str] = (caller,) if caller is not None else ()
    callers = callers or client_ip.networks(environ, config.trusted_proxies)
    allowance = environ[_ALLOWANCE] = limiter.spend(call_class, callers, limit)
    return allowance


def is_granted(
    environ: dict[str, Any], limiter: Limiter, config: Config, call_class: CallClass
) -> bool:
    """Return whether a request is within the limit of its address. It is counted once."""
    allowance: Allowance | None = environ.get(_ALLOWANCE)
    if allowance is None:
        allowance = spend(environ, limiter, config, call_class)
    return allowance is None or allowance.granted


def headers(environ: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the RateLimit headers: how many requests the caller has left."""
    allowance: Allowance | None = environ.get(_ALLOWANCE)
    if allowance is None:
        return []
    _, name, limit, remaining, reset = allowance
    return [
        ("RateLimit-Policy", f'"{name}";q={limit};w={SECONDS}'),
        ("RateLimit", f'"{name}";r={remaining};t={reset}'),
    ]


def _raise_unless_granted(allowance: Allowance | None) -> None:
    if allowance is not None and not allowance.granted:
        raise TooManyRequests(retry_after=allowance.reset)
