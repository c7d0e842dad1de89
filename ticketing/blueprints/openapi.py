"""The OpenAPI document, the registry that it is made from, and the page that shows it."""

import copy
from typing import Any

from flask import Flask, Response, current_app, json, redirect, url_for
from werkzeug import Response as AnyResponse

from schemas.base import Bool, Instant, Int, QueryInt, Text
from ticketing.blueprints.problems import CONTENT_TYPE, ProblemApi

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_DESCRIPTION = """\
Publish events and sell tickets for stablecoins, straight to a wallet the organizer alone controls.

Amounts are integers in micro-units (10^-6 of the token). Times are RFC 3339 in UTC. Errors are
`application/problem+json` (RFC 9457) with a stable `code`. Lists are pages: pass `next_cursor` as
`cursor` until it is null.
"""

_SECURITY_SCHEMES: dict[str, dict[str, Any]] = {
    "jwt": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "clientSecret": {
        "type": "http",
        "scheme": "bearer",
        "description": "The `client_secret` that preflight answered with.",
    },
}


def make_api(app: Flask) -> ProblemApi:
    """Return the registry to which the surfaces are added, and serve its document."""
    app.config.update(API_TITLE="ticketing", API_VERSION="v1", OPENAPI_VERSION="3.1.0")
    api = ProblemApi(
        app,
        spec_kwargs={
            "info": {"description": _DESCRIPTION, "license": {"name": "Apache-2.0"}},
            "servers": [{"url": "/"}],
        },
    )
    for field, kind, shape in (
        (Text, "string", None),
        (Int, "integer", None),
        (QueryInt, "integer", None),
        (Bool, "boolean", None),
        (Instant, "string", "date-time"),
    ):
        api.register_field(field, kind, shape)
    for name, scheme in _SECURITY_SCHEMES.items():
        api.spec.components.security_scheme(name, scheme)
    # flask-smorest has named the schema already: it is ProblemApi.ERROR_SCHEMA.
    api.spec.components.response(
        "Problem",
        {
            "description": "Any other problem",
            "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        },
    )
    document = _Document(api)
    app.add_url_rule("/openapi.json", view_func=document.serve, endpoint="openapi")
    app.add_url_rule("/docs", view_func=_show, endpoint="docs")
    app.add_url_rule("/", view_func=_lead_to_docs, endpoint="home")
    return api


class _Document:
    """The document, written out at the first request for it."""

    def __init__(self, api: ProblemApi) -> None:
        self._api = api
        self._text: str | None = None

    def serve(self) -> Response:
        if self._text is None:
            self._text = json.dumps(_polished(self._api.spec.to_dict()), separators=(",", ":"))
        return Response(self._text, content_type="application/json")


def _polished(generated: dict[str, Any]) -> dict[str, Any]:
    """Return the document with what the generator has no option for."""
    document = copy.deepcopy(generated)
    for tag in document["tags"]:
        tag["name"] = _title(tag["name"])
    for item in document["paths"].values():
        # Pages show those of the path after the operation's own.
        of_path = item.pop("parameters", [])
        for operation in item.values():
            operation["tags"] = [_title(name) for name in operation["tags"]]
            parameters = of_path + operation.pop("parameters", [])
            if parameters:
                operation["parameters"] = parameters
            for parameter in parameters:
                # None stands for a parameter that was not sent; nobody can send it.
                if parameter["schema"].get("default", "") is None:
                    del parameter["schema"]["default"]
    return document


def _title(surface: str) -> str:
    return surface.replace("_", " ").replace("api", "API")


def _lead_to_docs() -> AnyResponse:
    return redirect(url_for("docs"))


def _show() -> Response:
    """Show the document on a page that loads nothing from another host."""
    page = current_app.send_static_file("docs.html")
    page.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    return page
