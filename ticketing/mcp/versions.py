"""The versions of MCP, and what each request of the newer one repeats in its headers."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Protocol

from ticketing.mcp.jsonrpc import Code, Message, RpcError

STATELESS = "2026-07-28"
"""Each request names its version, in a header and in the body. There is no handshake."""

HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26")
"""A client calls `initialize` first. What they have in common is all that tools need."""

VERSIONS = (STATELESS, *HANDSHAKES)

VERSION_HEADER, METHOD_HEADER, NAME_HEADER = "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"
PREFIX = "io.modelcontextprotocol/"
_VERSION_KEY = f"{PREFIX}protocolVersion"
_BASE64 = ("=?base64?", "?=")


class Headers(Protocol):
    """The headers of a request."""

    def get(self, name: str, /) -> str | None:
        """Return the value of a header, whatever its case."""


def is_stateless(message: Message, headers: Headers) -> bool:
    """Return whether a request is of the stateless version.

    RpcError if it names no version of ours, or if its headers say something else than its body.
    """
    meta, in_header = message.params.get("_meta"), headers.get(VERSION_HEADER)
    in_body = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
    version = in_header if in_body is None else in_body
    if version is not None and version not in VERSIONS:
        raise RpcError(
            Code.UNSUPPORTED_VERSION,
            "This protocol version is not supported.",
            status=400,
            data={"supported": list(VERSIONS), "requested": version},
        )
    if version != STATELESS:
        return False
    _check(VERSION_HEADER, in_header, in_body)
    if not message.is_notification:
        _check(METHOD_HEADER, headers.get(METHOD_HEADER), message.method)
    if message.method == "tools/call":
        _check(NAME_HEADER, _decoded(headers.get(NAME_HEADER) or ""), message.params.get("name"))
    return True


def negotiated(params: Mapping[str, Any]) -> str:
    """Return the version with which a handshake is answered: the client's, if it is ours."""
    asked = params.get("protocolVersion")
    return asked if asked in VERSIONS else HANDSHAKES[0]


def _check(name: str, header: str | None, in_body: Any) -> None:
    if header is None or header != in_body:
        raise RpcError(
            Code.HEADER_MISMATCH, f"The header {name} is not what the body says.", status=400
        )


def _decoded(header: str) -> str | None:
    """Return a header's value, which a client may have encoded. None if it cannot be decoded."""
    start, end = _BASE64
    if not (header.startswith(start) and header.endswith(end)):
        return header
    try:
        return base64.b64decode(header[len(start) : -len(end)], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
