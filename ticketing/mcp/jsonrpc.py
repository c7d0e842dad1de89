"""The messages of MCP: JSON-RPC 2.0, one message a request."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

VERSION = "2.0"


class Code(IntEnum):
    """The codes of errors, of JSON-RPC and of MCP."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    HEADER_MISMATCH = -32020
    UNSUPPORTED_VERSION = -32022


class RpcError(Exception):
    """A message that cannot be answered. `status` is that of the HTTP response."""

    def __init__(
        self, code: Code, message: str, *, status: int = 200, data: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.data = data


@dataclass(frozen=True)
class Message:
    """A request, or a notification: it has no id and gets no answer."""

    method: str
    params: dict[str, Any]
    id: str | int | None = None

    @property
    def is_notification(self) -> bool:
        """Whether nobody waits for an answer."""
        return self.id is None


def parse(body: Any) -> Message:
    """Return the message in a body. RpcError."""
    if not isinstance(body, dict) or body.get("jsonrpc") != VERSION:
        raise _invalid("Send one JSON-RPC 2.0 message. Batches are not supported.")
    method, params = body.get("method"), body.get("params", {})
    if not isinstance(method, str) or not isinstance(params, dict):
        raise _invalid("A message has a method, and params is an object.")
    if "id" not in body:
        return Message(method, params)
    if type(body["id"]) not in (str, int):
        raise _invalid("An id is a string or an integer.")
    return Message(method, params, body["id"])


def result(message: Message, found: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request."""
    return {"jsonrpc": VERSION, "id": message.id, "result": found}


def failure(message: Message | None, error: RpcError) -> dict[str, Any]:
    """Return the answer to a message that failed. None: it could not be read."""
    of_error = {"code": int(error.code), "message": error.message}
    if error.data is not None:
        of_error["data"] = error.data
    return {"jsonrpc": VERSION, "id": message.id if message else None, "error": of_error}


def _invalid(message: str) -> RpcError:
    return RpcError(Code.INVALID_REQUEST, message, status=400)
