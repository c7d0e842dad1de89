"""The owner of the money moves it, offline."""

import json
import time

import pytest

from tests.support.databases import only_once
from tests.support.factories import PRICE, cli, new_organizer, new_xpub, worker_once
from tests.support.relayer import held, submit
from tests.support.terminal import (
    PHRASE,
    call,
    offline_environ,
    run_without_terminal,
    type_phrase,
)
from ticketing.chain.xpub import derive_address
from tools import anvil
from tools.sweep import main
from tools.sweep_export import COLUMNS

pytestmark = pytest.mark.exhaustive

ANOTHER_PHRASE = "legal winner thank year wave sausage worth useful legal winner thank yellow"
SAFE = "0x00000000219ab540356cBB839Cbe05303d7705Fa"
TERMS = ("--token-name", "USD Coin", "--token-version", "2")
ADDRESSES = [derive_address(anvil.SELLER_XPUB, index) for index in range(8)]
LAST_INDEX = 4
"""Of the orders in `export`."""
LATER_ADDRESSES = 2


@pytest.fixture(autouse=True)
def few_later_addresses(monkeypatch):
    """To derive a hundred addresses takes two seconds."""
    monkeypatch.setattr("tools.sweep.LATER_ADDRESSES", LATER_ADDRESSES)


@pytest.fixture
def offline(tmp_path, starts_processes):
    """An environment in which a Python process that opens a socket ends at once."""
    return offline_environ(str(tmp_path))


@pytest.fixture
def export(tmp_path):
    """An export as the service writes it: three orders are paid, and one is not."""
    path = tmp_path / "addresses.csv"
    rows = [
        (ADDRESSES[index], f"0/{index}", "31337", anvil.TOKEN_ADDRESS, *columns)
        for index, columns in enumerate(
            [
                *[(str(PRICE), "int_1", "confirmed", "", str(PRICE), "yes")] * 3,
                ("0", "int_4", "awaiting_payment", "", "0", "live"),
            ],
            start=1,
        )
    ]
    path.write_text("".join(f"{','.join(row)}\n" for row in (COLUMNS, *rows)))
    return path


def arguments(path, *options, to=SAFE):
    """Return the arguments to sweep an export of the local chain."""
    return [str(path), "--account", "1", "--to", to, "--chain-id", "31337", *TERMS, *options]


def sweep(path, phrase, *options, to=SAFE):
    """Call the tool, and give the phrase to its prompt."""
    return call(main, arguments(path, *options, to=to), phrase)


def swept(path, *options, to=SAFE):
    """Return the authorizations for an export, and the messages."""
    code, out, told = sweep(path, PHRASE, *options, to=to)
    assert code == 0, told
    return json.loads(out), told


def change(path, old, new):
    """Replace text in a file that has it."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_the_owner_sweeps_offline_at_a_terminal(offline, export):
    code, out, told = type_phrase(offline, "tools.sweep", arguments(export), PHRASE)
    assert code == 0, told
    assert told.strip() == f"signed 3 transfers of {3 * PRICE} atomic units in all"
    assert [each["from"] for each in json.loads(out)] == ADDRESSES[1:LAST_INDEX]


def test_a_wrong_phrase_is_not_repeated_at_the_terminal(offline, export):
    code, out, told = type_phrase(offline, "tools.sweep", arguments(export), f"{PHRASE}k")
    sentence = "Error: this is not a valid seed phrase. Nothing was signed."
    assert (code, out, told.strip()) == (1, "", sentence)


def test_without_a_terminal_nothing_is_asked(offline, export):
    done = run_without_terminal(offline, "tools.sweep", arguments(export), f"{PHRASE}\n")
    sentence = "Error: type the seed phrase at a terminal: there is none. Nothing was signed.\n"
    assert done == (1, "", sentence)


def test_a_relayer_submits_what_is_signed_and_pays_the_gas(app, node, tmp_path):
    demo = new_organizer(app, "demo", xpub=anvil.SELLER_XPUB)
    ticket = demo.ticket()
    buyers = [demo.buyer(ticket) for _ in range(5)]
    for buyer in buyers[:4]:
        buyer.pay(node)
    worker_once(app)
    buyers[3].pay(node, 1)
    path = tmp_path / "addresses.csv"
    cli(app, "wallet", "export", "demo", "--output", str(path))
    before = int(time.time())
    authorizations, told = swept(path)
    after = time.time()
    assert told.splitlines() == [
        "skipped (not as booked): 1",
        f"signed 3 transfers of {3 * PRICE} atomic units in all",
    ]
    assert [each["from"] for each in authorizations] == [b.intent["address"] for b in buyers[:3]]
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


@only_once
def test_nobody_can_change_an_authorization_or_use_it_late(node, export):
    for address in ADDRESSES[1:3]:
        anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, address, PRICE)
    (first, second, _), _ = swept(export, "--valid-seconds", "600")
    stolen = first["calldata"].replace(SAFE[2:].lower(), anvil.BUYER[2:].lower())
    assert stolen != first["calldata"]
    submit(node, {**first, "calldata": stolen}, refused="invalid signature")
    submit(node, first)
    node.rpc("evm_increaseTime", 601)
    node.rpc("anvil_mine", "0x1")
    submit(node, second, refused="authorization is expired")


def test_what_is_signed_goes_to_a_file_only_once_it_is_whole(export, tmp_path):
    output = tmp_path / "signed.json"
    output.write_text("as before")
    code, out, _ = sweep(export, ANOTHER_PHRASE, "--output", str(output))
    assert (code, out, output.read_text()) == (1, "", "as before")
    code, out, told = sweep(export, PHRASE, "--output", str(output))
    assert (code, out) == (0, "") and told.startswith("signed 3 transfers")
    assert len(json.loads(output.read_text())) == 3
    code, out, told = sweep(export, PHRASE, "--output", str(tmp_path))
    assert (code, out) == (1, "")
    assert told == f"Error: cannot write {tmp_path}: Is a directory.\n"


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
def test_a_wrong_phrase_is_refused(export, phrase, options, sentence):
    code, out, told = sweep(export, phrase, *options)
    assert (code, out) == (1, "")
    assert told.startswith(f"Error: {sentence}") and len(told.splitlines()) == 1


def test_a_wallet_replaced_in_between_is_refused_unless_it_is_passed_over(export):
    stranger = derive_address(new_xpub(), 10)
    row = export.read_text().splitlines()[1].replace(ADDRESSES[1], stranger)
    export.write_text(f"{export.read_text()}{row}\n")
    code, out, told = sweep(export, PHRASE)
    assert (code, out) == (1, "")
    assert "1 of 4 addresses" in told and stranger in told
    assert len(swept(export, "--skip-others")[0]) == 3


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("derivation_path", "path", "is not an export"),
        ("0/1,", "1/1,", "row 2 of"),
        (str(PRICE), "-1", "row 2 of"),
        (",yes", ",perhaps", "row 2 of"),
        (",yes", ",live", "all addresses with a balance on chain 31337"),
        (",31337,", ",1,", "has a balance on chain 31337"),
        (anvil.TOKEN_ADDRESS, SAFE, "--to is the token's own contract"),
    ],
)
def test_a_wrong_export_is_refused_before_the_phrase_is_asked_for(export, old, new, sentence):
    change(export, old, new)
    code, out, told = sweep(export, None)
    assert (code, out) == (1, "")
    assert sentence in told and "Nothing was signed." in told


def test_an_export_that_is_not_there_is_told_in_one_sentence():
    told = "Error: cannot read nothere.csv: No such file or directory. Nothing was signed.\n"
    assert sweep("nothere.csv", None) == (1, "", told)


@pytest.mark.parametrize("to", [SAFE.lower(), SAFE[:-1] + "A", "0x" + "0" * 40, "0x12", "safe"])
def test_the_destination_must_carry_its_checksum(export, to):
    code, out, told = sweep(export, None, to=to)
    assert (code, out) == (2, "") and "argument --to: " in told


def test_addresses_that_may_not_be_swept_are_left_out(export):
    first, second, third, fourth = export.read_text().splitlines()[1:]
    first = first.replace(",yes", ",not_as_booked")
    second = second.replace(",yes", ",ended_recently")
    export.write_text("\n".join([",".join(COLUMNS), first, second, third, fourth]))
    authorizations, told = swept(export)
    assert [each["from"] for each in authorizations] == [ADDRESSES[3]]
    assert told.startswith("skipped (ended recently): 1\nskipped (not as booked): 1\n")


@pytest.mark.parametrize("chain_id", ["31337", "8453"])
def test_an_address_that_was_ever_issued_is_no_destination(export, chain_id):
    code, out, told = sweep(export, None, "--chain-id", chain_id, to=ADDRESSES[LAST_INDEX])
    assert (code, out) == (1, "")
    assert told.startswith("Error: --to is the address of an order")


def test_an_address_that_was_issued_after_the_export_is_no_destination(export):
    last = LAST_INDEX + LATER_ADDRESSES
    code, out, told = sweep(export, PHRASE, to=ADDRESSES[last])
    assert (code, out) == (1, "")
    assert told.startswith(f"Error: --to is an address for orders: 0/{last} of this account")
    assert len(swept(export, to=ADDRESSES[last + 1])[0]) == 3


def test_the_organizers_own_address_is_a_destination(export):
    authorizations, _ = swept(export, to=ADDRESSES[0])
    assert {each["to"] for each in authorizations} == {ADDRESSES[0]}
