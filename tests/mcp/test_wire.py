"""The wire of MCP: which messages are answered, with which status, and from whom."""

import base64
import json

import pytest

from tests.support.apps import new_app
from tests.support.factories import Api
from tests.support.mcp import message
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.mcp.versions import HANDSHAKES, STATELESS, VERSIONS

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


def stateless(method, params=None, **headers):
    """Return the body and the headers of a request of the stateless version."""
    params = {**(params or {}), "_meta": {VERSION_KEY: STATELESS}}
    known = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": method}
    if "name" in params:
        known["Mcp-Name"] = params["name"]
    sent = {name: value for name, value in {**known, **headers}.items() if value is not None}
    return {"body": message(method, params), "headers": sent}


@pytest.fixture
def here(environ):
    """A client of a service with a public address, at that address."""
    app = new_app({**environ, "PUBLIC_URL": "https://tickets.example.org"})
    return Api(app.test_client(), {"Host": "tickets.example.org"})


@pytest.mark.parametrize("asked", [*VERSIONS, "2024-11-05", "2999-01-01", None, 1])
def test_a_handshake_is_answered_in_a_version_of_ours(api, asked):
    answer = api.post("/mcp", message("initialize", {"protocolVersion": asked}))
    assert answer.status_code == 200 and answer.json["id"] == 1
    result = answer.json["result"]
    assert result["protocolVersion"] == (asked if asked in VERSIONS else HANDSHAKES[0])
    assert result["capabilities"] == {"tools": {}}
    assert "Mcp-Session-Id" not in answer.headers and "Set-Cookie" not in answer.headers


def test_the_server_says_who_it_is(api, here):
    def said(by):
        return by.post("/mcp", message("initialize", {})).json["result"]["serverInfo"]

    assert said(api).keys() == {"name", "title", "version"}
    assert said(here)["websiteUrl"] == "https://tickets.example.org"


def test_discovery_names_the_versions(api):
    result = api.post("/mcp", **stateless("server/discover")).json["result"]
    assert result["supportedVersions"] == list(VERSIONS)
    assert result["resultType"] == "complete"


def test_ping_and_the_list_of_tools_need_no_handshake(api):
    assert api.post("/mcp", message("ping", id="a")).json == {
        "jsonrpc": "2.0",
        "id": "a",
        "result": {},
    }
    tools = api.post("/mcp", message("tools/list")).json["result"]["tools"]
    for tool in tools:
        assert tool["description"] and tool["inputSchema"]["type"] == "object"
        has_tenant = "tenant" in tool["inputSchema"].get("required", [])
        assert has_tenant == (tool["name"] != "find_events")
        assert tool["inputSchema"]["additionalProperties"] is False
        assert "$ref" not in str(tool)
        assert (
            tool["title"] == tool["annotations"]["title"] and tool["annotations"]["openWorldHint"]
        )
        assert tool["outputSchema"]["type"] == "object"
        assert "additionalProperties" not in str(tool["outputSchema"])
    hints = {each["name"]: each["annotations"] for each in tools}
    assert hints["quote"]["readOnlyHint"] and not hints["order_ticket"]["readOnlyHint"]
    assert [name for name in hints if hints[name]["destructiveHint"]] == ["cancel_order"]


def test_notifications_get_no_answer(api):
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = api.post("/mcp", body)
    assert (answer.status_code, answer.text) == (202, "")
    answer = api.post("/mcp", {"jsonrpc": "2.0", "method": "tools/list"})
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("method", ["resources/list", "prompts/list", "subscriptions/listen", ""])
def test_other_methods_do_not_exist(api, method):
    answer = api.post("/mcp", message(method))
    assert (answer.status_code, answer.json["error"]["code"]) == (200, -32601)
    answer = api.post("/mcp", **stateless(method))
    assert (answer.status_code, answer.json["error"]["code"]) == (404, -32601)


def test_an_unknown_tool_is_an_error_of_the_protocol(api):
    for name in ("drop_tables", "", None, 1, [], {}):
        answer = api.post("/mcp", message("tools/call", {"name": name}))
        assert answer.json["error"]["code"] == -32602, name


@pytest.mark.parametrize(
    "body",
    [
        [],
        [message("ping")],
        None,
        "ping",
        {},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": True, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
        {"jsonrpc": "2.0", "id": {}, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": 1},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ],
)
def test_what_is_no_message_is_refused(app, body):
    sent = {"data": json.dumps(body), "content_type": "application/json"}
    answer = app.test_client().post("/mcp", **sent)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32600)
    assert answer.json["id"] is None


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"a":1,"a":2}', b"NaN", b"[" * 5000])
def test_what_is_no_json_is_refused(app, body):
    answer = app.test_client().post("/mcp", data=body, content_type="application/json")
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32700)


def test_the_usual_limits_of_a_body_hold(app):
    client = app.test_client()
    assert client.post("/mcp", data=b"{}", content_type="text/plain").status_code == 415
    large = b'{"a":"' + b"x" * 65_536 + b'"}'
    answer = client.post("/mcp", data=large, content_type="application/json")
    assert (answer.status_code, answer.json["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH"])
def test_there_are_no_streams_and_no_sessions(app, method):
    answer = app.test_client().open("/mcp", method=method)
    assert answer.status_code == 405 and answer.headers["Allow"] == "OPTIONS, POST"
    assert answer.content_type == "application/problem+json"


@pytest.mark.parametrize(
    "headers",
    [
        {"MCP-Protocol-Version": None},
        {"MCP-Protocol-Version": HANDSHAKES[0]},
        {"Mcp-Method": None},
        {"Mcp-Method": "ping"},
        {"Mcp-Name": None},
        {"Mcp-Name": "get_event"},
        {"Mcp-Name": "=?base64?!?="},
    ],
)
def test_headers_must_say_what_the_body_says(api, headers):
    call = {"name": "list_events", "arguments": {"tenant": "acme"}}
    answer = api.post("/mcp", **stateless("tools/call", call, **headers))
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32020)


def test_a_name_may_be_encoded_in_its_header(api, acme):
    name = base64.b64encode(b"list_events").decode()
    call = {"name": "list_events", "arguments": {"tenant": "acme"}}
    headers = {"Mcp-Name": f"=?base64?{name}?="}
    answer = api.post("/mcp", **stateless("tools/call", call, **headers))
    assert answer.json["result"]["structuredContent"]["data"] == []


@pytest.mark.parametrize("version", ["1900-01-01", "x", ""])
def test_another_version_is_refused_with_those_of_ours(api, version):
    for sent in (
        {"body": message("ping"), "headers": {"MCP-Protocol-Version": version}},
        {"body": message("ping", {"_meta": {VERSION_KEY: version}})},
    ):
        answer = api.post("/mcp", **sent)
        assert answer.status_code == 400
        error = answer.json["error"]
        assert error["code"] == -32022
        assert error["data"] == {"supported": list(VERSIONS), "requested": version}


def test_only_the_public_address_answers(here):
    assert here.post("/mcp", message("ping")).status_code == 200
    for host in ("evil.example", "127.0.0.1", "tickets.example.org.evil.example"):
        answer = here.post("/mcp", message("ping"), headers={"Host": host})
        assert (answer.status_code, answer.json["code"]) == (421, "misdirected_request"), host


def test_scripts_of_other_sites_are_refused(here):
    headers = {"Origin": "https://tickets.example.org"}
    assert here.post("/mcp", message("ping"), headers=headers).status_code == 200
    for site in ("https://evil.example", "http://tickets.example.org", "null", ""):
        answer = here.post("/mcp", message("ping"), headers={"Origin": site})
        assert (answer.status_code, answer.json["code"]) == (403, "cross_origin"), site
        assert "Access-Control-Allow-Origin" not in answer.headers


def test_requests_count_by_address_or_credential(environ, acme, monkeypatch):
    StoppedClock(monkeypatch, clock.now())  # one minute
    limits = {"RATE_LIMIT_PUBLIC": "2", "RATE_LIMIT_PREFLIGHT": "1", "RATE_LIMIT_TOKEN": "1"}
    app = new_app({**environ, **limits})
    api, keyed = Api(app.test_client()), Api(app.test_client(), {"X-API-Key": acme.admin_key})
    order = {"tenant": "acme", "event_id": "evt_x", "ticket_id": "tkt_x"}
    call = message("tools/call", {"name": "order_ticket", "arguments": order})
    codes = [keyed.post("/mcp", call).json["result"]["structuredContent"]["code"] for _ in range(2)]
    assert codes == ["not_found", "too_many_requests"]
    assert [api.post("/mcp", message("ping")).status_code for _ in range(3)] == [200, 200, 429]
    wrong = Api(app.test_client(), {"X-API-Key": "wrong"})
    assert [wrong.post("/mcp", message("ping")).status_code for _ in range(2)] == [401, 429]
    assert keyed.post("/mcp", message("ping")).status_code == 200
