"""From an order to its owner, with the files that the service writes and tools.collect."""

import json
import stat
from functools import partial

import pytest

from tests.support import collecting
from tests.support.databases import only_once
from tests.support.factories import PRICE, cli, new_organizer, worker_once
from tests.support.receivers import OWNER, Chain
from tests.support.relayer import held
from ticketing.chain import address, multicall
from ticketing.db.connection import database
from ticketing.models.wallets import Wallet
from tools.stack import ROOT

pytestmark = only_once

LEFT = 3


@pytest.fixture
def owner(node):
    return address.checksum(node.rpc("eth_accounts")[OWNER])


@pytest.fixture
def shop(app, owner):
    """An organizer with an address, on a chain without the factory."""
    shop = new_organizer(app, "shop", address=owner)
    worker_once(app)
    return shop


@pytest.fixture
def run(node, tmp_path, capsys):
    return partial(collecting.run, tmp_path, capsys, node.url)


def sold(shop, node, count):
    ticket = shop.ticket()
    buyers = [shop.buyer(ticket) for _ in range(count)]
    for buyer in buyers:
        buyer.pay(node)
    worker_once(shop.app)
    return buyers


def written(shop, tmp_path, *options):
    """Write the file of the command, and return its path."""
    path = tmp_path / "c.json"
    command = ("wallet", "collections", "shop", "--chain-id", "31337", "--output", str(path))
    cli(shop.app, *command, *options)
    return path


def recovery(tmp_path, shop):
    """Write the recovery file of today."""
    path = tmp_path / "recovery.json"
    cli(shop.app, "wallet", "recovery", "shop", "--output", str(path))
    return path


def test_the_command_writes_what_the_tool_collects(shop, node, owner, tmp_path, run):
    buyers = sold(shop, node, 2)
    shop.buyer(shop.ticket())
    file = written(shop, tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    assert Wallet.get(Wallet.owner == owner).secret not in text
    (wallet,) = json.loads(text)["wallets"]
    assert [(each["intent_id"], each["atomic_amount"]) for each in wallet["orders"]] == [
        (buyer.intent["id"], PRICE) for buyer in buyers
    ]
    code, told = run(file)
    assert (code, held(node, owner)) == (0, 2 * PRICE)
    assert "collected 10 USDC of 2 orders" in told
    assert run(file)[0] == 0
    assert held(node, owner) == 2 * PRICE


def test_an_order_that_was_paid_since_stays_until_it_is_booked(shop, node, owner, tmp_path, run):
    _, second = sold(shop, node, 2)
    file = written(shop, tmp_path)
    second.pay(node, 1_000_000)
    code, told = run(file)
    assert (code, held(node, owner)) == (LEFT, PRICE)
    assert f"left: {second.intent['id']}, which holds another sum" in told
    assert "Wait a minute, write the file again, and repeat this" in told
    worker_once(shop.app)
    assert run(written(shop, tmp_path))[0] == 0
    assert held(node, owner) == 2 * PRICE + 1_000_000


def test_all_orders_are_looked_at_for_another_token(shop, node, owner, tmp_path, run):
    unpaid = shop.buyer(shop.ticket())
    chain = Chain(node)
    other = chain.token()
    chain.mint(other, (unpaid.intent["address"], 5))
    assert run(written(shop, tmp_path), "--token", other)[0] == 0
    assert chain.held(other, owner) == 0
    assert run(written(shop, tmp_path, "--all"), "--token", other)[0] == 0
    assert chain.held(other, owner) == 5


def test_an_exchange_gets_its_minimum_or_nothing(shop, node, owner, tmp_path, run):
    Wallet.update(least_collected=2 * PRICE).where(Wallet.owner == owner).execute()
    sold(shop, node, 1)
    code, told = run(written(shop, tmp_path))
    assert (code, held(node, owner)) == (LEFT, 0)
    assert "the exchange wants 10 USDC or more" in told
    sold(shop, node, 1)
    assert run(written(shop, tmp_path))[0] == 0
    assert held(node, owner) == 2 * PRICE


@pytest.mark.parametrize("sold_at_once", [1, 2])
def test_the_recovery_file_keeps_an_exchanges_minimum(
    shop, node, owner, tmp_path, run, sold_at_once
):
    columns = {"is_exchange": True, "least_collected": 2 * PRICE}
    Wallet.update(columns).where(Wallet.owner == owner).execute()
    sold(shop, node, sold_at_once)
    options = (recovery(tmp_path, shop), "--gap", "50", "--complete")
    code, told = run(*options)
    assert (code, held(node, owner)) == (LEFT, 0)
    assert f"The exchange's account of {owner} is still open, and takes USDC on Local." in told
    code, told = run(*options, "--yes")
    if sold_at_once == 1:
        assert (code, held(node, owner)) == (LEFT, 0)
        assert "left: 5 USDC, because the exchange wants 10 USDC or more" in told
    else:
        assert (code, held(node, owner)) == (0, 2 * PRICE)


def test_the_command_says_why_it_has_nothing(app, node):
    new_organizer(app, "shop", address=None)
    command = ("wallet", "collections", "shop", "--chain-id")
    assert "set RPC_URL_8453" in cli(app, *command, "8453", exit_code=1)
    assert "has not read chain 31337" in cli(app, *command, "31337", exit_code=1)


@pytest.mark.long
def test_the_recovery_file_of_the_first_day_finds_all_without_a_database(
    app, shop, node, owner, tmp_path, run
):
    """The story of an organizer who has lost everything but one old file."""
    file = recovery(tmp_path, shop)
    assert Wallet.get(Wallet.owner == owner).next_index == 1
    sold(shop, node, 2)
    # Orders that nobody pays leave nothing behind but a higher index.
    Wallet.update(next_index=Wallet.next_index + 20_000).where(Wallet.owner == owner).execute()
    sold(shop, node, 1)
    cli(app, "db", "restored", "--skip", "100000")
    sold(shop, node, 2)
    assert Wallet.get(Wallet.owner == owner).next_index == 120_006
    database.close()
    (tmp_path / "ticketing.db").unlink()
    built = json.loads((ROOT / "tools" / "contracts" / "TestMulticall.json").read_text())
    node.rpc("anvil_setCode", multicall.ADDRESS, built["runtime"])
    # A gap of five million is looked at in some minutes. Here it is what `db restored` skips.
    code, told = run(file, "--gap", "110000", "--complete")
    assert (code, held(node, owner)) == (0, 5 * PRICE)
    assert "5 hold something" in told
