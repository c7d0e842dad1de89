"""What every request leaves behind: headers on its answer, a line in the log, a count."""

import logging
import time

from flask import Flask, Response, g, request

from ticketing.blueprints import client, limits, metrics
from ticketing.blueprints.context import request_id

# A year (RFC 6797, 6.1.1).
STRICT_TRANSPORT = "max-age=31536000"

_OF_A_TENANT = (402, 409, 410)
"""Refusals that only come for a tenant that was found."""

log = logging.getLogger("ticketing.requests")


def watch(app: Flask) -> None:
    """See every request of the application."""
    app.before_request(_begin)
    app.after_request(_end)


def _begin() -> None:
    g.began = time.perf_counter()


def _end(response: Response) -> Response:
    headers, status, identity = response.headers, response.status_code, request_id()
    headers.add("X-Request-ID", identity)
    headers.add("X-Content-Type-Options", "nosniff")
    headers.add("X-Frame-Options", "DENY")
    headers.setdefault("Cache-Control", "no-store")
    if client.by_tls():
        headers.add("Strict-Transport-Security", STRICT_TRANSPORT)
    limits.tell(response)
    seconds = time.perf_counter() - g.began
    # A path that is none of ours may hold anything.
    route = request.url_rule.rule if request.url_rule else None
    metrics.saw(request.method, route, status, seconds)
    if log.isEnabledFor(logging.INFO):
        fields = {
            "request_id": identity,
            "method": request.method,
            "route": route,
            "status": status,
            "duration_ms": round(seconds * 1000, 1),
            "tenant": _tenant(status),
            "credential": g.caller.credential_id if "caller" in g else None,
            "address": client.address(),
        }
        log.info("request", extra={"fields": fields})
    return response


def _tenant(status: int) -> str | None:
    """Return the tenant, if there is one: what else stands in its place may be a secret astray."""
    if "caller" in g:
        return str(g.caller.tenant_slug)
    named: str | None = (request.view_args or {}).get("tenant")
    return named if status < 400 or status in _OF_A_TENANT else None
