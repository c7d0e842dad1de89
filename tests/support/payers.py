"""Who has proven that they paid: what pages tell, and contracts that pay."""

from typing import Any

from tests.support.factories import CHAIN, Buyer
from ticketing.chain.keccak import keccak256
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.services.payments import payer_proofs
from tools import anvil

LIAR = "0x" + "71a2" * 10
"""Where tests put a contract that writes false events."""

EXECUTOR = "0x" + "e8ec" * 10
"""Where tests put a contract that sends what it is told to the token."""

ENOUGH_GAS = hex(200_000)
"""For these contracts: they also pass if the token refuses, so the node would estimate too little.
"""


def told(buyer: Buyer, tx_hash: str, account: str = anvil.BUYER, chain_id: int = CHAIN) -> Any:
    """Tell the service who pays, as the page does."""
    body = {"account": account, "tx_hash": tx_hash, "chain_id": chain_id}
    return buyer.api.post(f"{buyer.path}/payers", body)


def tell(buyer: Buyer, tx_hash: str, account: str = anvil.BUYER, chain_id: int = CHAIN) -> None:
    assert told(buyer, tx_hash, account, chain_id).status_code == 204


def proven(buyer: Buyer) -> tuple[str, str] | None:
    """Who has proven to have paid the order at home, and how."""
    return payer_proofs.proven_payee(PaymentIntent.get_by_id(buyer.intent["id"]).home)


def proven_elsewhere(buyer: Buyer) -> tuple[str, str] | None:
    """Who has proven to have paid its only stray account."""
    (account,) = PaymentIntent.get_by_id(buyer.intent["id"]).stray_accounts
    return payer_proofs.proven_payee(account)


def is_looked_for(buyer: Buyer) -> bool:
    """Whether the worker looks for a proof of a payment of the order."""
    of_order = Payment.select().where(Payment.intent == buyer.intent["id"])
    return any(each.proof_due_at is not None for each in of_order)


def try_again_now(buyer: Buyer) -> None:
    """Let the pause end after which the worker asks about the order's payments again."""
    due = Payment.proof_due_at.is_null(False)
    Payment.update(proof_due_at=Payment.seen_at).where(
        Payment.intent == buyer.intent["id"], due
    ).execute()


def as_executor(node: anvil.Anvil, account: str = EXECUTOR) -> None:
    """Put a contract at an address: whoever calls it lets it call the token, with the same data."""
    node.rpc("anvil_setCode", account, "0x" + _CALL_TOKEN.hex())


def as_liar(node: anvil.Anvil, authorizer: str, nonce: str) -> None:
    """Put the same at LIAR, and let it say that the token's holder has signed (EIP-3009)."""
    topic = keccak256(b"AuthorizationUsed(address,bytes32)")
    topics = [bytes.fromhex(nonce[2:]), bytes.fromhex(authorizer[2:].rjust(64, "0")), topic]
    pushed = b"".join(b"\x7f" + each for each in topics)
    node.rpc("anvil_setCode", LIAR, "0x" + (pushed + _LOG3 + _CALL_TOKEN).hex())


_LOG3 = bytes.fromhex("60006000a3")
"""Writes an event without data and with three topics."""

_COPY, _CALL = bytes.fromhex("3660006000376000600036600060007300")[:-1], bytes.fromhex("5af100")
_CALL_TOKEN = _COPY + bytes.fromhex(anvil.TOKEN_ADDRESS[2:]) + _CALL
"""Copies the call's data, and calls the token with it."""
