"""Erase personal data: names and email addresses of buyers, holders, and recipients of offers.

Who waited for tickets, too. Their answers to questions, who their orders are billed to, their
former addresses and what pages told about their payments are deleted, and their waiting mails are
dropped.

Amounts, chain addresses and transactions stay. Names in the audit log are in a table beside it, so
the log itself stays append-only.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from peewee import Expression, fn

from ticketing import clock, ids
from ticketing.constants import LATE_PAYMENT
from ticketing.db.connection import locked, write_transaction
from ticketing.errors import NotFound
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.audit_log import AuditLogPeople
from ticketing.models.billing import Billing
from ticketing.models.events import Event
from ticketing.models.order_accounts import OWING, OrderAccount
from ticketing.models.order_emails import OrderEmail
from ticketing.models.payment_intents import ENDED_UNPAID, PaymentIntent
from ticketing.models.payment_reports import PaymentReport
from ticketing.models.questions import Answer, Question
from ticketing.models.refunds import RefundAddress
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.services import chains
from ticketing.services.notifications import mail_queue
from ticketing.services.orders import admissions, waiting_ends

EVENTS_AT_ONCE = 10
ORDERS_AT_ONCE = 20
TRY_AGAIN_AFTER = timedelta(days=1)
"""When an event is looked at again that still owes refunds."""

DUE_FOR = timedelta(days=7)
"""For how long an event must be due. Also how often an erased event is looked at again."""

_NOBODY = {"holder_name": None, "holder_email": None}
_HAS_HOLDER = Admission.holder_name.is_null(False) | Admission.holder_email.is_null(False)
_HAS_WAITED = WaitingListEntry.email.is_null(False)
_HAS_BUYER = PaymentIntent.buyer_name.is_null(False) | PaymentIntent.buyer_email.is_null(False)

log = logging.getLogger(__name__)


def erase_intent(tenant_id: str, intent_id: str) -> None:
    """Erase an order's buyer, its holders, their offers and answers. A repeat changes nothing.

    NotFound.

    An admission that was transferred belongs to somebody else, and keeps its holder.
    """
    with write_transaction():
        of_order = (PaymentIntent.id == intent_id) & (PaymentIntent.tenant == tenant_id)
        if locked(PaymentIntent.select(PaymentIntent.id).where(of_order)).first() is None:
            raise NotFound("This intent does not exist.")
        _erase_buyers(of_order)
        _erase_holders((Admission.intent == intent_id) & Admission.transferred_at.is_null())
    log.info("personal data erased: %s", intent_id)


def erase_admission(tenant_id: str, admission_id: str) -> None:
    """Erase an admission's holder and its offers. A repeat changes nothing. NotFound."""
    admissions.get(tenant_id, admission_id)
    with write_transaction():
        _erase_holders(Admission.id == admission_id)
    log.info("personal data erased: %s", admission_id)


def erase_of_any_tenant(subject: str) -> str | None:
    """Erase an order or an admission by its id. Return its tenant. None for an unknown id."""
    is_intent = ids.is_id(ids.INTENT, subject)
    model = PaymentIntent if is_intent else Admission
    row: PaymentIntent | Admission | None = model.get_or_none(model.id == subject)
    if row is None:
        return None
    (erase_intent if is_intent else erase_admission)(row.tenant_id, subject)
    return row.tenant_id


def erase_old(days: int) -> int:
    """Erase everybody of some events that ended more than `days` ago. Return how many events.

    An event must be due at each look for DUE_FOR: a wrong year, or a wrong clock, can be repaired
    before. An order that owes a refund keeps its buyer and holders until the refund is paid or
    waived. People who were added after the erasure are erased at the next one.
    """
    now = clock.now()
    before = now - timedelta(days=days)
    is_over = (Event.start_at < before) & (Event.end_at.is_null() | (Event.end_at < before))
    _mark(is_over, now)
    was_not_tried = Event.erasure_tried_at.is_null() | (
        Event.erasure_tried_at < now - TRY_AGAIN_AFTER
    )
    is_due = Event.erased_at.is_null() & (Event.erasure_due_at <= now - DUE_FOR) & was_not_tried
    was_erased = Event.erased_at.is_null(False) & (Event.erasure_tried_at < now - DUE_FOR)
    first = Event.select(Event.id).where(is_due, is_over).order_by(Event.erasure_due_at)
    again = Event.select(Event.id).where(was_erased, is_over).order_by(Event.erasure_tried_at)
    due = [event.id for event in first.limit(EVENTS_AT_ONCE)]
    for event_id in due:
        _erase_event(event_id, is_over)
    for event_id in [event.id for event in again.limit(EVENTS_AT_ONCE)]:
        if _has_people(event_id):
            _erase_event(event_id, is_over)
        else:
            _set(event_id, erasure_tried_at=now)
    return len(due)


def erase_unpaid() -> int:
    """Erase the buyers of orders that ended without money, once none can pay for them any more.

    Return how many. That is LATE_PAYMENT after the deadline, by the clock and by the chain, as far
    as the worker has read it. The rows stay, so that money which comes later belongs to somebody.
    The digests of their clients' networks are erased, too.

    Example: an order expired on Monday at 18:15. Its buyer's name, email address and answers are
    erased on Tuesday at 18:15. While the worker waits for its node, they stay.
    """
    now = clock.now()
    is_late = PaymentIntent.chain_id.is_null()
    for state in chains.states().values():
        if state.block_time is not None:
            is_over = PaymentIntent.expires_at < state.block_time - LATE_PAYMENT
            is_late |= (PaymentIntent.chain_id == state.chain_id) & is_over
    is_due = ENDED_UNPAID & (PaymentIntent.expires_at < now - LATE_PAYMENT) & is_late
    due = PaymentIntent.select(PaymentIntent.id).where(is_due).order_by(PaymentIntent.expires_at)
    found = [each.id for each in due.limit(ORDERS_AT_ONCE)]
    if found:
        with write_transaction():
            rows = PaymentIntent.select().where(PaymentIntent.id.in_(found))
            for intent in locked(rows.order_by(PaymentIntent.id)):
                if intent.ended_without_money:  # it may have got some since it was found
                    of_order = PaymentIntent.id == intent.id
                    _erase_buyers(of_order)
                    nothing = {"stored_bytes": 0, "held_by": None, "held_by_site": None}
                    PaymentIntent.update(nothing).where(of_order).execute()
    return len(found)


def _mark(is_over: Expression, now: datetime) -> None:
    """Note since when events are due. One that is not due at this look starts again later."""
    is_wrong = ~is_over | (Event.erasure_due_at > now)
    wrong = Event.select(Event.id).where(Event.erasure_due_at.is_null(False), is_wrong)
    for event in list(wrong):
        _set(event.id, erasure_due_at=None)
    is_new = Event.erased_at.is_null() & Event.erasure_due_at.is_null()
    for event in list(Event.select(Event.id).where(is_over, is_new)):
        # If its date changes at this moment, the next look removes the mark.
        _set(event.id, erasure_due_at=now)


def _set(event_id: str, **columns: datetime | None) -> None:
    with write_transaction():
        Event.update(columns).where(Event.id == event_id).execute()


def _has_people(event_id: str) -> bool:
    of_event = Admission.event == event_id
    offered_to = Transfer.holder_name.is_null(False) | Transfer.holder_email.is_null(False)
    offers = Transfer.select().join(Admission).where(of_event, offered_to)
    buyers = PaymentIntent.select().where(PaymentIntent.event == event_id, _HAS_BUYER)
    holders = Admission.select().where(of_event, _HAS_HOLDER)
    answers = Answer.select().join(Question).where(Question.event == event_id)
    billed = Billing.select().join(PaymentIntent).where(PaymentIntent.event == event_id)
    waited = WaitingListEntry.select().where(WaitingListEntry.event == event_id, _HAS_WAITED)
    return any(query.exists() for query in (buyers, holders, offers, answers, billed, waited))


def _erase_event(event_id: str, is_over: Expression) -> None:
    with write_transaction():
        if locked(Event.select(Event.id).where(Event.id == event_id, is_over)).first() is None:
            return  # its date has changed
        of_event = PaymentIntent.event == event_id
        # What is out of reach is not owed yet, and does not keep anybody's data.
        of_intent = OrderAccount.intent == PaymentIntent.id
        owes = fn.EXISTS(OrderAccount.select(OrderAccount.id).where(of_intent, OWING))
        _erase_buyers(of_event & ~owes)
        owing = PaymentIntent.select(PaymentIntent.id).where(of_event, owes)
        owes_nothing = Admission.intent.is_null() | Admission.intent.not_in(owing)
        _erase_holders((Admission.event == event_id) & owes_nothing)
        of_list = WaitingListEntry.event == event_id
        owes_no_offer = WaitingListEntry.intent.is_null() | WaitingListEntry.intent.not_in(owing)
        _erase_waiting(of_list & owes_no_offer)
        now = clock.now()
        is_done = not owing.exists()
        done = {"erased_at": now, "erasure_due_at": None} if is_done else {}
        Event.update(erasure_tried_at=now, **done).where(Event.id == event_id).execute()
    log.info("personal data erased: %s", event_id)


def _erase_buyers(of: Expression) -> None:
    nobody = {"buyer_name": None, "buyer_email": None}
    erased = PaymentIntent.select(PaymentIntent.id).where(of)
    mail_queue.erase(erased)
    mail_queue.erase(RefundAddress.select(RefundAddress.id).where(RefundAddress.intent.in_(erased)))
    PaymentIntent.update(nobody).where(of, _HAS_BUYER).execute()
    orders = PaymentIntent.select(PaymentIntent.id).where(of)
    _erase_waiting(WaitingListEntry.intent.in_(orders))
    Answer.delete().where(Answer.intent.in_(orders)).execute()
    Billing.delete().where(Billing.intent.in_(orders)).execute()
    # A payment that never came is on no chain. Those that came keep how they are proven.
    PaymentReport.delete().where(PaymentReport.intent.in_(orders)).execute()
    OrderEmail.delete().where(OrderEmail.intent.in_(orders)).execute()


def _erase_waiting(of: Expression) -> None:
    """Erase who waits or waited, but keep their places."""
    mail_queue.erase(WaitingListEntry.select(WaitingListEntry.id).where(of))
    WaitingListEntry.update(waiting_ends.NOBODY).where(of, _HAS_WAITED).execute()


def _erase_holders(of: Expression) -> None:
    """Erase the holders of admissions, in their offers and in the audit log too."""
    found = Admission.select(Admission.id).where(of).order_by(Admission.id)
    list(locked(found))
    of_them = Admission.select(Admission.id).where(of)
    Admission.update({**_NOBODY, "change_number": None}).where(of, _HAS_HOLDER).execute()
    Transfer.update(_NOBODY).where(Transfer.admission.in_(of_them)).execute()
    Answer.delete().where(Answer.admission.in_(of_them)).execute()
    AuditLogPeople.delete().where(AuditLogPeople.subject.in_(of_them)).execute()
    mail_queue.erase(of_them)
    mail_queue.erase(Transfer.select(Transfer.id).where(Transfer.admission.in_(of_them)))
