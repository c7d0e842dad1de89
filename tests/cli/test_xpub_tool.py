"""`python -m tools.xpub`: an account's public key from a seed phrase, offline."""

import pytest
from eth_account import Account

from tests.support.terminal import (
    PHRASE,
    call,
    offline_environ,
    run_without_terminal,
    type_phrase,
)
from ticketing.chain import xpub as xpubs
from tools import anvil
from tools.xpub import Key, derive, main

pytestmark = pytest.mark.exhaustive

MODULE = "tools.xpub"
NOT_VALID = "Error: this is not a valid seed phrase."

# The hardened paths of BIP-32's test vectors 1, 3 (a private key with a leading zero) and 4.
VECTORS = [
    (
        "000102030405060708090a0b0c0d0e0f",
        (0,),
        "xpub68Gmy5EdvgibQVfPdqkBBCHxA5htiqg55crXYuXoQRKfDBFA1WEjWgP6LHhwBZeNK1VTsfTFUHCdrfp1bgwQ9"
        "xv5ski8PX9rL2dZXvgGDnw",
    ),
    (
        "4b381541583be4423346c643850da4b320e46a87ae3d2a4e6da11eba819cd4acba45d239319ac14f863b8d5ab5"
        "a0d0c64d2e8a1e7d1457df2e5a3c51c73235be",
        (0,),
        "xpub68NZiKmJWnxxS6aaHmn81bvJeTESw724CRDs6HbuccFQN9Ku14VQrADWgqbhhTHBaohPX4CjNLf9fq9MYo6oD"
        "aPPLPxSb7gwQN3ih19Zm4Y",
    ),
    (
        "3ddd5602285899a946114506157c7997e5444528f3003f6134712147db19b678",
        (0, 1),
        "xpub6BJA1jSqiukeaesWfxe6sNK9CCGaujFFSJLomWHprUL9DePQ4JDkM5d88n49sMGJxrhpjazuXYWdMf17C9T5X"
        "nxkopaeS7jGk1GyyVziaMt",
    ),
]


@pytest.fixture
def offline(tmp_path, starts_processes):
    """An environment in which a Python process that opens a socket ends at once."""
    return offline_environ(str(tmp_path))


def shown(out):
    return dict(line.split(maxsplit=1) for line in out.splitlines())


@pytest.mark.parametrize(("seed", "path", "xpub"), VECTORS)
def test_keys_are_those_of_bip_32(seed, path, xpub):
    assert derive(bytes.fromhex(seed), path)[1] == xpub


@pytest.mark.parametrize("account", [0, 1, 7, 2**31 - 1])
def test_it_prints_the_xpub_whose_addresses_the_phrase_owns(account):
    code, out, told = call(main, ["--account", str(account)], PHRASE)
    assert (code, told) == (0, "")
    printed = shown(out)
    assert printed["account"] == f"m/44'/60'/{account}'"
    Account.enable_unaudited_hdwallet_features()
    for index in range(3):
        path = f"m/44'/60'/{account}'/0/{index}"
        theirs = Account.from_mnemonic(PHRASE, account_path=path).address
        assert xpubs.derive_address(printed["xpub"], index) == theirs
    assert printed["first_address"] == xpubs.derive_address(printed["xpub"], 0)
    known = {0: anvil.DEMO_XPUB, 1: anvil.SELLER_XPUB}
    assert printed["xpub"] == known.get(account, printed["xpub"])


def test_it_asks_offline_at_a_terminal(offline):
    code, out, told = type_phrase(offline, MODULE, ["--account", "1"], PHRASE)
    assert (code, told.strip()) == (0, "")
    assert shown(out)["xpub"] == anvil.SELLER_XPUB


def test_a_wrong_phrase_is_not_repeated_at_the_terminal(offline):
    code, out, told = type_phrase(offline, MODULE, [], f"{PHRASE} junk")
    assert (code, out, told.strip()) == (1, "", NOT_VALID)


def test_without_a_terminal_nothing_is_asked(offline):
    told = "Error: type the seed phrase at a terminal: there is none.\n"
    assert run_without_terminal(offline, MODULE, [], f"{PHRASE}\n") == (1, "", told)


def test_the_account_is_by_default_one_that_wallets_do_not_use():
    _, out, _ = call(main, [], f"  {PHRASE.replace(' ', '  ')} ")
    assert shown(out)["account"] == "m/44'/60'/7'"


@pytest.mark.parametrize("phrase", [PHRASE.replace("junk", "test"), "junk", f"{PHRASE} junk"])
def test_a_wrong_phrase_is_refused_and_not_repeated(phrase):
    assert call(main, [], phrase) == (1, "", f"{NOT_VALID}\n")


@pytest.mark.parametrize("account", ["-1", "0x7", "2147483648", "7'", "", "²", "9" * 5000])
def test_a_wrong_account_number_is_refused(account):
    code, out, told = call(main, [f"--account={account}"])
    assert (code, out) == (2, "") and "argument --account: " in told


def test_help_says_which_accounts_are_safe():
    code, told, _ = call(main, ["--help"])
    assert code == 0
    assert "MetaMask" in told and "Ledger Live" in told and "default: 7" in told


def test_a_key_is_never_printed():
    key, _ = derive(bytes(16), (44,))
    assert isinstance(key, Key)
    assert str(key.number) not in repr(key) and key.chain_code.hex() not in repr(key)
