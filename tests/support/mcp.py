"""Ways to call the tools of MCP: one message over HTTP, and both official clients."""

import asyncio
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.support.factories import Api
from tools import installer
from tools.stack import ROOT

PINS, PINS_OF_2025 = (ROOT / "tests" / "mcp" / each for each in ("client", "client_2025"))
Call = tuple[str, dict[str, Any]]


def message(method: str, params: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return a request of JSON-RPC."""
    found = {"jsonrpc": "2.0", "id": 1, "method": method, **more}
    return found if params is None else {**found, "params": params}


def call(api: Api, name: str, **arguments: Any) -> Any:
    """Call a tool that succeeds, and return its result."""
    result = call_any(api, name, **arguments)
    assert "isError" not in result, result
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    Draft202012Validator(_schemas(api)[name]).validate(result["structuredContent"])
    return result["structuredContent"]


def _schemas(api: Api) -> dict[str, Any]:
    """What each tool says about its results."""
    answer = api.post("/mcp", message("tools/list"))
    return {each["name"]: each["outputSchema"] for each in answer.json["result"]["tools"]}


def refused(api: Api, name: str, **arguments: Any) -> Any:
    """Call a tool that fails, and return the problem."""
    result = call_any(api, name, **arguments)
    assert result["isError"] is True, result
    return result["structuredContent"]


def call_any(api: Api, name: str, **arguments: Any) -> Any:
    """Call a tool, and return the result with its content."""
    answer = api.post("/mcp", message("tools/call", {"name": name, "arguments": arguments}))
    assert answer.status_code == 200, answer.text
    return answer.json["result"]


@dataclass
class Seen:
    """What a client got: the tools' definitions, and the results of its calls."""

    tools: dict[str, Any]
    results: list[Any]


def by_python(mode: str, url: str, headers: dict[str, str], calls: Sequence[Call]) -> Seen:
    """Connect with the client of PyPI in a mode ("auto", "legacy"), and make the calls."""

    async def run() -> Seen:
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            listed = await client.list_tools()
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
        tools = {each.name: each.input_schema for each in listed.tools}
        return Seen(tools, [each.structured_content for each in results])

    return asyncio.run(run())


def by_node(url: str, headers: dict[str, str], calls: Sequence[Call], pins: Path = PINS) -> Seen:
    """Connect with the client of npm that `pins` names, and make the calls."""
    code = (PINS / "client.mjs").read_text()
    wanted = json.dumps({"url": url, "headers": headers, "calls": calls})
    done = subprocess.run(
        [*installer.node(), "--input-type=module", "-e", code, wanted],
        cwd=installer.from_npm(pins, f"mcp-{pins.name}"),
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    tools = {each["name"]: each["inputSchema"] for each in found["tools"]}
    return Seen(tools, [each["structuredContent"] for each in found["results"]])
