"""How the organizer pays refunds offline, straight from the payment addresses."""

import csv
import json
import os
import time

import pytest

from tests.support.databases import only_once
from tests.support.factories import PRICE, cli, new_organizer, worker_once
from tests.support.refunds import (
    FRIEND_ADDRESS,
    STRANGER_ADDRESS,
    listed,
    settled,
    state,
    waive,
)
from tests.support.relayer import held, submit
from tests.support.terminal import PHRASE, call, offline_environ, type_phrase
from ticketing.chain.xpub import derive_address
from tools import anvil
from tools.sweep import main
from tools.sweep_refunds import COLUMNS

TERMS = ("--chain-id", "31337", "--token-name", "USD Coin", "--token-version", "2")


@pytest.fixture
def demo(app, node):
    """A tenant whose seed phrase is known."""
    return new_organizer(app, "demo", xpub=anvil.SELLER_XPUB)


@pytest.fixture
def buyers(demo, node):
    """Two who paid 7 too much and stated where it goes, and one who did not say."""
    ticket = demo.ticket()
    found = [demo.buyer(ticket) for _ in range(3)]
    worker_once(demo.app)
    for buyer in found:
        buyer.pay(node, PRICE + 7)
    worker_once(demo.app)
    state(found[0], FRIEND_ADDRESS)
    state(found[1], STRANGER_ADDRESS)
    return found


def export(organizer, path):
    """Export to a file, and return its rows."""
    cli(organizer.app, "refunds", "export", organizer.slug, "--output", str(path))
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def sign(path):
    """Sign what an export says; return the authorizations and what was told."""
    code, out, told = call(main, ["--refunds", str(path), "--account", "1", *TERMS], PHRASE)
    assert code == 0, told
    return json.loads(out), told


def test_the_export_says_what_is_owed_from_where_to_whom(demo, node, buyers, tmp_path):
    waive(demo, buyers[1], 7)
    rows = export(demo, tmp_path / "refunds.csv")
    assert rows[0] == {
        "intent_id": buyers[0].intent["id"],
        "address": buyers[0].intent["address"],
        "derivation_path": "0/1",
        "chain_id": "31337",
        "token_address": anvil.TOKEN_ADDRESS,
        "balance": str(PRICE + 7),
        "refund_address": FRIEND_ADDRESS,
        "amount": "7",
        "settled_refunds": "0",
        "send": "yes",
    }
    assert [(row["refund_address"], row["send"]) for row in rows[1:]] == [("", "no_refund_address")]


@only_once
def test_only_the_owner_of_the_file_reads_it(demo, node, buyers, tmp_path):
    path, before = tmp_path / "refunds.csv", os.umask(0)
    try:
        export(demo, path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_relayer_submits_what_the_organizer_signs_and_pays_the_gas(demo, node, buyers, tmp_path):
    path = tmp_path / "refunds.csv"
    export(demo, path)
    before = int(time.time())
    authorizations, told = sign(path)
    assert "skipped (no refund address): 1" in told
    assert "signed 2 transfers of 14 atomic units in all" in told
    assert [(each["to"], each["value"]) for each in authorizations] == [
        (FRIEND_ADDRESS, "7"),
        (STRANGER_ADDRESS, "7"),
    ]
    for buyer, each in zip(buyers, authorizations, strict=False):
        assert each["from"] == buyer.intent["address"]
        assert each["valid_before"] - before <= 72 * 3600
        tx_hash = submit(node, each)
        assert held(node, each["to"]) == 7
        assert settled(demo, buyer, tx_hash) == 7
    assert [each["intent_id"] for each in listed(demo)] == [buyers[2].intent["id"]]


def test_two_exports_cannot_both_pay(demo, node, buyers, tmp_path):
    """The second was made before the first was settled, and after the buyer changed the address."""
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    export(demo, first)
    state(buyers[0], STRANGER_ADDRESS)
    export(demo, second)
    (one, *_), _ = sign(first)
    (other, *_), _ = sign(second)
    assert one["nonce"] == other["nonce"]
    assert (one["to"], other["to"]) == (FRIEND_ADDRESS, STRANGER_ADDRESS)
    tx_hash = submit(node, one)
    submit(node, other, refused="authorization is used")
    assert (held(node, FRIEND_ADDRESS), held(node, STRANGER_ADDRESS)) == (7, 0)
    assert settled(demo, buyers[0], tx_hash) == 7


def test_what_becomes_owed_after_a_settle_can_be_paid(demo, node, buyers, tmp_path):
    path = tmp_path / "refunds.csv"
    export(demo, path)
    (one, *_), _ = sign(path)
    settled(demo, buyers[0], submit(node, one))
    buyers[0].pay(node, 5)
    worker_once(demo.app)
    rows = export(demo, path)
    assert (rows[0]["amount"], rows[0]["settled_refunds"]) == ("5", "1")
    (another, *_), _ = sign(path)
    assert another["nonce"] != one["nonce"]
    assert settled(demo, buyers[0], submit(node, another)) == 12
    assert held(node, FRIEND_ADDRESS) == 12


def test_an_address_that_holds_too_little_is_left_out(demo, node, buyers, tmp_path):
    """Its owner has swept it: what is owed must be paid from elsewhere."""
    path, swept = tmp_path / "refunds.csv", buyers[0].intent["address"]
    node.rpc("anvil_impersonateAccount", swept)
    node.rpc("anvil_setBalance", swept, hex(10**18))
    word = f"{int(STRANGER_ADDRESS, 16):064x}{PRICE + 1:064x}"
    call = {"from": swept, "to": anvil.TOKEN_ADDRESS, "data": f"0xa9059cbb{word}"}
    node.rpc("eth_sendTransaction", call)
    rows = export(demo, path)
    assert [(row["balance"], row["send"]) for row in rows[:2]] == [
        ("6", "balance_too_low"),
        (str(PRICE + 7), "yes"),
    ]
    authorizations, told = sign(path)
    assert [each["to"] for each in authorizations] == [STRANGER_ADDRESS]
    assert "skipped (balance too low): 1" in told


@pytest.fixture
def refunds(tmp_path):
    """An export as the service writes it: two refunds may be sent, and one has no address."""
    path = tmp_path / "refunds.csv"
    rows = [
        (
            f"int_{index}",
            derive_address(anvil.SELLER_XPUB, index),
            f"0/{index}",
            "31337",
            anvil.TOKEN_ADDRESS,
            str(PRICE + 7),
            to,
            "7",
            "0",
            send,
        )
        for index, (to, send) in enumerate(
            [(FRIEND_ADDRESS, "yes"), (STRANGER_ADDRESS, "yes"), ("", "no_refund_address")], start=1
        )
    ]
    path.write_text("".join(f"{','.join(row)}\n" for row in (COLUMNS, *rows)))
    return path


@pytest.mark.long
def test_the_organizer_signs_offline_at_a_terminal(tmp_path, starts_processes, refunds):
    offline = offline_environ(str(tmp_path))
    arguments = ["--refunds", str(refunds), "--account", "1", *TERMS]
    code, out, told = type_phrase(offline, "tools.sweep", arguments, PHRASE)
    assert code == 0, told
    assert told.splitlines() == [
        "skipped (no refund address): 1",
        "",  # the end of the prompt's line
        "signed 2 transfers of 14 atomic units in all",
    ]
    assert [each["to"] for each in json.loads(out)] == [FRIEND_ADDRESS, STRANGER_ADDRESS]


@pytest.mark.parametrize(
    ("old", "new", "options", "sentence"),
    [
        ("settled_refunds", "settled", (), "is not an export"),
        (FRIEND_ADDRESS, FRIEND_ADDRESS.lower(), (), "row 2 of"),
        (FRIEND_ADDRESS, "", (), "row 2 of"),
        (",7,0,", ",7000000000,0,", (), "row 2 of"),
        (",yes", ",perhaps", (), "row 2 of"),
        (",yes", ",not_seen", (), "all refunds on chain 31337 are"),
        (",31337,", ",1,", (), "no refund of the export is due"),
        (FRIEND_ADDRESS, anvil.TOKEN_ADDRESS, (), "or the token's"),
        ("", "", ("--valid-seconds", "259201"), "--valid-seconds is above 259200"),
    ],
)
def test_a_wrong_export_is_refused(refunds, old, new, options, sentence):
    text = refunds.read_text()
    assert old in text
    refunds.write_text(text.replace(old, new))
    code, out, told = call(main, ["--refunds", str(refunds), "--account", "1", *TERMS, *options])
    assert (code, out) == (1, "")
    assert sentence in told and "Nothing was signed." in told


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("addresses.csv",),
        ("addresses.csv", "--refunds", "refunds.csv"),
        ("--to", FRIEND_ADDRESS),
        ("--to", FRIEND_ADDRESS, "--refunds", "refunds.csv"),
    ],
)
def test_it_either_sweeps_or_pays_refunds(options):
    code, out, told = call(main, [*options, *TERMS])
    assert (code, out) == (2, "") and "--refunds" in told
    assert "give either a wallet export and --to, or --refunds" in told
