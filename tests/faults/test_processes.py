"""Real processes: gunicorn's, the worker's, many buyers at once, and kills."""

import os
import re
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import urllib3

from tests.conftest import SECRET_KEY
from tests.support.bad_node import BadNode
from tests.support.factories import PRICE, new_xpub
from tests.support.remote import RemoteOrganizer, eventually
from tools import anvil
from tools.client import Client
from tools.stack import ROOT, Stack, free_port

BUYERS, SEATS = 200, 50


@pytest.fixture
def stack(database_url, tmp_path):
    """The web server over a migrated database, with a real chain; the worker is not started."""
    with anvil.Anvil() as node:
        anvil.ensure_token(node.rpc)
        variables = {
            "DATABASE_URL": database_url,
            "SECRET_KEY": SECRET_KEY,
            "PORT": str(free_port()),
            "RPC_URL_31337": node.url,
            "POLL_SECONDS": "0.1",
            "WEB_CONCURRENCY": "3",
        }
        with Stack(variables, log=tmp_path / "log") as running:
            running.node = node
            running.log_path = tmp_path / "log"
            running.start_web()
            yield running


@pytest.fixture
def acme(stack):
    return RemoteOrganizer(stack, "acme", new_xpub())


def test_200_buyers_for_50_seats_get_50_holds_and_150_clean_refusals(stack, acme):
    ticket = acme.ticket(capacity=SEATS)

    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(lambda _: acme.preflight(ticket), range(BUYERS)))

    held = [answer.json for answer in answers if answer.status == 201]
    refused = [answer for answer in answers if answer.status != 201]
    assert len(held) == SEATS
    assert {(answer.status, answer.json["code"]) for answer in refused} == {(409, "sold_out")}
    assert len({intent["address"] for intent in held}) == SEATS
    now = acme.read(ticket)
    assert (now["held"], now["sold"], now["available"]) == (SEATS, 0, 0)


def test_the_worker_confirms_and_expires_without_being_asked(stack, acme):
    ticket = acme.ticket()
    stack.start_worker()
    paid, unpaid = acme.preflight(ticket).json, acme.preflight(ticket).json
    anvil.transfer(stack.node.rpc, paid["token_address"], paid["address"], PRICE)
    eventually(lambda: acme.intent(paid)["status"] == "confirmed")
    stack.node.rpc("evm_increaseTime", 1000)
    stack.node.rpc("anvil_mine", "0x1")
    eventually(lambda: acme.intent(unpaid)["status"] == "expired")
    now = acme.read(ticket)
    assert (now["held"], now["sold"]) == (0, 1)


def test_a_killed_worker_and_a_killed_web_server_lose_no_payment(stack, acme):
    ticket = acme.ticket()
    stack.start_worker()
    intent = acme.preflight(ticket).json
    eventually(lambda: acme.ready()["chains"][0]["block_number"] is not None)
    stack.kill("worker")
    stack.kill("web")
    anvil.transfer(stack.node.rpc, intent["token_address"], intent["address"], PRICE)
    stack.node.rpc("anvil_mine", "0x20")
    stack.start_web()
    stack.start_worker()
    eventually(lambda: acme.intent(intent)["status"] == "confirmed")
    assert len(acme.purchase(intent).json["admissions"]) == 1
    assert acme.read(ticket)["sold"] == 1


def test_two_workers_and_purchases_at_once_issue_once(stack, acme):
    ticket = acme.ticket(capacity=None)
    stack.start_worker()
    stack.start_worker("second worker")
    eventually(lambda: "standing by for chain 31337" in stack.log_path.read_text())
    intents = [acme.preflight(ticket, quantity=2).json for _ in range(10)]
    for intent in intents:
        anvil.transfer(stack.node.rpc, intent["token_address"], intent["address"], 2 * PRICE)
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(acme.purchase, intents * 3))
    stack.check()
    assert {answer.status for answer in answers} == {200}
    for intent in intents:
        issued = {
            tuple(each["code"] for each in answer.json["admissions"])
            for answer in answers
            if answer.json["id"] == intent["id"]
        }
        assert len(issued) == 1
    now = acme.read(ticket)
    assert (now["held"], now["sold"]) == (0, 20)


def test_revoking_a_key_ends_its_jwts_in_every_process_at_once(stack, acme):
    made = acme.send("POST", f"{acme.path}/apikeys", {"name": "x", "role": "read"})
    token = acme.client.send("POST", "/v1/auth/token", {"api_key": made.json["key"]})
    headers = {"Authorization": f"Bearer {token.json['access_token']}"}
    path = f"{acme.path}/events"
    with ThreadPoolExecutor(12) as pool:
        before = pool.map(lambda _: acme.client.send("GET", path, headers=headers), range(24))
        assert {answer.status for answer in before} == {200}
        acme.send("POST", f"{acme.path}/apikeys/{made.json['id']}/revoke")
        after = pool.map(lambda _: acme.client.send("GET", path, headers=headers), range(24))
        assert {answer.status for answer in after} == {401}


def test_an_rpc_that_goes_away_degrades_and_comes_back(stack, acme):
    ticket = acme.ticket()
    stack.start_worker()
    intent = acme.preflight(ticket).json
    eventually(lambda: acme.ready()["chains"][0]["block_number"] is not None)
    port = stack.node.port
    dump = stack.node.rpc("anvil_dumpState")
    stack.node.stop()
    answer = acme.purchase(intent)
    assert (answer.status, answer.json["code"]) == (503, "chain_unavailable")
    assert (
        acme.client.send("GET", f"/v1/public/tenants/acme/events/{ticket['event_id']}").status
        == 200
    )
    assert acme.ready()["status"] == "ready"
    eventually(lambda: "cannot be seen" in stack.log_path.read_text())
    with anvil.Anvil(port=port) as again:
        again.rpc("anvil_loadState", dump)
        anvil.transfer(again.rpc, intent["token_address"], intent["address"], PRICE)
        again.rpc("anvil_mine", "0x1")
        eventually(lambda: acme.intent(intent)["status"] == "confirmed")
    log = stack.log_path.read_text()
    assert "Traceback" not in log
    assert f":{port}" not in log


def test_sigterm_ends_web_and_worker_cleanly(stack, acme):
    stack.start_worker()
    eventually(lambda: acme.ready()["chains"][0]["block_number"] is not None)
    processes = dict(stack._processes)
    stack.stop()
    assert {process.returncode for process in processes.values()} == {0}
    assert "Traceback" not in stack.log_path.read_text()


def test_it_listens_where_it_was_told_to_alone(stack):
    with socket.create_connection(("127.0.0.1", stack.port)):
        pass
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", stack.port))


@pytest.mark.parametrize("host", [None, "127.0.0.1", "0.0.0.0"])
def test_a_port_in_use_is_told_without_a_traceback(stack, host):
    bind = ["--bind", f"{host}:{stack.port}"] if host else []
    done = subprocess.run(
        [sys.executable, "-m", "gunicorn", *bind, "app:create_app()"],
        cwd=ROOT,
        env=stack.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert f"port {stack.port} is in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_another_one_is_bound_instead_of_may_be_in_use(stack):
    port = free_port()
    bind = ["--bind", f"127.0.0.1:{port}"]
    client = Client(f"http://127.0.0.1:{port}")
    command = [sys.executable, "-m", "gunicorn", *bind, "app:create_app()"]
    with subprocess.Popen(command, cwd=ROOT, env=stack.environ) as process:
        try:
            eventually(lambda: is_up(client) or process.poll() is not None)
            assert process.poll() is None
        finally:
            process.terminate()


def is_up(client):
    try:
        return client.send("GET", "/healthz").status == 200
    except urllib3.exceptions.HTTPError:
        return False


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_demo_sells_a_ticket_from_nothing(kind, request):
    arguments = []
    if kind == "postgres":
        url = request.getfixturevalue("postgres").create_database(f"demo_{os.getpid()}")
        arguments = ["--database-url", url]
    done = subprocess.run(
        [sys.executable, "-m", "tools.demo", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"sold one ticket in [\d.]+ s", done.stdout)
    for shown in (r'"address": "0x\w{40}"', r'"payment_uri": "ethereum:\S+"', r'"code": "\w{20}"'):
        assert re.search(shown, done.stdout), shown
    assert '"held": 0, "sold": 1, "available": 9' in done.stdout
    assert len(done.stdout.splitlines()) < 75
    assert max(map(len, done.stdout.splitlines())) < 500


def test_a_chain_that_was_refused_is_taken_once_it_is_right(stack, acme):
    ticket = acme.ticket(capacity=None)
    with BadNode(stack.node.url) as proxy:
        proxy.answer("eth_chainId", "0x309")
        stack.environ["RPC_URL_31337"] = proxy.url
        stack.start_worker()
        eventually(lambda: acme.preflight(ticket).json.get("code") == "not_payable")
        seen = proxy.calls["eth_chainId"]
        eventually(lambda: proxy.calls["eth_chainId"] > seen + 1)
        proxy.well()
        eventually(lambda: acme.preflight(ticket).status == 201)
        stack.check()
        stack.stop()
