"""The sandbox: each command changes a real chain as described, and the API shows it."""

from datetime import datetime

import pytest

from tests.conftest import UNREACHABLE_RPC
from tests.support.factories import PRICE, cli, worker_once
from ticketing.chain.answers import TRANSFER_TOPIC
from tools import anvil

REORG = ("dev", "reorg", "--depth")


@pytest.fixture
def another_chain(environ, starts_processes):
    with anvil.Anvil(chain_id=777) as chain:
        environ["RPC_URL_31337"] = chain.url
        yield


@pytest.fixture
def buyer(acme, node):
    """A buyer with an intent. The worker has read the chain once."""
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    return buyer


def dev(buyer, command, *options):
    """Run a command on a buyer's intent, let the worker look, and return the output."""
    said = cli(buyer.organizer.app, "dev", command, buyer.intent["id"], *options)
    worker_once(buyer.organizer.app)
    return said


def refused(app, *arguments):
    """Run a command that must fail with one sentence. Return the sentence."""
    said = cli(app, *arguments, exit_code=1)
    assert said.startswith("Error: ") and said.count("\n") == 1
    return said


def told_hashes(said):
    words = said.splitlines()[0].split()
    return [word for word in words if word.startswith("0x") and len(word) == 66]


def head(node):
    return int(node.rpc("eth_blockNumber"), 16)


def state(buyer):
    intent = buyer.now()
    return intent["status"], sorted(intent["flags"]), intent["refund_due"]


def test_it_pays_what_is_due_and_tells_where(buyer, node):
    said = dev(buyer, "pay")
    (tx_hash,) = told_hashes(said)
    block = int(node.rpc("eth_getTransactionReceipt", tx_hash)["blockNumber"], 16)
    assert f"paid {PRICE} micro-units to {buyer.intent['address']} in block {block}:" in said
    told = f"next: POST {buyer.path}/purchase with the client_secret, or wait for the worker"
    assert said.splitlines()[1] == told
    assert state(buyer) == ("confirmed", [], 0)


def test_it_pays_a_part_and_then_the_rest(buyer):
    dev(buyer, "pay", "--amount", "2000000")
    assert state(buyer) == ("awaiting_payment", ["underpaid"], 0)
    assert f"paid {PRICE - 2_000_000} " in dev(buyer, "pay")
    assert state(buyer) == ("confirmed", [], 0)


def test_it_pays_more_than_is_due(buyer):
    dev(buyer, "pay", "--amount", str(PRICE + 7))
    assert state(buyer) == ("confirmed", ["overpaid"], 7)


def test_it_pays_late_and_the_chain_goes_on_from_there(buyer, node):
    said = dev(buyer, "pay", "--late")
    deadline = buyer.intent["expires_at"]
    assert f"after {deadline[:19]}" in said
    assert state(buyer) == ("confirmed", ["paid_late"], 0)
    node.rpc("anvil_mine", "0x1")
    time = int(node.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
    assert time > datetime.fromisoformat(deadline).timestamp()


def test_an_order_that_has_expired_is_paid_late_without_more_delay(buyer, node, acme):
    node.rpc("evm_increaseTime", 1000)
    node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    before = head(node)
    assert f"paid {PRICE} " in dev(buyer, "pay", "--late")
    assert head(node) == before + 1
    assert state(buyer) == ("confirmed", ["paid_late"], 0)


def test_an_order_that_owes_a_part_is_not_bought_by_the_rest(buyer):
    dev(buyer, "pay", "--late", "--amount", "1")
    assert state(buyer) == ("expired", ["paid_late", "underpaid"], 1)
    dev(buyer, "pay", "--late")
    assert state(buyer)[2] > 1 and state(buyer)[0] == "expired"


def test_it_pays_twice(buyer, acme):
    first, second = told_hashes(dev(buyer, "pay", "--twice"))
    assert first != second
    assert state(buyer) == ("confirmed", ["duplicate"], PRICE)


def test_the_wrong_token_says_that_it_moved_and_counts_nothing(buyer, node):
    said = dev(buyer, "pay", "--wrong-token")
    (tx_hash,) = told_hashes(said)
    (log,) = node.rpc("eth_getTransactionReceipt", tx_hash)["logs"]
    sender, address = anvil.BUYER, buyer.intent["address"]
    assert log["address"] != anvil.TOKEN_ADDRESS.lower() and log["address"] in said
    words = [each[2:].lower().rjust(64, "0") for each in (sender, address)]
    assert log["topics"] == [TRANSFER_TOPIC, *(f"0x{word}" for word in words)]
    assert int(log["data"], 16) == PRICE
    assert state(buyer) == ("awaiting_payment", [], 0)
    assert buyer.now()["amount_received"] == 0


def test_a_canceled_order_is_paid_only_with_an_amount(buyer):
    buyer.cancel()
    assert "--amount" in refused(buyer.organizer.app, "dev", "pay", buyer.intent["id"])
    dev(buyer, "pay", "--amount", str(PRICE))
    assert state(buyer) == ("canceled", [], PRICE)


def test_a_refund_is_given_back_and_can_be_settled(buyer, acme):
    dev(buyer, "pay", "--twice")
    said = dev(buyer, "refund")
    (tx_hash,) = told_hashes(said)
    assert f"refunded {PRICE} micro-units to {anvil.BUYER} in block" in said
    path = f"{acme.path}/refunds/{buyer.intent['id']}/settle"
    assert f"POST {path} " in said
    settled = acme.api().post(path, {"tx_hash": tx_hash})
    assert (settled.status_code, settled.json["refunded"]) == (200, PRICE)
    assert state(buyer) == ("confirmed", ["duplicate"], 0)
    assert "no refund is due" in refused(acme.app, "dev", "refund", buyer.intent["id"])


def test_a_reorganization_while_processing(three_deep, buyer, acme, node):
    dev(buyer, "pay")
    assert state(buyer) == ("processing", [], 0)
    before = head(node)
    said = cli(acme.app, *REORG, "1")
    assert f"replaced blocks {before} to {before} " in said
    assert head(node) == before
    worker_once(acme.app)
    assert state(buyer) == ("awaiting_payment", ["reorged"], 0)
    dev(buyer, "pay")
    node.rpc("anvil_mine", "0x2")
    worker_once(acme.app)
    assert state(buyer) == ("confirmed", ["reorged"], 0)


def test_a_reorganization_after_confirmation_and_the_payment_sent_again(buyer, acme, node):
    node.rpc("anvil_mine", "0x2")
    dev(buyer, "pay")
    cli(acme.app, *REORG, "2")
    worker_once(acme.app)
    assert state(buyer) == ("reversed", ["reorged"], 0)
    dev(buyer, "pay", "--amount", str(PRICE))
    assert state(buyer) == ("confirmed", ["reorged"], 0)


@pytest.mark.parametrize("depth", ["0", "65", "x"])
def test_a_depth_out_of_bounds_is_refused(acme, node, depth):
    assert "--depth" in cli(acme.app, *REORG, depth, exit_code=2)


def test_a_depth_that_the_chain_does_not_have_is_refused_and_changes_nothing(acme, node):
    # Block 1 created the token, block 2 funded the buyer.
    node.rpc("anvil_mine", "0x1")
    before = node.rpc("eth_getBlockByNumber", "latest", False)
    for depth in ("2", "3", "4", "64"):
        assert f"cannot go back {depth} blocks from 3" in refused(acme.app, *REORG, depth)
    assert node.rpc("eth_getBlockByNumber", "latest", False) == before
    cli(acme.app, *REORG, "1")


def test_a_restarted_node_does_not_go_back_before_its_start(
    environ, tmp_path, request, starts_processes
):
    saved = tmp_path / "chain.json"
    with anvil.Anvil(state=saved) as chain:
        anvil.ensure_token(chain.rpc)
        chain.rpc("anvil_mine", "0x5")
    with anvil.Anvil(state=saved) as chain:
        environ["RPC_URL_31337"] = chain.url
        acme = request.getfixturevalue("acme")
        chain.rpc("anvil_mine", "0x1")
        assert "it was started later" in refused(acme.app, *REORG, "2")
        cli(acme.app, *REORG, "1")


@pytest.mark.parametrize("command", ["pay", "refund"])
def test_an_intent_that_is_not_on_the_local_chain_is_refused(environ, command, request):
    environ["RPC_URL_8453"] = UNREACHABLE_RPC
    acme = request.getfixturevalue("acme")
    foreign = acme.buyer(acme.ticket(chain_id=8453))
    free = acme.buyer(acme.ticket(price_amount=0, chain_id=None))
    for intent_id in (foreign.intent["id"], free.intent["id"], "pi_unknown", ""):
        said = refused(acme.app, "dev", command, intent_id)
        assert said == f"Error: intent {intent_id} on a local chain does not exist\n"


def test_a_node_that_is_away_is_told_in_one_sentence_without_its_url(acme):
    buyer = acme.buyer(acme.ticket())
    for arguments in (("dev", "pay", buyer.intent["id"]), (*REORG, "1")):
        said = refused(acme.app, *arguments)
        assert "the node cannot be reached" in said and "127.0.0.1" not in said


def test_a_node_of_another_chain_is_sent_nothing(another_chain, acme):
    buyer = acme.buyer(acme.ticket())
    said = refused(acme.app, "dev", "pay", buyer.intent["id"])
    assert "the node serves chain 777" in said


def test_what_the_funded_account_does_not_have_is_not_paid(buyer):
    too_much = str(anvil.BUYER_TOKENS + 1)
    said = refused(buyer.organizer.app, "dev", "pay", buyer.intent["id"], "--amount", too_much)
    assert "failed: no tokens left?" in said


def test_without_the_local_chain_there_is_no_sandbox(environ, request):
    del environ["RPC_URL_31337"]
    app = request.getfixturevalue("app")
    assert app.cli.get_command(None, "dev") is None
    assert "No such command 'dev'" in cli(app, "dev", "pay", "pi_x", exit_code=2)
