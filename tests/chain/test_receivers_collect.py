"""Collecting sends what receivers hold to their owner. Anybody may ask for it, in any way."""

import secrets

import pytest

from tests.support.receivers import (
    BURN_GAS,
    BUYER,
    CALL,
    COIN,
    PAY,
    REFUSE,
    STRANGER,
    data_of,
    gas_of,
    gathering,
    reverts,
    transfers_in,
)
from ticketing.chain import abi, receivers
from ticketing.chain.receivers import receiver_address
from tools import anvil

NOTHING = bytes(32)
SIGNATURE = "isValidSignature(bytes32,bytes)"


@pytest.fixture(params=["token", "coin"])
def money(request, chain):
    """A token of USDC's shape, or the chain's own coin."""
    return COIN if request.param == "coin" else chain.token()


@pytest.fixture
def owner(chain):
    """An owner that holds nothing yet."""
    return chain.owner()


def test_a_stranger_collects_and_the_owner_has_it_in_one_transfer(chain, token, owner):
    salts = chain.orders(owner, token, [5, 7, 11])
    receipt = chain.collect(owner, token, salts, sender=STRANGER)
    inner = [(receiver_address(owner, salt), gathering(owner)) for salt in salts]
    assert transfers_in(receipt) == [
        (*inner[0], 5),
        (*inner[1], 7),
        (*inner[2], 11),
        (gathering(owner), owner, 23),
    ]
    assert chain.held(token, owner) == 23


def test_collected_receivers_can_be_paid_and_collected_again(chain, money, owner):
    (salt,) = chain.orders(owner, money, [5])
    for total in (5, 10, 15):
        chain.collect(owner, money, [salt])
        assert chain.held(money, owner) == total
        chain.mint(money, (receiver_address(owner, salt), 5))


def test_repeated_zero_and_unpaid_salts_are_harmless(chain, money, owner):
    paid, other = chain.orders(owner, money, [5, 7])
    unpaid = secrets.token_bytes(32)
    chain.collect(owner, money, [paid, NOTHING, paid, unpaid, NOTHING, other, paid])
    assert chain.held(money, owner) == 12
    assert chain.code(receiver_address(owner, unpaid)) == b""


@pytest.mark.parametrize("direct", [False, True])
def test_nothing_at_all_is_nothing(chain, money, owner, direct):
    receipt = chain.collect(owner, money, [secrets.token_bytes(32), NOTHING], direct=direct)
    assert receipt["logs"] == []
    assert chain.held(money, owner) == 0
    assert chain.code(gathering(owner)) == b""


def test_what_was_paid_to_the_gathering_receiver_is_sent_without_salts(chain, money, owner):
    chain.mint(money, (gathering(owner), 9))
    chain.collect(owner, money, [])
    assert chain.held(money, owner) == 9


def test_direct_leaves_the_gathering_receiver_out(chain, money, owner):
    salts = chain.orders(owner, money, [5, 7])
    chain.mint(money, (gathering(owner), 9))
    receipt = chain.collect(owner, money, [*salts, NOTHING], direct=True)
    assert chain.held(money, owner) == 12
    assert chain.held(money, gathering(owner)) == 9
    if money != COIN:
        inner = [(receiver_address(owner, salt), owner) for salt in salts]
        assert transfers_in(receipt) == [(*inner[0], 5), (*inner[1], 7)]


def test_salts_of_another_owner_move_nothing(chain, money, owner):
    salts = chain.orders(owner, money, [5, 7])
    other = chain.owner()
    for direct in (False, True):
        chain.collect(other, money, salts, direct=direct)
    assert chain.held(money, other) == 0
    chain.collect(owner, money, salts)
    assert chain.held(money, owner) == 12


def test_a_frozen_receiver_among_100_stops_them_all_and_is_found_by_halves(chain, token, owner):
    salts = chain.orders(owner, token, [1] * 100)
    frozen = salts[63]
    chain.set(token, "freeze(address,bool)", receiver_address(owner, frozen), True)

    def fails(some):
        data = receivers.collect_data(owner, token, some)
        try:
            chain.rpc("eth_call", {"to": receivers.FACTORY, "data": data}, "latest")
        except RuntimeError:
            return True
        return False

    left, calls = salts, 0
    assert fails(left)
    while len(left) > 1:
        half = left[: len(left) // 2]
        left = half if fails(half) else left[len(left) // 2 :]
        calls += 1
    assert (left, calls) == ([frozen], 7)
    with reverts(None):
        chain.collect(owner, token, salts)
    chain.collect(owner, token, [salt for salt in salts if salt != frozen])
    assert chain.held(token, owner) == 99


@pytest.mark.parametrize("senders_only", [False, True])
def test_a_frozen_gathering_receiver_gets_nothing_and_direct_goes_around_it(
    chain, token, owner, senders_only
):
    chain.set(token, "setOddities(bool,bool,bool)", False, False, senders_only)
    salts = chain.orders(owner, token, [5, 7])
    chain.set(token, "freeze(address,bool)", gathering(owner), True)
    with reverts(None):
        chain.collect(owner, token, salts)
    assert chain.held(token, gathering(owner)) == 0
    chain.collect(owner, token, salts, direct=True)
    assert chain.held(token, owner) == 12


def test_a_frozen_owner_or_a_pause_leaves_all_where_it_is(chain, token, owner):
    salts = chain.orders(owner, token, [5, 7])
    for on, off in [
        (("freeze(address,bool)", owner, True), ("freeze(address,bool)", owner, False)),
        (("pause(bool)", True), ("pause(bool)", False)),
    ]:
        chain.set(token, *on)
        for direct in (False, True):
            with reverts(None):
                chain.collect(owner, token, salts, direct=direct)
        chain.set(token, *off)
    chain.collect(owner, token, salts)
    assert chain.held(token, owner) == 12


@pytest.mark.parametrize("direct", [False, True])
def test_a_token_that_returns_nothing_is_collected(chain, token, owner, direct):
    chain.set(token, "setOddities(bool,bool,bool)", True, False, False)
    salts = chain.orders(owner, token, [5, 7])
    chain.collect(owner, token, salts, direct=direct)
    assert chain.held(token, owner) == 12


@pytest.mark.parametrize("direct", [False, True])
def test_a_token_that_returns_false_reverts_all(chain, token, owner, direct):
    chain.set(token, "setOddities(bool,bool,bool)", False, True, False)
    salts = chain.orders(owner, token, [5, 7])
    chain.set(token, "freeze(address,bool)", receiver_address(owner, salts[1]), True)
    with reverts("SafeERC20FailedOperation(address)", token):
        chain.collect(owner, token, salts, direct=direct)
    assert chain.held(token, owner) == 0
    chain.set(token, "freeze(address,bool)", receiver_address(owner, salts[1]), False)
    chain.collect(owner, token, salts, direct=direct)
    assert chain.held(token, owner) == 12


@pytest.mark.parametrize("direct", [False, True])
def test_a_token_that_calls_back_into_collect_moves_each_amount_once(chain, token, owner, direct):
    salts = chain.orders(owner, token, [5, 7, 11])
    for inner_direct in (False, True):
        for inner in (salts, [], list(reversed(salts))):
            data = receivers.collect_data(owner, token, inner, direct=inner_direct)
            with chain.undone():
                call = (receivers.FACTORY, bytes.fromhex(data[2:]))
                chain.set(token, "setCall(address,bytes)", *call)
                with_callback = collected(chain, owner, token, salts, direct)
                chain.set(token, "setCall(address,bytes)", COIN, b"")
                chain.collect(owner, token, salts, direct=direct)
                chain.collect(owner, token, [])
                assert chain.held(token, owner) == 23
                assert with_callback in (0, 23)


def collected(chain, owner, token, salts, direct):
    """Try to collect. Return what the owner holds then: all, or nothing if it was reverted."""
    try:
        chain.collect(owner, token, salts, direct=direct, gas=5_000_000)
    except RuntimeError:
        assert chain.held(token, owner) == 0
    return chain.held(token, owner)


@pytest.mark.parametrize("direct", [False, True])
def test_an_owner_that_calls_back_gets_each_coin_once(chain, direct):
    owner = chain.owner(CALL)
    other = chain.owner()
    salts = chain.orders(owner, COIN, [5, 7, 11])
    chain.orders(other, COIN, [100])
    data = receivers.collect_data(owner, COIN, salts, direct=direct)
    call = (CALL, receivers.FACTORY, bytes.fromhex(data[2:]))
    chain.send(STRANGER, owner, data_of("set(uint8,address,bytes)", *call))
    chain.collect(owner, COIN, salts, direct=direct, gas=5_000_000)
    chain.collect(owner, COIN, salts)
    assert chain.held(COIN, owner) == 23


@pytest.mark.parametrize("does", [REFUSE, BURN_GAS])
def test_an_owner_that_refuses_coins_or_burns_gas_harms_only_himself(chain, token, does):
    owner, other = chain.owner(does), chain.owner()
    coins, others = chain.orders(owner, COIN, [5]), chain.orders(other, COIN, [7])
    tokens = chain.orders(owner, token, [11])
    for direct in (False, True):
        with reverts(None):
            chain.collect(owner, COIN, coins, direct=direct, gas=1_000_000)
    chain.collect(other, COIN, others)
    chain.collect(owner, token, tokens)
    assert (chain.held(COIN, other), chain.held(token, owner)) == (7, 11)
    assert chain.held(COIN, receiver_address(owner, coins[0])) == 5


def test_a_token_without_code_reverts(chain, owner):
    with reverts(None):
        chain.collect(owner, chain.accounts[BUYER], [secrets.token_bytes(32)])
    with reverts(None):
        chain.collect(owner, chain.accounts[BUYER], [])


def test_receivers_and_the_factory_are_no_tokens(chain, owner):
    (salt,) = chain.orders(owner, COIN, [5])
    chain.collect(owner, COIN, [salt])
    for token in (receiver_address(owner, salt), receivers.FACTORY, receivers.IMPLEMENTATION):
        with reverts(None):
            chain.collect(owner, token, [salt])


class TestAReceiver:
    @pytest.fixture
    def receiver(self, chain, token, owner):
        """One that has code, and money."""
        (salt,) = chain.orders(owner, token, [5])
        chain.collect(owner, token, [salt])
        chain.mint(token, (receiver_address(owner, salt), 7))
        return receiver_address(owner, salt)

    def test_its_code_is_a_minimal_proxy_and_its_owner(self, chain, owner, receiver):
        for each in (receiver, gathering(owner)):
            assert chain.code(each).hex() == (
                f"363d3d373d3d3d363d73{receivers.IMPLEMENTATION[2:]}5af43d82803e903d91602b57fd5bf3"
                f"{owner[2:]}".lower()
            )

    def test_it_obeys_nobody_but_the_factory(self, chain, token, owner, receiver):
        for target in (receiver, gathering(owner), receivers.IMPLEMENTATION):
            for direct in (False, True):
                with reverts("NotTheFactory()"):
                    chain.send(STRANGER, target, data_of(PAY, token, 7, direct))
                with reverts("NotTheFactory()"):
                    data = bytes.fromhex(data_of(PAY, token, 7, direct)[2:])
                    chain.send(STRANGER, owner, data_of("run(address,bytes)", target, data))
        assert chain.held(token, receiver) == 7

    def test_no_signature_of_it_is_good(self, chain, owner, receiver):
        for target in (receiver, gathering(owner), receivers.IMPLEMENTATION, receivers.FACTORY):
            with reverts(None):
                chain.call(target, SIGNATURE, secrets.token_bytes(32), b"\x1b" * 65)

    def test_it_has_one_function(self, chain, receiver):
        known = [
            "transfer(address,uint256)",
            "transferFrom(address,address,uint256)",
            "approve(address,uint256)",
            "execute(address,uint256,bytes)",
            "onERC721Received(address,address,uint256,bytes)",
            "initialize(address)",
            "upgradeTo(address)",
            "owner()",
            "balanceOf(address)",
        ]
        selectors = [abi.selector(each) for each in known]
        selectors += ["0x" + secrets.token_hex(4) for _ in range(5)]
        for selector in [*selectors, "0x00", "0x000000"]:
            for tail in ("", "00" * 128):
                with reverts(None):
                    call = {"to": receiver, "data": selector + tail}
                    chain.rpc("eth_call", call, "latest")

    def test_it_accepts_coins(self, chain, owner, receiver):
        chain.send(STRANGER, receiver, value=5)
        assert chain.held(COIN, receiver) == 5

    def test_it_has_no_storage(self, chain, receiver):
        for slot in range(4):
            assert int(chain.rpc("eth_getStorageAt", receiver, hex(slot), "latest"), 16) == 0


def test_a_hundred_orders_cost_less_than_7_million_gas(chain, token, owner):
    salts = chain.orders(owner, token, [10**6] * 100)
    assert gas_of(chain.collect(owner, token, salts)) < 7_000_000
    chain.mint(token, *((receiver_address(owner, salt), 10**6) for salt in salts))
    assert gas_of(chain.collect(owner, token, salts)) < 2_000_000
    assert chain.held(token, owner) == 200 * 10**6


def test_it_collects_the_test_token(chain, owner):
    token = anvil.deploy_token(chain.rpc)
    (salt,) = [secrets.token_bytes(32)]
    anvil.mint(chain.rpc, token, receiver_address(owner, salt), 5)
    chain.collect(owner, token, [salt])
    assert chain.held(token, owner) == 5
