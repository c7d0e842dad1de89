"""Organizers whose wallet is an ordinary address, and the accounts that sign their refunds."""

from datetime import timedelta
from typing import Any

import pytest

from tests.support.factories import CHAIN, Buyer, Organizer, new_organizer, worker_once
from tests.support.provider.views import Answer, Question
from tests.support.refunds import account, pass_hours, state
from ticketing import clock
from ticketing.chain import receivers, refunded_events
from ticketing.chain.refunded_events import REFUNDED_TOPIC, ListedPayment
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.wallets import Wallet
from tools import anvil

OWNER, PAYER, OTHER = 6, 7, 8
"""The node's accounts: the organizer's wallet, and two that sign."""

OWNER_ADDRESS = "0x976EA74026E726554dB657fA54763abd0C3a0aa9"
"""The address of OWNER."""

STRANGER = 9
"""An account of the node that is nobody's."""

WORTHLESS = "0x00000000000000000000000000000000deadbe01"
"""Where `worthless` puts a token."""


def with_address(app: Any, node: anvil.Anvil, slug: str = "venue") -> Organizer:
    """An organizer whose orders are paid to receivers."""
    organizer = new_organizer(app, slug, address=account(node, OWNER))
    worker_once(app)  # it proves the receivers of the chain
    return organizer


def of_an_address(buyer: Buyer) -> None:
    """Let the wallet of an order be one of an address, by hand."""
    worker_once(buyer.organizer.app)
    of_order = PaymentIntent.select(PaymentIntent.wallet).where(
        PaymentIntent.id == buyer.intent["id"]
    )
    tenant = buyer.organizer.id
    Wallet.update(owner=OWNER_ADDRESS, tenant_id=tenant).where(Wallet.id.in_(of_order)).execute()


def owed(
    organizer: Organizer, node: anvil.Anvil, *amounts: int, to: str | None = anvil.BUYER
) -> list[Buyer]:
    """Buyers who paid too much, and stated where they want it back."""
    ticket = organizer.ticket(capacity=1000)
    buyers = [organizer.buyer(ticket) for _ in amounts]
    for buyer, amount in zip(buyers, amounts, strict=True):
        buyer.pay(node, buyer.intent["amount"] + amount)
    worker_once(organizer.app)
    for buyer in buyers:
        if to is not None:
            assert state(buyer, to).status_code == 200
    return buyers


def fund(node: anvil.Anvil, amount: int, index: int = PAYER) -> None:
    """Give an account that signs some tokens."""
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, account(node, index), amount)


def ask(
    organizer: Organizer, node: anvil.Anvil, index: int = PAYER, role: str = "admin", **fields: Any
) -> Any:
    """Ask for the list of an account, and return the answer.

    Its chain has one URL, so no second node has seen the payments.
    """
    body = {"chain_id": CHAIN, "payer": account(node, index), "accept_unwitnessed": True, **fields}
    return organizer.api(role).post(f"{organizer.path}/payouts", body)


def listed(organizer: Organizer, node: anvil.Anvil, index: int = PAYER) -> Any:
    """Return the list of an account."""
    answer = ask(organizer, node, index)
    assert answer.status_code == 200, answer.json
    return answer.json


def sign(node: anvil.Anvil, of_list: Any, index: int = PAYER) -> list[str]:
    """Sign all transactions of a list. Return their hashes. RuntimeError if one fails."""
    return [
        anvil.send(node.rpc, index, {"to": each["to"], "data": each["data"]})["transactionHash"]
        for each in of_list["transactions"]
    ]


def pay_with_id(
    node: anvil.Anvil,
    of_list: Any,
    index: int = PAYER,
    *,
    to: str | None = None,
    atomic: int | None = None,
    token: str | None = None,
) -> str:
    """Use the first id of a list for a payment that differs from it. Return the hash."""
    (first, *_) = of_list["payments"]
    paid = ListedPayment(
        first["id"], to or first["to"], first["amount"] if atomic is None else atomic
    )
    token = token or of_list["token_address"]
    calls = [(each["to"], each["data"]) for each in of_list["transactions"]]
    deploy = [each for each in calls if each[0] == receivers.PROXY]
    approve = token, refunded_events.approve_data(paid.atomic_amount)
    refund = receivers.FACTORY, refunded_events.refund_data(token, 2**40, [paid])
    *_, tx_hash = [
        anvil.send(node.rpc, index, {"to": contract, "data": data})["transactionHash"]
        for contract, data in (*deploy, approve, refund)
    ]
    return str(tx_hash)


def pass_hours_here(monkeypatch: pytest.MonkeyPatch, hours: float) -> None:
    """Move the server's clock."""
    real = clock.now
    monkeypatch.setattr(clock, "now", lambda: real() + timedelta(hours=hours))


def end_lists(node: anvil.Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all lists end, once the worker has read the next block: by the chain and by the server.

    A node that invents a late block ends no list, so both clocks count.
    """
    pass_hours(node, 73)
    pass_hours_here(monkeypatch, 73)


def settle_all(organizer: Organizer, tx_hash: str, role: str = "admin") -> Any:
    """Say that a transaction paid refunds of any orders."""
    body = {"tx_hash": tx_hash, "chain_id": CHAIN}
    return organizer.api(role).post(f"{organizer.path}/refunds/settle", body)


def mark(
    organizer: Organizer, buyer: Buyer, by_hand: bool = True, role: str = "admin", **fields: Any
) -> Any:
    """Say that a refund is paid by hand, or is not, and return the answer."""
    path = f"{organizer.path}/refunds/{buyer.intent['id']}/by-hand"
    return organizer.api(role).post(path, {"by_hand": by_hand, **fields})


def blocked(of_list: Any) -> list[tuple[str, int]]:
    """Return why orders are on no list, and the amount of each."""
    return [(each["reason"], each["amount"]) for each in of_list["blocked"]]


def refund(node: anvil.Anvil, index: int, token: str, *payments: tuple[str, str, int]) -> str:
    """Call the factory by hand, as anybody can. The payer allows it everything first."""
    if node.rpc("eth_getCode", receivers.FACTORY, "latest") == "0x":
        deploy = {"to": receivers.PROXY, "data": receivers.deploy_data()}
        anvil.send(node.rpc, index, deploy)
    if token != WORTHLESS:
        approve = refunded_events.approve_data(2**200)
        anvil.send(node.rpc, index, {"to": token, "data": approve})
    data = refunded_events.refund_data(token, 2**40, [ListedPayment(*each) for each in payments])
    sent = anvil.send(node.rpc, index, {"to": receivers.FACTORY, "data": data})
    return str(sent["transactionHash"])


def worthless(node: anvil.Anvil) -> str:
    """A token that anybody can have, and that does nothing."""
    node.rpc("anvil_setCode", WORTHLESS, "0x00")
    return WORTHLESS


def pass_over(organizer: Organizer, buyer: Buyer, role: str = "admin", **fields: Any) -> Any:
    """Say that an id was used for something else, and return the answer."""
    path = f"{organizer.path}/refunds/{buyer.intent['id']}/pass-over"
    return organizer.api(role).post(path, {"reason": "A test payment of ours.", **fields})


def answers_no(question: Question, answer: Answer) -> Answer:
    """Hide all events of the factory, and deny that an id was used."""
    if question["method"] == "eth_getLogs":
        kept = [each for each in answer["result"] if each["topics"][0] != REFUNDED_TOPIC]
        return {**answer, "result": kept}
    call = question["params"][0] if question["method"] == "eth_call" else {}
    if call.get("to") == receivers.FACTORY:
        return {**answer, "result": "0x" + "00" * 32}
    return answer
