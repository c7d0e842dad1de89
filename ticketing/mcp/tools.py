"""What a tool of MCP is: its name, JSON Schema, role and hints, and how it is called."""

import inspect
import json
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import cache
from typing import Any

from marshmallow import ValidationError

from schemas.base import BaseSchema
from ticketing.errors import TicketingError, Unauthenticated, X402PaymentRequired
from ticketing.roles import Role
from ticketing.services.access.callers import Caller
from ticketing.web import auth, event_scope, openapi, problems
from ticketing.web.context import caller_or_none
from ticketing.web.parsing import invalid

Result = dict[str, Any]
Run = Callable[[dict[str, Any]], Any]
"""It gets the checked arguments, and returns what the tool's schema dumps."""

PaidRun = Callable[[dict[str, Any], Any], tuple[Any, Result | None]]
"""It also gets the payment, or None, and returns the receipt. X402PaymentRequired."""

PAYMENT, RECEIPT = "x402/payment", "x402/payment-response"
"""What a client and we send in `_meta` (x402, transport MCP)."""


@dataclass(frozen=True)
class Tool:
    """A tool. `result` dumps what `run` returns, whose docstring describes the tool to agents.

    `roles` None: everybody may call it, and a credential changes nothing. `is_filtered`: it leaves
    out what is of other events than those of a limited member; others name their event in
    `event_id`. `changes`: it is not only a read. `destroys`: it ends something. `is_paid`: it is
    paid by x402 (PaidRun).
    """

    run: Run | PaidRun
    title: str
    arguments: type[BaseSchema]
    result: type[BaseSchema]
    roles: Set[Role] | None = None
    is_filtered: bool = False
    changes: bool = False
    destroys: bool = False
    is_idempotent: bool = True
    is_paid: bool = False

    @property
    def name(self) -> str:
        """The name by which agents call it."""
        return self.run.__name__

    def is_for(self, caller: Caller | None) -> bool:
        """Return whether this caller may use it, with its own tenant."""
        return self.roles is None or (caller is not None and caller.role.holds(*self.roles))


@cache
def definition(tool: Tool) -> dict[str, Any]:
    """Return what an agent reads about a tool."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": " ".join((inspect.getdoc(tool.run) or "").split()),
        "inputSchema": openapi.schema_of_request(tool.arguments),
        "outputSchema": openapi.schema_of_response(tool.result),
        "annotations": {
            "title": tool.title,
            "readOnlyHint": not tool.changes,
            "destructiveHint": tool.destroys,
            "idempotentHint": tool.is_idempotent,
            # Buyers, organizers and blockchains act meanwhile.
            "openWorldHint": True,
        },
    }


def call(tool: Tool, arguments: Any, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Call a tool. A domain error is a result too: with `isError`, and the problem as content."""
    run: Any = tool.run
    try:
        checked = _checked(tool, arguments)
        if not tool.is_paid:
            return _content(tool.result().dump(run(checked)))
        found, receipt = run(checked, meta.get(PAYMENT))
        more = {} if receipt is None else {"_meta": {RECEIPT: receipt}}
        return _content(tool.result().dump(found)) | more
    except X402PaymentRequired as error:
        return _payment_required(error)
    except TicketingError as error:
        problem = problems.of_ticketing_error(error).get_json()
        if error.retry_after is not None:
            problem["retry_after"] = error.retry_after
        return {**_content(problem), "isError": True}


def _checked(tool: Tool, arguments: Any) -> dict[str, Any]:
    """Return the checked arguments, and check the caller. TicketingError."""
    try:
        checked: dict[str, Any] = tool.arguments().load(arguments)
    except ValidationError as error:
        raise invalid(error.normalized_messages()) from None
    if tool.roles is not None:
        caller = caller_or_none()
        if caller is None:
            raise Unauthenticated
        auth.check(caller, checked.pop("tenant"), tool.roles)
        if not tool.is_filtered:
            event_scope.check_event(caller, checked.get("event_id"))
    return checked


def _payment_required(error: X402PaymentRequired) -> dict[str, Any]:
    """Return what to pay, as x402 clients of MCP read it."""
    wrapped = {"code": 402, "message": error.detail, "data": error.requirements}
    text = json.dumps({"x402/error": wrapped}, ensure_ascii=False)
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": dict(error.requirements),
        "isError": True,
    }


def _content(result: Result) -> dict[str, Any]:
    # Some clients read the text only.
    return {
        "content": [{"type": "text", "text": json.dumps(result, ensure_ascii=False)}],
        "structuredContent": result,
    }
