"""Whatever anybody calls, what leaves a receiver arrives at its owner.

Thieves call everything with everything, tokens and owners call back into it, issuers freeze and
pause. A test follows each token's transfers and each coin. At the end all is well again, and
everything that was paid must reach its owner.
"""

import logging
import random
import secrets

import pytest

from tests.support.receivers import (
    CALL,
    COIN,
    DEPLOYER,
    OWNER,
    PAY,
    REFUND,
    Chain,
    data_of,
    gathering,
    transfers_in,
)
from ticketing.chain import receivers
from tools import anvil

log = logging.getLogger(__name__)

CALLS = 1_000
GAS = 3_000_000
ORDERS = 3
MOST_ODD = 3

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("starts_processes")]


class World(Chain):
    """Owners with their receivers, tokens, and everybody who wants what is theirs."""

    def __init__(self, node, seed):
        super().__init__(node)
        self.random = random.Random(seed)
        self.owners = [self.accounts[OWNER], *(self.owner() for _ in range(2))]
        self.thieves = [place for place in range(10) if place != OWNER]
        self.tokens = [self.token(), self.deploy("OddToken")]
        self.salts = [receivers.GATHERING_SALT, *(secrets.token_bytes(32) for _ in range(ORDERS))]
        self.owner_of = {
            receivers.receiver_address(owner, salt): owner
            for owner in self.owners
            for salt in self.salts
        }
        self.addresses = [
            *self.owner_of,
            *self.owners,
            *self.accounts,
            *self.tokens,
            receivers.FACTORY,
            receivers.IMPLEMENTATION,
            receivers.PROXY,
            COIN,
        ]
        self.coins = {owner: self.coins_of(owner) for owner in self.owners}
        self.odd = []
        self.left = 0

    def coins_of(self, owner):
        """Return the coins of an owner and of all his receivers."""
        family = [owner, *(each for each, whose in self.owner_of.items() if whose == owner)]
        return sum(self.held(COIN, each) for each in family)

    def one_of(self, *values):
        return self.random.choice(values)

    def any_address(self):
        return self.one_of(*self.addresses)

    def any_money(self):
        return self.one_of(*self.tokens, COIN)

    def any_salts(self):
        some = [*self.salts, self.random.randbytes(32)]
        return self.random.choices(some, k=self.random.randrange(6))

    def any_amount(self):
        return self.one_of(0, 1, 5, self.random.randrange(1, 50), 2**255)

    def a_call(self):
        """Return a target and call data of something that moves money, or should."""
        owner = self.one_of(*self.owners, self.any_address())
        collect = receivers.collect_data(
            owner,
            self.one_of(self.any_money(), self.any_money(), self.any_money(), self.any_address()),
            self.any_salts(),
            direct=self.one_of(True, False),
        )
        payments = [
            (self.random.randbytes(32), self.any_address(), self.any_amount())
            for _ in range(self.random.randrange(3))
        ]
        refund = data_of(REFUND, self.any_address(), self.one_of(0, 2**40), payments)
        pay = data_of(PAY, self.any_money(), self.any_amount(), self.one_of(True, False))
        token = self.one_of(*self.tokens)
        sender, to, amount = self.any_address(), self.any_address(), self.any_amount()
        stolen = data_of("transferFrom(address,address,uint256)", sender, to, amount)
        approved = data_of("approve(address,uint256)", to, amount)
        noise = "0x" + self.random.randbytes(self.random.randrange(100)).hex()
        return self.one_of(
            (receivers.FACTORY, collect),
            (receivers.FACTORY, collect),
            (receivers.FACTORY, collect),
            (receivers.FACTORY, refund),
            (self.any_address(), pay),
            (self.any_address(), self.one_of(collect, refund, stolen, approved)),
            (token, stolen),
            (token, approved),
            (self.any_address(), noise),
            (
                self.one_of(*self.owners[1:]),
                data_of("run(address,bytes)", receivers.FACTORY, bytes.fromhex(collect[2:])),
            ),
            (
                self.one_of(*self.owners[1:]),
                data_of("run(address,bytes)", self.any_address(), bytes.fromhex(pay[2:])),
            ),
        )

    def be_odd(self):
        """Change what a token or an owner does. Of older changes only a few remain."""
        flags = [self.one_of(True, False) for _ in range(3)]
        target, data = self.a_call()
        call = target, bytes.fromhex(data[2:])
        token, owner = self.one_of(*self.tokens), self.one_of(*self.owners[1:])
        someone = self.any_address()
        odd, normal = self.one_of(
            (
                (token, data_of("freeze(address,bool)", someone, True)),
                (token, data_of("freeze(address,bool)", someone, False)),
            ),
            ((token, data_of("pause(bool)", True)), (token, data_of("pause(bool)", False))),
            (
                (token, data_of("setOddities(bool,bool,bool)", *flags)),
                (token, data_of("setOddities(bool,bool,bool)", False, False, False)),
            ),
            (
                (token, data_of("setCall(address,bytes)", *call)),
                (token, data_of("setCall(address,bytes)", COIN, b"")),
            ),
            (
                (owner, data_of("set(uint8,address,bytes)", self.one_of(1, 2, CALL), *call)),
                (owner, data_of("set(uint8,address,bytes)", 0, COIN, b"")),
            ),
        )
        self.attempt(*odd)
        self.odd.append(normal)
        if len(self.odd) > MOST_ODD:
            self.attempt(*self.odd.pop(0))

    def calm(self):
        """Let tokens and owners be normal, and nobody frozen."""
        for target, data in self.odd:
            self.send(DEPLOYER, target, data)

    def step(self):
        receiver = self.one_of(*self.owner_of)
        kind = self.random.random()
        if kind < 0.25:
            token = self.one_of(*self.tokens)
            amount = self.random.randrange(1, 100)
            self.attempt(token, data_of("mint(address[],uint256[])", [receiver], [amount]))
        elif kind < 0.3:
            self.attempt(receiver, "0x", value=self.random.randrange(1, 100))
        elif kind < 0.4:
            self.be_odd()
        elif kind < 0.65:
            owner, direct = self.one_of(*self.owners), self.one_of(True, False)
            collect = receivers.collect_data(
                owner, self.any_money(), self.any_salts(), direct=direct
            )
            self.attempt(receivers.FACTORY, collect)
        else:
            self.attempt(*self.a_call(), value=self.one_of(0, 0, 0, 1))

    def attempt(self, target, data, value=0):
        """Send a transaction of somebody, and follow what moved."""
        sender = self.accounts[self.one_of(*self.thieves)]
        sent = {"from": sender, "to": target, "data": data, "gas": hex(GAS), "value": hex(value)}
        receipt = anvil.mined(self.rpc, self.rpc("eth_sendTransaction", sent))
        if receipt["status"] != "0x1":
            return
        for giver, taker, amount in transfers_in(receipt):
            owner = self.owner_of.get(giver)
            if owner is not None and amount:
                right = {owner} if giver == gathering(owner) else {owner, gathering(owner)}
                assert taker in right, (sent, giver, taker)
                self.left += 1
        owner = self.owner_of.get(target, target if target in self.owners else None)
        if owner is not None:
            self.coins[owner] += value

    def check_coins(self):
        assert {owner: self.coins_of(owner) for owner in self.owners} == self.coins


@pytest.mark.parametrize("run", range(3))
def test_what_leaves_a_receiver_arrives_at_its_owner(run):
    seed = secrets.randbits(32)
    log.warning("seed %s", seed)  # pytest shows it if the test fails
    with anvil.Anvil() as node:
        world = World(node, seed)
        for number in range(CALLS):
            world.step()
            if number % 50 == 0:
                world.check_coins()
        world.check_coins()
        log.warning("%s transfers from receivers", world.left)
        assert world.left > 50, "nearly nothing was collected: this tries too little"
        world.calm()
        for owner in world.owners:
            for token in [*world.tokens, COIN]:
                world.collect(owner, token, world.salts)
        world.check_coins()
        for money in [*world.tokens, COIN]:
            assert [each for each in world.owner_of if world.held(money, each)] == []
