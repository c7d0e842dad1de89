"""The commands in the documents work as printed, one after the other, in one shell."""

import json
import os
import subprocess

import pytest

from tests.support.factories import new_xpub
from tests.support.remote import PATIENCE_SECONDS
from tools.stack import ROOT

pytestmark = pytest.mark.long


def commands(name, start="", end=""):
    """The indented lines of a document, between two headings."""
    text = (ROOT / name).read_text()
    text = text[text.index(start) :]
    text = text[: text.index(end) if end else None]
    return "".join(line[4:] + "\n" for line in text.splitlines() if line.startswith("    "))


@pytest.fixture
def shell(stack, variables, node):
    """Run commands in one shell at the service. Return what they print."""
    stack.start_worker()
    made = json.loads(
        stack.flask("tenants", "create", "demo", "--name", "Demo", "--xpub", new_xpub(), "--json")
    )

    def run(text):
        text = text.replace("http://127.0.0.1:8000", stack.url)
        text = text.replace("KEY=ticketing_...", f"KEY={made['key']}")
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail"],
            input=text,
            cwd=ROOT,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_a_sale_and_what_comes_after_it(shell):
    sale = commands("README.md", "## One sale", "## How you get")
    printed = shell(sale + commands("docs/after-the-sale.md"))
    for value in (
        '"transferred":true',
        '"outcome":"admitted"',
        '"outcome":"undone"',
        '"status":"void"',
        '"status":"settled"',
        '"refund_address":"0x90F79bf6EB2c4f870365E785982E1f101E93b906"',
        '"codes":[',
        '"status":"canceled"',
    ):
        assert value in printed, value
    assert "urn:ticketing:problem" not in printed
