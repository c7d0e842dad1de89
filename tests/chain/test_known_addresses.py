"""Addresses that are nobody's wallet are told from lists, without a node."""

from dataclasses import replace

import pytest

from ticketing.chain import address as addresses
from ticketing.chain import receivers
from ticketing.chain.known_addresses import CONTRACTS
from ticketing.chain.registry import REGISTRY, outside
from ticketing.services.stated_addresses import refusal

OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
SOME_TOKEN = "0x6B175474E89094C44Da98b954EedeAC495271d0F"


def test_every_known_contract_has_its_checksum_and_is_refused_by_name():
    assert len(CONTRACTS) > 40
    for address, name in CONTRACTS.items():
        assert addresses.checksum(address) == address
        message = refusal(address, ())
        assert (message.code, message.values) == ("known_contract", {"name": name})
        assert name in message


def test_tokens_of_every_network_are_refused_whether_it_is_enabled_or_not():
    for chain in REGISTRY.values():
        for each in (chain, *chain.look_alikes):
            message = refusal(addresses.checksum(each.token_address), ())
            assert message.code == "known_token"
            assert message.values["symbol"] == each.symbol
    assert "USDbC on Base" in refusal("0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA", ())


def test_tokens_that_an_operator_has_set_are_refused():
    enabled = [replace(REGISTRY[8453], token_address=SOME_TOKEN)]
    assert refusal(SOME_TOKEN, ()) is None
    assert "USDC on Base" in refusal(SOME_TOKEN, enabled)
    assert refusal(SOME_TOKEN, [outside(4242, SOME_TOKEN.lower())]).code == "token_address"


@pytest.mark.parametrize(
    ("address", "code"),
    [
        (addresses.ZERO, "zero_address"),
        ("0x" + "0" * 39 + "1", "reserved_address"),
        ("0x" + "0" * 36 + "ffff", "reserved_address"),
        ("0x4200" + "0" * 36, "reserved_address"),
        ("0x4200" + "0" * 32 + "ffff", "reserved_address"),
        ("0x" + "0" * 36 + "dEaD", "burn_address"),
        ("0x" + "f" * 40, "burn_address"),
        (receivers.FACTORY, "factory_address"),
        (receivers.IMPLEMENTATION, "implementation_address"),
        (receivers.PROXY, "proxy_address"),
    ],
)
def test_what_belongs_to_nobody_is_refused_in_its_own_words(address, code):
    assert refusal(addresses.checksum(address), ()).code == code


@pytest.mark.parametrize(
    "address", [OWNER, "0x" + "0" * 35 + "10000", "0x4200" + "0" * 31 + "10000"]
)
def test_other_addresses_are_on_no_list(address):
    assert refusal(addresses.checksum(address), ()) is None
