"""tools.collect needs a recovery file, a node and gas, and collects what it finds."""

import json
import subprocess
import sys
from functools import partial

import pytest

from tests.support import collecting
from tests.support.collecting import new_secret, recovery_file
from tests.support.receivers import COIN, Chain, gathering
from ticketing.chain.receivers import order_salt, receiver_address
from tools import collect_moving, collect_sending
from tools.anvil import Anvil
from tools.stack import ROOT

FREEZE = "freeze(address,bool)"
LEFT = 3


@pytest.fixture
def owner(chain):
    """An owner that holds nothing yet."""
    return chain.owner()


@pytest.fixture
def secret():
    return new_secret()


@pytest.fixture
def run(chain, token, tmp_path, capsys):
    """Run the tool for the token, with a gap of 50."""

    def run(file, *options, **settings):
        given = ("--token", token, "--gap", "50", *options)
        return collecting.run(tmp_path, capsys, chain.node.url, file, *given, **settings)

    return run


def address_at(owner, secret, index):
    return receiver_address(owner, order_salt(secret, index))


def pay(chain, token, owner, secret, amounts):
    """Pay orders, by their index."""
    chain.mint(token, *((address_at(owner, secret, each), amounts[each]) for each in amounts))


def test_it_finds_what_lies_beyond_the_file_until_a_gap(chain, token, run, tmp_path, owner, secret):
    pay(chain, token, owner, secret, {1: 5, 54: 7, 104: 11, 155: 13})
    code, told = run(recovery_file(tmp_path, (owner, secret, 5)))
    assert code == 0
    assert f"{owner}: 154 addresses, 3 hold something" in told
    assert chain.held(token, owner) == 23
    assert run(recovery_file(tmp_path, (owner, secret, 106)))[0] == 0
    assert chain.held(token, owner) == 36


def test_each_wallet_pays_its_owner(chain, token, run, tmp_path, owner, secret):
    other, other_secret = chain.owner(), new_secret()
    pay(chain, token, owner, secret, {3: 5})
    pay(chain, token, other, other_secret, {4: 7})
    file = recovery_file(tmp_path, (owner, secret, 1), (other, other_secret, 1))
    assert run(file)[0] == 0
    assert (chain.held(token, owner), chain.held(token, other)) == (5, 7)


@pytest.mark.parametrize(("known", "first"), [(171, 24), (1, 16)])
def test_a_run_that_dies_leaves_nothing_that_the_next_one_does_not_find(
    chain, token, run, tmp_path, owner, secret, monkeypatch, known, first
):
    """Two at once, from the last to the first. If the file knows few, 130 still leads to 170."""
    monkeypatch.setattr("ticketing.chain.collecting.MOST_ORDERS", 2)
    pay(chain, token, owner, secret, {10: 1, 50: 2, 90: 4, 130: 8, 170: 16})
    file = recovery_file(tmp_path, (owner, secret, known))
    with pytest.MonkeyPatch.context() as dying:
        dying.setattr(collect_moving.Collector, "_remaining", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(file)
    assert chain.held(token, owner) == first
    assert run(file)[0] == 0
    assert chain.held(token, owner) == 31


def test_a_frozen_receiver_is_left_and_named(chain, token, run, tmp_path, owner, secret):
    pay(chain, token, owner, secret, {1: 5, 2: 7, 3: 11})
    chain.set(token, FREEZE, address_at(owner, secret, 2), True)
    file = recovery_file(tmp_path, (owner, secret, 1))
    code, told = run(file)
    assert code == LEFT
    assert "left: order 2 with 0.000007" in told
    assert chain.held(token, owner) == 16
    chain.set(token, FREEZE, address_at(owner, secret, 2), False)
    assert run(file)[0] == 0
    assert chain.held(token, owner) == 23


def test_a_frozen_gathering_receiver_is_gone_around(chain, token, run, tmp_path, owner, secret):
    pay(chain, token, owner, secret, {1: 5, 2: 7})
    chain.set(token, FREEZE, gathering(owner), True)
    code, told = run(recovery_file(tmp_path, (owner, secret, 1)))
    assert (code, chain.held(token, owner)) == (0, 12)
    assert "in 2 transfers" in told


def test_it_collects_coins_and_what_belongs_to_no_order(chain, token, run, tmp_path, owner, secret):
    chain.mint(COIN, (address_at(owner, secret, 2), 10**15))
    chain.mint(token, (gathering(owner), 9))
    file = recovery_file(tmp_path, (owner, secret, 1))
    code, told = run(file, "--token", COIN)
    assert (code, chain.held(COIN, owner)) == (0, 10**15)
    assert "collected 0.001 of the network's coin of 1 orders" in told
    assert run(file)[0] == 0
    assert chain.held(token, owner) == 9


def test_small_sums_stay_and_expensive_gas_stops_it(chain, token, run, tmp_path, owner, secret):
    pay(chain, token, owner, secret, {1: 400_000, 2: 600_000})
    file = recovery_file(tmp_path, (owner, secret, 1))
    code, told = run(file, "--max-fee-gwei", "0.000000001")
    assert (code, chain.held(token, owner)) == (LEFT, 0)
    assert "gas costs" in told
    code, told = run(file, "--min-amount", "0.5")
    assert (code, chain.held(token, owner)) == (0, 600_000)
    assert "1 orders hold only 0.4 USDC" in told


def test_an_owner_that_burns_gas_costs_no_more_than_the_limit(
    chain, token, run, tmp_path, owner, secret
):
    burning = chain.owner()
    # PUSH3 0x0e0000 MLOAD STOP: so much memory takes 1.7 million gas.
    chain.rpc("anvil_setCode", burning, "0x620e00005100")
    chain.mint(COIN, (address_at(burning, secret, 1), 5), (address_at(owner, secret, 2), 7))
    file = recovery_file(tmp_path, (burning, secret, 1), (owner, secret, 1))
    code, told = run(file, "--token", COIN)
    assert (code, chain.held(COIN, burning), chain.held(COIN, owner)) == (LEFT, 0, 7)
    assert "more than 750000: see --max-gas-per-order" in told
    assert run(file, "--token", COIN, "--max-gas-per-order", "5000000")[0] == 0
    assert chain.held(COIN, burning) == 5


def test_a_node_that_lies_about_the_tip_spends_nothing(
    chain, token, run, tmp_path, owner, secret, monkeypatch
):
    real = collect_sending.PatientClient.batch

    def lying(self, calls):
        answers = real(self, calls)
        asked = [method for method, _ in calls]
        return [hex(10**12)] if asked == ["eth_maxPriorityFeePerGas"] else answers

    monkeypatch.setattr(collect_sending.PatientClient, "batch", lying)
    pay(chain, token, owner, secret, {1: 5})
    file = recovery_file(tmp_path, (owner, secret, 1))
    code, told = run(file)
    assert (code, chain.held(token, owner)) == (LEFT, 0)
    assert "more than 100.00: see --max-fee-gwei" in told
    assert run(file, "--max-fee-gwei", "2000")[0] == 0


def test_dust_during_a_run_is_no_failure(chain, token, run, tmp_path, owner, secret, monkeypatch):
    receivers = [address_at(owner, secret, 1), gathering(owner)]
    real = collect_sending.Sender.send

    def send_and_pay(*arguments):
        receipt = real(*arguments)
        chain.mint(token, *((each, 1) for each in receivers))
        return receipt

    monkeypatch.setattr(collect_sending.Sender, "send", send_and_pay)
    monkeypatch.setattr(collect_moving, "LAGGING_SECONDS", 0.0)
    pay(chain, token, owner, secret, {1: 500_000})
    file = recovery_file(tmp_path, (owner, secret, 1))
    code, told = run(file, "--min-amount", "0.5")
    assert (code, chain.held(token, owner)) == (0, 500_000)
    assert "collected 0.5 USDC of 1 orders" in told


def test_another_network_needs_a_word_about_the_owner(chain, token, run, tmp_path, owner, secret):
    pay(chain, token, owner, secret, {1: 5})
    file = recovery_file(tmp_path, (owner, secret, 1), chain_ids=(8453,), other_chain_ids=[31337])
    code, told = run(file)
    assert (code, chain.held(token, owner)) == (LEFT, 0)
    assert f"I control {owner} on Local." in told
    code, told = run(file, "--yes")
    assert (code, chain.held(token, owner)) == (LEFT, 5)
    assert "network 8453 (Base): no --rpc" in told
    assert run(file, "--chain-id", "31337", "--yes")[0] == 0


def test_a_chain_without_base_fees_is_paid_by_gas_price(
    chain, token, run, tmp_path, owner, secret, monkeypatch
):
    real = collect_sending.PatientClient.batch

    def without_base_fee(self, calls):
        answers = real(self, calls)
        for (method, _), answer in zip(calls, answers, strict=True):
            if method == "eth_getBlockByNumber":
                del answer["baseFeePerGas"]
        return answers

    monkeypatch.setattr(collect_sending.PatientClient, "batch", without_base_fee)
    pay(chain, token, owner, secret, {1: 5})
    assert run(recovery_file(tmp_path, (owner, secret, 1)))[0] == 0
    assert chain.held(token, owner) == 5


def test_the_factory_is_deployed_where_it_is_missing(tmp_path, capsys, starts_processes):
    secret = new_secret()
    with Anvil() as node:
        from_node = partial(collecting.run, tmp_path, capsys, node.url)
        owner = node.rpc("eth_accounts")[3]
        file = recovery_file(tmp_path, (owner, secret, 1))
        before = int(node.rpc("eth_getBalance", owner, "latest"), 16)
        call = {"from": node.rpc("eth_accounts")[1], "to": address_at(owner, secret, 1)}
        node.rpc("eth_sendTransaction", {**call, "value": "0x7"})
        code, told = from_node(file, "--token", COIN, "--gap", "3")
        assert (code, "the factory of receivers, once" in told) == (0, True)
        assert int(node.rpc("eth_getBalance", owner, "latest"), 16) == before + 7


@pytest.mark.long
def test_a_kill_at_any_step_loses_nothing(tmp_path, capsys, starts_processes):
    secret = new_secret()
    with Anvil() as node:
        chain_of = Chain(node, is_deployed=False)
        token, owner = chain_of.token(), chain_of.accounts[3]
        pay(chain_of, token, owner, secret, {1: 5, 2: 7})
        file = recovery_file(tmp_path, (owner, secret, 1))
        options = ("--token", token, "--gap", "3")
        for step in ("deploy", "collect"):
            node.rpc("evm_setAutomine", False)
            killed_after_sending(tmp_path, node, file, *options)
            node.rpc("evm_setAutomine", True)
            node.rpc("evm_mine")
            assert chain_of.held(token, owner) == (12 if step == "collect" else 0)
        from_node = partial(collecting.run, tmp_path, capsys, node.url)
        assert from_node(file, *options)[0] == 0
        assert chain_of.held(token, owner) == 12
        assert int(node.rpc("eth_getTransactionCount", chain_of.accounts[-1], "latest"), 16) == 2


@pytest.mark.long
def test_a_run_waits_for_what_a_killed_one_has_sent(tmp_path, token, chain, owner, secret):
    pay(chain, token, owner, secret, {1: 5, 2: 7})
    file = recovery_file(tmp_path, (owner, secret, 1))
    options = ("--token", token, "--gap", "3")
    chain.rpc("evm_setAutomine", False)
    try:
        killed_after_sending(tmp_path, chain.node, file, *options)
        next_run = start(tmp_path, chain.node, file, *options)
        with pytest.raises(subprocess.TimeoutExpired):
            next_run.wait(3)
    finally:
        chain.rpc("evm_setAutomine", True)
        chain.rpc("evm_mine")
    told, _ = next_run.communicate()
    assert (next_run.returncode, "sent" in told) == (0, False)
    assert chain.held(token, owner) == 12


def start(folder, node, file, *options):
    key = str(collecting.key_file(folder))
    command = [sys.executable, "-m", "tools.collect", str(file), "--rpc", node.url]
    return subprocess.Popen(
        [*command, "--key-file", key, *options], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def killed_after_sending(folder, node, file, *options):
    """Run the tool until it has sent a transaction, and kill it while it waits for it."""
    with start(folder, node, file, *options) as process:
        assert any(line.startswith("  sent ") for line in process.stdout)
        process.kill()


class TestItRefuses:
    @pytest.fixture
    def file(self, tmp_path, owner, secret):
        return recovery_file(tmp_path, (owner, secret, 1))

    def test_a_key_that_others_can_read(self, run, file):
        assert "chmod 600" in run(file, mode=0o640)[0]

    def test_a_node_of_another_network(self, run, file):
        assert "is a node of network 31337, not of 8453" in run(file, "--chain-id", "8453")[0]

    def test_what_is_no_token(self, run, file, owner):
        assert "there is no token" in run(file, "--token", owner)[0]

    @pytest.mark.parametrize(
        "change",
        [
            {"secret": "0x12"},
            {"owner": "0x12"},
            {"contract_version": 2},
            {"next_index": 0},
            {"next_index": True},
            {"chain_ids": ["1"]},
            {"chain_ids": None},
            {"exchange": 1},
            {"minimum_deposit": -1},
            {"other_chain_ids": None},
            {"tokens": [{"chain_id": 1, "token_address": "0x12"}]},
            {"tokens": [1]},
        ],
        ids=str,
    )
    def test_a_file_that_is_not_right_without_its_secret(self, run, file, secret, change):
        found = json.loads(file.read_text())
        found["wallets"][0] |= change
        file.write_text(json.dumps(found))
        code, told = run(file)
        assert "is not a valid file" in code
        assert secret.hex() not in code + told

    @pytest.mark.parametrize("version", [0, 1, 3, "2", None])
    def test_a_version_that_it_does_not_know(self, run, file, version):
        file.write_text(json.dumps({**json.loads(file.read_text()), "version": version}))
        assert "is not a valid file" in run(file)[0]

    @pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"kind": "x"}'])
    def test_what_is_no_such_file(self, run, file, text):
        file.write_text(text)
        assert run(file)[0].startswith("Error: ")
