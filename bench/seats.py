"""Admissions that nobody bought, for measurements at the door."""

from collections.abc import Iterable, Iterator
from itertools import islice

from ticketing import clock, credentials
from ticketing.constants import AdmissionStatus
from ticketing.models.admissions import Admission
from ticketing.models.ticket_types import TicketType

_ROWS_AT_ONCE = 1000


def fill(ticket_id: str, admission_ids: Iterable[str]) -> None:
    """Insert valid admissions of a ticket type into the open database."""
    ticket_type, now = TicketType.get_by_id(ticket_id), clock.now()
    for part in _parts(iter(admission_ids)):
        Admission.insert_many(
            [
                {
                    "id": each,
                    "tenant": ticket_type.tenant_id,
                    "event": ticket_type.event_id,
                    "ticket_type": ticket_id,
                    "code": credentials.new_admission_code(),
                    "status": AdmissionStatus.VALID,
                    "holder_name": "Ada Lovelace",
                    "created_at": now,
                }
                for each in part
            ]
        ).execute()


def _parts(admission_ids: Iterator[str]) -> Iterator[list[str]]:
    while part := list(islice(admission_ids, _ROWS_AT_ONCE)):
        yield part
