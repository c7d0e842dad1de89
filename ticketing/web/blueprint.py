"""What every surface is made of: a blueprint with a guard, strict bodies and documented errors."""

from collections.abc import Callable
from typing import Any, TypeVar

from flask import Response, request
from flask_smorest.blueprint import Blueprint

from schemas.base import BaseSchema
from ticketing.conflicts import StillRunning
from ticketing.constants import MAX_BODY_BYTES, CallClass
from ticketing.errors import (
    BadRequest,
    Invalid,
    KeyReused,
    NotFound,
    PayloadTooLarge,
    TicketingError,
    UnsupportedMediaType,
)
from ticketing.web import idempotency, rate_limit
from ticketing.web.auth import Guard
from ticketing.web.parsing import StrictParser
from ticketing.web.problems import CONTENT_TYPE, example_of

_IDEMPOTENCY_KEY = {
    "in": "header",
    "name": "Idempotency-Key",
    "description": (
        "Sent again with the same key and body within 24 hours, the request gets the first"
        " answer. Without a credential: 32 characters or more."
    ),
    "schema": {"type": "string", "pattern": idempotency.PATTERN},
}
_IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "description": "The `ETag` of an answer: if it still stands it is not sent again.",
    "schema": {"type": "string"},
}

View = TypeVar("View", bound=Callable[..., Any])


class ApiBlueprint(Blueprint):
    """A blueprint that cannot be made without saying who may pass."""

    ARGUMENTS_PARSER = StrictParser()

    def __init__(self, name: str, import_name: str, *, guard: Guard, **options: Any) -> None:
        super().__init__(name, import_name, **options)
        self.guard = guard
        self.before_request(self._check)
        self._prepare_doc_cbks.append(self._document)

    def add_url_rule(
        self,
        rule: str,
        endpoint: str | None = None,
        view_func: Any = None,
        *args: Any,
        **options: Any,
    ) -> None:
        """Register a view, and remember its name for the documentation."""
        super().add_url_rule(rule, endpoint, view_func, *args, **options)
        for method, documented in self._docs[self._endpoints[-1]].items():
            if method != "parameters":
                documented["view"] = self._endpoints[-1]

    def _check(self) -> None:
        if (request.content_length or 0) > MAX_BODY_BYTES:
            raise PayloadTooLarge
        if request.method == "OPTIONS":
            # A CORS preflight carries no credential (Fetch standard, 3.2.2).
            rate_limit.count(CallClass.PUBLIC)
        else:
            try:
                self.guard.check()
            finally:
                rate_limit.count(*self.guard.counts())
        if any("\0" in part for part in (request.view_args or {}).values()):
            raise NotFound  # Nothing has such an id, and Postgres cannot even be asked for it.

    def takes(self, schema: type[BaseSchema]) -> Callable[[View], View]:
        """Read the JSON body with `schema` and hand it to the view."""
        decorate: Callable[[View], View] = self.arguments(
            schema(), example=schema.EXAMPLE, required=not schema.MAY_BE_ABSENT
        )
        return decorate

    def asks(self, schema: type[BaseSchema]) -> Callable[[View], View]:
        """Read the query string with `schema` and hand it to the view."""
        decorate: Callable[[View], View] = self.arguments(schema(), location="query")
        return decorate

    def answers(
        self, status: int, schema: type[BaseSchema]
    ) -> Callable[[Callable[..., Any]], Callable[..., Response]]:
        """Write what the view returns with `schema`."""
        decorate: Callable[[Callable[..., Any]], Callable[..., Response]] = self.response(
            status, schema(), example=schema.EXAMPLE
        )
        return decorate

    def also_answers(
        self, status: int, schema: type[BaseSchema], description: str
    ) -> Callable[[View], View]:
        """Document another success of a view."""
        decorate: Callable[[View], View] = self.alt_response(
            status, schema=schema, description=description, example=schema.EXAMPLE
        )
        return decorate

    def refuses(self, *errors: type[TicketingError]) -> Callable[[View], View]:
        """Document the domain errors that a view lets through."""

        def decorate(view: View) -> View:
            documented = dict(getattr(view, "_apidoc", {}))
            documented["refusals"] = errors
            view._apidoc = documented  # type: ignore[attr-defined]
            return view

        return decorate

    def _document(
        self, doc: dict[str, Any], doc_info: dict[str, Any], *, method: str, **kwargs: Any
    ) -> dict[str, Any]:
        """Add the guard and every refusal to what flask-smorest has found out itself."""
        view = doc_info["view"]
        refusals = [*doc_info.get("refusals", ()), *self.guard.refusals(method, view)]
        if method != "get":
            refusals.append(PayloadTooLarge)
        if "requestBody" in doc:
            refusals += [BadRequest, UnsupportedMediaType]
        if "arguments" in doc_info:
            refusals.append(Invalid)
        if "idempotent" in doc_info:
            doc.setdefault("parameters", []).append(_IDEMPOTENCY_KEY)
            refusals += [StillRunning, KeyReused, Invalid]
        doc["security"] = self.guard.security(method, view)
        doc["operationId"] = f"{self.name}_{view}"
        responses = doc.setdefault("responses", {})
        for status in sorted({refusal.status for refusal in refusals}):
            of_status = {each.code: each for each in refusals if each.status == status}
            responses[str(status)] = _problem_response(list(of_status.values()))
        if "cached" in doc_info:
            doc.setdefault("parameters", []).append(_IF_NONE_MATCH)
            responses["304"] = {"description": "It still stands"}
        responses["default"] = {"$ref": "#/components/responses/Problem"}
        return doc


def _problem_response(errors: list[type[TicketingError]]) -> dict[str, Any]:
    return {
        "description": " or ".join(f"`{error.code}`" for error in errors),
        "content": {
            CONTENT_TYPE: {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "examples": {error.code: {"value": example_of(error)} for error in errors},
            }
        },
    }
