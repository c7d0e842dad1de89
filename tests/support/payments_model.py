"""The expected books of payments, calculated in plain Python from rows and from the chain."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from ticketing.db.connection import database
from ticketing.services.payments.reconciliation import reconcile

LIVE = {"awaiting_payment", "processing"}
SOLD = {"confirmed", "reversed"}
ENDED = {"expired", "canceled"}
TABLES = (
    "events",
    "ticket_types",
    "payment_intents",
    "payments",
    "admissions",
    "refunds",
    "waivers",
    "chains",
)

LEAVES_OUT = {"lag", "omit_logs", "omit_tip_logs", "omit_new_logs"}
"""Faults of a provider that hide payments for longer than one look."""

Row = dict[str, Any]


class Place(NamedTuple):
    """One payment, in the books or on the chain."""

    tx_hash: str
    log_index: int
    block_number: int
    block_hash: str
    time: datetime
    intent: str
    amount: int


class Model:
    """Facts that are recorded beside the service, and compared with its data."""

    def __init__(self, confirmations: int, atomic_per_unit: int) -> None:
        self._confirmations = confirmations
        self._scale = atomic_per_unit
        self._was: dict[str, Row] = {}
        self._books: dict[str, dict[str, Row]] = {table: {} for table in TABLES}
        self._codes: dict[str, set[str]] = {}
        self._ever_final: Counter[str] = Counter()
        self._is_blind = self._is_misled = False
        self.deepest = 0
        """The depth of the deepest reorganization so far."""

    @property
    def has_intents(self) -> bool:
        """Return whether there is an order."""
        return bool(self._was)

    @property
    def owes(self) -> bool:
        """Return whether a refund is due."""
        return any(row["refund_due"] for row in self._books["payment_intents"].values())

    def suspect(self, faults: Iterable[str]) -> None:
        """Record that the provider omits data, or answers for another chain at times."""
        for fault in faults:
            self._is_blind |= fault in LEAVES_OUT
            self._is_misled |= fault == "misroute"

    def see(self, chain: Any) -> None:
        """Record how much was ever final at each address: only that may be sold for."""
        final_up_to = chain.head[0] - self._confirmations + 1
        now: Counter[str] = Counter()
        for seen in chain.transfers():
            if seen.block_number <= final_up_to:
                now[seen.send.to.lower()] += seen.send.amount
        self._ever_final |= now

    def check(self, tenant_id: str) -> None:
        """Check what must be true at every moment."""
        books = {table: _rows(table) for table in TABLES}
        if books == self._books:
            return
        before, self._books = self._books, books
        assert reconcile(tenant_id) == []
        intents = books["payment_intents"]
        self._check_stock(intents)
        self._check_sums(intents)
        self._check_admissions(intents)
        for intent in intents.values():
            self._check_move(intent, self._was.get(intent["id"]), before)
        self._check_owed(before)
        self._was = intents

    def check_against(self, chain: Any) -> None:
        """Compare the books with the chain, after the worker has seen all of it."""
        (state,) = self._books["chains"].values()
        assert (state["block_number"], state["block_hash"]) == chain.head[:2]
        intents = self._books["payment_intents"]
        of_address = {
            intent["address"].lower(): intent for intent in intents.values() if intent["address"]
        }
        there = [
            Place(
                seen.tx_hash,
                seen.log_index,
                seen.block_number,
                seen.block_hash,
                datetime.fromtimestamp(seen.time, UTC),
                of_address[seen.send.to.lower()]["id"],
                seen.send.amount,
            )
            for seen in chain.transfers()
            if seen.send.to.lower() in of_address
        ]
        booked = [
            Place(
                row["tx_hash"],
                row["log_index"],
                row["block_number"],
                row["block_hash"],
                _moment(row["block_time"]),
                row["intent_id"],
                row["amount"] * self._scale + row["dust"],
            )
            for row in self._books["payments"].values()
            if row["canonical"]
        ]
        lost, invented = Counter(there) - Counter(booked), Counter(booked) - Counter(there)
        assert (lost, invented) == (Counter(), Counter()), "the books are not what the chain says"
        received: Counter[str] = Counter()
        in_time: Counter[str] = Counter()
        for each in there:
            received[each.intent] += each.amount
            if each.time <= _moment(intents[each.intent]["hold_until"]):
                in_time[each.intent] += each.amount
        for intent in intents.values():
            self._check_end(intent, received[intent["id"]], in_time[intent["id"]], chain.head[2])
        self._check_refunds(chain, of_address)

    def _check_stock(self, intents: dict[str, Row]) -> None:
        held: Counter[str] = Counter()
        sold: Counter[str] = Counter()
        for intent in intents.values():
            held[intent["ticket_type_id"]] += intent["quantity"] * (intent["status"] in LIVE)
            sold[intent["ticket_type_id"]] += intent["quantity"] * (intent["status"] in SOLD)
        for key, kind in self._books["ticket_types"].items():
            assert (kind["held"], kind["sold"]) == (held[key], sold[key])
            assert held[key] + sold[key] <= kind["capacity"]

    def _check_sums(self, intents: dict[str, Row]) -> None:
        received: Counter[str] = Counter()
        for payment in self._books["payments"].values():
            assert payment["intent_id"] in intents
            if payment["canonical"]:
                received[payment["intent_id"]] += payment["amount"] * self._scale + payment["dust"]
        refunded: Counter[str] = Counter()
        for refund in self._books["refunds"].values():
            refunded[refund["intent_id"]] += refund["amount"] * bool(refund["canonical"])
        for key, intent in intents.items():
            assert intent["amount_received"] == received[key] // self._scale
            assert intent["refunded"] == refunded[key]
            price = intent["amount"] if intent["status"] not in ENDED else 0
            beyond = intent["amount_received"] - price - intent["refunded"] - intent["waived"]
            assert intent["refund_due"] == max(0, beyond)
            assert 0 <= intent["refund_pending"] <= intent["refund_due"]
            if intent["status"] == "confirmed":
                assert beyond >= 0
        issued = [intent["address"].lower() for intent in intents.values() if intent["address"]]
        assert len(issued) == len(set(issued))

    def _check_admissions(self, intents: dict[str, Row]) -> None:
        codes: dict[str, set[str]] = defaultdict(set)
        for admission in self._books["admissions"].values():
            codes[admission["intent_id"]].add(admission["code"])
            is_confirmed = intents[admission["intent_id"]]["status"] == "confirmed"
            assert admission["status"] == ("valid" if is_confirmed else "suspended")
        for key, intent in intents.items():
            once_confirmed = intent["status"] in SOLD or key in self._codes
            assert len(codes[key]) == (intent["quantity"] if once_confirmed else 0)
            assert self._codes.get(key, codes[key]) == codes[key]
            if once_confirmed:
                self._codes[key] = codes[key]

    def _check_owed(self, before: dict[str, dict[str, Row]]) -> None:
        """Check that a due refund decreases only by a refund, or when its payments are removed."""
        lost: Counter[str] = Counter()
        for key, payment in before["payments"].items():
            if payment["canonical"] and not self._books["payments"][key]["canonical"]:
                lost[payment["intent_id"]] += payment["amount"] + 1  # with its smallest part
        for key, was in before["payment_intents"].items():
            now = self._books["payment_intents"][key]
            sent_back = now["refunded"] - was["refunded"] + now["waived"] - was["waived"]
            assert was["refund_due"] - now["refund_due"] <= sent_back + lost[key], "sold"

    def _check_late(self, intent: Row, before: dict[str, dict[str, Row]]) -> None:
        """Check that an expired order is honoured only by one full transfer within a day.

        It must be as available as a new order would be, before the last event or after it.
        """
        (kept_by,) = (
            each
            for each in self._books["payments"].values()
            if each["intent_id"] == intent["id"] and each["canonical"] and each["honoured"]
        )
        assert kept_by["amount"] >= intent["amount"]
        late = _moment(kept_by["block_time"]) - _moment(intent["ended_at"])
        assert late <= timedelta(hours=24)
        kind = intent["ticket_type_id"]
        assert any(
            row["price_amount"] <= intent["unit_amount"]
            and (ends is None or kept_by["block_time"] < ends)
            for row in (before["ticket_types"][kind], self._books["ticket_types"][kind])
            for ends in [row["sales_end_at"]]
        )

    def _check_move(
        self, intent: Row, was: Row | None, books_before: dict[str, dict[str, Row]]
    ) -> None:
        """Check that nobody is served without a final payment, or loses a seat without a reason."""
        after, before = intent["status"], was and was["status"]
        if after == before or not intent["address"]:
            return
        if before == "expired":
            self._check_late(intent, books_before)
        if books_before["ticket_types"] and after != "canceled" and before != "reversed":
            event = books_before["events"][intent["event_id"]]
            kind = books_before["ticket_types"][intent["ticket_type_id"]]
            gone = "canceled" in (event["status"], kind["status"])
            assert not gone or after in ("expired", "reversed"), "sold after the end of the sale"
        if after == "confirmed":
            needed = (intent["amount"] + intent["refunded"] + intent["waived"]) * self._scale
            assert self._ever_final[intent["address"].lower()] >= needed, "sold, but never final"
        elif after == "reversed":
            assert before == "confirmed"
            is_cause = self.deepest >= self._confirmations or self._is_misled
            assert is_cause or intent["refunded"] or intent["waived"], "reversed in vain"
        assert before not in SOLD or after in SOLD
        assert before != "canceled"

    def _check_end(self, intent: Row, received: int, in_time: int, time: int) -> None:
        status, amount = intent["status"], intent["amount"] * self._scale
        if not intent["address"]:
            return
        kept = received - (intent["refunded"] + intent["waived"]) * self._scale
        assert status != "processing"
        if status == "awaiting_payment":
            assert kept < amount or intent["ended_at"]
            assert _moment(intent["expires_at"]) >= datetime.fromtimestamp(time, UTC)
        elif status == "confirmed":
            assert kept >= amount
        elif status == "reversed":
            assert kept < amount
        if not self.deepest:
            price = intent["amount"] if status == "confirmed" else 0
            left = price + intent["refund_due"] + intent["refunded"] + intent["waived"]
            assert status == "awaiting_payment" or received // self._scale == left
            paid_in_time = in_time >= amount and status != "canceled" and not self._is_blind
            assert not paid_in_time or status == "confirmed", "paid in time, not served"

    def _check_refunds(self, chain: Any, of_address: dict[str, Any]) -> None:
        """Check that only real refunds count, unless one was reverted after it was final."""
        if self.deepest >= self._confirmations:
            return
        back = sum(
            seen.send.amount
            for seen in chain.transfers()
            if seen.send.to.lower() not in of_address
            and seen.send.sender.lower() == chain.organizer.lower()
        )
        counted = [each for each in self._books["refunds"].values() if each["canonical"]]
        refunded = sum(each["amount"] for each in counted)
        assert refunded * self._scale <= back
        sent = {(seen.tx_hash, seen.log_index): seen.send.amount for seen in chain.transfers()}
        shared: Counter[tuple[str, int]] = Counter()
        for each in counted:
            shared[each["tx_hash"], each["log_index"]] += each["amount"] * self._scale
        for log, amount in shared.items():
            assert amount <= sent[log], "a transfer counts for more than its value"


def _rows(table: str) -> dict[str, Row]:
    """Return the rows of a table by their first column, as the database returns them."""
    cursor = database.execute_sql(f"SELECT * FROM {table}")
    names = [column[0] for column in cursor.description]
    return {row[0]: dict(zip(names, row, strict=True)) for row in cursor.fetchall()}


def _moment(value: str | datetime) -> datetime:
    return datetime.fromisoformat(value) if isinstance(value, str) else value
