"""The wallet: an account's extended public key, and the addresses issued from it."""

import pytest
from eth_account import Account

from tests.support.factories import cli, new_organizer, new_xpub
from ticketing.chain import xpub as xpubs
from tools.anvil import DEMO_XPUB
from tools.base58 import ALPHABET, base58check

FIRST_ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
MNEMONIC = "test test test test test test test test test test test junk"
INDEXES = [*range(64), 100, 999, 65_535, 2**20, 2**31 - 2, 2**31 - 1]

PRIVATE = "04 88 AD E4"
POINT_OFF_THE_CURVE = bytes.fromhex("02" + "00" * 31 + "05")


def serialized(*, version="0488B21E", depth=3, key=None, length=78):
    """Return an extended key in base58. It may be invalid."""
    key = key or bytes.fromhex(
        "02" + "79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798"
    )
    data = bytes.fromhex(version) + bytes([depth]) + b"\1" * 8 + b"\2" * 32 + key
    return base58check(data[:length].ljust(length, b"\0"))


XPRV = serialized(version=PRIVATE, key=b"\0" + b"\x07" * 32)
TYPO = DEMO_XPUB[:50] + ("2" if DEMO_XPUB[50] != "2" else "3") + DEMO_XPUB[51:]


@pytest.fixture
def empty(app):
    """A tenant without a wallet."""
    return new_organizer(app, "empty", xpub=None)


def put(organizer, xpub):
    return organizer.api().put(f"{organizer.path}/wallet", {"xpub": xpub})


def wallet(organizer):
    return organizer.api().get(f"{organizer.path}/wallet").json


def addresses(organizer, ticket, count):
    """Return the payment addresses of this many new intents."""
    return [organizer.buyer(ticket).intent["address"] for _ in range(count)]


def test_a_tenant_without_a_wallet_has_none(empty):
    answer = empty.api().get(f"{empty.path}/wallet")
    assert (answer.status_code, answer.json["code"]) == (404, "not_found")


def test_setting_a_wallet_tells_its_first_address(empty):
    answer = put(empty, DEMO_XPUB)
    assert answer.status_code == 200
    shown = {"kind": "xpub", "xpub": DEMO_XPUB, "first_address": FIRST_ADDRESS, "next_index": 1}
    assert answer.json.items() >= shown.items()
    # There is no node here.
    assert answer.json["unchecked_chains"] == [31337]
    assert wallet(empty) == {**answer.json, "unchecked_chains": None}


def test_setting_the_same_wallet_again_changes_nothing(empty):
    put(empty, DEMO_XPUB)
    ticket = empty.ticket(capacity=None)
    addresses(empty, ticket, 2)
    assert put(empty, DEMO_XPUB).json["next_index"] == 3
    assert wallet(empty)["next_index"] == 3


def test_the_first_address_of_the_account_is_never_issued(empty):
    put(empty, DEMO_XPUB)
    issued = addresses(empty, empty.ticket(), 2)
    assert issued == [xpubs.derive_address(DEMO_XPUB, index) for index in (1, 2)]
    assert wallet(empty)["first_address"] == FIRST_ADDRESS


def test_next_index_grows_by_one_with_each_intent_that_is_paid_for(acme):
    ticket, free = acme.ticket(capacity=3), acme.ticket(price_amount=0)
    for index in (1, 2, 3):
        assert wallet(acme)["next_index"] == index
        acme.buyer(ticket)
        acme.buyer(free)
    assert acme.preflight(ticket).status_code == 409
    assert wallet(acme)["next_index"] == 4


def test_replacing_a_wallet_leaves_issued_addresses_with_their_intents(acme):
    ticket = acme.ticket(capacity=None)
    before = acme.buyer(ticket)
    assert put(acme, DEMO_XPUB).json["next_index"] == 1
    second = xpubs.derive_address(DEMO_XPUB, 1)
    assert before.now()["address"] == before.intent["address"] != second
    assert addresses(acme, ticket, 1) == [second]


def test_returning_to_an_earlier_wallet_goes_on_after_its_last_address(acme):
    ticket, first = acme.ticket(capacity=None), wallet(acme)["xpub"]
    issued = addresses(acme, ticket, 2)
    put(acme, new_xpub())
    issued += addresses(acme, ticket, 2)
    assert put(acme, first).json["next_index"] == 3
    issued += addresses(acme, ticket, 2)
    assert len(set(issued)) == 6
    assert issued[4] == xpubs.derive_address(first, 3)


def test_two_tenants_with_one_wallet_never_get_the_same_address(acme, neighbour):
    for each in (acme, neighbour):
        assert put(each, DEMO_XPUB).status_code == 200
    tickets = [(each, each.ticket(capacity=None)) for each in (acme, neighbour)]
    issued = [address for _ in range(4) for each in tickets for address in addresses(*each, 1)]
    assert sorted(issued) == sorted(xpubs.derive_address(DEMO_XPUB, index) for index in range(1, 9))


def test_an_account_written_with_other_ancestors_is_still_the_same_account(acme, neighbour):
    # The parent's fingerprint and the account's number do not change any address.
    put(acme, serialized())
    other = base58check(
        b"\x04\x88\xb2\x1e\x03" + b"\x09" * 8 + b"\2" * 32 + xpubs.parse(serialized()).public_key
    )
    assert other != serialized()
    put(neighbour, other)
    mine = addresses(acme, acme.ticket(), 1)
    theirs = addresses(neighbour, neighbour.ticket(), 1)
    assert mine != theirs


@pytest.mark.parametrize(
    "xpub",
    [
        pytest.param(XPRV, id="private key"),
        pytest.param(TYPO, id="checksum"),
        pytest.param(DEMO_XPUB[:-1], id="cut off"),
        pytest.param(DEMO_XPUB + "1", id="one too many"),
        pytest.param("1" + DEMO_XPUB, id="leading one"),
        pytest.param(f" {DEMO_XPUB}", id="leading space"),
        pytest.param(f"{DEMO_XPUB}\n", id="trailing newline"),
        pytest.param(serialized(depth=0), id="depth 0"),
        pytest.param(serialized(depth=2), id="depth 2"),
        pytest.param(serialized(depth=4), id="depth 4"),
        pytest.param(serialized(version="049D7CB2"), id="ypub"),
        pytest.param(serialized(version="043587CF"), id="testnet"),
        pytest.param(serialized(key=POINT_OFF_THE_CURVE), id="off the curve"),
        pytest.param(serialized(key=b"\0" * 33), id="point at infinity"),
        pytest.param(serialized(key=b"\4" + b"\1" * 32), id="uncompressed"),
        pytest.param(serialized(length=77), id="short payload"),
        pytest.param(serialized(length=79), id="long payload"),
        pytest.param(MNEMONIC, id="mnemonic"),
        pytest.param("0x" + "07" * 32, id="hex"),
        pytest.param(FIRST_ADDRESS, id="address"),
        pytest.param("xpub", id="prefix alone"),
        pytest.param("", id="empty"),
        pytest.param("z" * 111, id="too large a number"),
        pytest.param("x" * 201, id="too long"),
        pytest.param(None, id="null"),
        pytest.param(1, id="number"),
    ],
)
def test_it_refuses_what_is_no_accounts_public_key_and_never_repeats_it(acme, xpub):
    before = wallet(acme)
    answer = put(acme, xpub)
    assert (answer.status_code, answer.json["code"]) == (422, "invalid_request")
    assert set(answer.json["errors"]) == {"xpub"}
    if isinstance(xpub, str) and len(xpub) > 4:
        assert xpub.strip() not in answer.text and xpub[5:30] not in answer.text
    assert wallet(acme) == before


def test_the_command_line_refuses_a_private_key_without_repeating_it(app):
    told = cli(app, "tenants", "create", "acme", "--name", "Acme", "--xpub", XPRV, exit_code=1)
    assert "private key" in told and XPRV[4:] not in told
    cli(app, "tenants", "create", "acme", "--name", "Acme")


@pytest.mark.exhaustive
def test_addresses_are_those_that_the_organizers_own_wallet_derives():
    Account.enable_unaudited_hdwallet_features()
    for index in INDEXES:
        theirs = Account.from_mnemonic(MNEMONIC, account_path=f"m/44'/60'/0'/0/{index}").address
        assert xpubs.derive_address(DEMO_XPUB, index) == theirs


def test_every_wrong_character_of_an_xpub_is_noticed():
    for place, character in enumerate(DEMO_XPUB):
        wrong = ALPHABET[(ALPHABET.index(character) + 1) % len(ALPHABET)]
        with pytest.raises(xpubs.InvalidXpub):
            xpubs.parse(DEMO_XPUB[:place] + wrong + DEMO_XPUB[place + 1 :])
