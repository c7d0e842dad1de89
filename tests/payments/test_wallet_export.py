"""Where the money is: every address ever issued, told on the command line."""

import csv
import io

import pytest

from tests.conftest import UNREACHABLE_RPC
from tests.support.factories import PRICE, cli, new_organizer, new_xpub, run
from ticketing.chain.errors import RpcError
from ticketing.chain.node import Node
from ticketing.chain.rpc import RpcClient
from ticketing.chain.xpub import derive_address
from tools import anvil

HEADER = "address,derivation_path,chain_id,token_address,balance,intent_id"


def export(app, tenant="acme"):
    """What the command says: the rows, and what it tells meanwhile."""
    done = app.test_cli_runner().invoke(args=["wallet", "export", tenant])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == HEADER
    return list(csv.DictReader(io.StringIO(done.stdout))), done.stderr


def row(buyer, path, balance):
    """The row of a buyer's address."""
    intent = buyer.intent
    return {
        "address": intent["address"],
        "derivation_path": path,
        "chain_id": str(intent["chain_id"]),
        "token_address": intent["token_address"],
        "balance": str(balance),
        "intent_id": intent["id"],
    }


def test_every_address_ever_issued_is_exported_with_what_it_holds(app, acme, neighbour, node):
    ticket = acme.ticket()
    paid, unpaid = acme.buyer(ticket), acme.buyer(ticket)
    acme.buyer(acme.ticket(price_amount=0, chain_id=None))
    xpubs = [acme.api().get(f"{acme.path}/wallet").json["xpub"], new_xpub()]
    assert acme.api().put(f"{acme.path}/wallet", {"xpub": xpubs[1]}).status_code == 200
    after, overpaid = acme.buyer(ticket), acme.buyer(ticket)
    paid.pay(node)
    after.pay(node, 1)
    overpaid.pay(node, PRICE + 7)
    neighbour.buyer(neighbour.ticket()).pay(node)
    rows, told = export(app)
    assert rows == [
        row(paid, "0/0", PRICE),
        row(unpaid, "0/1", 0),
        row(after, "0/0", 1),
        row(overpaid, "0/1", PRICE + 7),
    ]
    assert told == ""
    derived = [derive_address(xpub, index) for xpub in xpubs for index in (0, 1)]
    assert [each["address"] for each in rows] == derived


def test_a_long_export_goes_in_pages_and_tells_how_far_it_is(app, acme, node, monkeypatch):
    monkeypatch.setattr("ticketing.services.payments.wallet_export.PAGE", 2)
    monkeypatch.setattr("ticketing.cli.wallet.PROGRESS_ROWS", 2)
    ticket = acme.ticket()
    buyers = [acme.buyer(ticket) for _ in range(5)]
    for amount, buyer in enumerate(buyers, start=1):
        buyer.pay(node, amount)
    rows, told = export(app, acme.id)
    assert rows == [row(buyer, f"0/{n}", n + 1) for n, buyer in enumerate(buyers)]
    assert told.splitlines() == ["2 addresses so far", "4 addresses so far"]


def test_a_file_is_written_whole_or_not_at_all(environ, acme, node, tmp_path):
    acme.buyer(acme.ticket()).pay(node)
    path = tmp_path / "addresses.csv"
    command = ("--app", "app", "wallet", "export", "acme", "--output", str(path))
    done = run(environ, "flask", *command)
    assert (done.returncode, done.stdout) == (0, ""), done
    whole = path.read_text()
    assert whole.startswith(f"{HEADER}\n") and whole.count("\n") == 2
    done = run({**environ, "RPC_URL_31337": UNREACHABLE_RPC}, "flask", *command)
    assert done.returncode == 1
    assert path.read_text() == whole


def test_a_tenant_without_a_wallet_has_a_header_and_one_unknown_is_refused(app):
    new_organizer(app, "bare", xpub=None)
    assert export(app, "bare") == ([], "")
    assert "no such tenant" in cli(app, "wallet", "export", "nobody", exit_code=1)


def test_an_unreachable_chain_is_told_in_one_sentence_without_its_url(app, acme):
    acme.buyer(acme.ticket())
    said = cli(app, "wallet", "export", "acme", exit_code=1)
    assert said.startswith("Error: chain 31337 cannot be seen: the node cannot be reached")
    assert len(said.splitlines()) == 1 and "127.0.0.1" not in said


def test_a_chain_that_is_not_enabled_any_more_leaves_the_balance_empty(environ, request, node):
    environ["RPC_URL_1"] = UNREACHABLE_RPC
    acme = request.getfixturevalue("acme")
    here, elsewhere = acme.buyer(acme.ticket()), acme.buyer(acme.ticket(chain_id=1))
    here.pay(node)
    command = ("--app", "app", "wallet", "export", "acme")
    assert "chain 1 cannot be seen" in run(environ, "flask", *command).stderr
    done = run({**environ, "RPC_URL_1": node.url}, "flask", *command)
    assert "chain 1 cannot be seen: the node answers for chain 31337" in done.stderr
    del environ["RPC_URL_1"]
    rows = list(csv.DictReader(io.StringIO(run(environ, "flask", *command).stdout)))
    assert rows == [row(here, "0/0", PRICE), row(elsewhere, "0/1", "")]


def test_balances_are_asked_in_batches_and_come_in_order(starts_processes):
    xpub = new_xpub()
    addresses = [derive_address(xpub, index) for index in range(205)]
    with anvil.Anvil() as chain:
        anvil.ensure_token(chain.rpc)
        for index in (0, 99, 100, 204):
            anvil.transfer(chain.rpc, anvil.TOKEN_ADDRESS, addresses[index], index + 1)
        reader = Node(RpcClient([chain.url]))
        found = reader.balances(anvil.TOKEN_ADDRESS, addresses)
        assert {i: held for i, held in enumerate(found) if held} == {
            0: 1,
            99: 100,
            100: 101,
            204: 205,
        }
        assert len(found) == 205
        assert reader.balances(anvil.TOKEN_ADDRESS, []) == []
        with pytest.raises(RpcError, match="32-byte word"):
            reader.balances(addresses[0], addresses)
