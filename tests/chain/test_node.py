"""Chain code against a real node, and against published vectors."""

import json
from pathlib import Path

import pytest

from ticketing.chain import address, multicall, units
from ticketing.chain.errors import RpcError
from ticketing.chain.node import Node
from ticketing.chain.registry import REGISTRY
from ticketing.chain.rpc import RpcClient
from tools import anvil

CONTRACTS = Path(anvil.__file__).parent / "contracts"


@pytest.fixture(scope="module")
def chain(starts_processes):
    with anvil.Anvil() as running:
        anvil.ensure_token(running.rpc)
        yield running


@pytest.mark.parametrize(
    "text",
    [
        # EIP-55's own examples.
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    ],
)
def test_addresses_carry_the_eip_55_checksum(text):
    assert address.checksum(text.lower()) == text
    assert address.parse(text) == text
    swapped = text[:2] + text[2:].swapcase()
    with pytest.raises(ValueError, match="checksum"):
        address.parse(swapped)


def test_the_registry_is_written_with_checksums():
    for chain in REGISTRY.values():
        assert address.checksum(chain.token_address) == chain.token_address


@pytest.mark.parametrize(
    ("amount", "decimals", "atomic"),
    [(5, 6, 5), (5, 18, 5 * 10**12), (5_000_000, 0, 5), (50_000, 2, 5), (0, 0, 0)],
)
def test_amounts_are_converted_exactly(amount, decimals, atomic):
    assert units.to_atomic(amount, decimals) == atomic
    assert units.from_atomic(atomic, decimals) == (amount, 0)


def test_what_a_token_is_too_coarse_for_is_refused_and_dust_is_kept():
    with pytest.raises(units.NotExact):
        units.to_atomic(5_000_001, 2)
    assert units.from_atomic(5 * 10**12 + 7, 18) == (5, 7)


@pytest.mark.parametrize("with_multicall", [False, True])
def test_balances_are_the_same_one_by_one_and_through_multicall(chain, with_multicall):
    code = json.loads((CONTRACTS / "TestMulticall.json").read_text())["runtime"]
    chain.rpc("anvil_setCode", multicall.ADDRESS, code if with_multicall else "0x")
    holders = [f"0x{number:040x}" for number in range(1, 1203)]
    for number in (0, 700, 1201):
        before = int(_balance(chain, holders[number]), 16)
        anvil.mint(chain.rpc, anvil.TOKEN_ADDRESS, holders[number], number + 1)
        assert int(_balance(chain, holders[number]), 16) == before + number + 1
    counted = CountingRpc([chain.url])
    found = Node(counted).balances(anvil.TOKEN_ADDRESS, holders)
    assert found == [int(_balance(chain, holder), 16) for holder in holders]
    assert counted.batches == 1 + (3 if with_multicall else 1)


def test_more_addresses_are_watched_than_the_node_takes_in_one_request(chain):
    holders = [f"0x{number:040x}" for number in range(2**64, 2**64 + 35_000)]
    anvil.mint(chain.rpc, anvil.TOKEN_ADDRESS, holders[-1], 7)
    node = Node(RpcClient([chain.url]))
    (found,) = node.transfers(anvil.TOKEN_ADDRESS, holders, 1, node.head())
    assert [each.atomic_amount for each in found.transfers] == [7]


@pytest.mark.parametrize("answer", [None, 1, "", "0x", "0xzz", "0x" + "ff" * 64, "0x" + "00" * 64])
def test_a_garbled_multicall_answer_is_an_rpc_error(answer):
    with pytest.raises(RpcError):
        multicall.decode(answer, 2)


class CountingRpc(RpcClient):
    """Counts its HTTP requests."""

    batches = 0

    def batch(self, calls):
        self.batches += 1
        return super().batch(calls)


def _balance(chain, holder):
    data = "0x70a08231" + holder[2:].rjust(64, "0")
    return chain.rpc("eth_call", {"to": anvil.TOKEN_ADDRESS, "data": data}, "latest")
