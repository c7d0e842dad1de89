"""What must be true of admissions, seats and transfers, in plain Python (sections 8 and 9.1)."""

from collections import Counter

from tests.support.property.model_rows import (
    LIVE,
    SOLD,
    Books,
    Row,
    items,
    of_intent,
    released,
)


class AdmissionRules:
    """Follows each admission over its generations."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, int], str] = {}
        self._issued: dict[str, set[str]] = {}

    def check(self, before: Books, books: Books) -> None:
        """Check all admissions, and what changed since the last event."""
        _check_stock(books)
        for intent in books["payment_intents"].values():
            self._check_issued(intent, books)
        for key, admission in books["admissions"].items():
            _check_status(admission, books)
            self._check_code(admission)
            _check_transfers(admission, books)
            if key in before["admissions"]:
                _check_change(before["admissions"][key], admission, books)
        assert before["admissions"].keys() <= books["admissions"].keys()

    def _check_issued(self, intent: Row, books: Books) -> None:
        """An order has one admission per seat if it is, or was, confirmed."""
        now = {row["id"] for row in of_intent(books["admissions"], intent["id"])}
        if intent["status"] in SOLD and intent["id"] not in self._issued:
            self._issued[intent["id"]] = now
            assert len(now) == intent["quantity"]
            issued = Counter(
                (seat["ticket_type_id"], seat["amount"])
                for seat in (books["admissions"][each] for each in now)
            )
            of_items = items(books, intent)
            assert issued == {
                (item["ticket_type_id"], item["unit_amount"]): item["quantity"] for item in of_items
            }
            cost = sum(item["quantity"] * item["unit_amount"] for item in of_items)
            assert cost == intent["amount"]
        assert now == self._issued.get(intent["id"], set())
        assert intent["released"] == released(books, intent["id"])

    def _check_code(self, admission: Row) -> None:
        """Each generation has one code, and no two generations share one."""
        key = admission["id"], admission["generation"]
        assert self._codes.setdefault(key, admission["code"]) == admission["code"]
        assert len(set(self._codes.values())) == len(self._codes)


def _check_stock(books: Books) -> None:
    held: Counter[str] = Counter()
    sold: Counter[str] = Counter()
    offered: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    for intent in books["payment_intents"].values():
        own = items(books, intent)
        if intent["pooled"]:
            assert intent["status"] in LIVE | SOLD and len(own) == 1 and not intent["voucher_id"]
            taken[own[0]["ticket_type_id"]] += intent["pooled"]
            # Its seats replace others that are still counted.
            sold[own[0]["ticket_type_id"]] -= intent["pooled"] * (intent["status"] in SOLD)
            continue
        for item in own:
            held[item["ticket_type_id"]] += item["quantity"] * (intent["status"] in LIVE)
    for admission in books["admissions"].values():
        offered[admission["ticket_type_id"]] += admission["returned_at"] is not None
    for admission in books["admissions"].values():
        sold[admission["ticket_type_id"]] += admission["status"] in ("valid", "suspended")
    for key, kind in books["ticket_types"].items():
        assert (kind["held"], kind["sold"]) == (held[key], sold[key])
        assert (kind["offered"], kind["taken"]) == (offered[key], taken[key])
        assert 0 <= kind["taken"] <= kind["offered"]
        assert kind["capacity"] is None or held[key] + sold[key] <= kind["capacity"]
    for key, event in books["events"].items():
        stock = books["event_stock"].get(key)
        assert (stock and stock["capacity"]) == event["capacity"]
        if stock:
            of_event = [
                k
                for k, row in books["ticket_types"].items()
                if row["event_id"] == key and row["admission"]
            ]
            held_here, sold_here = (sum(count[k] for k in of_event) for count in (held, sold))
            assert (stock["held"], stock["sold"]) == (held_here, sold_here)
            assert held_here + sold_here <= stock["capacity"]


def _check_status(admission: Row, books: Books) -> None:
    """Check that it is valid while its order is confirmed. A guest has no order."""
    intent = books["payment_intents"].get(admission["intent_id"])
    is_valid = intent is None or intent["status"] == "confirmed"
    assert admission["status"] in ("void", "valid" if is_valid else "suspended")
    assert admission["status"] == "void" or not admission["void_refund"]
    is_over = books["events"][admission["event_id"]]["status"] == "canceled"
    assert not is_over or admission["status"] == "void"
    if admission["returned_at"] is not None:
        assert admission["status"] != "void" and admission["redeemed_at"] is None
        assert admission["transferred_at"] is None
        assert 0 <= admission["return_amount"] <= admission["amount"]


def _check_transfers(admission: Row, books: Books) -> None:
    """Check that at most one offer is open, and only for the current generation."""
    made = [row for row in books["transfers"].values() if row["admission_id"] == admission["id"]]
    still_open = [row for row in made if row["ended_at"] is None]
    accepted = [row for row in made if row["accepted_at"] is not None]
    assert len(still_open) <= 1
    assert not still_open or admission["returned_at"] is None
    for row in still_open:
        assert row["generation"] == admission["generation"]
        assert admission["status"] != "void"
    assert len({row["generation"] for row in accepted}) == len(accepted) < admission["generation"]
    assert bool(accepted) == (admission["transferred_at"] is not None)


def _check_change(was: Row, now: Row, books: Books) -> None:
    """Check that void is final, and that nobody inside is voided or gets a new generation."""
    is_over = books["events"][now["event_id"]]["status"] == "canceled"
    fixed = ("id", "tenant_id", "event_id", "ticket_type_id", "intent_id", "amount", "created_at")
    assert was["released"] <= now["released"] <= now["amount"]
    if now["void_reason"] == "resold" and was["status"] != "void":
        assert was["returned_at"] is not None and was["redeemed_at"] is None
        assert now["released"] - was["released"] == was["return_amount"]
    assert [was[each] for each in fixed] == [now[each] for each in fixed]
    assert now["generation"] >= was["generation"]
    if was["status"] == "void":
        fixed = ("status", "generation", "code", "transferred_at", "voided_at", "void_reason")
        assert [was[each] for each in fixed] == [now[each] for each in fixed]
        assert now["redeemed_at"] is None or was["redeemed_at"] is not None
        assert bool(now["void_refund"]) == bool(was["void_refund"]) or is_over
        assert now["void_refund"] or not was["void_refund"]
    elif now["status"] == "void":
        assert is_over or now["redeemed_at"] is None
    if now["generation"] > was["generation"]:
        is_inside = was["redeemed_by"] is not None and was["redeemed_by"] == now["redeemed_by"]
        assert not is_inside
