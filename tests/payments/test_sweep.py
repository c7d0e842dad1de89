"""The owner of the money moves it, offline."""

import json
import subprocess
import sys
import time

import pytest

from tests.support.factories import PRICE, cli, new_organizer, new_xpub, run, worker_once
from tests.support.relayer import held, submit
from tests.support.remote import PATIENCE_SECONDS
from tests.support.terminal import PHRASE, offline_environ, type_phrase
from ticketing.chain.xpub import derive_address
from tools import anvil
from tools.stack import ROOT

ANOTHER_PHRASE = "legal winner thank year wave sausage worth useful legal winner thank yellow"
SAFE = "0x00000000219ab540356cBB839Cbe05303d7705Fa"


@pytest.fixture
def offline(tmp_path):
    """An environment in which a Python process that opens a socket ends at once."""
    return offline_environ(str(tmp_path))


@pytest.fixture
def exported(app, node, tmp_path):
    """The export of a tenant with a known seed phrase, and the three buyers who paid."""
    demo = new_organizer(app, "demo", xpub=anvil.SELLER_XPUB)
    ticket = demo.ticket()
    buyers = [demo.buyer(ticket) for _ in range(4)]
    for buyer in buyers[:3]:
        buyer.pay(node)
    worker_once(app)
    path = tmp_path / "addresses.csv"
    cli(app, "wallet", "export", "demo", "--output", str(path))
    return path, buyers[:3]


def sweep(environ, path, phrase, *options, to=SAFE):
    """Run the tool in a terminal and type the phrase at its prompt."""
    arguments = [str(path), "--account", "1", "--to", to, "--chain-id", "31337"]
    arguments += ["--token-name", "USD Coin", "--token-version", "2", *options]
    return type_phrase(environ, "tools.sweep", arguments, phrase)


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
    assert told.strip() == f"Error: cannot write {tmp_path}: Is a directory."


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
        (ANOTHER_PHRASE, (), "3 of 3 addresses are not of account 1 of this seed phrase"),
        (ANOTHER_PHRASE, ("--skip-others",), "3 of 3 addresses are not of account 1"),
        (PHRASE, ("--account", "0"), "3 of 3 addresses are not of account 0"),
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
        (lambda text: text.replace("0/1,", "1/1,"), "row 2 of"),
        (lambda text: text.replace(str(PRICE), "-1"), "row 2 of"),
        (lambda text: text.replace(",yes", ",perhaps"), "row 2 of"),
        (lambda text: text.replace(",yes", ",live"), "all addresses with a balance on chain 31337"),
        (lambda text: text.replace(",31337,", ",1,"), "has a balance on chain 31337"),
        (lambda text: text.replace(anvil.TOKEN_ADDRESS, SAFE), "--to is the token's own contract"),
        (lambda text: text, "at a terminal: there is none"),
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


def test_an_export_that_is_not_there_is_told_in_one_sentence(offline, starts_processes):
    terms = ("--to", SAFE, "--chain-id", "1", "--token-name", "x", "--token-version", "2")
    done = run(offline, "tools.sweep", "nothere.csv", *terms)
    assert (done.returncode, done.stdout) == (1, "")
    told = "Error: cannot read nothere.csv: No such file or directory. Nothing was signed.\n"
    assert done.stderr == told


@pytest.mark.parametrize("to", [SAFE.lower(), SAFE[:-1] + "A", "0x" + "0" * 40, "0x12", "safe"])
def test_the_destination_must_carry_its_checksum(offline, to, starts_processes):
    terms = ("--chain-id", "1", "--token-name", "x", "--token-version", "2")
    done = run(offline, "tools.sweep", "addresses.csv", "--to", to, *terms)
    assert done.returncode == 2 and "argument --to: " in done.stderr


def test_addresses_that_may_not_be_swept_are_left_out(offline, exported, app, node):
    path, buyers = exported
    buyers[0].pay(node, 1)
    cli(app, "wallet", "export", "demo", "--output", str(path))
    code, out, told = sweep(offline, path, PHRASE)
    assert code == 0, told
    assert [each["from"] for each in json.loads(out)] == [b.intent["address"] for b in buyers[1:]]
    assert told.startswith("skipped (not as booked): 1\n")
    lines = path.read_text().replace(",yes", ",ended_recently", 1).splitlines()
    path.write_text("\n".join(lines))
    code, out, told = sweep(offline, path, PHRASE)
    assert [each["from"] for each in json.loads(out)] == [buyers[2].intent["address"]]
    assert "skipped (ended recently): 1" in told


def test_an_address_that_was_ever_issued_is_no_destination(offline, exported, app):
    path, _ = exported
    unpaid = path.read_text().splitlines()[-1].split(",")[0]
    terms = ("--chain-id", "8453", "--token-name", "x", "--token-version", "2")
    done = run(offline, "tools.sweep", str(path), "--to", unpaid, *terms)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: --to is the address of an order")


def test_an_address_that_was_issued_after_the_export_is_no_destination(offline, exported):
    path, _ = exported  # it ends with 0/4
    code, out, told = sweep(offline, path, PHRASE, to=derive_address(anvil.SELLER_XPUB, 6))
    assert (code, out) == (1, "")
    assert told.strip().startswith("Error: --to is an address for orders: 0/6 of this account")


def test_the_organizers_own_address_is_a_destination(offline, exported):
    path, _ = exported
    own = derive_address(anvil.SELLER_XPUB, 0)
    code, out, told = sweep(offline, path, PHRASE, to=own)
    assert code == 0, told
    assert {each["to"] for each in json.loads(out)} == {own}
