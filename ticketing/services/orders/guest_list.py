"""The guest list: admissions that belong to no order and cost nothing."""

from collections.abc import Mapping, Sequence

from ticketing import clock, credentials, ids
from ticketing.constants import AdmissionStatus, Publication
from ticketing.db.connection import write_transaction
from ticketing.errors import NotFound, SaleCanceled, SoldOut
from ticketing.models.admissions import Admission
from ticketing.models.ticket_types import TicketType
from ticketing.services import event_locks
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import seats


def add(
    tenant_id: str, event_id: str, ticket_id: str, holders: Sequence[Mapping[str, str | None]]
) -> list[Admission]:
    """Issue one admission to each holder, all or none. Return them with their codes.

    `holders` have a `name` and an `email`, both optional. The event may be a draft. NotFound.
    SoldOut. SaleCanceled if the event or the ticket type was canceled.
    """
    with write_transaction():
        event = event_locks.keep(tenant_id, event_id)
        ticket_type = TicketType.get_or_none(
            TicketType.event == event_id, TicketType.id == ticket_id
        )
        if ticket_type is None:
            raise NotFound("This ticket type does not exist.")
        if Publication.CANCELED in (event.status, ticket_type.status):
            raise SaleCanceled
        is_counted = ticket_type.admission and event.capacity is not None
        capped_event = event_id if is_counted else None
        sold = seats.admit(ticket_type, len(holders), capped_event)
        if sold is None:
            raise SoldOut
        now = clock.now()
        guests = [
            Admission(
                id=ids.new(ids.ADMISSION),
                tenant=tenant_id,
                event=event_id,
                ticket_type=ticket_id,
                intent=None,
                code=credentials.new_admission_code(),
                status=AdmissionStatus.VALID,
                amount=0,
                holder_name=holder.get("name"),
                holder_email=holder.get("email"),
                created_at=now,
            )
            for holder in holders
        ]
        Admission.bulk_create(guests)
        issued = [facts.admission_issued(guest) for guest in guests]
        feed.record_all(tenant_id, [*issued, *sold])
        return guests
