"""Real processes: gunicorn's, the worker's, many buyers at once, and kills."""

import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import urllib3

from tests.support.bad_node import BadNode
from tests.support.databases import only_once
from tests.support.factories import PRICE
from tests.support.remote import PATIENCE_SECONDS, eventually
from tools import anvil
from tools.json_client import Client
from tools.stack import ROOT, free_port

pytestmark = pytest.mark.long

BUYERS, SEATS = 200, 50


@pytest.fixture
def variables(variables):
    return {**variables, "WEB_CONCURRENCY": "3"}


def test_200_buyers_for_50_seats_get_50_holds_and_150_clean_refusals(stack, remote):
    ticket = remote.ticket(capacity=SEATS)

    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(lambda _: remote.preflight(ticket), range(BUYERS)))

    held = [answer.json for answer in answers if answer.status == 201]
    refused = [answer for answer in answers if answer.status != 201]
    assert len(held) == SEATS
    assert {(answer.status, answer.json["code"]) for answer in refused} == {(409, "sold_out")}
    assert len({intent["address"] for intent in held}) == SEATS
    now = remote.read(ticket)
    assert (now["held"], now["sold"], now["available"]) == (SEATS, 0, 0)


def test_the_worker_confirms_and_expires_without_being_asked(stack, node, remote):
    ticket = remote.ticket()
    stack.start_worker()
    paid, unpaid = remote.preflight(ticket).json, remote.preflight(ticket).json
    anvil.transfer(node.rpc, paid["token_address"], paid["address"], PRICE)
    eventually(lambda: remote.intent(paid)["status"] == "confirmed")
    node.rpc("evm_increaseTime", 1000)
    node.rpc("anvil_mine", "0x1")
    eventually(lambda: remote.intent(unpaid)["status"] == "expired")
    now = remote.read(ticket)
    assert (now["held"], now["sold"]) == (0, 1)


def test_a_killed_worker_and_a_killed_web_server_lose_no_payment(stack, node, remote):
    ticket = remote.ticket()
    stack.start_worker()
    intent = remote.preflight(ticket).json
    eventually(lambda: remote.ready()["chains"][0]["block_number"] is not None)
    stack.kill("worker")
    stack.kill("web")
    anvil.transfer(node.rpc, intent["token_address"], intent["address"], PRICE)
    node.rpc("anvil_mine", "0x20")
    stack.start_web()
    stack.start_worker()
    eventually(lambda: remote.intent(intent)["status"] == "confirmed")
    assert len(remote.purchase(intent).json["admissions"]) == 1
    assert remote.read(ticket)["sold"] == 1


def test_two_workers_and_purchases_at_once_issue_once(stack, node, remote):
    ticket = remote.ticket(capacity=None)
    stack.start_worker()
    stack.start_worker("second worker")
    eventually(lambda: "standing by for chain 31337" in stack.log_path.read_text())
    intents = [remote.preflight(ticket, quantity=2).json for _ in range(10)]
    for intent in intents:
        anvil.transfer(node.rpc, intent["token_address"], intent["address"], 2 * PRICE)
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(remote.purchase, intents * 3))
    stack.check()
    # In each process few requests wait for the node. The others are asked to retry.
    assert {answer.status for answer in answers} <= {200, 503}
    answers = [each for each in answers if each.status == 200]
    answers += [remote.purchase(intent) for intent in intents]
    for intent in intents:
        issued = {
            tuple(each["code"] for each in answer.json["admissions"])
            for answer in answers
            if answer.json["id"] == intent["id"]
        }
        assert len(issued) == 1
    now = remote.read(ticket)
    assert (now["held"], now["sold"]) == (0, 20)


@only_once
def test_revoking_a_key_ends_its_jwts_in_every_process_at_once(stack, remote):
    made = remote.send("POST", f"{remote.path}/apikeys", {"name": "x", "role": "read"})
    token = remote.client.send("POST", "/v1/auth/token", {"api_key": made.json["key"]})
    headers = {"Authorization": f"Bearer {token.json['access_token']}"}
    path = f"{remote.path}/events"
    with ThreadPoolExecutor(12) as pool:
        before = pool.map(lambda _: remote.client.send("GET", path, headers=headers), range(24))
        assert {answer.status for answer in before} == {200}
        remote.send("POST", f"{remote.path}/apikeys/{made.json['id']}/revoke")
        after = pool.map(lambda _: remote.client.send("GET", path, headers=headers), range(24))
        assert {answer.status for answer in after} == {401}


@only_once
def test_an_rpc_that_goes_away_degrades_and_comes_back(stack, node, remote):
    ticket = remote.ticket()
    stack.start_worker()
    intent = remote.preflight(ticket).json
    eventually(lambda: remote.ready()["chains"][0]["block_number"] is not None)
    port = node.port
    dump = node.rpc("anvil_dumpState")
    node.stop()
    answer = remote.purchase(intent)
    assert (answer.status, answer.json["code"]) == (503, "chain_unavailable")
    assert remote.client.send("GET", f"{remote.public}/events/{ticket['event_id']}").status == 200
    assert remote.ready()["status"] == "ready"
    eventually(lambda: "cannot be read" in stack.log_path.read_text())
    with anvil.Anvil(port=port) as again:
        again.rpc("anvil_loadState", dump)
        anvil.transfer(again.rpc, intent["token_address"], intent["address"], PRICE)
        again.rpc("anvil_mine", "0x1")
        eventually(lambda: remote.intent(intent)["status"] == "confirmed")
    assert f":{port}" not in stack.log_path.read_text()


@only_once
def test_sigterm_ends_web_and_worker_cleanly(stack, node, remote):
    stack.start_worker()
    eventually(lambda: remote.ready()["chains"][0]["block_number"] is not None)
    ending = [stack.terminate(name) for name in ("web", "worker")]
    assert [wait(PATIENCE_SECONDS) for wait in ending] == [0, 0]


@only_once
def test_it_listens_where_it_was_told_to_alone(stack):
    with socket.create_connection(("127.0.0.1", stack.port)):
        pass
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", stack.port))


@only_once
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


@only_once
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


@only_once
def test_a_chain_that_was_refused_is_taken_once_it_is_right(stack, node, remote):
    ticket = remote.ticket(capacity=None)
    with BadNode(node.url) as proxy:
        proxy.answer("eth_chainId", "0x309")
        stack.environ["RPC_URL_31337"] = proxy.url
        stack.start_worker()
        eventually(lambda: remote.preflight(ticket).json.get("code") == "not_payable")
        seen = proxy.calls["eth_chainId"]
        eventually(lambda: proxy.calls["eth_chainId"] > seen + 1)
        proxy.well()
        eventually(lambda: remote.preflight(ticket).status == 201)
        stack.check()
        stack.kill_workers()
