"""What the books of payments must say: worked out in plain Python from rows and from the chain."""

from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import Any

from ticketing.models.admissions import Admission
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import Payment, PaymentIntent, Refund
from ticketing.models.ticket_types import TicketType
from ticketing.services.audit import audit

LIVE = {"awaiting_payment", "processing"}
SOLD = {"confirmed", "reversed"}
ENDED = {"expired", "canceled"}


class Model:
    """What is remembered beside the service, and compared with what it says."""

    def __init__(self, confirmations: int, atomic_per_unit: int) -> None:
        self._confirmations = confirmations
        self._scale = atomic_per_unit
        self._was: dict[str, str] = {}
        self._codes: dict[str, set[str]] = {}
        self._ever_final: Counter[str] = Counter()
        self.deepest = 0
        """The depth of the deepest reorganization so far."""

    def see(self, chain: Any) -> None:
        """Remember how much was ever final at each address: it alone may be sold for."""
        final_up_to = chain.head[0] - self._confirmations + 1
        now: Counter[str] = Counter()
        for seen in chain.transfers():
            if seen.block_number <= final_up_to:
                now[seen.send.to.lower()] += seen.send.amount
        self._ever_final |= now

    def check(self, tenant_id: str) -> None:
        """Hold the books to what must hold at every moment."""
        assert audit(tenant_id) == []
        intents = _by_id(PaymentIntent)
        self._check_stock(intents)
        self._check_sums(intents)
        self._check_admissions(intents)
        for intent in intents.values():
            self._check_move(intent, self._was.get(intent["id"]))
        self._was = {key: intent["status"] for key, intent in intents.items()}

    def check_against(self, chain: Any) -> None:
        """Hold the books to the chain, once the worker has seen all of it."""
        state = ChainState.get()
        assert (state.block_number, state.block_hash) == chain.head[:2]
        intents = _by_id(PaymentIntent)
        of_address = {
            intent["address"].lower(): intent for intent in intents.values() if intent["address"]
        }
        there = {
            (seen.tx_hash, seen.log_index, seen.block_number, seen.block_hash, seen.time)
            + (of_address[seen.send.to.lower()]["id"], seen.send.amount)
            for seen in chain.transfers()
            if seen.send.to.lower() in of_address
        }
        booked = [
            (row["tx_hash"], row["log_index"], row["block_number"], row["block_hash"])
            + (int(row["block_time"].timestamp()), row["intent"])
            + (row["amount"] * self._scale + row["dust"],)
            for row in Payment.select().dicts()
            if row["canonical"]
        ]
        assert Counter(booked) == Counter(there), "what is booked is not what is on the chain"
        received: Counter[str] = Counter()
        in_time: Counter[str] = Counter()
        for *_, time, intent_id, amount in there:
            received[intent_id] += amount
            if datetime.fromtimestamp(time, UTC) <= intents[intent_id]["hold_until"]:
                in_time[intent_id] += amount
        for intent in intents.values():
            self._check_end(intent, received[intent["id"]], in_time[intent["id"]], chain.head[2])
        self._check_refunds(chain, of_address)

    def _check_stock(self, intents: dict[str, dict[str, Any]]) -> None:
        held: Counter[str] = Counter()
        sold: Counter[str] = Counter()
        for intent in intents.values():
            held[intent["ticket_type"]] += intent["quantity"] * (intent["status"] in LIVE)
            sold[intent["ticket_type"]] += intent["quantity"] * (intent["status"] in SOLD)
        for key, kind in _by_id(TicketType).items():
            assert (kind["held"], kind["sold"]) == (held[key], sold[key])
            assert held[key] + sold[key] <= kind["capacity"]

    def _check_sums(self, intents: dict[str, dict[str, Any]]) -> None:
        received: Counter[str] = Counter()
        for payment in Payment.select().dicts():
            assert payment["intent"] in intents
            if payment["canonical"]:
                received[payment["intent"]] += payment["amount"] * self._scale + payment["dust"]
        refunded: Counter[str] = Counter()
        for refund in Refund.select().dicts():
            refunded[refund["intent"]] += refund["amount"]
        for key, intent in intents.items():
            assert intent["amount_received"] == received[key] // self._scale
            assert intent["refunded"] == refunded[key]
            price = intent["amount"] if intent["status"] not in ENDED else 0
            beyond = intent["amount_received"] - price - intent["refunded"]
            assert intent["refund_due"] == max(0, beyond)
            if intent["status"] == "confirmed":
                assert beyond >= 0
        issued = [intent["address"].lower() for intent in intents.values() if intent["address"]]
        assert len(issued) == len(set(issued))

    def _check_admissions(self, intents: dict[str, dict[str, Any]]) -> None:
        codes: dict[str, set[str]] = defaultdict(set)
        for admission in Admission.select().dicts():
            codes[admission["intent"]].add(admission["code"])
            is_confirmed = intents[admission["intent"]]["status"] == "confirmed"
            assert admission["status"] == ("valid" if is_confirmed else "suspended")
        for key, intent in intents.items():
            once_confirmed = intent["status"] in SOLD or key in self._codes
            assert len(codes[key]) == (intent["quantity"] if once_confirmed else 0)
            assert self._codes.get(key, codes[key]) == codes[key]
            if once_confirmed:
                self._codes[key] = codes[key]

    def _check_move(self, intent: dict[str, Any], before: str | None) -> None:
        """Nobody is served for what was never final, or loses a seat without a cause."""
        after = intent["status"]
        if after == before or not intent["address"]:
            return
        if after == "confirmed":
            needed = (intent["amount"] + intent["refunded"]) * self._scale
            assert self._ever_final[intent["address"].lower()] >= needed, "sold, but never final"
        elif after == "reversed":
            assert before == "confirmed"
            assert self.deepest >= self._confirmations or intent["refunded"], "reversed in vain"
        assert before not in SOLD or after in SOLD
        assert before != "canceled"

    def _check_end(self, intent: dict[str, Any], received: int, in_time: int, time: int) -> None:
        status, amount = intent["status"], intent["amount"] * self._scale
        if not intent["address"]:
            return
        kept = received - intent["refunded"] * self._scale
        assert status != "processing"
        if status == "awaiting_payment":
            assert kept < amount
            assert intent["expires_at"] >= datetime.fromtimestamp(time, UTC)
        elif status == "confirmed":
            assert kept >= amount
        elif status == "reversed":
            assert kept < amount
        if not self.deepest:
            price = intent["amount"] if status == "confirmed" else 0
            left = price + intent["refund_due"] + intent["refunded"]
            assert status == "awaiting_payment" or received // self._scale == left
            paid_in_time = in_time >= amount and status != "canceled"
            assert not paid_in_time or status == "confirmed", "paid in time, not served"

    def _check_refunds(self, chain: Any, of_address: dict[str, Any]) -> None:
        """Nothing counts as given back that was not, unless it was taken back when it was final."""
        if self.deepest >= self._confirmations:
            return
        back = sum(
            seen.send.amount
            for seen in chain.transfers()
            if seen.send.to.lower() not in of_address and seen.send.sender.startswith("0x0a")
        )
        assert sum(each.refunded for each in PaymentIntent.select()) * self._scale <= back


def _by_id(model: Any) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in model.select().dicts()}
