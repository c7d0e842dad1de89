"""A chain with the factory of receivers, odd tokens and odd owners; what people do with them."""

import json
import re
import secrets
from contextlib import contextmanager
from pathlib import Path

import pytest
from eth_abi import decode, encode

from ticketing.chain import abi, address, receivers
from tools import anvil

CONTRACTS = Path(__file__).parents[1] / "chain" / "contracts"
PAYMENTS = "(bytes32,address,uint256)[]"
REFUND = f"refund(address,uint256,{PAYMENTS})"
PAY = "pay(address,uint256,bool)"
TRANSFERRED = "0x" + receivers.keccak256(b"Transfer(address,address,uint256)").hex()
REFUNDED = "0x" + receivers.keccak256(b"Refunded(address,bytes32,address,address,uint256)").hex()
COIN = address.ZERO

DEPLOYER, BUYER, STRANGER, OWNER, PAYER, OTHER_PAYER = range(6)
"""Indexes of the node's accounts."""

ACCEPT, REFUSE, BURN_GAS, CALL = range(4)
"""What an odd owner does when it is paid in coins."""


def data_of(signature, *values):
    """Return the call data for a function such as `freeze(address,bool)`."""
    return abi.selector(signature) + encode(kinds_of(signature), values).hex()


def kinds_of(signature):
    """Return the kinds of a signature's parameters. A list of tuples counts as one."""
    inside = signature.partition("(")[2][:-1]
    return re.findall(r"\([^)]*\)(?:\[\])?|[^,()]+", inside)


def reverts(error, *values):
    """Expect a contract's custom error, or any failure for None."""
    if error is None:
        return pytest.raises(RuntimeError)
    return pytest.raises(RuntimeError, match=data_of(error, *values))


class Chain:
    """A node with the factory. Each of its tokens and owners has an address of its own."""

    def __init__(self, node, *, is_deployed=True):
        self.node = node
        self.rpc = node.rpc
        self.accounts = [address.checksum(each) for each in node.rpc("eth_accounts")]
        if is_deployed and self.code(receivers.FACTORY) == b"":
            self.send(DEPLOYER, receivers.PROXY, receivers.deploy_data())

    def code(self, account):
        return bytes.fromhex(self.rpc("eth_getCode", account, "latest")[2:])

    def send(self, sender, to, data="0x", value=0, gas=None):
        """Send a transaction from one of the node's accounts. RuntimeError with why it fails."""
        transaction = {"to": to, "data": data, "value": hex(value)}
        if gas is not None:
            transaction["gas"] = hex(gas)
        try:
            return anvil.send(self.rpc, sender, transaction)
        except RuntimeError:
            call = {"from": self.accounts[sender], **transaction}
            self.rpc("eth_call", call, "latest")  # it has the contract's error
            raise

    def call(self, to, signature, *values, returns=(), sender=None):
        """Return what a call returns. RuntimeError if it fails."""
        call = {"to": to, "data": data_of(signature, *values)}
        if sender is not None:
            call["from"] = sender
        answer = self.rpc("eth_call", call, "latest")
        return decode(list(returns), bytes.fromhex(answer[2:])) if returns else answer

    def deploy(self, contract, argument=""):
        built = json.loads((CONTRACTS / f"{contract}.json").read_text())
        receipt = anvil.send(self.rpc, DEPLOYER, {"data": built["bytecode"] + argument})
        return address.checksum(receipt["contractAddress"])

    def token(self):
        """Deploy a token of USDC's shape, behind a proxy."""
        return self.deploy("TokenProxy", abi.address_word(self.deploy("OddToken")).hex())

    def owner(self, does=ACCEPT, target=address.ZERO, data=b""):
        """Deploy a contract that can own receivers."""
        owner = self.deploy("OddOwner")
        self.send(DEPLOYER, owner, data_of("set(uint8,address,bytes)", does, target, data))
        return owner

    def set(self, token, signature, *values):
        """Change what a token does."""
        return self.send(DEPLOYER, token, data_of(signature, *values))

    def mint(self, token, *payments):
        """Pay each (address, amount): coins of the buyer, or new tokens in one transaction."""
        if token == COIN:
            for to, amount in payments:
                self.send(BUYER, to, value=amount)
        else:
            to, amounts = zip(*payments, strict=True)
            self.set(token, "mint(address[],uint256[])", to, amounts)

    def held(self, token, holder):
        if token == COIN:
            return int(self.rpc("eth_getBalance", holder, "latest"), 16)
        (held,) = self.call(token, "balanceOf(address)", holder, returns=["uint256"])
        return held

    def take(self, token, holder, *, left):
        """Let the issuer of an odd token take what an address holds, but for `left` of it."""
        slot = receivers.keccak256(abi.address_word(holder) + bytes(32))
        self.rpc("anvil_setStorageAt", token, "0x" + slot.hex(), f"0x{left:064x}")
        assert self.held(token, holder) == left

    def collect(self, owner, token, salts, *, direct=False, sender=STRANGER, gas=None):
        data = receivers.collect_data(owner, token, salts, direct=direct)
        return self.send(sender, receivers.FACTORY, data, gas=gas)

    def refund(self, token, payments, *, sender=PAYER, valid_before=2**40, gas=None):
        data = data_of(REFUND, token, valid_before, payments)
        return self.send(sender, receivers.FACTORY, data, gas=gas)

    def allow(self, token, amount, *, sender=PAYER):
        """Give a payer the amount, and let the factory spend it."""
        self.mint(token, (self.accounts[sender], amount))
        self.send(sender, token, data_of("approve(address,uint256)", receivers.FACTORY, amount))

    def orders(self, owner, token, amounts):
        """Pay that many orders. Return their salts."""
        salts = [secrets.token_bytes(32) for _ in amounts]
        paid = [receivers.receiver_address(owner, salt) for salt in salts]
        self.mint(token, *zip(paid, amounts, strict=True))
        return salts

    @contextmanager
    def undone(self):
        """Take back what happens inside."""
        snapshot = self.rpc("evm_snapshot")
        try:
            yield
        finally:
            self.rpc("evm_revert", snapshot)


def gas_of(receipt):
    return int(receipt["gasUsed"], 16)


def transfers_in(receipt):
    """Return sender, recipient and amount of each Transfer log."""
    return [
        (
            address.checksum("0x" + log["topics"][1][26:]),
            address.checksum("0x" + log["topics"][2][26:]),
            int(log["data"], 16),
        )
        for log in receipt["logs"]
        if log["topics"][0] == TRANSFERRED
    ]


def gathering(owner):
    return receivers.receiver_address(owner, receivers.GATHERING_SALT)


class OddCode:
    """The odd token's code at the address of another token, for a while.

    The storage of both differs, so it begins without balances.
    """

    def __init__(self, node, token):
        self.rpc, self.token = node.rpc, token

    def __enter__(self):
        self.before = self.rpc("eth_getCode", self.token, "latest")
        built = json.loads((CONTRACTS / "OddToken.json").read_text())
        self.rpc("anvil_setCode", self.token, built["runtime"])
        return self

    def __exit__(self, *error):
        self.rpc("anvil_setCode", self.token, self.before)

    def mint(self, to, amount):
        self._send("mint(address[],uint256[])", [to], [amount])

    def freeze(self, account):
        self._send("freeze(address,bool)", account, True)

    def _send(self, signature, *values):
        anvil.send(self.rpc, DEPLOYER, {"to": self.token, "data": data_of(signature, *values)})
