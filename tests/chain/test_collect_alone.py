"""tools.collect in a new environment, with two folders of this repository and nothing else."""

import itertools
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading

import pytest

from tests.cli.test_documents import commands
from tests.support.bad_node import BadNode
from tests.support.elsewhere import BOTH, order
from tests.support.factories import CHAIN, PRICE, cli, new_organizer, worker_once
from tests.support.provider.responses import SILENCE
from tests.support.receivers import COIN, Chain, gathering
from tests.support.refunds import FRIEND, pay_from
from tests.support.wallets import use_address
from ticketing.chain.registry import REGISTRY
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.models.wallets import Wallet
from tools import anvil
from tools.anvil import SECOND_CHAIN_ID as SECOND
from tools.stack import ROOT

DOCUMENT = "docs/collecting.md"
START = "## When everything else is gone"
USDC = anvil.TOKEN_ADDRESS
LOOK_ALIKE = REGISTRY[SECOND].look_alikes[0].token_address
MINIMUM = 2 * PRICE
LEFT = 3

LOADED = """
import sys
from tools import collect
names = {name for name in sys.modules if name.partition(".")[0] in ("ticketing", "schemas", "app")}
print(*sorted(names))
"""


@pytest.fixture
def alone(tmp_path, starts_processes):
    """A folder with what the document says that the program needs, and no more."""
    folder = tmp_path / "alone"
    for name in ("tools", "ticketing/chain"):
        ignored = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    return folder


def run(folder, command, exit_code=0, path="/usr/bin:/bin"):
    """Run a command in a folder. Return what it prints."""
    done = subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == exit_code, done.stdout
    return done.stdout


def test_it_loads_nothing_of_the_service_but_chain(alone):
    program = f"{sys.executable} -W error -c '{LOADED}'"
    loaded = run(alone, program).split()
    assert "ticketing.chain.receivers" in loaded
    assert [each for each in loaded if not each.startswith("ticketing.chain")] == ["ticketing"]


@pytest.mark.parametrize("missing", ["eth_account", "Crypto", "urllib3"])
def test_it_names_the_packages_that_it_needs(alone, missing):
    without = (
        f"import runpy, sys; sys.modules['{missing}'] = None;"
        " runpy.run_module('tools.collect', run_name='__main__')"
    )
    told = run(alone, f'{sys.executable} -c "{without}"', exit_code=1)
    assert told.startswith("Error: this program needs eth-account, pycryptodome and urllib3.")
    assert told.endswith("-m pip install eth-account pycryptodome urllib3'.\n")


def test_it_says_which_folders_it_needs(alone):
    shutil.rmtree(alone / "ticketing")
    told = run(alone, f"{sys.executable} -m tools.collect", exit_code=1)
    assert "tools/ and ticketing/chain/" in told


def test_it_runs_with_the_packages_that_are_said_at_the_start_and_in_the_document():
    (said,) = set(
        re.findall(r"pip install (eth-account py.*?)[`)']", (ROOT / DOCUMENT).read_text())
    )
    assert f"pip install {said}\n" in commands(DOCUMENT, START)
    assert f"pip install {said}\n" in (ROOT / "tools" / "collect.py").read_text()


@pytest.fixture
def lost(app, node, second_node, tmp_path):
    """The recovery file of an organizer who had two wallets and two networks, and lost the rest.

    The first wallet is sold on both networks, and later only on the first. The second is of an
    exchange, on the first network. Return the file, the owners, and what each must get.
    """
    owner, exchange = (Chain(node, is_deployed=False).accounts[place] for place in (3, 5))
    venue = new_organizer(app, "venue", address=owner)
    use_address(venue.id, owner, *BOTH)
    worker_once(app)
    home, away = order(venue, CHAIN), order(venue, SECOND)
    pay_from(node, FRIEND, home, PRICE)
    pay_from(second_node, FRIEND, away, PRICE)
    # Another token, on the second network, that people take for the right one.
    code = second_node.rpc("eth_getCode", USDC, "latest")
    second_node.rpc("anvil_setCode", LOOK_ALIKE, code)
    anvil.mint(second_node.rpc, LOOK_ALIKE, home.intent["address"], 7)
    worker_once(app)
    strays = [each for order in PaymentIntent.select() for each in order.stray_accounts]
    assert LOOK_ALIKE in [each.token_address for each in strays]
    use_address(venue.id, owner, CHAIN)
    wallet = Wallet.get(Wallet.owner == owner)
    use_address(venue.id, exchange, CHAIN)
    columns = {"is_exchange": True, "least_collected": MINIMUM}
    Wallet.update(columns).where(Wallet.owner == exchange).execute()
    small = order(venue, CHAIN)
    pay_from(node, FRIEND, small, PRICE)
    worker_once(app)
    file = tmp_path / "recovery.json"
    cli(app, "wallet", "recovery", "venue", "--output", str(file))
    # What came after the file: orders that nobody paid, one that was paid, and coins.
    Tenant.update(wallet=wallet.id).where(Tenant.id == venue.id).execute()
    Wallet.update(next_index=Wallet.next_index + 2_500).where(Wallet.owner == owner).execute()
    late = order(venue, CHAIN)
    pay_from(node, FRIEND, late, PRICE)
    anvil.send(second_node.rpc, 1, {"to": late.intent["address"], "value": hex(10**15)})
    anvil.mint(node.rpc, USDC, gathering(owner), 11)
    return file, owner, exchange


@pytest.mark.long
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_an_organizer_who_has_lost_everything_follows_the_document(lost, alone, node, second_node):
    recovery, owner, exchange = lost
    shutil.move(recovery, alone / "recovery.json")
    chains = Chain(node, is_deployed=False), Chain(second_node, is_deployed=False)
    coins = chains[1].held(COIN, owner)

    def held(account):
        return chains[0].held(USDC, account), chains[1].held(USDC, account)

    prepare, search = commands(DOCUMENT, START).split("rescue/bin/python -m", 1)
    # The virtual environment has the Python that runs the tests.
    run(alone, prepare.replace("python3", sys.executable, 1))
    installed = run(alone, "rescue/bin/python -m pip list --format=freeze").lower()
    assert "flask" not in installed and "jwt" not in installed and "cryptography" not in installed
    assert "usage: python -m tools.collect" in run(
        alone, "rescue/bin/python -W error -m tools.collect --help"
    )

    search = "rescue/bin/python -m" + search.rstrip().replace("\\\n", " ")
    urls = {"https://mainnet.base.org": node.url, "https://mainnet.optimism.io": second_node.url}
    for written, url in urls.items():
        assert search.count(written) == 1
        search = search.replace(written, url)
    search += " --gap 3000"  # five million addresses take some minutes

    # 2. It is interrupted, and goes on.
    with BadNode(node.url) as provider:
        interrupt(alone, search.replace(node.url, provider.url), provider)
    stored = json.loads((alone / "search.json").read_text())["searches"].values()
    assert 1 < max(each["next_index"] for each in stored) < 3_000

    # 3. There is no gas yet.
    told = run(alone, search, exit_code=1)
    assert "search.json: the search of" in told
    (gas,) = set(re.findall(r"gas is paid by (0x\w+), which has 0.000000", told))
    assert f"{gas} has 0.000000 of the network's coin" in told and "send it some" in told
    for chain in (node, second_node):
        anvil.send(chain.rpc, 2, {"to": gas, "value": hex(10**18)})

    # 4. What it leaves, and what it was not asked for.
    told = run(alone, search, exit_code=LEFT)
    assert held(owner) == (2 * PRICE + 11, 0) and held(exchange) == (0, 0)
    assert f"I control {owner} on Local 2." in told
    assert f"The exchange's account of {exchange} is still open, and takes USDC" in told
    assert f"collected {(2 * PRICE + 11) / 10**6} USDC of 2 orders; 0.000011 USDC of it" in told
    local = REGISTRY[CHAIN].look_alikes[0].token_address
    option = f"--also-token {CHAIN}={local}"
    assert f"network {CHAIN} (Local): USDC.e not asked, {option}" in told

    told = run(alone, f"{search} --yes", exit_code=LEFT)
    assert held(owner) == (2 * PRICE + 11, PRICE) and held(exchange) == (0, 0)
    assert chains[1].held(LOOK_ALIKE, owner) == 7
    assert chains[1].held(COIN, owner) == coins + 10**15
    assert "left: 5 USDC, because the exchange wants 10 USDC or more" in told

    # One more order's worth reaches the exchange's minimum. The rest is not wanted.
    anvil.mint(node.rpc, USDC, gathering(exchange), PRICE)
    told = run(alone, f"{search} --yes --complete")
    assert held(exchange) == (MINIMUM, 0)
    assert not (alone / "search.json").exists()


def interrupt(folder, command, provider):
    """Run a command, and press Ctrl-C when it has looked at some addresses."""
    looks = threading.Event()
    batches = itertools.count()

    def hang(questions):
        if len(questions) < 100 or next(batches) < 12:
            return None
        looks.set()
        return SILENCE

    provider.gate(hang)
    with subprocess.Popen(
        shlex.split(command), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert looks.wait(60)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        provider.well()
    assert (process.returncode, said) == (130, "Stopped. Run it again to continue.\n")
