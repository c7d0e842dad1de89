"""Void one admission. What it cost may become owed to the order.

A void admission stays void: a payment that returns after a reorganization restores only suspended
ones. The order of locks is that of settlement.
"""

from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.constants import AdmissionStatus
from ticketing.db.connection import locked, write_transaction
from ticketing.errors import (
    AdmissionVoid,
    AlreadyRedeemed,
    DoorsUnsynced,
    ReturnInProgress,
    WasTransferred,
)
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import event_locks
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import admissions, returns, seats, stock
from ticketing.services.payments import devices_in_use, settlement


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
    with write_transaction():
        event = event_locks.keep(tenant_id, unlocked.event_id)
        order = _lock_order(unlocked)
        admission = _lock(unlocked)
        if admission.status == AdmissionStatus.VOID:
            if (admission.void_reason, admission.void_refund) != (reason, refund):
                raise AdmissionVoid
            return admission
        _check(admission, event, refund=refund, transferred=transferred, force=force)
        if admission.returned_at is not None and not returns.withdraw(admission):
            raise ReturnInProgress
        # What was released before is not released twice.
        released = admission.amount - admission.released if refund else 0
        _write(admission, reason=reason, refund=refund, released=released)
        admissions.end_transfers(Admission.id == admission.id)
        if order is not None and refund:
            _owe_seat(*order, released)
        if order is not None and order[0].pooled:
            # It was to replace another seat, which stays now.
            stock.give_up(admission.ticket_type_id, 1)
            settlement.write_changes(order[0], {"pooled": order[0].pooled - 1})
            feed.record(tenant_id, *facts.admission_voided(admission))
            return admission
        is_counted = admission.ticket_type.admission and event.capacity is not None
        capped_event = event.id if is_counted else None
        count = seats.take_back(admission, order and order[0], capped_event)
        available = facts.stock_changed(event.id, admission.ticket_type_id, count.before(-1), count)
        feed.record_all(tenant_id, [facts.admission_voided(admission), *available])
        return admission


def release(
    admission: Admission, order: PaymentIntent, as_of: Block | None, *, reason: str
) -> None:
    """Void a locked admission that is given back, and owe what was promised to its locked order.

    `as_of` is the cursor of the order's chain. What the promise leaves of its cost stays kept.
    """
    promised = int(admission.return_amount or 0)
    released = min(promised, admission.amount - admission.released)
    is_whole = released == admission.amount
    _write(admission, reason=reason, refund=is_whole, released=released)
    _owe_seat(order, as_of, released)


def _lock_order(admission: Admission) -> tuple[PaymentIntent, Block | None] | None:
    """Lock the order of an admission. Return it with its chain's cursor. None for a guest."""
    if admission.intent_id is None:
        return None
    chain_id = PaymentIntent.get_by_id(admission.intent_id).chain_id
    as_of = None if chain_id is None else settlement.final_as_of(chain_id)
    (intent,) = settlement.lock_rows([admission.intent_id])
    return intent, as_of


def _lock(admission: Admission) -> Admission:
    """Lock an admission with all others of its order, and return it as it is now."""
    together = Admission.id == admission.id
    if admission.intent_id is not None:
        together = Admission.intent == admission.intent_id
    rows = locked(Admission.select().where(together).order_by(Admission.id))
    return next(row for row in rows if row.id == admission.id)


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


def _write(admission: Admission, *, reason: str, refund: bool, released: int) -> None:
    changes = {
        "status": AdmissionStatus.VOID,
        "voided_at": clock.now(),
        "void_reason": reason,
        "void_refund": refund,
        "released": admission.released + released,
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


def _owe_seat(intent: PaymentIntent, as_of: Block | None, released: int) -> None:
    """Make what one more seat released owed to a locked order."""
    intent.released += released
    intent.save(only=[PaymentIntent.released])
    if as_of is not None:
        settlement.settle(intent, as_of)
