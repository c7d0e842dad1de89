"""Many admissions of one event, written to the database at once."""

from typing import Any

from tests.support.factories import Organizer
from ticketing import clock, ids
from ticketing.models.admissions import Admission

AT_ONCE = 500


def many(organizer: Organizer, ticket: dict[str, Any], count: int) -> None:
    """Add admissions of guests with long names. Their stock is not counted."""
    known = {"tenant": organizer.id, "event": ticket["event_id"], "ticket_type": ticket["id"]}
    known |= {"status": "valid", "amount": 0, "created_at": clock.now()}
    known |= {"holder_name": "Ada " * 100}
    rows = [{"id": ids.new(ids.ADMISSION), "code": ids.new(""), **known} for _ in range(count)]
    for place in range(0, count, AT_ONCE):
        Admission.insert_many(rows[place : place + AT_ONCE]).execute()
