"""What must be true of scans, in plain Python: one person in per admission (sections 8 and 10)."""

from tests.support.property.model_rows import Books, Row

LET_IN = ("admitted", "conflict", "wrong_event")
"""The outcomes of a scan that the device had decided to admit."""


def check_scans(before: Books, books: Books) -> None:
    """Check all scans, and who is inside because of them."""
    scans = books["scans"]
    assert before["scans"].items() <= scans.items(), "scans are append-only"
    undone = [row["undoes"] for row in scans.values() if row["undoes"] is not None]
    assert len(undone) == len(set(undone)), "undone twice"
    for key in scans.keys() - before["scans"].keys():
        _check_new(scans[key], before, books)
    of_admission: dict[str, list[Row]] = {key: [] for key in books["admissions"]}
    for row in scans.values():
        if row["outcome"] == "admitted" and row["id"] not in undone:
            of_admission[row["admission_id"]].append(row)
    for key, admission in books["admissions"].items():
        _check_inside(admission, of_admission[key], scans, set(undone))


def _check_new(scan: Row, before: Books, books: Books) -> None:
    is_redemption = scan["kind"] == "redeem"
    if is_redemption and scan["decided"] == "admitted":
        assert scan["outcome"] in LET_IN, "a person who is inside was rejected"
    elif is_redemption:
        assert scan["outcome"] == scan["verdict"] != "conflict"
    if scan["outcome"] == "admitted":
        # Another event may have changed it after the scan.
        rows = [each["admissions"].get(scan["admission_id"]) for each in (before, books)]
        was = [row for row in rows if row is not None]
        assert any(row["status"] == "valid" for row in was), "a void or suspended one was admitted"
        assert any(row["generation"] == scan["generation"] for row in was), "superseded, admitted"


def _check_inside(
    admission: Row, standing: list[Row], scans: dict[str, Row], undone: set[str]
) -> None:
    """Check that one scan at most stands: the one that redeemed the admission."""
    assert len(standing) <= 1, "admitted twice"
    if admission["redeemed_by"] is None:
        assert admission["redeemed_at"] is None
        assert not standing
        return
    by = scans[admission["redeemed_by"]]
    assert by["admission_id"] == admission["id"]
    assert by["generation"] == admission["generation"]
    assert by["outcome"] in ("admitted", "conflict")
    assert by["id"] not in undone
    assert admission["redeemed_at"] == by["scanned_at"]
    assert standing in ([], [by])
