"""Every endpoint there is, read from the routing table: one that is added later is among them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flask import Flask

from ticketing import ids
from ticketing.web.auth import Buyer, Guard
from ticketing.web.blueprint import ApiBlueprint

OUTSIDE_SURFACES = {"static", "openapi", "docs", "home"}
"""Pages about the service, for everybody."""

UNKNOWN = {
    "event_id": f"{ids.EVENT}{'0' * 26}",
    "ticket_id": f"{ids.TICKET_TYPE}{'0' * 26}",
    "intent_id": f"{ids.INTENT}{'0' * 26}",
    "key_id": f"{ids.API_KEY}{'0' * 26}",
}
"""An id that was never given to anything, for each kind that a path may have."""


@dataclass(frozen=True)
class Endpoint:
    """One method of one route, and the guard before it."""

    method: str
    rule: str
    arguments: frozenset[str]
    surface: str
    view: str
    guard: Guard

    @property
    def reads(self) -> bool:
        """Whether it changes nothing (RFC 9110, 9.2.1)."""
        return self.method in ("GET", "HEAD")

    @property
    def needs_secret(self) -> bool:
        """Whether no role opens it, but an order's client secret."""
        return isinstance(self.guard, Buyer) and self.view in self.guard.secret_views

    @property
    def ids(self) -> list[str]:
        """What its path names beside the tenant."""
        return sorted(self.arguments - {"tenant"})

    def path(self, **known: str) -> str:
        """Its path, with ids that nothing has where none is given."""
        path = self.rule
        for name in self.arguments:
            path = path.replace(f"<{name}>", {**UNKNOWN, **known}[name])
        return path


def endpoints(app: Flask, prefix: str = "/") -> Iterator[Endpoint]:
    """Yield the endpoints of all surfaces. A route without a surface and a guard has no place."""
    for rule in app.url_map.iter_rules():
        if rule.endpoint in OUTSIDE_SURFACES or not rule.rule.startswith(prefix):
            continue
        name, _, view = rule.endpoint.rpartition(".")
        surface: Any = app.blueprints.get(name)
        assert isinstance(surface, ApiBlueprint) and surface.guard, f"nobody guards {rule}"
        for method in sorted((rule.methods or set()) - {"OPTIONS"}):
            yield Endpoint(method, rule.rule, frozenset(rule.arguments), name, view, surface.guard)


def same(answer: Any) -> tuple[Any, ...]:
    """What two answers that tell the same have in common: all but the request's id."""
    body = answer.get_json(silent=True)
    headers = {name: value for name, value in answer.headers if name != "X-Request-ID"}
    headers.pop("Content-Length", None)
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name != "request_id"}
    return answer.status_code, repr(body), tuple(sorted(headers.items()))
