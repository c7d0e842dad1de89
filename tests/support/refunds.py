"""What buyers and organizers do about refunds, through the API and on the local chain."""

import secrets
from datetime import datetime
from typing import Any

from tests.support import payees
from tests.support.books import change_home, home_of
from tests.support.factories import Buyer, Organizer, worker_once
from ticketing import clock, ids
from ticketing.models.payments import Payment
from tools import anvil

PAYER, FRIEND, STRANGER, GIVER = 1, 3, 4, 5
"""The node's accounts: who pays for tickets, two others, and who gives money back."""

HOUR = 3600


FRIEND_ADDRESS = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
STRANGER_ADDRESS = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
"""As the API writes them."""


def account(node: anvil.Anvil, index: int) -> str:
    """The address of one of the node's accounts."""
    return str(node.rpc("eth_accounts")[index])


def overpay(organizer: Organizer, node: anvil.Anvil, surplus: int = 7, **order: Any) -> Buyer:
    """A buyer who paid too much, and is owed the surplus."""
    buyer = organizer.buyer(organizer.ticket(), **order)
    worker_once(organizer.app)
    buyer.pay(node, buyer.intent["amount"] + surplus)
    worker_once(organizer.app)
    assert buyer.now()["refund_due"] == surplus
    return buyer


def pay_from(node: anvil.Anvil, index: int, buyer: Buyer, amount: int) -> str:
    """Pay for an order from an account that has no tokens yet."""
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, account(node, index), amount)
    address = buyer.intent["address"]
    sent = anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, address, amount, sender=index)
    return str(sent["transactionHash"])


def give_back(node: anvil.Anvil, amount: int, to: str = anvil.BUYER) -> str:
    """Send money to somebody; return the transaction's hash."""
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, account(node, GIVER), amount)
    sent = anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, to, amount, sender=GIVER)
    return str(sent["transactionHash"])


def received(buyer: Buyer, amount: int = 1, *, canonical: bool = True) -> None:
    """Book a payment of an order by hand, without a node. Or one that a reorganization removed."""
    Payment.insert(
        id=ids.new(ids.PAYMENT),
        intent=buyer.intent["id"],
        account=home_of(buyer.intent["id"]).id,
        chain_id=buyer.intent["chain_id"],
        tx_hash="0x" + secrets.token_hex(32),
        log_index=0,
        block_number=1,
        block_hash="0x" + "12" * 32,
        block_time=clock.now(),
        sender=anvil.BUYER,
        amount=amount,
        canonical=canonical,
        seen_at=clock.now(),
    ).execute()
    total = home_of(buyer.intent["id"]).received + amount * canonical
    change_home(buyer.intent["id"], received=total)


def dust(buyer: Buyer, count: int, *, block_time: datetime | None = None, **columns: Any) -> None:
    """Book the smallest payments by hand, each from an address and in a block of its own."""
    at = block_time or clock.now()
    rows = [
        {
            "id": ids.new(ids.PAYMENT),
            "intent": buyer.intent["id"],
            "account": home_of(buyer.intent["id"]).id,
            "chain_id": buyer.intent["chain_id"],
            "tx_hash": "0x" + secrets.token_hex(32),
            "log_index": 0,
            "block_number": number,
            "block_hash": f"0x{number:064x}",
            "block_time": at,
            "sender": "0x" + secrets.token_hex(20),
            "amount": 1,
            "canonical": True,
            "seen_at": at,
            **columns,
        }
        for number in range(1, count + 1)
    ]
    for first in range(0, count, 1_000):
        Payment.insert_many(rows[first : first + 1_000]).execute()


def state(buyer: Buyer, address: str) -> Any:
    """State where the money goes, and confirm it with the button in the mail."""
    return payees.state(buyer, address)


def settle(
    organizer: Organizer, buyer: Buyer, tx_hash: Any, role: str = "admin", **fields: Any
) -> Any:
    """Say that a transaction gave the money back."""
    path = f"{organizer.path}/refunds/{buyer.intent['id']}/settle"
    return organizer.api(role).post(path, {"tx_hash": tx_hash, **fields})


def settled(organizer: Organizer, buyer: Buyer, tx_hash: str, **fields: Any) -> int:
    """How much has been given back after a settle. 0 if it was refused as not seen."""
    answer = settle(organizer, buyer, tx_hash, **fields)
    if answer.status_code == 200:
        return int(answer.json["refunded"])
    assert (answer.status_code, answer.json["code"]) == (409, "refund_not_seen"), answer.json
    return 0


def waive(organizer: Organizer, buyer: Buyer, amount: Any, role: str = "admin") -> Any:
    """Write the refund off."""
    path = f"{organizer.path}/refunds/{buyer.intent['id']}/waive"
    return organizer.api(role).post(path, {"amount": amount, "reason": "less than the fee"})


def waive_small(organizer: Organizer, max_amount: int, role: str = "admin", **fields: Any) -> Any:
    """Write off all refunds of an amount or less."""
    body = {"max_amount": max_amount, "reason": "less than the fee", **fields}
    return organizer.api(role).post(f"{organizer.path}/refunds/waive", body)


def listed(organizer: Organizer, status: str | None = None) -> list[dict[str, Any]]:
    """The refunds of a tenant with a status, those that are due by default."""
    query = {} if status is None else {"status": status}
    answer = organizer.api("read").get(f"{organizer.path}/refunds", query_string=query)
    assert answer.status_code == 200, answer.json
    found: list[dict[str, Any]] = answer.json["data"]
    return found


def refund_in_the_last_block(
    organizer: Organizer, node: anvil.Anvil, buyer: Buyer, amount: int = 7
) -> tuple[str, str]:
    """Refund an order in a block that the chain can lose: the transaction's hash, and its bytes."""
    node.rpc("anvil_mine", "0x3")
    tx_hash = give_back(node, amount)
    assert settled(organizer, buyer, tx_hash) == amount
    worker_once(organizer.app)
    return tx_hash, str(node.rpc("eth_getRawTransactionByHash", tx_hash))


def pass_hours(node: anvil.Anvil, hours: float) -> None:
    """Move the chain's clock."""
    node.rpc("evm_increaseTime", int(hours * HOUR))
    node.rpc("anvil_mine", "0x1")
