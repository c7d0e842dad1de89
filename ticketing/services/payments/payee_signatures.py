"""Signatures with which the account that paid lets its refund go elsewhere.

They are needed only where nobody can be told about the change. What is signed is a text that people
can read in their wallets (EIP-191). A contract says itself whether a signature is its own
(EIP-1271).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ticketing.chain import messages
from ticketing.chain.errors import RpcError
from ticketing.chain.node import connect
from ticketing.chain.registry import Chain
from ticketing.errors import ChainUnavailable, FieldMessage, Invalid
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.refunds import RefundAddress
from ticketing.services import node_slots, stated_addresses
from ticketing.services.orders import payees_shown
from ticketing.services.payments import payee_rows

_NOT_SIGNED = FieldMessage("signature", "Must be a signature of the account that paid.")


@dataclass(frozen=True)
class Signed:
    """What an account signs. It is for one change of one account: the next one has a new number."""

    signer: str
    message: str


def wanted(account: OrderAccount, payee: RefundAddress, address: str, number: int) -> Signed:
    """Return what the payee that counts must sign, so that refunds go to another address.

    `number`: how many payees the account has had.
    """
    terms = account.terms
    lines = (
        f"Send the refund of my order to {address}.",
        f"Order: {account.intent_id}",
        f"Network: {terms.chain_id}",
        f"Token: {terms.token_address}",
        f"Change: {number}",
    )
    return Signed(payee.address, "\n".join(lines))


def checked(
    account: OrderAccount | None, address: str, signature: str, enabled: Mapping[int, Chain]
) -> Signed | None:
    """Return what a signature signs, if it is that of the payee that counts.

    None: there is no payee, so nothing is to be signed. Call it outside of a write transaction,
    because it may ask a node. Invalid. ChainUnavailable.
    """
    rows = [] if account is None else payee_rows.of(account)
    payee = payees_shown.payee_in(rows)
    if account is None or payee is None:
        return None
    expected = wanted(account, payee, stated_addresses.parse(address, "address"), len(rows))
    digest = messages.digest(expected.message)
    try:
        made = bytes.fromhex(signature.removeprefix("0x"))
    except ValueError:
        raise Invalid({"signature": [_NOT_SIGNED]}) from None
    if not messages.is_signed_by_key(digest, made, expected.signer):
        _ask_contract(account, digest, made, expected.signer, enabled)
    return expected


def _ask_contract(
    account: OrderAccount, digest: bytes, made: bytes, signer: str, enabled: Mapping[int, Chain]
) -> None:
    chain = enabled.get(account.terms.chain_id)
    if chain is None:
        raise ChainUnavailable
    try:
        with node_slots.slot(account.intent_id):
            is_signed = connect(chain).is_signed_by_contract(signer, digest, made)
    except RpcError:
        raise ChainUnavailable from None
    if not is_signed:
        raise Invalid({"signature": [_NOT_SIGNED]})
