"""Where the money is, told on the command line; and how its owner, offline, moves it."""

import csv
import io
import json
import os
import pty
import select
import subprocess
import sys
import termios
import time

import pytest

from tests.conftest import UNREACHABLE_RPC
from tests.support.factories import PRICE, cli, new_organizer, new_xpub, run
from ticketing.chain.errors import RpcError
from ticketing.chain.node import Node
from ticketing.chain.rpc import RpcClient
from ticketing.chain.xpub import derive_address
from ticketing.models.tenants import Wallet
from tools import anvil
from tools.stack import ROOT

HEADER = "address,derivation_path,chain_id,token_address,balance,intent_id"
PHRASE = "test test test test test test test test test test test junk"
ANOTHER_PHRASE = "legal winner thank year wave sausage worth useful legal winner thank yellow"
SAFE = "0x00000000219ab540356cBB839Cbe05303d7705Fa"
RELAYER = 2
PATIENCE_SECONDS = 30


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


def held(node, address):
    (balance,) = Node(RpcClient([node.url])).balances(anvil.TOKEN_ADDRESS, [address])
    return balance


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


def test_balances_are_asked_in_batches_and_come_in_order(processes):
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


@pytest.fixture
def offline(tmp_path):
    """An environment in which a Python process that opens a socket dies."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "sys.addaudithook(lambda event, _: event.startswith('socket.') and os._exit(99))\n"
    )
    return {"PYTHONPATH": str(tmp_path)}


@pytest.fixture
def exported(app, node, tmp_path):
    """The export of a tenant whose seed phrase is known, and the three buyers who paid."""
    demo = new_organizer(app, "demo", xpub=anvil.DEMO_XPUB)
    # The first ten addresses are the node's own rich accounts.
    Wallet.update(next_index=10).execute()
    ticket = demo.ticket()
    buyers = [demo.buyer(ticket) for _ in range(4)]
    for buyer in buyers[:3]:
        buyer.pay(node)
    path = tmp_path / "addresses.csv"
    cli(app, "wallet", "export", "demo", "--output", str(path))
    return path, buyers[:3]


def sweep(environ, path, phrase, *options):
    """Run the tool with a terminal of its own, type the phrase at its prompt; all that it said."""
    ours, theirs = pty.openpty()
    arguments = [str(path), "--to", SAFE, "--chain-id", "31337"]
    arguments += ["--token-name", "USD Coin", "--token-version", "2", *options]
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.sweep", *arguments],
        cwd=ROOT,
        env=environ,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    prompt = b""
    while not prompt.endswith(b": "):
        asked, _, _ = select.select([process.stderr], [], [], PATIENCE_SECONDS)
        said = os.read(process.stderr.fileno(), 1024) if asked else b""
        if not said:
            process.kill()
            pytest.fail(f"it asked for no phrase, but said {prompt!r}")
        prompt += said
    assert not termios.tcgetattr(theirs)[3] & termios.ECHO
    os.write(ours, f"{phrase}\n".encode())
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    os.close(theirs)
    echoed = drained(ours)
    assert phrase.encode() not in out + err + echoed
    return process.returncode, out.decode(), err.decode()


def drained(terminal):
    """What a terminal still shows once nobody writes to it any more."""
    shown = b""
    try:
        while more := os.read(terminal, 1024):
            shown += more
    except OSError:
        pass  # Linux says EIO at the end.
    os.close(terminal)
    return shown


def submit(node, authorization, *, refused=None):
    """Do as a relayer does; the token must take it, or refuse it for the reason given."""
    call = {"to": authorization["token"], "data": authorization["calldata"]}
    if refused is None:
        anvil.send(node.rpc, RELAYER, call)
        return
    with pytest.raises(RuntimeError, match=refused):
        node.rpc("eth_call", call, "latest")
    with pytest.raises(RuntimeError, match="failed"):
        anvil.send(node.rpc, RELAYER, call)


def test_the_owner_sweeps_offline_and_a_relayer_pays_the_gas(offline, exported, node):
    path, buyers = exported
    before = int(time.time())
    code, out, told = sweep(offline, path, PHRASE)
    after = time.time()
    assert code == 0, told
    assert told.strip() == f"signed 3 transfers of {3 * PRICE} atomic units in all"
    authorizations = json.loads(out)
    assert [each["from"] for each in authorizations] == [b.intent["address"] for b in buyers]
    assert len({each["nonce"] for each in authorizations}) == 3
    for each in authorizations:
        assert (each["to"], each["value"], each["chain_id"]) == (SAFE, str(PRICE), 31337)
        assert (each["token"], each["valid_after"]) == (anvil.TOKEN_ADDRESS, 0)
        assert before <= each["valid_before"] - 86400 <= after
        assert int(node.rpc("eth_getBalance", each["from"], "latest"), 16) == 0
        submit(node, each)
        assert held(node, each["from"]) == 0
    assert held(node, SAFE) == 3 * PRICE
    submit(node, authorizations[0], refused="authorization is used")
    assert held(node, SAFE) == 3 * PRICE


def test_what_is_signed_goes_to_a_file_only_once_it_is_whole(offline, exported, tmp_path):
    output = tmp_path / "signed.json"
    output.write_text("as before")
    options = ("--output", str(output))
    code, out, _ = sweep(offline, exported[0], ANOTHER_PHRASE, *options)
    assert (code, out, output.read_text()) == (1, "", "as before")
    code, out, told = sweep(offline, exported[0], PHRASE, *options)
    assert (code, out) == (0, "") and told.strip().startswith("signed 3 transfers")
    assert len(json.loads(output.read_text())) == 3
    code, out, told = sweep(offline, exported[0], PHRASE, "--output", str(tmp_path))
    assert (code, out) == (1, "")
    assert told.strip() == f"Error: {tmp_path} cannot be written: Is a directory."


def test_nobody_can_change_an_authorization_or_use_it_late(offline, exported, node):
    path, _ = exported
    first, second, _ = json.loads(sweep(offline, path, PHRASE, "--valid-seconds", "600")[1])
    stolen = first["calldata"].replace(SAFE[2:].lower(), anvil.BUYER[2:].lower())
    assert stolen != first["calldata"]
    submit(node, {**first, "calldata": stolen}, refused="invalid signature")
    submit(node, first)
    node.rpc("evm_increaseTime", 601)
    node.rpc("anvil_mine", "0x1")
    submit(node, second, refused="authorization is expired")


@pytest.mark.parametrize(
    ("phrase", "options", "sentence"),
    [
        (ANOTHER_PHRASE, (), "3 of 3 addresses are not of account 0 of this seed phrase"),
        (ANOTHER_PHRASE, ("--skip-others",), "3 of 3 addresses are not of account 0"),
        (PHRASE, ("--account", "1"), "3 of 3 addresses are not of account 1"),
        (PHRASE.replace("junk", "test"), (), "this is not a valid seed phrase"),
        (PHRASE.replace("junk", "junkk"), (), "this is not a valid seed phrase"),
    ],
)
def test_a_wrong_phrase_is_refused(offline, exported, phrase, options, sentence):
    code, out, told = sweep(offline, exported[0], phrase, *options)
    assert (code, out) == (1, "")
    assert told.strip().startswith(f"Error: {sentence}") and len(told.strip().splitlines()) == 1


def test_a_wallet_replaced_in_between_is_refused_unless_it_is_passed_over(offline, exported):
    path, buyers = exported
    lines = path.read_text().splitlines()
    stranger = derive_address(new_xpub(), 10)
    lines.append(lines[1].replace(buyers[0].intent["address"], stranger))
    path.write_text("\n".join(lines))
    code, out, told = sweep(offline, path, PHRASE)
    assert (code, out) == (1, "")
    assert "1 of 4 addresses" in told and stranger in told
    code, out, _ = sweep(offline, path, PHRASE, "--skip-others")
    assert (code, len(json.loads(out))) == (0, 3)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda text: text.replace("derivation_path", "path"), "is not an export"),
        (lambda text: text.replace("0/10", "1/10"), "row 2 of"),
        (lambda text: text.replace(str(PRICE), "-1"), "row 2 of"),
        (lambda text: text.replace(",31337,", ",1,"), "holds anything on chain 31337"),
        (lambda text: text.replace(anvil.TOKEN_ADDRESS, SAFE), "--to is the token's own contract"),
        (lambda text: text, "typed at a terminal, and there is none"),
    ],
)
def test_a_wrong_export_is_refused_before_the_phrase_is_asked_for(
    offline, exported, change, sentence
):
    path, _ = exported
    path.write_text(change(path.read_text()))
    arguments = (str(path), "--to", SAFE, "--chain-id", "31337", "--token-name", "x")
    with subprocess.Popen(
        [sys.executable, "-m", "tools.sweep", *arguments, "--token-version", "2"],
        cwd=ROOT,
        env=offline,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        out, told = process.communicate(f"{PHRASE}\n".encode(), timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (1, b"")
    assert sentence in told.decode() and PHRASE not in told.decode()


def test_an_export_that_is_not_there_is_told_in_one_sentence(offline, processes):
    terms = ("--to", SAFE, "--chain-id", "1", "--token-name", "x", "--token-version", "2")
    done = run(offline, "tools.sweep", "nothere.csv", *terms)
    assert (done.returncode, done.stdout) == (1, "")
    told = "Error: nothere.csv cannot be read: No such file or directory. Nothing was signed.\n"
    assert done.stderr == told


@pytest.mark.parametrize("to", [SAFE.lower(), SAFE[:-1] + "A", "0x" + "0" * 40, "0x12", "safe"])
def test_the_destination_must_carry_its_checksum(offline, to, processes):
    terms = ("--chain-id", "1", "--token-name", "x", "--token-version", "2")
    done = run(offline, "tools.sweep", "addresses.csv", "--to", to, *terms)
    assert done.returncode == 2 and "argument --to: " in done.stderr
