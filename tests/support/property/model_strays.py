"""What must be true of money that orders received on another chain than their home."""

from tests.support.property.model_rows import (
    LIVE,
    Books,
    Row,
    at_place,
    enough,
    received,
    waived,
)


def accounts(books: Books) -> dict[str, Row]:
    """Return the home and the stray accounts of each order, by their places."""
    every = [*books["payment_intents"].values(), *books["stray_accounts"].values()]
    return {row["place"]: row for row in every}


def check_strays(books: Books, scale: int) -> None:
    """Check each stray account: its sums, and that each unit is owed, unassigned or given back."""
    for account in books["stray_accounts"].values():
        intent, place = books["payment_intents"][account["intent_id"]], account["place"]
        assert place != intent["place"], "two accounts for one chain"
        assert account["address"] == intent["address"]
        refunds = [row for row in at_place(books["refunds"], place) if row["canonical"]]
        assert account["received"] == received(at_place(books["payments"], place), scale)
        assert account["refunded"] == sum(row["amount"] for row in refunds)
        assert account["waived"] == waived(books, place, scale)
        counted = account["received"] - account["refunded"] - account["waived"]
        is_open = intent["status"] in LIVE and not intent["ended_at"]
        may_pay = account["is_option"] and account["in_reach"] and not account["asked_back_at"]
        left = max(0, counted)
        owed = 0 if not account["in_reach"] or (is_open and may_pay) else left
        assert account["due"] == owed
        assert account["open"] == (left if is_open and may_pay else 0)
        assert 0 <= account["pending"] <= account["due"]
        if intent["status"] == "awaiting_payment" and is_open and may_pay:
            assert counted < enough(intent), "it is paid there, and does not move"
