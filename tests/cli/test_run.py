"""`make run`: once in a folder, only for this machine. It reports what prevents the start."""

import email
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
from email import policy
from functools import partial
from threading import Timer

import pytest
import urllib3
from dotenv import dotenv_values

from tests.support.mails import text_of
from tests.support.order_pages import SAME_ORIGIN
from tests.support.remote import PATIENCE_SECONDS, eventually
from ticketing.chain.address import checksum
from ticketing.chain.rpc import RpcClient
from tools import anvil
from tools.json_client import Client
from tools.stack import ROOT, free_port

pytestmark = pytest.mark.long

CHECKOUT = "/v1/checkout/tenants/demo"
PAYBACK = "tools.payback_local"
PAYEE = checksum("0x" + "1a" * 20)
FILES = {
    "DEMO_FILE": "demo.json",
    "CHAIN_STATES": "chains",
    "LOG_FILE": "log",
    "MAILS": "mails",
}
START = f"""
import sys
from importlib import import_module
from pathlib import Path
from tools import run
folder = Path(sys.argv[1])
run.ENV_FILE, run.VAR, run.LOCK_FILE = folder / ".env", folder / "var", folder / "var" / "lock"
for name, file in {FILES}.items():
    setattr(run, name, run.VAR / file)
program = import_module(sys.argv[2])
sys.argv[1:] = sys.argv[3:]
program.main()
"""


@pytest.fixture
def ports():
    """The web server's, and those of both chains."""
    return free_port(), free_port(), free_port()


@pytest.fixture
def folder(tmp_path, ports, starts_processes):
    """A folder in which `make run` can start, with its own ports."""
    web, rpc, second_rpc = ports
    (tmp_path / ".env").write_text(
        f"SECRET_KEY={'x' * 32}\nPORT={web}\nRPC_URL_31337=http://127.0.0.1:{rpc}\n"
        f"RPC_URL_31338=http://127.0.0.1:{second_rpc}\n"
        f"DATABASE_URL=sqlite:///{tmp_path}/var/ticketing.db\n"
    )
    return tmp_path


def start(folder, program="tools.run", *arguments):
    environ = {name: value for name, value in os.environ.items() if name in ("PATH", "ANVIL")}
    if program != "tools.run":
        environ |= dotenv_values(folder / ".env")  # for the commands that it runs
    return subprocess.Popen(
        [sys.executable, "-c", START, str(folder), program, *arguments],
        cwd=ROOT,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lines_of(process):
    """Yield the lines that a process prints. It is killed if none comes for a long time.

    Otherwise a test would wait for ever for a line that never comes.
    """
    while True:
        watch = Timer(PATIENCE_SECONDS, process.kill)
        watch.start()
        line = process.stdout.readline()
        watch.cancel()
        if not line:
            return
        yield line


def refusal(folder, *arguments):
    """Return the sentence with which it refuses to start."""
    with start(folder, "tools.run", *arguments) as process:
        out, told = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (1, "")
    return told


def ended(folder, program):
    """Run a sibling of `make run`. Return its exit code, and what it says."""
    with start(folder, program) as process:
        out, told = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, out + told


@pytest.fixture
def running(folder):
    """`make run`, until the test ends."""
    with start(folder) as process:
        try:
            lines = lines_of(process)
            assert any(line.startswith("ticketing is running.") for line in lines)
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE_SECONDS)


class Overpaid:
    """An order of the demo tenant that was paid 1 USDC too much."""

    def __init__(self, folder, ports, chain_id=anvil.CHAIN_ID):
        demo = json.loads((folder / "var" / "demo.json").read_text())
        self._client = Client(f"http://127.0.0.1:{ports[0]}")
        self._key = {"X-API-Key": demo["key"]}
        self._mails = folder / "var" / "mails"
        asked = {"event_id": demo["event_id"], "ticket_id": demo["ticket_id"]}
        asked["buyer"] = {"email": "ada@example.org"}
        made = self._client.send("POST", f"{CHECKOUT}/preflight", {**asked, "chain_id": chain_id})
        self.id, self._secret = made.json["id"], made.json["client_secret"]
        to, amount = made.json["address"], made.json["amount"] + 1_000_000
        port = ports[1 + anvil.CHAIN_IDS.index(chain_id)]
        anvil.transfer(partial(rpc, port), anvil.TOKEN_ADDRESS, to, amount)
        eventually(lambda: self.now()["refund_due"] == 1_000_000)

    def now(self):
        path = f"/v1/admin/tenants/demo/intents/{self.id}"
        return self._client.send("GET", path, headers=self._key).json

    def state(self, address):
        path = f"{CHECKOUT}/intents/{self.id}/refund-address"
        bearer = {"Authorization": f"Bearer {self._secret}"}
        assert self._client.send("POST", path, {"address": address}, bearer).status == 200

    def confirm(self):
        """Press the button in the mail about the address, on the page that it leads to."""
        eventually(lambda: any(self._links_in_mails()))
        link = min(self._links_in_mails(), key=len)  # the other one ends with /stop
        form = {"Content-Type": "application/x-www-form-urlencoded", **SAME_ORIGIN}
        pressed = urllib3.request("POST", link, body="", headers=form, redirect=False)
        assert pressed.status == 303

    def _links_in_mails(self):
        for file in self._mails.glob("*.eml"):
            mail = email.message_from_bytes(file.read_bytes(), policy=policy.default)
            yield from re.findall(rf"http://\S+/_r/{self.id}\S+", text_of(mail))


def rpc(port, method, *params):
    (result,) = RpcClient((f"http://127.0.0.1:{port}",)).batch([(method, list(params))])
    return result


def test_payback_pays_what_is_owed_and_the_books_follow(folder, ports, running):
    nothing = "nothing to pay back: nobody is owed anything\n"
    assert ended(folder, PAYBACK) == (0, nothing)
    order = Overpaid(folder, ports)
    assert ended(folder, PAYBACK) == (0, f"left: {order.id}, no_payee\n")
    order.state(PAYEE)
    code, said = ended(folder, PAYBACK)
    assert (code, said.startswith(f"left: {order.id}, waits_until 20")) == (0, True), said
    order.confirm()
    assert ended(folder, PAYBACK) == (
        3,
        f"left: {order.id}, beyond_balance\n"
        f"{anvil.SELLER} had 0.00 USDC: run 'make collect' first\n",
    )
    code, said = ended(folder, "tools.collect_local")
    assert code == 0, said

    code, said = ended(folder, PAYBACK)
    assert code == 0, said
    assert f"paid 1.00 USDC to {PAYEE} for {order.id}\n" in said
    assert said.endswith("the books have it: nothing is due for these orders any more\n")
    node = partial(rpc, ports[1])
    assert anvil.balance(node, anvil.TOKEN_ADDRESS, PAYEE) == 1_000_000
    (refund,) = order.now()["refunds"]
    assert (refund["amount"], refund["recipient"]) == (1_000_000, PAYEE)
    assert ended(folder, PAYBACK) == (0, nothing)
    assert anvil.balance(node, anvil.TOKEN_ADDRESS, PAYEE) == 1_000_000


def test_collect_and_payback_work_on_the_second_chain(folder, ports, running):
    order = Overpaid(folder, ports, anvil.SECOND_CHAIN_ID)
    order.state(PAYEE)
    order.confirm()
    for program in ("tools.collect_local", PAYBACK):
        code, said = ended(folder, program)
        assert code == 0, said
    assert f"paid 1.00 USDC to {PAYEE} for {order.id}\n" in said
    holder = (anvil.TOKEN_ADDRESS, PAYEE)
    assert [anvil.balance(partial(rpc, port), *holder) for port in ports[1:]] == [0, 1_000_000]


def test_a_payment_is_printed_as_a_verified_webhook_and_as_a_mail(folder, ports, running):
    order = Overpaid(folder, ports)
    awaited = {"webhook verified: intent.confirmed", "  subject: Your ticket"}
    for line in lines_of(running):
        found = next((each for each in awaited if line.startswith(each)), None)
        if found is not None:
            awaited.remove(found)
            assert found.startswith("  ") or f'"intent_id": "{order.id}"' in line
        if not awaited:
            break
    assert not awaited


def test_an_agent_buys_by_x402(folder, running):
    """The test packages have those of a facilitator."""
    assert any("make agent" in line for line in lines_of(running))
    code, said = ended(folder, "tools.agent_local")
    assert code == 0, said
    assert " is confirmed\n" in said and "code " in said


def test_an_agent_needs_make_run(folder):
    told = "make agent: run 'make run' first, in another terminal\n"
    assert ended(folder, "tools.agent_local") == (1, told)


def test_payback_needs_make_run(folder):
    told = "make payback: run 'make run' first, in another terminal\n"
    assert ended(folder, PAYBACK) == (1, told)
    (folder / "var").mkdir()
    (folder / "var" / "demo.json").write_text('{"key": "x"}')
    told = "make payback: nothing answers. Is 'make run' running?\n"
    assert ended(folder, PAYBACK) == (1, told)


def test_it_runs_once_in_a_folder_until_it_is_interrupted(folder, ports):
    with start(folder) as process:
        try:
            lines = lines_of(process)
            assert any(line.startswith("ticketing is running.") for line in lines)
            first_sign_in = f"http://127.0.0.1:{ports[0]}/console/invitation/in_"
            assert any(f"Organize in your browser:       {first_sign_in}" in line for line in lines)
            assert any(line == "  make collect\n" for line in lines)
            assert any(line == "  make payback\n" for line in lines)
            assert any(f"RPC URL   http://127.0.0.1:{ports[1]} " in line for line in lines)
            (folder / ".env").write_text(
                (folder / ".env").read_text().replace(str(ports[0]), str(free_port()))
            )
            assert refusal(folder) == "make run: it is already running in this folder\n"
            for port in ports:
                with pytest.raises(OSError):
                    socket.create_connection(("127.0.0.2", port))
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.terminate()
    assert (process.returncode, told) == (0, "")


@pytest.mark.long
def test_with_a_host_other_machines_get_the_pages_and_this_one_the_console(folder, ports):
    # 127.0.0.2 stands for an address in a network: both are of this machine.
    with start(folder, "tools.run", "--host", "127.0.0.2") as process:
        try:
            lines = lines_of(process)
            page = f"http://127.0.0.2:{ports[0]}/demo/launch-night"
            assert any(f"Buy a ticket in your browser:   {page}" in line for line in lines)
            invitation = f"http://127.0.0.1:{ports[0]}/console/invitation/in_"
            assert any(f"Organize in your browser:       {invitation}" in line for line in lines)
            assert any("The scanner needs https" in line for line in lines)
            for url in (page, f"http://127.0.0.1:{ports[0]}/console/sign-in"):
                assert urllib3.request("GET", url, timeout=60).status == 200
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.terminate()
    assert (process.returncode, told) == (0, "")


def test_an_address_of_another_machine_is_told(folder, ports):
    told = refusal(folder, "--host", "198.51.100.1")
    listens = f"nothing can listen on 198.51.100.1:{ports[0]}"
    assert told == f"make run: {listens}: is it this machine's address?\n"


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_port_in_use_is_told_with_what_to_put_into_the_env_file(folder, ports, which):
    port = ports[which]
    line = (
        f"PORT={port + 1}",
        f"RPC_URL_31337=http://127.0.0.1:{port + 2}",
        f"RPC_URL_31338=http://127.0.0.1:{port + 2}",
    )[which]
    with socket.create_server(("127.0.0.1", port)):
        told = refusal(folder)
    assert told == (
        f"make run: port {port} is in use: stop the other program, or put {line} into .env\n"
    )


@pytest.mark.parametrize("end", ["", "\n"])
def test_what_an_env_file_lacks_is_written_into_it(folder, ports, end):
    (folder / ".env").write_text(f"PORT={ports[0]}{end}")
    with socket.socket() as other:
        other.bind(("127.0.0.1", ports[0]))
        other.listen()
        assert f"port {ports[0]} is in use" in refusal(folder)
    first, *rest = (folder / ".env").read_text().splitlines()
    assert first == f"PORT={ports[0]}"
    assert [line.partition("=")[0] for line in rest] == [
        "SECRET_KEY",
        "RPC_URL_31337",
        "RPC_URL_31338",
    ]


def test_the_lock_goes_before_the_ports(folder, ports):
    (folder / "var").mkdir()
    with (folder / "var" / "lock").open("w") as lock, socket.create_server(("", ports[0])):
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert refusal(folder) == "make run: it is already running in this folder\n"
