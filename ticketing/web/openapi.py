"""The OpenAPI document, flask-smorest's registry for it, and the page that shows it."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from flask import Flask, Response, current_app, json
from flask_smorest import Api
from marshmallow import Schema
from marshmallow.fields import Field

from schemas.base import BaseSchema, Bool, Instant, Int, OneOf, QueryInt, Text
from schemas.notification_data import OF_TYPE
from schemas.problems import ProblemSchema
from ticketing.errors import PROBLEM_CONTENT_TYPE
from ticketing.notification_types import NotificationType
from ticketing.version import VERSION
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_DESCRIPTION = """\
Publish events and sell tickets for stablecoins. Payments go to a wallet that only the organizer
controls.

Amounts are integers in micro-units (10^-6 of the token), written without a fraction. Times are
RFC 3339, in the years 1970 to 9999, and are returned in UTC. Errors are `application/problem+json`
(RFC 9457) with a stable `code`. Lists have pages: send `next_cursor` as `cursor` until it is null.
"""

_OF_WEBHOOKS = (
    "The request is signed (Standard Webhooks): `webhook-id`, `webhook-timestamp`,"
    " `webhook-signature`. New fields and new types may be added."
)

_SECURITY_SCHEMES: dict[str, dict[str, Any]] = {
    "jwt": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "clientSecret": {
        "type": "http",
        "scheme": "bearer",
        "description": "The `client_secret` in the response to preflight.",
    },
    "paySecret": {
        "type": "http",
        "scheme": "bearer",
        "description": "The secret in an order's payment link: what follows the dot.",
    },
    "admissionCode": {
        "type": "http",
        "scheme": "bearer",
        "description": "The `code` of an admission.",
    },
    "doorToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "The `token` of a paired door device.",
    },
}

_HEADERS: dict[str, dict[str, Any]] = {
    "X-Request-ID": {
        "description": "The request's own, if it has 1 to 128 letters, digits, `.`, `_` and `-`.",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$"},
    },
    "ETag": {"required": True, "schema": {"type": "string"}},
    "WWW-Authenticate": {"required": True, "schema": {"type": "string"}},
    "Retry-After": {
        "description": "Ask again after so many seconds.",
        "required": True,
        "schema": {"type": "string", "pattern": "^[0-9]+$"},
    },
    "Location": {
        "description": "The intent. Read it with the `client_secret` of the body.",
        "required": True,
        "schema": {"type": "string"},
    },
}


class _Api(Api):
    ERROR_SCHEMA: type[Schema] = ProblemSchema  # type: ignore[assignment]


def register(app: Flask, blueprints: Iterable[ApiBlueprint]) -> None:
    """Serve the document of these blueprints, and the page that shows it."""
    document = _Document(blueprints)
    app.add_url_rule("/openapi.json", view_func=document.serve, endpoint="openapi")
    app.add_url_rule("/docs", view_func=_docs_page, endpoint="docs")


def schema_of_request(schema: type[BaseSchema]) -> dict[str, Any]:
    """Return the JSON Schema of a request, as the document would have it, without references."""
    return _json_schema(schema, {"additionalProperties": False}, leaves_out=())


def schema_of_response(schema: type[BaseSchema]) -> dict[str, Any]:
    """Return the JSON Schema of a response, without references and examples.

    It may have further members: adding one breaks nobody.
    """
    return _json_schema(schema, {}, leaves_out=("additionalProperties", "example"))


def _json_schema(
    schema: type[BaseSchema], of_objects: dict[str, Any], leaves_out: Sequence[str]
) -> dict[str, Any]:
    api = _api_of_schemas()
    converter = api.ma_plugin.converter
    assert converter is not None
    found: dict[str, Any] = converter.schema2jsonschema(schema())
    _drop_null_defaults(found)
    schemas = api.spec.components.schemas

    def whole(node: Any) -> Any:
        """Return a part with what it refers to in it. None refers to itself."""
        if isinstance(node, list):
            return [whole(each) for each in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return {**whole(schemas[node["$ref"].rpartition("/")[2]]), **of_objects}
        return {name: whole(each) for name, each in node.items() if name not in leaves_out}

    return {**whole(found), **of_objects}


@cache
def _api_of_schemas() -> Api:
    return _new_api()


def _new_api() -> Api:
    """Return a registry on an application of its own, which serves nothing."""
    app = Flask(__name__)
    app.config.update(API_TITLE="ticketing", API_VERSION=VERSION, OPENAPI_VERSION="3.1.0")
    api = _Api(
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
    assert api.ma_plugin.converter is not None
    api.ma_plugin.converter.add_attribute_function(_bounds)
    for name, scheme in _SECURITY_SCHEMES.items():
        api.spec.components.security_scheme(name, scheme)
    # flask-smorest has registered the schema already: it is ERROR_SCHEMA.
    api.spec.components.response(
        "Problem",
        {
            "description": "Any other problem",
            "headers": _headers_of("default"),
            "content": {PROBLEM_CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        },
    )
    return api


def _drop_null_defaults(schema: dict[str, Any]) -> None:
    for of in schema["properties"].values():
        # Our default None means "not sent".
        if of.get("default", "") is None:
            del of["default"]


def _bounds(_: Any, field: Field[Any], *, ret: dict[str, Any], **__: Any) -> dict[str, Any]:
    """Return what the generator does not know about a field: its pattern, a restricted enum."""
    if isinstance(field, OneOf):
        return {"enum": [*(str(each) for each in field.choices), *([None] * field.allow_none)]}
    pattern = getattr(field, "pattern", None)
    return {"pattern": pattern} if pattern and not ret.keys() & {"pattern", "enum"} else {}


_IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "description": "The `ETag` of an earlier response. 304 if the response would be the same.",
    "schema": {"type": "string"},
}


class _Document:
    """The document. It is generated at the first request, so that no start waits for it."""

    def __init__(self, blueprints: Iterable[ApiBlueprint]) -> None:
        self._blueprints = tuple(blueprints)
        self._texts: dict[str, str] = {}
        """The document by PUBLIC_URL: one, but in tests."""

    def serve(self) -> Response:
        url = config().public_url or "/"
        if url not in self._texts:
            api = _new_api()
            for blueprint in self._blueprints:
                api.register_blueprint(blueprint)
            for schema in sorted(set(OF_TYPE.values()), key=lambda each: each.__name__):
                api.spec.components.schema(_name_of(schema), schema=schema)
            headers = dict(_HEADERS)
            for blueprint in self._blueprints:
                headers |= blueprint.response_headers
            document = _completed(api.spec.to_dict(), headers)
            document["webhooks"] = _webhooks()
            document["servers"] = [{"url": url}]
            self._texts[url] = json.dumps(document, separators=(",", ":"))
        return Response(self._texts[url], content_type="application/json")


def _completed(generated: dict[str, Any], headers: dict[str, Any]) -> dict[str, Any]:
    """Return the document with changes for which the generator has no option."""
    document = copy.deepcopy(generated)
    for tag in document["tags"]:
        tag["name"] = _title(tag["name"])
    document["components"]["headers"] = headers
    schemas = document["components"]["schemas"]
    asked = _asked_with(document["paths"], schemas)
    for name, schema in schemas.items():
        _drop_null_defaults(schema)
        if name not in asked:
            # A response may have further members: adding one breaks nobody.
            schema.pop("additionalProperties", None)
    for item in document["paths"].values():
        # Documentation pages show parameters of the path after those of the operation.
        of_path = item.pop("parameters", [])
        for operation in item.values():
            for status, response in operation["responses"].items():
                if "$ref" not in response:
                    response.setdefault("headers", {}).update(_headers_of(status))
                    if "304" in operation["responses"] and status in ("200", "304"):
                        response["headers"]["ETag"] = {"$ref": "#/components/headers/ETag"}
            operation["tags"] = [_title(name) for name in operation["tags"]]
            parameters = of_path + operation.pop("parameters", [])
            if "304" in operation["responses"]:
                parameters.append(_IF_NONE_MATCH)
            if parameters:
                operation["parameters"] = parameters
            for parameter in parameters:
                if parameter["schema"].get("default", "") is None:
                    del parameter["schema"]["default"]
    return document


def _webhooks() -> dict[str, Any]:
    """Return the requests that receivers of webhooks get: one for each type of notification."""
    return {
        type.value: {
            "post": {
                "summary": (schema.__doc__ or "").strip(),
                "description": _OF_WEBHOOKS,
                "tags": ["webhooks"],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": _body_of(type, schema)}},
                },
                "responses": {"2XX": {"description": "It was received. 410 ends all deliveries."}},
            }
        }
        for type, schema in OF_TYPE.items()
    }


def _body_of(type: NotificationType, schema: type[BaseSchema]) -> dict[str, Any]:
    sequence = {"type": "integer", "description": "The notification's place in the feed."}
    data = [
        {"$ref": f"#/components/schemas/{_name_of(schema)}"},
        {"type": "object", "required": ["sequence"], "properties": {"sequence": sequence}},
    ]
    return {
        "type": "object",
        "required": ["type", "timestamp", "data"],
        "properties": {
            "type": {"type": "string", "const": type.value},
            "timestamp": {"type": "string", "format": "date-time"},
            "data": {"allOf": data},
        },
    }


def _name_of(schema: type[BaseSchema]) -> str:
    """Return the name of a schema's component."""
    return schema.__name__.removesuffix("Schema")


def _asked_with(paths: dict[str, Any], schemas: Mapping[str, Any]) -> set[str]:
    """Return the names of the schemas that requests have, with those inside them."""
    found: set[str] = set()
    nodes: list[Any] = [
        operation.get("requestBody", {})
        for item in paths.values()
        for name, operation in item.items()
        if name != "parameters"
    ]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            name = node.get("$ref", "").rpartition("/")[2]
            if name and name not in found:
                found.add(name)
                nodes.append(schemas[name])
            nodes.extend(node.values())
        elif isinstance(node, list):
            nodes.extend(node)
    return found


def _headers_of(status: str) -> dict[str, Any]:
    names = ["X-Request-ID", *(["WWW-Authenticate"] if status == "401" else [])]
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _title(surface: str) -> str:
    return surface.replace("_", " ").replace("api", "API")


def _docs_page() -> Response:
    """Return the page that shows the document. It loads nothing from other hosts."""
    page = current_app.send_static_file("docs.html")
    page.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    page.headers["Referrer-Policy"] = "same-origin"
    return page
