"""The export on the command line shows where the money is."""

import csv
import io
import stat
from datetime import datetime, timedelta

import pytest

from tests.conftest import UNREACHABLE_RPC
from tests.support.factories import PRICE, cli, new_organizer, new_xpub, worker_once
from ticketing.application import configure
from ticketing.chain.errors import RpcError
from ticketing.chain.node import Node
from ticketing.chain.rpc import RpcClient
from ticketing.chain.xpub import derive_address
from ticketing.config import load
from tools import anvil

HEADER = (
    "address,derivation_path,chain_id,token_address,balance,intent_id,status,ended_at,booked,sweep"
)


def export(app, tenant="acme"):
    """Return the command's rows, and its messages."""
    done = app.test_cli_runner().invoke(args=["wallet", "export", tenant])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == HEADER
    return list(csv.DictReader(io.StringIO(done.stdout))), done.stderr


def row(buyer, path, balance):
    """Return the row of a buyer's address."""
    intent = buyer.intent
    return {
        "address": intent["address"],
        "derivation_path": path,
        "chain_id": str(intent["chain_id"]),
        "token_address": intent["token_address"],
        "balance": str(balance),
        "intent_id": intent["id"],
        "status": "awaiting_payment",
        "ended_at": "",
        "booked": "0",
        "sweep": "live",
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
        row(paid, "0/1", PRICE),
        row(unpaid, "0/2", 0),
        row(after, "0/1", 1),
        row(overpaid, "0/2", PRICE + 7),
    ]
    assert told == ""
    derived = [derive_address(xpub, index) for xpub in xpubs for index in (1, 2)]
    assert [each["address"] for each in rows] == derived


def test_a_long_export_goes_in_pages_and_tells_how_far_it_is(app, acme, node, monkeypatch):
    monkeypatch.setattr("ticketing.services.payments.wallet_export.PAGE", 2)
    monkeypatch.setattr("ticketing.cli.csv_file.PROGRESS_ROWS", 2)
    ticket = acme.ticket()
    buyers = [acme.buyer(ticket) for _ in range(5)]
    for amount, buyer in enumerate(buyers, start=1):
        buyer.pay(node, amount)
    rows, told = export(app, acme.id)
    assert rows == [row(buyer, f"0/{n}", n) for n, buyer in enumerate(buyers, start=1)]
    assert told.splitlines() == ["2 addresses so far", "4 addresses so far"]


def test_a_file_is_written_whole_or_not_at_all(environ, acme, node, tmp_path):
    acme.buyer(acme.ticket()).pay(node)
    path = tmp_path / "addresses.csv"
    command = ("wallet", "export", "acme", "--output", str(path))
    assert cli(acme.app, *command) == ""
    whole = path.read_text()
    assert whole.startswith(f"{HEADER}\n") and whole.count("\n") == 2
    configure(acme.app, load({**environ, "RPC_URL_31337": UNREACHABLE_RPC}))
    assert "chain 31337 cannot be read" in cli(acme.app, *command, exit_code=1)
    assert path.read_text() == whole


def test_a_tenant_without_a_wallet_has_a_header_and_one_unknown_is_refused(app):
    new_organizer(app, "bare", xpub=None)
    assert export(app, "bare") == ([], "")
    assert "tenant does not exist" in cli(app, "wallet", "export", "nobody", exit_code=1)


def test_an_unreachable_chain_is_told_in_one_sentence_without_its_url(app, acme):
    acme.buyer(acme.ticket())
    said = cli(app, "wallet", "export", "acme", exit_code=1)
    assert said.startswith("Error: chain 31337 cannot be read: the node ")
    assert len(said.splitlines()) == 1 and "127.0.0.1" not in said


def test_a_chain_that_is_not_enabled_any_more_leaves_the_balance_empty(environ, request, node):
    environ["RPC_URL_1"] = UNREACHABLE_RPC
    acme = request.getfixturevalue("acme")
    here, elsewhere = acme.buyer(acme.ticket()), acme.buyer(acme.ticket(chain_id=1))
    here.pay(node)
    command = ("wallet", "export", "acme")
    assert "chain 1 cannot be read" in cli(acme.app, *command, exit_code=1)
    configure(acme.app, load({**environ, "RPC_URL_1": node.url}))
    said = cli(acme.app, *command, exit_code=1)
    assert "chain 1 cannot be read: the node serves chain 31337" in said
    del environ["RPC_URL_1"]
    configure(acme.app, load(environ))
    assert export(acme.app)[0] == [row(here, "0/1", PRICE), row(elsewhere, "0/2", "")]


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


def sweeps(app):
    """Return the export's row of each order."""
    rows, _ = export(app)
    return {each["intent_id"]: each for each in rows}


def pass_time(app, node, seconds):
    node.rpc("evm_increaseTime", seconds)
    node.rpc("anvil_mine", "0x1")
    worker_once(app)


def test_what_may_be_swept_is_marked(app, acme, node):
    ticket = acme.ticket(capacity=None)
    confirmed, unbooked, idle, canceled = (acme.buyer(ticket) for _ in range(4))
    confirmed.pay(node)
    unbooked.pay(node)
    assert canceled.cancel().status_code == 200
    worker_once(app)
    unbooked.pay(node, 1)
    rows = sweeps(app)
    found = {
        each.intent["id"]: (row["status"], int(row["balance"]) - int(row["booked"]), row["sweep"])
        for each in (confirmed, unbooked, idle, canceled)
        if (row := rows[each.intent["id"]])
    }
    assert list(found.values()) == [
        ("confirmed", 0, "yes"),
        ("confirmed", 1, "not_as_booked"),
        ("awaiting_payment", 0, "live"),
        ("canceled", 0, "ended_recently"),
    ]
    worker_once(app)
    assert sweeps(app)[unbooked.intent["id"]]["sweep"] == "yes"


def test_an_order_that_ended_may_be_swept_a_day_later(app, acme, node):
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node, 7)
    worker_once(app)
    assert sweeps(app)[buyer.intent["id"]]["sweep"] == "live"
    pass_time(app, node, 2000)
    row = sweeps(app)[buyer.intent["id"]]
    assert (row["status"], row["booked"], row["sweep"]) == ("expired", "7", "ended_recently")
    deadline = datetime.fromisoformat(buyer.intent["expires_at"])
    assert abs(datetime.fromisoformat(row["ended_at"]) - deadline) < timedelta(seconds=1)
    pass_time(app, node, 84_000)
    assert sweeps(app)[buyer.intent["id"]]["sweep"] == "ended_recently"
    pass_time(app, node, 3000)
    assert sweeps(app)[buyer.intent["id"]]["sweep"] == "yes"


def test_an_address_that_was_swept_and_paid_again_is_swept_again(app, acme, node):
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    worker_once(app)
    pass_time(app, node, 90_000)
    empty(node, buyer.intent["address"])
    assert sweeps(app)[buyer.intent["id"]]["sweep"] == "not_as_booked"
    pass_time(app, node, 61)
    buyer.pay(node)
    assert sweeps(app)[buyer.intent["id"]]["sweep"] == "not_as_booked"
    pass_time(app, node, 61)
    row = sweeps(app)[buyer.intent["id"]]
    assert (row["balance"], row["booked"], row["sweep"]) == (str(PRICE), str(2 * PRICE), "yes")


def empty(node, address):
    """Move the balance of an address, as its owner does."""
    node.rpc("anvil_impersonateAccount", address)
    node.rpc("anvil_setBalance", address, hex(10**18))
    data = f"0xa9059cbb{anvil.BUYER[2:].lower():0>64}{PRICE:064x}"
    call = {"from": address, "to": anvil.TOKEN_ADDRESS, "data": data, "gas": hex(200_000)}
    node.rpc("eth_sendTransaction", call)
    node.rpc("anvil_stopImpersonatingAccount", address)


def test_what_cannot_be_seen_is_not_swept(app, acme, node, environ):
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    worker_once(app)
    del environ["RPC_URL_31337"]
    configure(app, load(environ))
    ((row,), _) = export(app)
    assert (row["balance"], row["booked"], row["sweep"]) == ("", str(PRICE), "not_seen")


def test_a_file_is_readable_by_its_owner_alone(app, acme, node, tmp_path):
    path = tmp_path / "addresses.csv"
    for _ in range(2):
        cli(app, "wallet", "export", "acme", "--output", str(path))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)
    said = cli(app, "wallet", "export", "acme", "--output", str(tmp_path / "no" / "x"), exit_code=1)
    assert "cannot write " in said and said.endswith(": No such file or directory\n")
