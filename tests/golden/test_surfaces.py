"""What the outside sees by name: it stays as it is while files move, unless a commit says why not.

Each golden file has one kind of names. After a change that is meant, write them again with
`GOLDEN=write pytest tests/golden`, and read the difference.
"""

import json
import re

import click
import pytest

from tests.conftest import UNREACHABLE_RPC
from tests.golden.comparing import compare
from ticketing.worker.loop import Worker

pytestmark = pytest.mark.one_database

PUBLIC_URL = "https://t.example.org"
TOKEN = "golden-metrics-token"


@pytest.fixture
def environ(environ):
    """A configuration with which every surface is open."""
    x402 = {"X402_FACILITATOR_URL_31337": UNREACHABLE_RPC, "PUBLIC_URL": PUBLIC_URL}
    return {**environ, **x402, "METRICS_TOKEN": TOKEN}


def test_the_urls(app):
    rules = sorted(app.url_map.iter_rules(), key=lambda rule: (rule.rule, sorted(rule.methods)))
    compare(
        "urls.txt", "".join(f"{rule.rule} {' '.join(sorted(rule.methods))}\n" for rule in rules)
    )


def test_the_openapi_document(api):
    document = api.get("/openapi.json").json
    document["info"].pop("version")
    compare("openapi.json.xz", json.dumps(document, indent=0, sort_keys=True) + "\n")


def test_the_tools_of_agents(app, acme):
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {"MCP-Protocol-Version": "2025-06-18"}
    lines = []
    for path, key in (("/mcp", {}), ("/mcp/organizer", {"X-API-Key": acme.admin_key})):
        answer = app.test_client().post(
            path, json=asked, headers={**headers, **key}, base_url=PUBLIC_URL
        )
        for tool in answer.json["result"]["tools"]:
            arguments = " ".join(sorted(tool["inputSchema"].get("properties", {})))
            lines.append(f"{path} {tool['name']}: {arguments}\n")
    compare("tools.txt", "".join(sorted(lines)))


def test_the_tasks_of_the_worker(app):
    tasks = Worker(app.extensions["ticketing"]).tasks()
    compare("tasks.txt", "".join(f"{name}: {pause:g} s\n" for name, _, pause in tasks))


def test_the_commands(app):
    def lines(command, path):
        context = click.Context(command)
        if isinstance(command, click.Group):
            for name in sorted(command.list_commands(context)):
                yield from lines(command.get_command(context, name), [*path, name])
        else:
            options = [each for param in command.params for each in param.opts]
            yield " ".join([*path, *sorted(options)])

    compare("commands.txt", "".join(f"{line}\n" for line in lines(app.cli, [])))


def test_the_metrics(app, api):
    text = api.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text
    # The client library adds times of creation where one process counts alone.
    names = re.findall(r"^# TYPE (\S+(?<!_created) \S+)", text, re.MULTILINE)
    compare("metrics.txt", "".join(f"{name}\n" for name in sorted(names)))
