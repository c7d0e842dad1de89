"""The blueprint of every JSON surface: with a guard, strict parsing and documented errors."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from flask import Response, jsonify, request
from flask_smorest.blueprint import Blueprint

from schemas.base import BaseSchema
from ticketing.bodies import max_body_bytes
from ticketing.errors import (
    PROBLEM_CONTENT_TYPE,
    BodyTooLarge,
    IdempotencyKeyReused,
    IdempotencyStillRunning,
    Invalid,
    MalformedJson,
    TicketingError,
    UnsupportedMediaType,
)
from ticketing.limits import CallClass
from ticketing.services.catalog_version import Versioned
from ticketing.web import gate, idempotency, response_cache
from ticketing.web.auth import Guard, Open, TenantRole
from ticketing.web.operation import describe
from ticketing.web.operation import of as operation_of
from ticketing.web.parsing import StrictParser
from ticketing.web.problems import example_of

_IDEMPOTENCY_KEY = {
    "in": "header",
    "name": "Idempotency-Key",
    "description": (
        "A repeated request with the same key and body within 24 hours gets the first response,"
        " if it had an effect: errors and 202 are not stored."
        " Without a credential, the key needs 32 characters or more."
    ),
    "schema": {"type": "string", "pattern": idempotency.PATTERN},
}
_ORDER_KEY = (
    "It belongs to the order. A request with the same key gets the present state of that order."
    " Without a credential, the key needs 32 characters or more."
)
_CORS_PREFLIGHT = Open(CallClass.PUBLIC)
View = TypeVar("View", bound=Callable[..., Any])
VersionedView = Callable[..., Versioned[Any]]


_CREDENTIALS = {
    "clientSecret": "the `client_secret` of the order",
    "paySecret": "the secret of its payment link",
    "admissionCode": "the `code` of the ticket",
    "doorToken": "the token of a paired device",
    "apiKey": "a credential of the tenant",
}
"""What people call the ways to sign in, which the document has by these names."""


class ApiBlueprint(Blueprint):
    """A blueprint that requires a guard.

    It adds to flask-smorest's decorators: examples from the schemas, and documentation of the
    guard and of the errors in `raises`. `response_headers`: OpenAPI descriptions of headers that
    only this surface sends.
    """

    ARGUMENTS_PARSER = StrictParser()

    def __init__(
        self,
        name: str,
        import_name: str,
        *,
        guard: Guard,
        response_headers: Mapping[str, Any] = MappingProxyType({}),
        **options: Any,
    ) -> None:
        super().__init__(name, import_name, **options)
        self.guard = guard
        self.response_headers = response_headers
        self.before_request(self._check)

    def route(self, rule: str, **options: Any) -> Callable[[View], View]:
        """Register a view, and document it."""
        register = super().route(rule, **options)
        (method,) = options.get("methods", ["GET"])

        def decorate(view: View) -> View:
            register(self.doc(**self._document(view, method.lower()))(view))
            return view

        return decorate

    def arguments(
        self, schema: type[BaseSchema], *, location: str = "json", **options: Any
    ) -> Callable[[View], View]:
        """Parse the JSON body or the query with `schema`, and pass the result to the view."""
        is_body = location == "json"
        accepted = schema()
        if is_body:
            options |= {"example": accepted.example(), "required": not schema.MAY_BE_ABSENT}
        decorator = super().arguments(accepted, location=location, **options)

        def decorate(view: View) -> View:
            decorated: View = decorator(view)
            has_body = is_body or operation_of(decorated).has_body
            describe(decorated, has_arguments=True, has_body=has_body)
            return decorated

        return decorate

    def response(
        self, status_code: int, schema: Any = None, **options: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Response]]:
        """Serialize the view's result with `schema`, a class. None: the response has no body."""
        if schema is not None:
            shown = schema()
            options |= {"schema": shown, "example": shown.example()}
        decorate: Callable[[Callable[..., Any]], Callable[..., Response]] = super().response(
            status_code, **options
        )
        return decorate

    def alt_response(
        self, status_code: int, response: Any = None, *, schema: Any = None, **options: Any
    ) -> Callable[[View], View]:
        """Document another response of a view. `schema` is a class."""
        decorate: Callable[[View], View] = super().alt_response(
            status_code, response, schema=schema, example=schema().example(), **options
        )
        return decorate

    def raises(self, *errors: type[TicketingError]) -> Callable[[View], View]:
        """Document the domain errors that a view can raise."""

        def decorate(view: View) -> View:
            describe(view, errors=errors)
            return view

        return decorate

    def headers(
        self,
        *,
        request: Sequence[Mapping[str, Any]],
        response: Mapping[int, Sequence[str]],
    ) -> Callable[[View], View]:
        """Document further headers: OpenAPI parameters, and names of headers by status."""

        def decorate(view: View) -> View:
            describe(view, parameters=tuple(request), response_headers=response)
            return view

        return decorate

    def upload(self, *types: str) -> Callable[[View], View]:
        """Document that the body is a file of one of these media types. The view reads it."""

        def decorate(view: View) -> View:
            describe(view, uploads=types)
            return view

        return decorate

    def order_key(self, view: View) -> View:
        """Document that the Idempotency-Key belongs to the order. The view itself handles it."""
        describe(view, keeps_order_key=True)
        return view

    def cached(
        self, schema: type[BaseSchema]
    ) -> Callable[[VersionedView], Callable[..., Response]]:
        """Serialize the view's result with `schema`, and cache the response while it is fresh."""

        dump = schema().dump

        def render(value: Any) -> bytes:
            return jsonify(dump(value)).get_data()

        def decorate(view: VersionedView) -> Callable[..., Response]:
            wrapped = _cached(view, render, "application/json")
            return self.response(200, schema)(wrapped)

        return decorate

    def text(
        self, content_type: str, *, example: str, description: str
    ) -> Callable[[View], Callable[..., Response]]:
        """Document a response that is not JSON. The view returns it complete."""
        decorate: Callable[[View], Callable[..., Response]] = super().response(
            200,
            {"type": "string"},
            content_type=content_type.partition(";")[0],
            example=example,
            description=description,
        )
        return decorate

    def cached_text(
        self, render: Callable[[Any], bytes], content_type: str, **documentation: str
    ) -> Callable[[VersionedView], Callable[..., Response]]:
        """Make a text from the view's result with `render`, and cache it while it is fresh."""

        def decorate(view: VersionedView) -> Callable[..., Response]:
            wrapped = _cached(view, render, content_type)
            return self.text(content_type, **documentation)(wrapped)

        return decorate

    def _check(self) -> Response | None:
        # A CORS preflight carries no credential (Fetch standard, 3.2.2).
        guard = _CORS_PREFLIGHT if request.method == "OPTIONS" else self.guard
        max_bytes = max_body_bytes(request.path)
        return gate.check_request(guard, body="request body", max_bytes=max_bytes)

    def _description(self, view: Callable[..., Any], method: str) -> str:
        """Return what the view's docstring says after its first line, and who may call it."""
        _, _, more = (inspect.getdoc(view) or "").partition("\n\n")
        accepted = self.guard.security(method, view.__name__)
        names = {name for each in accepted for name in each}
        if isinstance(self.guard, TenantRole):
            roles = sorted(f"`{role}`" for role in self.guard.needed(method.upper()))
            who = f"Needs a credential with the role {_listed(roles)}, or a higher one."
        elif not names:
            who = "Needs no credential."
        elif {} in accepted:
            who = "A credential is optional."
        else:
            who = f"Needs {_listed(text for name, text in _CREDENTIALS.items() if name in names)}."
        return f"{more}\n\n{who}".strip()

    def _document(self, view: Callable[..., Any], method: str) -> dict[str, Any]:
        """Return the parts of the documentation that flask-smorest cannot derive from the view."""
        operation, name = operation_of(view), view.__name__
        errors = [*operation.errors, *self.guard.errors(method, name)]
        if method != "get":
            errors.append(BodyTooLarge)
        if operation.has_body:
            errors += [MalformedJson, UnsupportedMediaType]
        if operation.uploads:
            errors.append(UnsupportedMediaType)
        if operation.has_arguments:
            errors.append(Invalid)
        document: dict[str, Any] = {
            "operationId": f"{self.name}_{name}",
            "security": self.guard.security(method, name),
            "description": self._description(view, method),
        }
        if operation.uploads:
            file = {"schema": {"type": "string", "format": "binary"}}
            content = dict.fromkeys(operation.uploads, file)
            document["requestBody"] = {"required": True, "content": content}
        parameters = [dict(each) for each in operation.parameters]
        if operation.is_idempotent:
            parameters.append(_IDEMPOTENCY_KEY)
            errors += [IdempotencyStillRunning, IdempotencyKeyReused, Invalid]
        if operation.keeps_order_key:
            parameters.append({**_IDEMPOTENCY_KEY, "description": _ORDER_KEY})
            errors += [IdempotencyKeyReused, Invalid]
        if parameters:
            document["parameters"] = parameters
        responses: dict[int | str, Any] = {}
        for status in sorted({error.status for error in errors}):
            of_status = {error.code: error for error in errors if error.status == status}
            responses[status] = _problem_response(list(of_status.values()))
        if operation.is_cached:
            responses[304] = {"description": "Not modified"}
        for status, names in operation.response_headers.items():
            links = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
            responses.setdefault(status, {})["headers"] = links
        responses["default"] = {"$ref": "#/components/responses/Problem"}
        return {**document, "responses": responses}


def _listed(names: Iterable[str]) -> str:
    return " or ".join(names)


def _cached(
    view: VersionedView, render: Callable[[Any], bytes], content_type: str
) -> Callable[..., Response]:
    wrapped = response_cache.cached(render, content_type)(view)
    describe(wrapped, is_cached=True)
    return wrapped


def _problem_response(errors: list[type[TicketingError]]) -> dict[str, Any]:
    return {
        "description": " or ".join(f"`{error.code}`" for error in errors),
        "content": {
            PROBLEM_CONTENT_TYPE: {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "examples": {error.code: {"value": example_of(error)} for error in errors},
            }
        },
    }
