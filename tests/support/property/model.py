"""The expected books of payments, calculated in plain Python from rows and from the chain."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.property.model_admissions import AdmissionRules
from tests.support.property.model_door import check_scans
from tests.support.property.model_early import EarlyRules
from tests.support.property.model_feed import FeedRules
from tests.support.property.model_refunds import RefundRules
from tests.support.property.model_rows import (
    LIVE,
    SOLD,
    TABLES,
    Books,
    Place,
    Row,
    enough,
    items,
    kept,
    moment,
    of_intent,
    read_books,
    received,
    waived,
)
from tests.support.property.model_strays import accounts, check_strays
from tests.support.property.model_vouchers import check_vouchers, gives_no_less
from ticketing.services.payments.reconciliation import reconcile

LEAVES_OUT = {"lag", "omit_logs", "omit_tip_logs", "omit_new_logs"}
"""Faults of a provider that hide payments until their order ends."""

SCATTERS = {"scatter"}
"""Faults that may hide a payment while its block is read, but not from every later answer."""


Home = tuple[int, str]
"""A chain and an address on it."""


class Model:
    """Facts that are recorded beside the service, and compared with its data."""

    def __init__(self, confirmations: int, atomic_per_unit: int, early: EarlyRules) -> None:
        self._confirmations = confirmations
        self.early = early
        self._scale = atomic_per_unit
        self._was: dict[str, Row] = {}
        self._books: Books = {table: {} for table in (*TABLES, "stray_accounts")}
        self._admissions = AdmissionRules()
        self._refunds = RefundRules(atomic_per_unit)
        self.feed = FeedRules()
        self._ever_final: Counter[Home] = Counter()
        self._ever_early: Counter[Home] = Counter()
        self._is_misled = False
        self.is_blind = False
        """Whether a provider has left out payments until their order ended."""

        self.needs_balances = False
        """Whether only an address's balance, a day after its order ended, may show a payment."""

        self.deepest = 0
        """The depth of the deepest reorganization so far."""

    @property
    def has_intents(self) -> bool:
        """Return whether there is an order."""
        return bool(self._was)

    @property
    def owes(self) -> bool:
        """Return whether a refund can be paid now."""
        return any(row["due"] > row["pending"] for row in accounts(self._books).values())

    @property
    def has_admissions(self) -> bool:
        """Return whether there is an admission."""
        return bool(self._books["admissions"])

    def name_recipient(self, intent_id: str, address: str) -> None:
        """Record that the organizer answers for a recipient of a refund."""
        self._refunds.name_recipient(intent_id, address)

    def suspect(self, faults: Iterable[str]) -> None:
        """Record that the provider omits data, or answers for another chain at times."""
        for fault in faults:
            self.is_blind |= fault in LEAVES_OUT
            self.needs_balances |= fault in LEAVES_OUT | SCATTERS
            self._is_misled |= fault == "misroute"

    def see(self, chain: Any) -> None:
        """Record transfers, and how much was ever final, or early, at each address."""
        self._refunds.see(chain)
        self._ever_final |= _sent_up_to(chain, self._confirmations)
        if self.early.depth is not None:
            self._ever_early |= _sent_up_to(chain, self.early.depth)

    def check(self, tenant_id: str) -> None:
        """Check what must be true at every moment."""
        self.feed.check()
        books = read_books()
        if books == self._books:
            return
        before, self._books = self._books, books
        assert reconcile(tenant_id) == []
        intents = books["payment_intents"]
        assert not [each for each in intents.values() if each["set_aside_until"] is not None]
        self._check_sums(intents)
        check_strays(books, self._scale)
        check_vouchers(before, books)
        self._admissions.check(before, books)
        self._refunds.check(before, books)
        check_scans(before, books)
        self.early.check(before, books)
        for intent in intents.values():
            self._check_move(intent, self._was.get(intent["id"]), before)
        self._check_owed(before)
        self._was = intents

    def check_against(self, chains: Mapping[int, Any]) -> None:
        """Compare the books with the chains, after the worker has seen all of them."""
        states = {state["chain_id"]: state for state in self._books["chains"].values()}
        heads = {chain_id: chain.head for chain_id, chain in chains.items()}
        read = {key: (state["block_number"], state["block_hash"]) for key, state in states.items()}
        assert read == {chain_id: head[:2] for chain_id, head in heads.items()}
        intents = self._books["payment_intents"]
        transfers = [(each.chain_id, seen) for each in chains.values() for seen in each.transfers()]
        of_address = {
            intent["address"].lower(): intent for intent in intents.values() if intent["address"]
        }
        wallets = self._books["wallets"]
        receivers = {
            address: intent
            for address, intent in of_address.items()
            if wallets[intent["wallet_id"]]["owner"]
        }
        there = _places((of_address.get(s.send.to.lower()), chain, s) for chain, s in transfers)
        sent = _places((receivers.get(s.send.sender.lower()), chain, s) for chain, s in transfers)
        lost, invented = self._differences(there, "payments")
        lost_sent, invented_sent = self._differences(sent, "collections")
        assert (invented, invented_sent) == (Counter(), Counter()), "not on the chain"
        if self.needs_balances:
            # Of a payment and its collection that a provider both hid, no balance shows anything.
            all_lost, unseen = lost, _sums(lost)
            hidden = {key for key, amount in _sums(lost_sent).items() if unseen[key] == amount}
            lost, lost_sent = (
                Counter(each for each in some.elements() if each.account not in hidden)
                for some in (lost, lost_sent)
            )
            gone = {each for each in all_lost if each.account in hidden}
            there = [each for each in there if each not in gone]
        assert (lost, lost_sent) == (Counter(), Counter()), "the books lack what the chain has"
        arrived: Counter[str] = Counter()
        in_time: Counter[str] = Counter()
        for each in there:
            arrived[each.account] += each.amount
            intent = intents[each.account.partition("@")[0]]
            if each.time <= moment(intent["hold_until"]):
                in_time[each.account] += each.amount
        for intent in intents.values():
            if intent["address"]:
                time, place = heads[intent["chain_id"]][2], intent["place"]
                self._check_end(intent, arrived[place], in_time[place], time)
        for account in self._books["stray_accounts"].values():
            assert account["pending"] == 0
            assert account["received"] == arrived[account["place"]] // self._scale
        self._refunds.check_against([seen for _, seen in transfers], self._books)
        self.feed.check_end()

    def _differences(self, there: list[Place], table: str) -> tuple[Counter[Place], Counter[Place]]:
        """Return what the books lack of the places on the chain, and what they have beyond them."""
        booked = Counter(
            Place(
                row["tx_hash"],
                row["log_index"],
                row["block_number"],
                row["block_hash"],
                moment(row["block_time"]),
                row["place"],
                row["amount"] * self._scale + row["dust"],
            )
            for row in self._books[table].values()
            if row["canonical"]
        )
        return Counter(there) - booked, booked - Counter(there)

    def _check_sums(self, intents: dict[str, Row]) -> None:
        """Check the books of each order: section 6 of the contract."""
        books = self._books
        assert {row["intent_id"] for row in books["payments"].values()} <= intents.keys()
        for key, intent in intents.items():
            refunds = [row for row in of_intent(books["refunds"], key) if row["canonical"]]
            arrived = received(of_intent(books["payments"], key), self._scale)
            assert intent["received"] == arrived
            assert intent["refunded"] == sum(row["amount"] for row in refunds)
            assert intent["waived"] == waived(books, intent["place"], self._scale)
            beyond = arrived - intent["refunded"] - intent["waived"] - kept(books, intent)
            if not intent["address"]:
                assert (beyond, intent["due"]) == (-kept(books, intent), 0)
                continue
            assert intent["due"] == max(0, beyond)
            assert 0 <= intent["pending"] <= intent["due"]
            if intent["status"] == "confirmed":
                assert beyond >= 0
            counted = arrived - intent["refunded"] - intent["waived"]
            if intent["status"] in LIVE and not intent["ended_at"]:
                is_paid = counted >= enough(intent)
                assert is_paid == (intent["status"] == "processing")
        issued = [intent["address"].lower() for intent in intents.values() if intent["address"]]
        assert len(issued) == len(set(issued))

    def _check_owed(self, before: Books) -> None:
        """Check that a due refund decreases only by a refund, a waiver, or with its payments."""
        lost: Counter[str] = Counter()
        for key, payment in before["payments"].items():
            if payment["canonical"] and not self._books["payments"][key]["canonical"]:
                lost[payment["place"]] += payment["amount"] + 1  # with its smallest part
        now_at = accounts(self._books)
        for place, was in accounts(before).items():
            if place not in now_at:
                assert not was["due"], "an account that owes is gone"
                continue
            now = now_at[place]
            reduced = sum(max(0, now[each] - was[each]) for each in ("refunded", "waived"))
            assert was["due"] - now["due"] <= reduced + lost[place], "sold"

    def _check_late(self, intent: Row, before: Books) -> None:
        """Check that an expired order is honoured only by one full transfer within a day.

        It must be as available as a new order would be, before the last event or after it.
        """
        (kept_by,) = (
            each
            for each in self._books["payments"].values()
            if each["intent_id"] == intent["id"] and each["canonical"] and each["honoured"]
        )
        assert kept_by["amount"] >= intent["amount"]
        late = moment(kept_by["block_time"]) - moment(intent["ended_at"])
        assert late <= timedelta(hours=24)
        assert any(
            gives_no_less(intent, books, moment(kept_by["block_time"]))
            and all(
                row["price_amount"] <= item["list_amount"]
                and (row["sales_end_at"] is None or kept_by["block_time"] < row["sales_end_at"])
                for item in items(books, intent)
                for row in [books["ticket_types"][item["ticket_type_id"]]]
            )
            for books in (before, self._books)
        )

    def _check_move(self, intent: Row, was: Row | None, books_before: Books) -> None:
        """Check that nobody is served without a final payment, or loses a seat without a reason."""
        after, before = intent["status"], was and was["status"]
        if was is not None and was["early"] and not intent["early"] and after == "confirmed":
            needed = kept(self._books, intent) + intent["refunded"] + intent["waived"]
            final = self._ever_final[_home(intent)]
            assert final >= needed * self._scale, "said to be final, but never was"
        if after == before or not intent["address"]:
            return
        if before == "expired":
            self._check_late(intent, books_before)
        if books_before["ticket_types"] and after != "canceled" and before != "reversed":
            event = books_before["events"][intent["event_id"]]
            kinds = [
                books_before["ticket_types"][item["ticket_type_id"]]["status"]
                for item in items(self._books, intent)
            ]
            gone = "canceled" in (event["status"], *kinds)
            assert not gone or after in ("expired", "reversed"), "sold after the end of the sale"
        if after == "confirmed":
            ever = self._ever_early if intent["early"] else self._ever_final
            deep = ever[_home(intent)] // self._scale
            needed = kept(self._books, intent, deep) + intent["refunded"] + intent["waived"]
            assert deep >= needed, "sold, but never deep enough"
        elif after == "reversed":
            assert before == "confirmed"
            least = self.early.depth or self._confirmations
            is_cause = self.deepest >= least or self._is_misled
            assert is_cause, "reversed in vain"
        assert before not in SOLD or after in SOLD
        assert before != "canceled"

    def _check_end(self, intent: Row, arrived: int, in_time: int, time: int) -> None:
        status, needed = intent["status"], enough(intent) * self._scale
        gone = intent["refunded"] + intent["waived"]
        counted = arrived - gone * self._scale
        keeps = kept(self._books, intent)
        assert status != "processing"
        assert intent["pending"] == 0
        assert not intent["early"]
        if status == "awaiting_payment":
            assert counted < needed or intent["ended_at"]
            assert moment(intent["expires_at"]) >= datetime.fromtimestamp(time, UTC)
        elif status == "confirmed":
            assert counted >= keeps * self._scale
        elif status == "reversed":
            assert counted < keeps * self._scale
        if not self.deepest:
            price = keeps if status == "confirmed" else 0
            left = price + intent["due"] + gone
            assert status == "awaiting_payment" or arrived // self._scale == left
            paid_in_time = in_time >= needed and status != "canceled" and not self.is_blind
            assert not paid_in_time or status == "confirmed", "paid in time, not served"


def _sent_up_to(chain: Any, depth: int) -> "Counter[Home]":
    """Return what was sent to each address in blocks with `depth` confirmations."""
    last = chain.head[0] - depth + 1
    sent: Counter[Home] = Counter()
    for seen in chain.transfers():
        if seen.block_number <= last:
            sent[chain.chain_id, seen.send.to.lower()] += seen.send.amount
    return sent


def _home(intent: Row) -> Home:
    return intent["chain_id"], intent["address"].lower()


def _places(found: Iterable[tuple[Row | None, int, Any]]) -> list[Place]:
    """Return the places of transfers on the chain that concern an order."""
    return [
        Place(
            seen.tx_hash,
            seen.log_index,
            seen.block_number,
            seen.block_hash,
            datetime.fromtimestamp(seen.time, UTC),
            f"{intent['id']}@{chain_id}",
            seen.send.amount,
        )
        for intent, chain_id, seen in found
        if intent is not None
    ]


def _sums(places: Counter[Place]) -> Counter[str]:
    """Return the sum of some places for each account."""
    sums: Counter[str] = Counter()
    for each in places.elements():
        sums[each.account] += each.amount
    return sums
