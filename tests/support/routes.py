"""Every endpoint, read from the routing table: new ones are included automatically."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flask import Flask
from werkzeug.routing import Rule

from schemas.base import EXAMPLE_PAYER
from ticketing import ids
from ticketing.pages.blueprint import PageBlueprint
from ticketing.web.auth import Guard
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.secret_guards import Buyer

OUTSIDE_SURFACES = {"static", "openapi", "docs"}
"""Public pages about the service."""

UNKNOWN = {
    "event_id": f"{ids.EVENT}{'0' * 26}",
    "ticket_id": f"{ids.TICKET_TYPE}{'0' * 26}",
    "intent_id": f"{ids.INTENT}{'0' * 26}",
    "admission_id": f"{ids.ADMISSION}{'0' * 26}",
    "key_id": f"{ids.API_KEY}{'0' * 26}",
    "device_id": f"{ids.DOOR_DEVICE}{'0' * 26}",
    "member_id": f"{ids.MEMBER}{'0' * 26}",
    "question_id": f"{ids.QUESTION}{'0' * 26}",
    "webhook_id": f"{ids.WEBHOOK_ENDPOINT}{'0' * 26}",
    "voucher_id": f"{ids.VOUCHER}{'0' * 26}",
    "message_id": f"{ids.MESSAGE}{'0' * 26}",
    "entry_id": f"{ids.WAITING_LIST_ENTRY}{'0' * 26}",
    "slug": "no-such-series",
}
"""An unused id for each kind that a path may have."""


@dataclass(frozen=True)
class Endpoint:
    """One method of one route, and its guard."""

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
        """The parameters of its path besides the tenant."""
        return sorted(self.arguments - {"tenant"})

    @property
    def operation(self) -> tuple[str, str]:
        """Its method and path, as the OpenAPI document has them."""
        path = self.rule.replace("<", "{").replace(">", "}")
        return "GET" if self.method == "HEAD" else self.method, path

    def path(self, **known: str) -> str:
        """Return its path. An id that is not given gets an unused value."""
        path = self.rule
        for name in self.arguments:
            path = path.replace(f"<{name}>", {**UNKNOWN, **known}[name])
        return path


def endpoints(app: Flask, prefix: str = "/") -> Iterator[Endpoint]:
    """Yield the endpoints of the API. Each route must have a surface and a guard, or be a page."""
    for rule in app.url_map.iter_rules():
        name, _, view = rule.endpoint.rpartition(".")
        surface: Any = app.blueprints.get(name)
        is_page = isinstance(surface, PageBlueprint)
        if is_page or rule.endpoint in OUTSIDE_SURFACES or not rule.rule.startswith(prefix):
            continue
        assert isinstance(surface, ApiBlueprint) and surface.guard, f"nobody guards {rule}"
        for method in sorted((rule.methods or set()) - {"OPTIONS"}):
            yield Endpoint(method, rule.rule, frozenset(rule.arguments), name, view, surface.guard)


def operations_of(document: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """Return the operations of the OpenAPI document, by method and path."""
    return {
        (method.upper(), path): operation
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }


def sent_to(
    operations: dict[tuple[str, str], Any], endpoint: Endpoint, ids: dict[str, str]
) -> dict[str, Any]:
    """Return a valid request to the endpoint: its query with names of `ids`, and its body."""
    operation = operations.get(endpoint.operation, {})
    asked = (each for each in operation.get("parameters", ()) if each["in"] == "query")
    names = {"chain_id": "1", "payer": EXAMPLE_PAYER, **ids}
    query = {each["name"]: names[each["name"]] for each in asked if each.get("required")}
    sent: dict[str, Any] = {"query_string": query}
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:  # not a picture
        body = dict(content["application/json"]["example"])
        body.pop("voucher", None)  # a code is looked up before the ticket type
        sent["json"] = body
    return sent


def same(answer: Any) -> tuple[Any, ...]:
    """Return a response without its request id and its time, for comparison."""
    body = answer.get_json(silent=True) if answer.is_json else answer.text
    headers = {name: value for name, value in answer.headers if name != "X-Request-ID"}
    for name in ("Content-Length", "Date"):
        headers.pop(name, None)
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name != "request_id"}
    return answer.status_code, repr(body), tuple(sorted(headers.items()))


def pages(app: Flask) -> Iterator[Rule]:
    """Yield the routes of all pages."""
    for rule in app.url_map.iter_rules():
        if isinstance(app.blueprints.get(rule.endpoint.rpartition(".")[0]), PageBlueprint):
            yield rule
