"""The chains of the configuration, and the registry that they are known from."""

import dataclasses

import pytest
from eth_utils import to_checksum_address

from tests.conftest import SECRET_KEY
from tests.support.variables import ADDRESS, GOOD, MAX_CHAIN_ID
from ticketing.chain.registry import LOCAL_CHAIN_IDS, REGISTRY
from ticketing.config import ConfigError, load


def chain(chain_id=31337, **variables):
    return load({**GOOD, **variables}).chains[chain_id]


def test_an_rpc_url_enables_a_chain_of_the_registry():
    # With one block a payment is final here: none is early.
    node = {"rpc_urls": (GOOD["RPC_URL_31337"],), "early_confirmations": None}
    assert chain() == dataclasses.replace(REGISTRY[31337], **node)
    assert load({"SECRET_KEY": SECRET_KEY, "TOKEN_ADDRESS_1": ADDRESS}).chains == {}


def test_the_environment_overrides_what_the_registry_says():
    found = chain(TOKEN_ADDRESS_31337=ADDRESS, CONFIRMATIONS_31337="7")
    assert (found.token_address, found.confirmations) == (ADDRESS, 7)
    assert (found.decimals, found.name) == (REGISTRY[31337].decimals, REGISTRY[31337].name)
    assert REGISTRY[31337].confirmations == 1


@pytest.mark.parametrize(
    ("chain_id", "variables", "depth"),
    [
        (8453, {}, 1),
        (137, {}, 16),
        (137, {"CONFIRMATIONS_137": "16"}, None),
        (137, {"CONFIRMATIONS_137": "17"}, 16),
        (137, {"EARLY_CONFIRMATIONS_137": "63"}, 63),
        (137, {"EARLY_CONFIRMATIONS_137": "64"}, None),
        (137, {"EARLY_CONFIRMATIONS_137": "0"}, None),
        (31337, {"CONFIRMATIONS_31337": "2"}, 1),
        (100, {"TOKEN_ADDRESS_100": ADDRESS}, None),
        (100, {"TOKEN_ADDRESS_100": ADDRESS, "EARLY_CONFIRMATIONS_100": "0"}, None),
    ],
)
def test_a_payment_is_early_before_it_is_final(chain_id, variables, depth):
    url = {f"RPC_URL_{chain_id}": "http://127.0.0.1:9"}
    assert chain(chain_id, **url, **variables).early_confirmations == depth


def test_no_payment_is_early_on_a_chain_outside_the_registry():
    variables = {"RPC_URL_100": "http://127.0.0.1:9", "TOKEN_ADDRESS_100": ADDRESS}
    with pytest.raises(ConfigError, match="EARLY_CONFIRMATIONS_100"):
        load({**GOOD, **variables, "EARLY_CONFIRMATIONS_100": "1"})


@pytest.mark.parametrize("chain_id", [100, MAX_CHAIN_ID])
def test_a_chain_outside_the_registry_needs_its_tokens_address(chain_id):
    variables = {f"RPC_URL_{chain_id}": "http://127.0.0.1:9"}
    with pytest.raises(ConfigError, match=f"TOKEN_ADDRESS_{chain_id}"):
        load({**GOOD, **variables})
    found = chain(chain_id, **variables, **{f"TOKEN_ADDRESS_{chain_id}": ADDRESS})
    assert (found.token_address, found.decimals) == (ADDRESS, None)


def test_an_address_without_a_checksum_is_written_with_it():
    for text in (ADDRESS, ADDRESS.lower(), "0x" + ADDRESS[2:].upper()):
        assert chain(TOKEN_ADDRESS_31337=text).token_address == ADDRESS


PUBLIC_NODE = "WALLET_RPC_URL_31337"


def test_wallets_are_told_of_a_public_node():
    assert chain().wallet_rpc_url is None
    for url in ("https://node.example.org/x?y", "http://127.0.0.1:8545", "http://localhost:8545"):
        assert chain(**{PUBLIC_NODE: url}).wallet_rpc_url == url
    base = {"RPC_URL_8453": "https://ours.example/key"}
    assert chain(8453, **base).wallet_rpc_url == "https://mainnet.base.org"
    theirs = "https://theirs.example"
    assert chain(8453, **base, WALLET_RPC_URL_8453=theirs).wallet_rpc_url == theirs


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({PUBLIC_NODE: "http://node.example.org"}, PUBLIC_NODE),
        ({PUBLIC_NODE: "https://user:word@node.example.org"}, PUBLIC_NODE),
        ({PUBLIC_NODE: "wss://node.example.org"}, PUBLIC_NODE),
        ({PUBLIC_NODE: ""}, PUBLIC_NODE),
        ({PUBLIC_NODE: "https://node.example.org/a b"}, PUBLIC_NODE),
        ({PUBLIC_NODE: "https://node.example.org/\n"}, PUBLIC_NODE),
        ({PUBLIC_NODE: "https://node.example.org/\u00e9"}, PUBLIC_NODE),
        (
            {
                "RPC_URL_43114": "https://ours.example",
                "TOKEN_ADDRESS_43114": ADDRESS,
                "WALLET_RPC_URL_43114": "https://a.example",
            },
            "WALLET_RPC_URL_43114 .*registry",
        ),
        ({"WALLET_RPC_URL_8453": "https://a.example"}, "WALLET_RPC_URL_8453 needs RPC_URL_8453"),
        ({"WALLET_RPC_URL_x": "https://a.example"}, "WALLET_RPC_URL_x"),
    ],
)
def test_a_wrong_public_node_stops_the_start(change, named):
    with pytest.raises(ConfigError, match=named) as error:
        load({**GOOD, **change})
    assert "word" not in str(error.value).replace("password", "")


def test_the_registry_tells_wallets_and_exchanges_of_real_networks():
    for chain_id, known in REGISTRY.items():
        if chain_id not in LOCAL_CHAIN_IDS:
            assert known.wallet_rpc_url.startswith("https://")
            assert known.explorer_url.startswith("https://")
    of_exchanges = {each for each, known in REGISTRY.items() if known.exchange_names}
    assert of_exchanges == {1, 10, 137, 8453, 42161}


def test_the_registry_has_the_chains_of_the_contract_with_valid_addresses():
    assert set(REGISTRY) == {1, 10, 137, 8453, 42161, 84532, 11155111, 31337, 31338}
    for chain_id, known in REGISTRY.items():
        assert known.chain_id == chain_id
        assert known.token_address == to_checksum_address(known.token_address)
        assert known.confirmations >= 1 and known.decimals == 6


ED25519 = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DXWpgBgrEKt9VL/tPJZAc6DuFy89qmIyWvAhpo9wdRGg=="
"""The first test vector of RFC 8032: the secret key, then the public one."""

FACILITATOR = {
    "X402_FACILITATOR_URL_31337": "https://facilitator.example.org/v2/",
    "X402_FACILITATOR_TOKEN_31337": "secret-of-the-facilitator==",
    "PUBLIC_URL": "https://tickets.example.org",
}


def test_a_facilitator_belongs_to_a_chain_and_its_secrets_are_not_shown():
    found = chain(**FACILITATOR)
    assert found.facilitator is not None and chain().facilitator is None
    assert found.facilitator.url == "https://facilitator.example.org/v2"
    assert found.facilitator.token == "secret-of-the-facilitator=="
    assert "facilitator.example" not in repr(found) and "secret-of" not in repr(found)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"X402_FACILITATOR_URL_31337": "ftp://a.example"}, "X402_FACILITATOR_URL_31337"),
        ({"X402_FACILITATOR_URL_31337": ""}, "X402_FACILITATOR_URL_31337"),
        ({"X402_FACILITATOR_URL_31337": None}, "X402_FACILITATOR_TOKEN_31337"),
        ({"X402_FACILITATOR_TOKEN_31337": "two words"}, "X402_FACILITATOR_TOKEN_31337"),
        ({"X402_FACILITATOR_TOKEN_31337": ""}, "X402_FACILITATOR_TOKEN_31337"),
        ({"X402_FACILITATOR_KEY_ID_31337": "k"}, "X402_FACILITATOR_KEY_ID_31337"),
        ({"X402_FACILITATOR_KEY_SECRET_31337": "s"}, "X402_FACILITATOR_KEY_SECRET_31337"),
        (
            {"X402_FACILITATOR_KEY_ID_31337": "k", "X402_FACILITATOR_KEY_SECRET_31337": "s"},
            "X402_FACILITATOR_KEY_SECRET_31337 must be",
        ),
        (
            {
                "X402_FACILITATOR_KEY_ID_31337": "k",
                "X402_FACILITATOR_KEY_SECRET_31337": ED25519,
            },
            "not both",
        ),
        ({"X402_FACILITATOR_URL_1": "https://a.example"}, "X402_FACILITATOR_URL_1"),
        ({"X402_FACILITATOR_URL_x": "https://a.example"}, "X402_FACILITATOR_URL_x"),
        ({"PUBLIC_URL": None}, "X402_FACILITATOR_URL_31337 needs PUBLIC_URL"),
    ],
)
def test_a_wrong_facilitator_stops_the_start(change, named):
    variables = {**GOOD, **FACILITATOR, **change}
    with pytest.raises(ConfigError, match=named) as error:
        load({name: value for name, value in variables.items() if value is not None})
    assert "secret-of" not in str(error.value)
