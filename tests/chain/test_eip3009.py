"""Signed transfers, against eth-account and the test token."""

import secrets

import pytest
from eth_account import Account
from hypothesis import given, settings
from hypothesis import strategies as st

from ticketing.chain import secp256k1
from ticketing.chain.eip3009 import Authorization, TokenDomain, signer
from tools import anvil

NAME, VERSION = "USD Coin", "2"
FIELDS = ("from", "to", "value", "validAfter", "validBefore", "nonce")
KINDS = ("address", "address", "uint256", "uint256", "uint256", "bytes32")
TYPES = {
    "TransferWithAuthorization": [
        {"name": name, "type": kind} for name, kind in zip(FIELDS, KINDS, strict=True)
    ]
}


def signed(account, authorization, *, name=NAME, version=VERSION, chain_id=31337):
    values = (
        authorization.sender,
        authorization.recipient,
        authorization.value,
        authorization.valid_after,
        authorization.valid_before,
        authorization.nonce,
    )
    domain = {
        "name": name,
        "version": version,
        "chainId": chain_id,
        "verifyingContract": anvil.TOKEN_ADDRESS,
    }
    message = dict(zip(FIELDS, values, strict=True))
    return bytes(account.sign_typed_data(domain, TYPES, message).signature)


def an_authorization(sender, **fields):
    return Authorization(
        **{
            "sender": sender,
            "recipient": anvil.BUYER,
            "value": 25_000_000,
            "valid_after": 0,
            "valid_before": 2**40,
            "nonce": secrets.token_bytes(32),
            **fields,
        }
    )


numbers = st.integers(0, 2**256 - 1)


@pytest.mark.exhaustive
@settings(deadline=None, max_examples=50)
@given(
    key=st.integers(1, secp256k1.N - 1),
    value=numbers,
    valid_after=numbers,
    valid_before=numbers,
    nonce=st.binary(min_size=32, max_size=32),
    name=st.text(max_size=20),
    version=st.text(max_size=5),
    chain_id=st.integers(1, 2**53 - 1),
)
def test_the_signer_is_the_one_that_eth_account_used(
    key, value, valid_after, valid_before, nonce, name, version, chain_id
):
    account = Account.from_key(key.to_bytes(32, "big"))
    made = an_authorization(
        account.address,
        value=value,
        valid_after=valid_after,
        valid_before=valid_before,
        nonce=nonce,
    )
    signature = signed(account, made, name=name, version=version, chain_id=chain_id)
    separator = TokenDomain(name, version).separator(chain_id, anvil.TOKEN_ADDRESS)
    assert signer(made.digest(separator), signature) == account.address


SEPARATOR = TokenDomain(NAME, VERSION).separator(31337, anvil.TOKEN_ADDRESS)


def test_the_separator_is_the_tokens(node):
    call = {"to": anvil.TOKEN_ADDRESS, "data": "0x3644e515"}
    assert node.rpc("eth_call", call, "latest") == f"0x{SEPARATOR.hex()}"


def test_every_changed_field_has_another_signer():
    account = Account.create()
    made = an_authorization(account.address)
    signature = signed(account, made)
    changed = [
        an_authorization(account.address, nonce=made.nonce, **field)
        for field in (
            {"recipient": anvil.TOKEN_ADDRESS},
            {"value": made.value + 1},
            {"valid_after": 1},
            {"valid_before": made.valid_before + 1},
        )
    ]
    changed += [an_authorization(account.address), an_authorization(anvil.BUYER, nonce=made.nonce)]
    for each in changed:
        assert signer(each.digest(SEPARATOR), signature) != account.address


def _broken(signature):
    r, s, v = signature[:32], int.from_bytes(signature[32:64], "big"), signature[64]
    high = (secp256k1.N - s).to_bytes(32, "big")
    yield b""
    yield signature[:-1]
    yield signature + b"\0"
    yield signature[:-1] + bytes([v - 27])
    yield signature[:-1] + bytes([29])
    yield r + high + bytes([55 - v])  # USDC refuses the upper half of s
    yield bytes(32) + signature[32:]
    yield r + bytes(32) + signature[64:]
    yield b"\xff" * 32 + signature[32:]
    yield (5).to_bytes(32, "big") + signature[32:]  # no point of the curve has x = 5


def test_a_signature_that_the_token_refuses_is_invalid():
    account = Account.create()
    made = an_authorization(account.address)
    digest = made.digest(SEPARATOR)
    for broken in _broken(signed(account, made)):
        with pytest.raises(ValueError):
            signer(digest, broken)


def test_a_sum_at_infinity_is_an_error():
    with pytest.raises(ValueError, match="infinity"):
        secp256k1.multiply(secp256k1.N, secp256k1.G)
    assert secp256k1.multiply(secp256k1.N + 1, secp256k1.G) == secp256k1.G
