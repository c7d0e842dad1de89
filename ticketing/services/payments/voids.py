"""Void one admission. What it cost may become owed to the order.

A void admission stays void: a payment that returns after a reorganization restores only suspended
ones.
"""

from ticketing import clock
from ticketing.constants import AdmissionStatus
from ticketing.db.connection import write_transaction
from ticketing.errors import (
    AdmissionVoid,
    AlreadyRedeemed,
    DoorsUnsynced,
    ReturnInProgress,
    WasTransferred,
)
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import admissions, returns, seats, stock
from ticketing.services.payments import devices_in_use, owing, settlement


def void(
    tenant_id: str,
    admission_id: str,
    *,
    reason: str,
    refund: bool,
    transferred: bool = False,
    force: bool = False,
) -> Admission:
    """Take back one admission. Its seat is on sale again. A repeat changes nothing.

    `refund`: what it cost becomes owed to the order; a guest or a free order is owed nothing.
    `transferred` allows it for an admission with a new holder. `force` ignores door devices.

    NotFound. AdmissionVoid if it is void for another reason, or differs in `refund`.
    AlreadyRedeemed. WasTransferred. ReturnInProgress if it is given back, and somebody pays for its
    place. DoorsUnsynced if doors are open and a device has unsent scans; with `refund`, also if it
    may have some, because it is silent.
    """
    unlocked = admissions.get(tenant_id, admission_id)
    order_ids = [] if unlocked.intent_id is None else [unlocked.intent_id]
    with (
        write_transaction(),
        owing.locked(tenant_id, unlocked.event_id, order_ids, unlocked.id) as them,
    ):
        event, order = them.event, them.orders.get(unlocked.intent_id or "")
        admission = next(each for each in them.seats if each.id == unlocked.id)
        if admission.status == AdmissionStatus.VOID:
            if (admission.void_reason, admission.void_refund) != (reason, refund):
                raise AdmissionVoid
            return admission
        _check(admission, event, refund=refund, transferred=transferred, force=force)
        if admission.returned_at is not None and not returns.withdraw(admission):
            raise ReturnInProgress
        write(admission, reason=reason, refund=refund)
        admissions.end_transfers(Admission.id == admission.id)
        if refund:
            # What was released before is not released twice.
            them.release(admission, admission.amount - admission.released)
        if order is not None and order.pooled:
            # It was to replace another seat, which stays now.
            stock.give_up(admission.ticket_type_id, 1)
            settlement.write_changes(order, {"pooled": order.pooled - 1})
            feed.record(tenant_id, *facts.admission_voided(admission))
            return admission
        is_counted = admission.ticket_type.admission and event.capacity is not None
        available = seats.take_back(admission, order, event.id if is_counted else None)
        feed.record_all(tenant_id, [facts.admission_voided(admission), *available])
        return admission


def _check(
    admission: Admission, event: Event, *, refund: bool, transferred: bool, force: bool
) -> None:
    if admission.redeemed_at is not None:
        raise AlreadyRedeemed
    if admission.transferred_at is not None and not transferred:
        raise WasTransferred
    if force or clock.now() < event.doors_open:
        return
    if devices_in_use.has_unsynced(event) or (refund and devices_in_use.has_silent(event)):
        raise DoorsUnsynced


def write(admission: Admission, *, reason: str, refund: bool) -> None:
    """Void a locked admission. `refund`: all that it cost is owed."""
    changes = {
        "status": AdmissionStatus.VOID,
        "voided_at": clock.now(),
        "void_reason": reason,
        "void_refund": refund,
        "returned_at": None,
        "change_number": None,
    }
    written = (
        Admission.update(changes)
        .where(
            Admission.id == admission.id,
            Admission.status != AdmissionStatus.VOID,
            Admission.redeemed_at.is_null(),
        )
        .execute()
    )
    if written != 1:
        raise AssertionError(f"{admission.id} was not locked")
    for name, value in changes.items():
        setattr(admission, name, value)
