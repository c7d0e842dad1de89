"""Clients that were generated from the document buy a ticket, with types for all that they get."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.databases import only_once
from tools import installer

pytestmark = [pytest.mark.long, only_once]

PINS = Path(__file__).parent / "clients"


@pytest.fixture
def ticket(remote):
    return remote.ticket(price_amount=0, chain_id=None)


@pytest.fixture
def document(stack, remote, tmp_path):
    """The document, in a file."""
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(remote.client.send("GET", "/openapi.json").json))
    return path


def run(*command, cwd=None, **variables):
    environ = {**os.environ, **variables}
    done = subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def sold(remote, ticket):
    """How many tickets of its event there are."""
    event = ticket["event_id"]
    return len(remote.send("GET", f"{remote.path}/admissions?event_id={event}").json["data"])


def test_a_python_client_loses_no_schema_and_orders(stack, remote, ticket, document, tmp_path):
    python = installer.from_pypi(PINS / "python.txt", "python-clients") / "bin" / "python"
    out = tmp_path / "shop"
    generate = ("-m", "openapi_python_client", "generate", "--meta", "none", "--overwrite")
    said = run(python, *generate, "--path", document, "--output-path", out)
    assert "conflict" not in said.lower(), said
    models = {path.stem for path in (out / "models").iterdir()}
    assert {"event", "event_page", "public_event", "intent", "admission"} <= models
    tenant = remote.path.rpartition("/")[2]
    where = (stack.url, tenant, ticket["event_id"], ticket["id"], remote.headers["X-API-Key"])
    assert run(python, PINS / "order.py", tmp_path, *where).strip()
    assert sold(remote, ticket) == 1


def test_a_typescript_client_is_typed_and_orders(stack, remote, ticket, document, tmp_path):
    home = installer.from_npm(PINS, "typescript-clients")
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "node_modules").symlink_to(home / "node_modules")
    (folder / "package.json").write_text('{"type": "module"}')
    shutil.copy(PINS / "order.ts", folder)
    modules, node = home / "node_modules", installer.node()
    cli = modules / "openapi-typescript" / "bin" / "cli.js"
    run(*node, cli, document, "-o", folder / "schema.d.ts", cwd=folder)
    options = ("--strict", "--module", "nodenext", "--target", "es2022", "--skipLibCheck")
    run(*node, modules / "typescript" / "bin" / "tsc", *options, "order.ts", cwd=folder)
    tenant = remote.path.rpartition("/")[2]
    bought = run(*node, "order.js", stack.url, tenant, ticket["event_id"], ticket["id"], cwd=folder)
    assert bought.strip() and sold(remote, ticket) == 1
