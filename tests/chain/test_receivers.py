"""Addresses of receivers, and whether a chain has the factory."""

import doctest
import secrets

import pytest
from eth_abi import decode

from tests.support.receivers import DEPLOYER, data_of
from ticketing.chain import abi, receivers
from ticketing.chain.errors import RpcError
from ticketing.chain.keccak import keccak256
from ticketing.chain.node import Node
from ticketing.chain.receivers import order_salt, receiver_address
from ticketing.chain.rpc import RpcClient
from tools import anvil

OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture(scope="module")
def bare(starts_processes):
    """A node on which nobody has deployed the factory."""
    with anvil.Anvil() as running:
        yield running


def test_the_example_is_true():
    assert doctest.testmod(receivers).failed == 0


def test_the_constants_of_version_1_are_these_for_ever():
    """Money lies at addresses that follow from them. Other bytes are another version."""
    assert keccak256(receivers.INIT_CODE).hex() == (
        "58bb631fb3e306aafbe6161834ca88b86c8e584adfb0c2263683a1389373a50f"
    )
    made = keccak256(
        b"\xff" + bytes.fromhex(receivers.PROXY[2:]) + bytes(32) + keccak256(receivers.INIT_CODE)
    )
    assert made[12:].hex() == receivers.FACTORY[2:].lower()
    # A contract's address follows from its creator and the creator's count, in RLP.
    first = keccak256(b"\xd6\x94" + bytes.fromhex(receivers.FACTORY[2:]) + b"\x01")
    assert first[12:].hex() == receivers.IMPLEMENTATION[2:].lower()


def test_addresses_follow_from_owner_secret_and_index():
    secret, other = bytes(range(32)), bytes(range(1, 33))
    made = {
        receiver_address(owner, order_salt(each, index))
        for owner in (OWNER, receivers.PROXY)
        for each in (secret, other)
        for index in (0, 1, 255, 256, receivers.MOST_INDEX)
    }
    assert len(made) == 20
    assert order_salt(secret, 1) == keccak256(secret + bytes(7) + b"\x01")
    assert receiver_address(OWNER, bytes(32)) == receiver_address(OWNER.lower(), bytes(32))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: order_salt(bytes(31), 0), ValueError),
        (lambda: order_salt(bytes(32), -1), OverflowError),
        (lambda: order_salt(bytes(32), receivers.MOST_INDEX + 1), OverflowError),
        (lambda: receiver_address(OWNER, bytes(31)), ValueError),
        (lambda: receiver_address(OWNER[:-1], bytes(32)), ValueError),
        (lambda: receiver_address(OWNER[2:], bytes(32)), ValueError),
    ],
)
def test_what_has_another_size_makes_no_address(call, error):
    with pytest.raises(error):
        call()


def test_the_factory_agrees_with_a_thousand_addresses(chain):
    some = [
        ("0x" + secrets.token_hex(20), order_salt(secrets.token_bytes(32), secrets.randbits(64)))
        for _ in range(999)
    ]
    some.append((OWNER, receivers.GATHERING_SALT))
    calls = [
        (
            "eth_call",
            [
                {
                    "to": receivers.FACTORY,
                    "data": data_of("receiver(address,bytes32)", owner, salt),
                },
                "latest",
            ],
        )
        for owner, salt in some
    ]
    answers = RpcClient((chain.node.url,)).batch(calls)
    assert [decode(["address"], bytes.fromhex(each[2:]))[0] for each in answers] == [
        receiver_address(owner, salt).lower() for owner, salt in some
    ]


def test_the_call_data_is_that_of_the_abi():
    salts = [secrets.token_bytes(32) for _ in range(3)]
    for direct in (False, True):
        for some in ([], salts):
            assert receivers.collect_data(OWNER, receivers.PROXY, some, direct=direct) == data_of(
                "collect(address,address,bool,bytes32[])", OWNER, receivers.PROXY, direct, some
            )


class TestWhetherAChainCanCollect:
    def node(self, bare, chain_id=31337):
        return Node(RpcClient((bare.url,)), chain_id)

    @pytest.fixture(autouse=True)
    def undone(self, bare):
        snapshot = bare.rpc("evm_snapshot")
        yield
        bare.rpc("evm_revert", snapshot)

    def test_it_can_before_and_after_the_factory_is_deployed(self, bare):
        assert bare.rpc("eth_getCode", receivers.FACTORY, "latest") == "0x"
        assert self.node(bare).can_collect()
        sent = {"to": receivers.PROXY, "data": receivers.deploy_data()}
        anvil.send(bare.rpc, DEPLOYER, sent)
        assert self.node(bare).can_collect()
        with pytest.raises(RuntimeError):
            anvil.send(bare.rpc, DEPLOYER, sent)

    def test_it_cannot_with_another_code_at_the_factory(self, bare):
        bare.rpc("anvil_setCode", receivers.FACTORY, "0x00")
        assert not self.node(bare).can_collect()

    @pytest.mark.parametrize(
        "code",
        [
            "0x",  # no proxy
            "0x73" + "11" * 20 + "60005260146" + "00cf3",  # one that makes another address
            "0x60006000fd",  # one that refuses
            "0x60206000f3",  # one that returns a word of zeros
        ],
    )
    def test_it_cannot_where_the_proxy_makes_another_address_or_none(self, bare, code):
        bare.rpc("anvil_setCode", receivers.PROXY, code)
        assert not self.node(bare).can_collect()

    def test_a_node_of_another_chain_says_nothing(self, bare):
        with pytest.raises(RpcError, match="chain 31337"):
            self.node(bare, 8453).can_collect()


def test_no_function_of_a_receiver_has_the_selector_of_a_token():
    """The factory and receivers call any address as a token. They must not call each other so."""
    called = {"balanceOf(address)", "transfer(address,uint256)"}
    called.add("transferFrom(address,address,uint256)")
    own = {"pay(address,uint256,bool)", "collect(address,address,bool,bytes32[])"}
    own |= {"refund(address,uint256,(bytes32,address,uint256)[])"}
    own |= {"receiver(address,bytes32)", "refunded(address,bytes32)"}
    assert not {abi.selector(each) for each in called} & {abi.selector(each) for each in own}
