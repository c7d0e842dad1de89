"""tools.collect goes through all that a recovery file names, and says what it has not looked at."""

import json
from dataclasses import replace
from functools import partial

import pytest

from tests.support import collecting
from tests.support.collecting import new_secret, recovery_file
from tests.support.receivers import COIN, Chain, gathering
from ticketing.chain.receivers import SEARCH_GAP, order_salt, receiver_address
from ticketing.chain.registry import REGISTRY
from tools import anvil, collect_moving, collect_networks, collect_search

LEFT, FAILED = 3, 1
USDC, HERE, THERE = anvil.TOKEN_ADDRESS, anvil.CHAIN_ID, anvil.SECOND_CHAIN_ID
LOOK_ALIKE = REGISTRY[HERE].look_alikes[0].token_address


def chain_of(node):
    """A chain whose usual token is where the registry says."""
    anvil.ensure_token(node.rpc)
    return Chain(node)


@pytest.fixture(scope="module")
def here(starts_processes):
    with anvil.Anvil() as running:
        yield chain_of(running)


@pytest.fixture(scope="module")
def there(starts_processes):
    """Another network."""
    with anvil.Anvil(chain_id=THERE) as running:
        yield chain_of(running)


@pytest.fixture
def owner(here):
    """An owner that holds nothing yet, with code on one network only."""
    return here.owner()


@pytest.fixture
def secret():
    return new_secret()


@pytest.fixture
def file(tmp_path, owner, secret):
    """Write a recovery file."""
    return partial(recovery_file, tmp_path, (owner, secret, 5))


@pytest.fixture
def run(here, tmp_path, capsys):
    """Run the tool for the first network, with a gap of 50."""

    def run(path, *options):
        return collecting.run(
            tmp_path, capsys, here.node.url, path, "--gap", "50", "--min-amount", "0", *options
        )

    return run


def pay(chain, owner, secret, amounts, token=USDC):
    for index, amount in amounts.items():
        to = receiver_address(owner, order_salt(secret, index))
        if token == COIN:
            chain.mint(COIN, (to, amount))
        else:
            anvil.mint(chain.rpc, token, to, amount)


def not_done(told):
    """Return what the tool says that it has not done."""
    return [line.strip() for line in told.partition("Not done")[2].splitlines()[1:]]


def test_the_gap_is_the_one_from_which_a_wallet_is_continued():
    assert collect_networks.GAP == SEARCH_GAP == 5_000_000


def test_it_collects_on_all_networks_of_the_file(here, there, run, file, owner, secret):
    pay(here, owner, secret, {3: 5})
    pay(there, owner, secret, {4: 7})
    path = file(chain_ids=(HERE, THERE), other_chain_ids=[10])
    code, told = run(path, "--coin")
    assert (code, here.held(USDC, owner), there.held(USDC, owner)) == (LEFT, 5, 0)
    assert not_done(told) == [
        "network 10 (OP Mainnet): no --rpc",
        f"network {HERE} (Local): USDC.e not asked, --also-token {HERE}={LOOK_ALIKE}",
        f"network {THERE} (Local 2): no --rpc",
    ]
    code, told = run(path, "--coin", "--rpc", there.node.url, "--complete")
    assert (code, there.held(USDC, owner), "Not done" in told) == (0, 7, False)


def test_nothing_is_left_to_say_after_everything(here, there, run, file, owner, secret):
    for chain in (here, there):
        code = chain.rpc("eth_getCode", USDC, "latest")
        chain.rpc("anvil_setCode", LOOK_ALIKE, code)
        pay(chain, owner, secret, {6: 9}, LOOK_ALIKE)
        pay(chain, owner, secret, {7: 10**15}, COIN)
    path = file(chain_ids=(HERE, THERE))
    options = ("--rpc", f"{THERE}={there.node.url}", "--coin", "--also-token", LOOK_ALIKE)
    code, told = run(path, *options)
    assert (code, not_done(told)) == (0, [])
    for chain in (here, there):
        assert (chain.held(LOOK_ALIKE, owner), chain.held(COIN, owner)) == (9, 10**15)


def test_tokens_of_the_file_are_looked_for(here, run, file, owner, secret):
    other = here.token()
    here.mint(other, (receiver_address(owner, order_salt(secret, 40)), 9))
    pay(here, owner, secret, {80: 5})
    tokens = [{"chain_id": HERE, "token_address": other}, {"chain_id": 10, "token_address": USDC}]
    code, _ = run(file(tokens=tokens), "--complete")
    # What one token shows that was used, the search for the other one goes beyond.
    assert (code, here.held(other, owner), here.held(USDC, owner)) == (0, 9, 5)


def test_a_run_that_dies_loses_no_token_that_another_one_led_to(
    here, run, file, owner, secret, monkeypatch
):
    """With a gap of 50: without 40, whose token comes first, nothing would lead to 80."""
    other = here.token()
    pay(here, owner, secret, {40: 5})
    here.mint(other, (receiver_address(owner, order_salt(secret, 80)), 9))
    path = file(tokens=[{"chain_id": HERE, "token_address": other}])
    with pytest.MonkeyPatch.context() as dying:
        dying.setattr(collect_moving.Collector, "_remaining", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(path)
    assert run(path, "--complete")[0] == 0
    assert (here.held(USDC, owner), here.held(other, owner)) == (5, 9)


def test_another_token_must_be_one_on_some_network(here, run, file, owner):
    code, told = run(file(), "--coin", "--also-token", owner, "--also-token", f"{HERE}={owner}")
    assert code == LEFT
    assert f"network {HERE} (Local): there is no token at {owner} on this network" in told
    code, told = run(file(), "--coin", "--also-token", owner)
    assert code == LEFT
    assert f"there is no token at {owner} on these networks: see --also-token" in told


def test_a_network_that_was_taken_off_needs_a_word(here, run, file, owner, secret):
    pay(here, owner, secret, {1: 5})
    path = file(chain_ids=(), other_chain_ids=[HERE])
    code, told = run(path, "--complete")
    assert (code, here.held(USDC, owner)) == (LEFT, 0)
    assert f"I control {owner} on Local." in told
    assert run(path, "--complete", "--yes")[0] == 0
    assert here.held(USDC, owner) == 5


def test_a_wallet_that_never_had_a_network_is_left_alone_there(
    here, there, run, tmp_path, owner, secret
):
    """Also with --yes: an address at an exchange may not take it there."""
    path = recovery_file(tmp_path, (owner, secret, 5))
    other = recovery_file(tmp_path, (there.owner(), new_secret(), 5), chain_ids=(THERE,))
    both = json.loads(other.read_text())
    path = recovery_file(tmp_path, (owner, secret, 5))
    both["wallets"] += json.loads(path.read_text())["wallets"]
    path.write_text(json.dumps(both))
    pay(there, owner, secret, {1: 5})
    options = ("--rpc", there.node.url, "--complete", "--yes")
    code, told = run(path, *options)
    assert (code, there.held(USDC, owner)) == (0, 0)
    assert f"{owner}: the file does not name this network" in told
    assert "is a node of network" in run(path, *options, "--chain-id", str(THERE))[0]


def test_an_exchange_gets_its_minimum_or_nothing(here, run, file, owner, secret):
    """Money that belongs to no order counts, because it is in the same transfer."""
    path = file(exchange=True, minimum_deposit=10)
    pay(here, owner, secret, {1: 5})
    code, told = run(path, "--complete")
    assert (code, here.held(USDC, owner)) == (LEFT, 0)
    assert f"The exchange's account of {owner} is still open, and takes USDC on Local." in told
    code, told = run(path, "--complete", "--yes")
    assert (code, here.held(USDC, owner)) == (LEFT, 0)
    assert "left: 0.000005 USDC, because the exchange wants 0.00001 USDC or more" in told
    anvil.mint(here.rpc, USDC, gathering(owner), 4)
    assert run(path, "--complete", "--yes")[0] == LEFT
    anvil.mint(here.rpc, USDC, gathering(owner), 1)
    code, told = run(path, "--complete", "--yes")
    assert (code, here.held(USDC, owner)) == (0, 10)
    assert "collected 0.00001 USDC of 1 orders; 0.000005 USDC of it belonged to no order" in told


def test_an_exchange_does_not_get_less_of_what_belongs_to_no_order(here, run, file, owner):
    anvil.mint(here.rpc, USDC, gathering(owner), 9)
    path = file(exchange=True, minimum_deposit=10)
    code, told = run(path, "--complete", "--yes")
    assert (code, here.held(USDC, owner)) == (LEFT, 0)
    assert "the exchange wants 0.00001 USDC or more" in told


def test_small_sums_are_said_unless_somebody_chose_what_is_small(
    here, tmp_path, capsys, file, owner, secret, monkeypatch
):
    local = replace(REGISTRY[HERE], least_sensible_price=1_000_000)
    monkeypatch.setattr(collect_networks, "REGISTRY", {HERE: local})
    pay(here, owner, secret, {1: 400_000, 2: 2_000_000})
    anvil.mint(here.rpc, USDC, gathering(owner), 300_000)
    run = partial(collecting.run, tmp_path, capsys, here.node.url, file(), "--gap", "50")
    code, told = run()
    # 0.3 was in the same transfer.
    assert (code, here.held(USDC, owner)) == (LEFT, 2_300_000)
    assert "1 orders hold only 0.4 USDC together: see --min-amount" in told
    assert f"network {HERE} (Local): small sums of USDC: see --min-amount" in not_done(told)
    assert run("--min-amount", "1", "--complete")[0] == 0
    assert run("--min-amount", "0", "--complete")[0] == 0
    assert here.held(USDC, owner) == 2_700_000


def test_one_network_that_fails_keeps_no_other_from_being_collected(
    here, there, run, file, owner, secret
):
    pay(here, owner, secret, {1: 5})
    pay(there, owner, secret, {1: 5})
    path = file(chain_ids=(HERE, THERE))
    gas, key = "anvil_setBalance", there.accounts[-1]
    there.rpc(gas, key, "0x0")
    try:
        code, told = run(path, "--rpc", there.node.url, "--complete")
    finally:
        there.rpc(gas, key, hex(10**20))
    assert (code, here.held(USDC, owner)) == (FAILED, 5)
    assert f"Error: network {THERE} (Local 2): {key} has 0.000000 of the network's coin" in told
    assert run(path, "--rpc", there.node.url, "--complete")[0] == 0
    assert there.held(USDC, owner) == 5


def test_a_node_that_is_dead_stops_no_other(here, run, file, owner, secret):
    pay(here, owner, secret, {1: 5})
    with pytest.MonkeyPatch.context() as hasty:
        hasty.setattr("tools.collect_sending.SILENT_SECONDS", 0.0)
        code, told = run(file(), "--rpc", "http://127.0.0.1:9/", "--complete")
    assert (code, here.held(USDC, owner)) == (FAILED, 5)
    assert "Error: --rpc number 2: the node" in told and "127.0.0.1:9" not in told


def test_two_nodes_of_one_network_stand_in_for_each_other(here, run, file, owner, secret):
    pay(here, owner, secret, {1: 5})
    assert run(file(), "--rpc", f"{HERE}={here.node.url}", "--complete")[0] == 0
    assert here.held(USDC, owner) == 5


def test_a_node_must_be_of_the_network_that_is_stated(there, run, file):
    code, _ = run(file(), "--rpc", f"8453={there.node.url}")
    assert f"--rpc is a node of network {THERE}, not of 8453" in code


class TestState:
    @pytest.fixture(autouse=True)
    def often(self, monkeypatch):
        """What the tool does after 50,000 addresses, it does after 100."""
        monkeypatch.setattr(collect_search, "LOOKED_UP_AT_ONCE", 100)
        monkeypatch.setattr(collect_search, "PROGRESS", 100)

    @pytest.fixture
    def looks(self, monkeypatch):
        """The addresses that were looked at, and an error after so many of them."""
        real = collect_networks.Node.holdings

        def holdings(node, token, addresses):
            if len(looks) >= looks.most:
                raise KeyboardInterrupt
            looks.extend(addresses)
            return real(node, token, addresses)

        class Looks(list):
            most = 10**9

        looks = Looks()
        monkeypatch.setattr(collect_networks.Node, "holdings", holdings)
        return looks

    @pytest.fixture
    def state(self, tmp_path):
        return tmp_path / "search.json"

    def test_an_interrupted_search_goes_on(
        self, here, run, file, owner, secret, looks, state, tmp_path
    ):
        pay(here, owner, secret, {40: 5, 310: 7, 690: 11})
        options = (file(), "--gap", "400", "--state", str(state), "--complete")
        looks.most = 500
        assert run(*options)[0] == 130
        assert state.stat().st_mode & 0o777 == 0o600
        assert secret.hex() not in state.read_text()
        looks.most = 10**9
        looks.clear()
        code, told = run(*options)
        assert (code, here.held(USDC, owner)) == (0, 23)
        assert "goes on. Delete the file to begin again." in told
        assert len(looks) < 690 + 400 - 500 + 50
        assert not state.exists() and not list(tmp_path.glob("*.new"))

    def test_a_token_that_is_added_is_searched_from_the_start(
        self, here, run, file, owner, secret, looks, state
    ):
        pay(here, owner, secret, {40: 5})
        pay(here, owner, secret, {60: 10**15}, COIN)
        options = (file(), "--gap", "300", "--state", str(state))
        assert run(*options)[0] == LEFT
        assert state.exists()
        looks.clear()
        assert run(*options, "--coin", "--complete")[0] == 0
        assert (here.held(USDC, owner), here.held(COIN, owner)) == (5, 10**15)
        # 360 addresses for coins, and the last 20 for the token: coins were found at 60.
        assert len(looks) < 360 + 20 + 50

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{}",
            '{"kind": "ticketing-recovery"}',
            '{"kind": "ticketing-collect-state", "began": "x", "searches": {}}',
            '{"kind": "ticketing-collect-state", "began": "2026-11-25", "searches": {"a": {}}}',
            '{"kind": "ticketing-collect-state", "began": "2026-11-25",'
            ' "searches": {"a": {"next_index": 5, "found": [3, 2]}}}',
        ],
    )
    def test_another_file_is_refused_and_stays(self, run, file, state, text):
        state.write_text(text)
        assert run(file(), "--state", str(state))[0].startswith("Error: ")
        assert state.read_text() == text
