"""A random walk of everybody who can touch a refund, on a real node behind one that lies.

The truth is what the honest node has: what buyers sent, and what the organizer's accounts sent with
an id, a payee and an amount of a list.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.support.backups import Backup
from tests.support.bad_node import BadNode
from tests.support.factories import CHAIN, Organizer
from tests.support.payouts import OTHER, OWNER, PAYER, fund
from tests.support.refunds import FRIEND_ADDRESS, STRANGER_ADDRESS, account, pass_hours, state
from ticketing import clock
from ticketing.chain import receivers, refunded_events
from ticketing.chain.answers import TRANSFER_TOPIC
from ticketing.chain.refunded_events import REFUNDED_TOPIC, ListedPayment
from tools import anvil

STRANGER = 9
PAYERS = (OWNER, PAYER)
PAYEES = (anvil.BUYER, FRIEND_ADDRESS, STRANGER_ADDRESS)
WORTHLESS = "0x00000000000000000000000000000000deadbe01"
RESOLVED_BY_A_PERSON = {
    "not_covered",
    "unwitnessed",
    "cautioned",
    "already_paid",
    "paid_elsewhere",
    "waits_until",
    "no_payee",
    "beyond_balance",
}
"""Reasons that end by what a person does: with another node, a buyer, or an administrator."""


class Walk:
    """One shop with a few orders, and what happens to their refunds."""

    def __init__(
        self,
        venue: Organizer,
        node: anvil.Anvil,
        liar: BadNode,
        seed: int,
        patch: pytest.MonkeyPatch,
    ) -> None:
        self.venue, self.node, self.liar, self.patch = venue, node, liar, patch
        self.random = random.Random(seed)
        self.log: list[str] = []
        self.lists: list[tuple[int, Any]] = []
        """Lists that may be signed, with the account that asked for each."""
        self.listed: dict[tuple[str, str, str, int], str] = {}
        """The order of each payment that was ever listed, by payer, id, payee and amount."""
        self.backup: tuple[Backup, int] | None = None
        self.has_invented: set[str] = set()
        ticket = venue.ticket(capacity=100)
        self.buyers = [venue.buyer(ticket) for _ in range(3)]
        self.overpaid: dict[str, int] = defaultdict(int)
        for index in (*PAYERS, STRANGER, OTHER):
            fund(node, 1_000_000_000, index)
        anvil.send(node.rpc, 0, {"to": receivers.PROXY, "data": receivers.deploy_data()})
        node.rpc("anvil_setCode", WORTHLESS, "0x00")
        for index in (*PAYERS, STRANGER):
            allowed = {"to": anvil.TOKEN_ADDRESS, "data": refunded_events.approve_data(2**200)}
            anvil.send(node.rpc, index, allowed)
        for buyer in self.buyers:
            buyer.pay(node)
        self.work()

    def steps(self) -> list[tuple[int, Callable[[], None]]]:
        """What may happen next, each with its weight."""
        return [
            (4, self.overpay),
            (2, self.change_payee),
            (6, self.ask),
            (5, self.sign),
            (1, self.sign_otherwise),
            (2, self.use_an_id_as_a_stranger),
            (5, self.work),
            (2, self.wait),
            (2, self.lie),
            (1, self.back_up),
            (1, self.restore),
            (1, self.pass_over),
        ]

    def run(self, number: int) -> None:
        """Do so many steps, and check after each. Then let a person end what waits."""
        weights, acts = zip(*self.steps(), strict=True)
        for _ in range(number):
            (act,) = self.random.choices(acts, weights)
            self.log.append(act.__name__)
            act()
            self.check_never_twice()
        self.end()

    # What happens.

    def overpay(self) -> None:
        buyer, amount = self.random.choice(self.buyers), self.random.randint(1, 9)
        buyer.pay(self.node, amount)
        self.overpaid[buyer.intent["id"]] += amount

    def change_payee(self) -> None:
        answer = state(self.random.choice(self.buyers), self.random.choice(PAYEES))
        assert answer.status_code in (200, 409, 429), answer.json

    def ask(self, index: int | None = None) -> Any:
        index = self.random.choice(PAYERS) if index is None else index
        body = {"chain_id": CHAIN, "payer": account(self.node, index)}
        answer = self.venue.api().post(f"{self.venue.path}/payouts", body)
        if answer.status_code != 200:
            assert answer.status_code in (422, 503), answer.json
            return None
        found = answer.json
        self.check_adds_up(found)
        if found["payments"]:
            self.lists.append((index, found))
        for each in found["payments"]:
            key = (found["payer"], each["id"], each["to"], each["amount"])
            self.listed[key] = each["intent_id"]
        return found

    def sign(self) -> None:
        if self.lists:
            self._sign(*self.random.choice(self.lists))

    def _sign(self, index: int, of_list: Any) -> None:
        for step in of_list["transactions"]:
            if step["purpose"] == "refund":
                self._send(index, step["to"], step["data"])

    def _send(self, index: int, to: str, data: str) -> None:
        try:
            anvil.send(self.node.rpc, index, {"to": to, "data": data})
        except RuntimeError:
            self.log.append("(refused)")  # by the factory: the id is used, or the list has ended

    def _refund(self, index: int, token: str, id_: str, to: str, amount: int) -> None:
        payment = ListedPayment(id_, to, amount)
        self._send(index, receivers.FACTORY, refunded_events.refund_data(token, 2**40, [payment]))

    def _some_payment(self) -> Any:
        return self.random.choice(self.random.choice(self.lists)[1]["payments"])

    def sign_otherwise(self) -> None:
        """A payer sends with an id of a list what the list does not say."""
        if self.lists:
            index, of_list = self.random.choice(self.lists)
            each = self.random.choice(of_list["payments"])
            to, amount = self.random.choice(PAYEES), self.random.randint(1, 9)
            self._refund(index, anvil.TOKEN_ADDRESS, each["id"], to, amount)

    def use_an_id_as_a_stranger(self) -> None:
        if self.lists:
            each = self._some_payment()
            token = self.random.choice((anvil.TOKEN_ADDRESS, WORTHLESS))
            to = self.random.choice((each["to"], account(self.node, OTHER)))
            amount = self.random.choice((each["amount"], 1))
            self._refund(STRANGER, token, each["id"], to, amount)

    def work(self) -> None:
        self.venue.app.test_cli_runner().invoke(args=["worker", "--once"])

    def wait(self) -> None:
        hours = self.random.choice((1, 30, 73))
        self._pass_hours(hours)

    def _pass_hours(self, hours: int) -> None:
        """Move the chain's clock and the server's."""
        pass_hours(self.node, hours)
        self.patch.setattr(clock, "now", lambda now=clock.now: now() + timedelta(hours=hours))

    def lie(self) -> None:
        self.liar.rules.clear()
        kinds = (None, _hide_events, self._invent_a_payment(), _is_silent, _invent_events)
        rule = self.random.choice(kinds)
        if rule is not None:
            self.log[-1] += f" {rule.__name__}"
            self.liar.rules.append(rule)

    def _invent_a_payment(self) -> Any:
        buyer = self.random.choice(self.buyers)
        to = buyer.intent["address"].lower()[2:]

        def invent(question: Any, answer: Any) -> Any:
            if question["method"] != "eth_getLogs":
                return answer
            more = [
                {**log, "logIndex": "0x99", "data": f"0x{1000:064x}"}
                for log in answer["result"]
                if log["topics"][0] == TRANSFER_TOPIC and log["topics"][2].endswith(to)
            ]
            if more:
                self.has_invented.add(buyer.intent["id"])
            return {**answer, "result": [*answer["result"], *more[:1]]}

        return invent

    def back_up(self) -> None:
        self.backup = (Backup(), len(self.lists))

    def restore(self) -> None:
        """Go back to the backup. Lists that were answered since then are not signed any more."""
        if self.backup is None:
            return
        backup, known = self.backup
        backup.restore(self.venue.app, self.node)
        del self.lists[known:]
        self.backup = None
        self.work()

    def pass_over(self) -> None:
        """An administrator looks at the chain, and says what is true."""
        for index in PAYERS:
            for each in (self.ask(index) or {"blocked": []})["blocked"]:
                if each["payment_id"] is not None:
                    self._resolve(each)

    def _resolve(self, each: Any) -> None:
        path = f"{self.venue.path}/refunds/{each['intent_id']}"
        for event in self._events():
            is_it = (event["payer"], event["id"]) == (each["payer"], each["payment_id"])
            if is_it and event["token"] == anvil.TOKEN_ADDRESS:
                body = {"tx_hash": event["tx_hash"], "recipient": event["to"]}
                self.venue.api().post(f"{path}/settle", body)
                return
        if not self._is_used(each["payer"], each["payment_id"]):
            word = {name: each[name] for name in ("payer", "payment_id")}
            self.venue.api().post(f"{path}/pass-over", {**word, "reason": "No such payment."})

    # What is true.

    def _events(self) -> Iterator[dict[str, Any]]:
        asked = {"address": receivers.FACTORY, "fromBlock": "0x0", "toBlock": "latest"}
        for log in self.node.rpc("eth_getLogs", asked):
            (event,) = refunded_events.parse_events([log])
            yield {
                "payer": event.payer,
                "id": event.id,
                "to": event.to,
                "amount": event.atomic_amount,
                "token": event.token_address,
                "tx_hash": event.tx_hash,
            }

    def _is_used(self, payer: str, id_: str) -> bool:
        data = "0x" + refunded_events.keccak256(b"refunded(address,bytes32)").hex()[:8]
        data += payer[2:].lower().rjust(64, "0") + id_[2:]
        call = {"to": receivers.FACTORY, "data": data}
        return int(self.node.rpc("eth_call", call, "latest"), 16) == 1

    def paid_by_lists(self) -> dict[str, int]:
        """What the organizer's accounts paid as a list said, by order."""
        paid: dict[str, int] = defaultdict(int)
        for event in self._events():
            key = (event["payer"], event["id"], event["to"], event["amount"])
            if event["token"] == anvil.TOKEN_ADDRESS and key in self.listed:
                paid[self.listed[key]] += event["amount"]
        return paid

    def check_never_twice(self) -> None:
        for intent_id, amount in self.paid_by_lists().items():
            assert amount <= self.overpaid[intent_id], (intent_id, amount, self.log)

    def check_adds_up(self, found: Any) -> None:
        due = {each.intent["id"]: each.now()["refund_due"] for each in self.buyers}
        parts = [*found["payments"], *found["blocked"], *found["listed_for_another"]]
        amounts = sum(each["amount"] for each in parts) + found["left"]["amount"]
        orders = len(parts) + found["left"]["orders"]
        assert amounts == sum(due.values()), (found, due, self.log)
        assert orders == sum(map(bool, due.values())), (found, due, self.log)

    def end(self) -> None:
        """Stop lying, and let time pass and persons do what they can. Nothing may be stuck."""
        self.liar.rules.clear()
        self.work()
        self._pass_hours(80)
        for _ in range(2):
            self.work()
        for buyer in self.buyers:
            state(buyer, anvil.BUYER)
        self.pass_over()
        self.work()
        found = self.ask(OWNER)
        assert found is not None, self.log
        listed = {each["intent_id"] for each in found["payments"]}
        reasons = {each["intent_id"]: each["reason"] for each in found["blocked"]}
        for each in self.buyers:
            id_ = each.intent["id"]
            if each.now()["refund_due"] and id_ not in listed:
                assert reasons.get(id_) in RESOLVED_BY_A_PERSON, (found, self.log)
                # Only a false payment needs more than an administrator.
                is_false = id_ in self.has_invented or reasons[id_] == "paid_elsewhere"
                assert is_false, (found, self.log)
        self._sign(OWNER, found)
        self.work()
        self.check_never_twice()


def _hide_events(question: Any, answer: Any) -> Any:
    """Hide what the factory wrote, and deny that ids were used."""
    if question["method"] == "eth_getLogs":
        kept = [each for each in answer["result"] if each["topics"][0] != REFUNDED_TOPIC]
        return {**answer, "result": kept}
    call = question["params"][0] if question["method"] == "eth_call" else {}
    if str(call.get("to")).lower() == receivers.FACTORY.lower():
        return {**answer, "result": "0x" + "00" * 32}
    return answer


def _invent_events(question: Any, answer: Any) -> Any:
    """Say that the payer of each event was one of the organizer's accounts."""
    if question["method"] != "eth_getLogs":
        return answer
    more = [
        {**log, "topics": [log["topics"][0], "0x" + "00" * 12 + _SIGNER, log["topics"][2]]}
        for log in answer["result"]
        if log["topics"][0] == REFUNDED_TOPIC
    ]
    return {**answer, "result": [*answer["result"], *more]}


_SIGNER = "14dc79964da2c08b23698b3d3cc7ca32193d9955"
"""The node's account PAYER."""


def _is_silent(question: Any, answer: Any) -> Any:
    """Refuse every call of a contract."""
    if question["method"] == "eth_call":
        return {"id": answer["id"], "error": {"code": -32000, "message": "not available"}}
    return answer
