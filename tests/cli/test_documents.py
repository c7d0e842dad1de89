"""The commands in the documents work as printed, one after the other, in one shell."""

import itertools
import os
import re
import shlex
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.support.databases import only_once
from tests.support.processes import service
from tests.support.receivers import COIN, Chain
from ticketing.chain import receivers
from tools.anvil import BUYER, SELLER_WALLET, Anvil, ensure_token
from tools.stack import ROOT, free_port

pytestmark = pytest.mark.long

LONGEST_SECONDS = 1200
"""A document starts up to 60 processes, one after another."""

DEEP = "10"
"""The confirmations that docs/payments.md sets."""

OUTPUT, EXPECTED = "# -> ", "expected: "

HELPERS = """
flask() {
    printf '%s\\0' "$@" | curl -sS --fail-with-body --data-binary @- \\
        -H "Confirmations: ${CONFIRMATIONS_31337:-1}" $FLASK
}
sleep() { node anvil_mine "$(($1 / 2)), 2" >/dev/null; flask worker --once; }
"""
"""`flask` is forked: to start Python a hundred times took most of the time.

`sleep` without waiting: a block every two seconds, as with `make run`, and a look of the worker.
"""


def commands(name, start="", end=""):
    """The indented lines of a document, between two headings."""
    text = (ROOT / name).read_text()
    text = text[text.index(start) :]
    text = text[: text.index(end) if end else None]
    return "".join(line[4:] + "\n" for line in text.splitlines() if line.startswith("    "))


def with_expected_outputs(text):
    """Let each command print, after its own output, the output that the document shows.

    `...` in the document means any text: an id, a code, a hash.
    """
    return re.sub(
        rf"^(.*?) *{OUTPUT}(.*)$",
        lambda match: f"{match[1]}\necho {shlex.quote(EXPECTED + match[2])}",
        text,
        flags=re.MULTILINE,
    )


@pytest.fixture
def node(starts_processes):
    """A node that knows the state of all its blocks, at a port that is found by its command."""
    with Anvil(port=free_port()) as node:
        ensure_token(node.rpc)
        yield node


def run_shell(text, **variables):
    """Run commands in one shell. Return what they print."""
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail"],
        input=text,
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compare(printed, count):
    """Compare each output with the line after it, which says what the document expects."""
    lines = printed.splitlines()
    checks = [
        (actual, line.removeprefix(EXPECTED))
        for actual, line in itertools.pairwise(lines)
        if line.startswith(EXPECTED)
    ]
    assert len(checks) == count
    for actual, expected in checks:
        assert re.fullmatch(re.escape(expected).replace(r"\.\.\.", ".+"), actual), printed


@pytest.fixture
def shell(stack, variables, node):
    """Run commands in one shell at the service. Return what they print."""
    stack.flask("worker", "--once")  # It proves receivers, so that orders have addresses.
    key = stack.create_tenant("demo", "Demo", *SELLER_WALLET)

    def run(text):
        text = text.replace("http://127.0.0.1:8000", stack.url)
        text = text.replace("8545", str(node.port))
        text = text.replace("KEY=ticketing_...", f"KEY={key}")
        return run_shell(text, **variables)

    return run


@pytest.fixture
def forked_flask(forking, stack):
    """The URL of a server that runs `flask` with the arguments of a request."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            command = ["flask", "--app", "app", *sent.split("\0")[:-1]]
            environ = {**stack.environ, "CONFIRMATIONS_31337": self.headers["Confirmations"]}
            with tempfile.TemporaryFile() as output:
                status = forking.start(command, environ, output.fileno()).wait()
                output.seek(0)
                printed = output.read()
            self.send_response(500 if status else 200)
            self.end_headers()
            self.wfile.write(printed)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@only_once
def test_a_sale_and_what_comes_after_it(shell, stack):
    stack.start_worker()
    sale = commands("README.md", "## One sale", "## How you get")
    printed = shell(sale + commands("docs/after-the-sale.md"))
    for value in (
        '"transferred":true',
        '"outcome":"admitted"',
        '"outcome":"undone"',
        '"status":"void"',
        '"status":"settled"',
        '"waiting_address":"0x90F79bf6EB2c4f870365E785982E1f101E93b906"',
        '"codes":[',
        '"status":"canceled"',
    ):
        assert value in printed, value
    assert "urn:ticketing:problem" not in printed


@only_once
def test_every_way_a_payment_can_go(shell, variables, tmp_path, forked_flask):
    document = "docs/payments.md"
    set_up = commands(document, "## Set up", "## The states")
    ways = commands(document, "## Paid in time", "## Not deep enough yet")
    deep_ways = commands(document, "## Not deep enough yet")
    deeper = {
        **variables,
        "PORT": str(free_port()),
        "CONFIRMATIONS_31337": DEEP,
        "EARLY_CONFIRMATIONS_31337": "0",
    }
    restart = f"export CONFIRMATIONS_31337={DEEP} API=http://127.0.0.1:{deeper['PORT']}/v1\n"
    text = set_up + f"FLASK={forked_flask}\n" + HELPERS + ways + restart + deep_ways
    text = text.replace("var/", f"{tmp_path}/")
    with service(deeper, tmp_path / "deeper.log"):
        printed = shell(with_expected_outputs(text))
    assert text.count(OUTPUT) > 30
    compare(printed, text.count(OUTPUT))


def test_receivers_are_checked_by_hand(node):
    chain = Chain(node)
    salt = receivers.order_salt(bytes(32), 1)
    chain.mint(COIN, (receivers.receiver_address(BUYER, salt), 5))
    chain.collect(BUYER, COIN, [salt])
    text = commands("docs/receivers.md", "## By hand", "The bytes follow")
    text = text.replace("8545", str(node.port))
    compare(run_shell(with_expected_outputs(text)), 4)
