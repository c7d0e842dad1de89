"""A chain with several URLs: the next one is asked when one fails."""

import pytest

from tests.conftest import UNREACHABLE_RPC
from tests.support.bad_node import is_unavailable, sentence
from tests.support.factories import PRICE, cli, worker_once
from tools.anvil import Anvil, ensure_token

pytestmark = [pytest.mark.usefixtures("unforgetting"), pytest.mark.one_database, pytest.mark.long]


@pytest.mark.parametrize("first", ["away", "html", "refusing"])
def test_several_urls_are_tried_in_order(environ, bad_node, node, request, log, first):
    other = UNREACHABLE_RPC if first == "away" else bad_node.url
    if first == "html":
        bad_node.garble = lambda _: (502, b"<h1>Bad Gateway</h1>")
    else:
        bad_node.refuse("eth_getLogs", "eth_getBlockByNumber", "eth_call")
    environ["RPC_URL_31337"] = f"{other} {node.url}"
    acme = request.getfixturevalue("acme")
    ticket = acme.ticket()
    by_worker, by_purchase = acme.buyer(ticket), acme.buyer(ticket)
    by_worker.pay(node)
    worker_once(acme.app)
    assert by_worker.now()["status"] == "confirmed"
    by_purchase.pay(node)
    assert by_purchase.purchase().json["amount_received"] == PRICE
    assert "node 1: the node" in log.text


def test_the_second_url_is_not_asked_while_the_first_answers(environ, bad_node, node, request):
    environ["RPC_URL_31337"] = f"{node.url},{bad_node.url}"
    worker_once(request.getfixturevalue("acme").app)
    assert not bad_node.calls


def test_all_urls_bad_are_told_in_one_sentence(environ, bad_node, node, request, log):
    environ["RPC_URL_31337"] = f"{bad_node.url} {UNREACHABLE_RPC}"
    acme = request.getfixturevalue("acme")
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    bad_node.hangs_up = True
    sentence(acme)
    assert is_unavailable(buyer.purchase())


def test_a_range_is_halved_also_while_the_other_url_is_down(environ, bad_node, node, request, log):
    environ["RPC_URL_31337"] = f"{bad_node.url} {UNREACHABLE_RPC}"
    acme = request.getfixturevalue("acme")
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    node.rpc("anvil_mine", "0x40")
    bad_node.max_range(20)
    worker_once(acme.app)
    assert buyer.now()["status"] == "confirmed"


def test_a_second_node_of_another_chain_is_never_believed(environ, node, request):
    with Anvil(chain_id=777) as other:
        ensure_token(other.rpc)
        environ["RPC_URL_31337"] = f"{UNREACHABLE_RPC} {other.url}"
        acme = request.getfixturevalue("acme")
        buyer = acme.buyer(acme.ticket())
        buyer.pay(other)
        answer = buyer.purchase()
        assert (answer.status_code, answer.json["code"]) == (503, "chain_unavailable")
        assert "another chain" in cli(acme.app, "worker", "--once", exit_code=1)
        assert buyer.now()["amount_received"] == 0


def test_a_first_node_that_hangs_is_asked_last_for_a_while(
    environ, bad_node, node, request, log, monkeypatch
):
    # Long enough for the good node on a slow machine.
    monkeypatch.setattr("ticketing.chain.endpoint.TIMEOUT_SECONDS", 3.0)
    environ["RPC_URL_31337"] = f"{bad_node.url} {node.url}"
    acme = request.getfixturevalue("acme")
    bad_node.hang()
    worker_once(acme.app)
    asked = bad_node.calls.total()
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    assert buyer.purchase().status_code == 200
    assert bad_node.calls.total() == asked
