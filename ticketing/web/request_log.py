"""For every request: common response headers, a log line, and a count in the metrics."""

import logging
import time
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, request

from ticketing import links
from ticketing.config import Config
from ticketing.web import client_ip, metrics, rate_limit
from ticketing.web.context import config, credential_or_none, request_id_of

# One year (RFC 6797, 6.1.1).
STRICT_TRANSPORT = "max-age=31536000"

_OF_A_TENANT = (402, 409, 410)
"""Error statuses that imply that the tenant exists."""

_STARTED = "ticketing.started"

log = logging.getLogger("ticketing.requests")


def register(app: Flask) -> None:
    """Record every request that Flask handles."""
    app.after_request(_end)


def begin(environ: dict[str, Any]) -> None:
    """Store the start time of a request."""
    environ[_STARTED] = time.perf_counter()


def headers(environ: dict[str, Any], config: Config) -> list[tuple[str, str]]:
    """Return the headers that every response has."""
    found = [
        ("X-Request-ID", request_id_of(environ)),
        ("X-Content-Type-Options", "nosniff"),
        *rate_limit.headers(environ),
    ]
    if not environ["PATH_INFO"].startswith(links.EMBED):
        found.append(("X-Frame-Options", "DENY"))
    if client_ip.by_tls(environ, config.trusted_proxies):
        found.append(("Strict-Transport-Security", STRICT_TRANSPORT))
    return found


def record(
    environ: dict[str, Any],
    config: Config,
    route: str | None,
    status: int,
    *,
    tenant: str | None,
    credential: str | None,
) -> None:
    """Count and log a finished request.

    The log has the route, never the path: an unknown path may contain anything.
    """
    seconds = time.perf_counter() - environ[_STARTED]
    method = environ["REQUEST_METHOD"]
    metrics.record(method, route, status, seconds)
    if log.isEnabledFor(logging.INFO):
        fields = {
            "request_id": request_id_of(environ),
            "method": method,
            "route": route,
            "status": status,
            "duration_ms": round(seconds * 1000, 1),
            "tenant": tenant,
            "credential": credential,
            "address": client_ip.address(environ, config.trusted_proxies),
        }
        # log.info would look for the line of code that called it.
        line = log.makeRecord(
            log.name, logging.INFO, __file__, 0, "request", (), None, extra={"fields": fields}
        )
        log.handle(line)


def _end(response: Response) -> Response:
    if response.status_code == HTTPStatus.CONTINUE:
        return response  # never sent: the request comes again, with its body
    environ, status, settings = request.environ, response.status_code, config()
    for name, value in headers(environ, settings):
        response.headers.add(name, value)
    response.headers.setdefault("Cache-Control", "no-store")
    route = request.url_rule.rule if request.url_rule else None
    credential, tenant = credential_or_none() or (None, _tenant(status))
    record(environ, settings, route, status, tenant=tenant, credential=credential)
    return response


def _tenant(status: int) -> str | None:
    """Return the tenant in the path if it exists. Otherwise the text might be a secret."""
    named: str | None = (request.view_args or {}).get("tenant")
    return named if status < 400 or status in _OF_A_TENANT else None
