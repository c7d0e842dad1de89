"""Admissions: issued when an intent is confirmed, suspended while its payment is missing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from peewee import Expression, ModelSelect

from ticketing import clock, credentials, ids
from ticketing.constants import RESOLD_REASON, AdmissionStatus, ReturnStatus
from ticketing.errors import NotFound
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.base import holds_text, literal
from ticketing.models.events import only_event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared, prepared_insert
from ticketing.models.ticket_types import TicketType
from ticketing.services.pagination import Page, PageRequest, paginate

_insert = prepared_insert(Admission)

_IS_OFFERED = Admission.returned_at.is_null(False)
_IS_FREE = Admission.ticket_type.in_(
    TicketType.select(TicketType.id).where(
        TicketType.offered > literal(0), TicketType.taken < TicketType.offered
    )
)
_GIVING_BACK = {
    ReturnStatus.OFFERED: _IS_OFFERED & _IS_FREE,
    ReturnStatus.IN_PROGRESS: _IS_OFFERED & ~_IS_FREE,
    ReturnStatus.RESOLD: (Admission.status == literal(AdmissionStatus.VOID))
    & (Admission.void_reason == literal(RESOLD_REASON)),
}


@Prepared
def _of_intent(intent_id: Any) -> ModelSelect[Admission]:
    return Admission.select().where(Admission.intent == intent_id).order_by(Admission.id)


@Prepared
def _of_tenant(tenant_id: Any, admission_id: Any) -> ModelSelect[Admission]:
    return Admission.select().where(Admission.tenant == tenant_id, Admission.id == admission_id)


def issue(intent: PaymentIntent) -> list[Admission]:
    """Issue one admission per seat, each with its own code. Return them.

    Call it in the transaction that confirms the intent.
    """
    now = clock.now()
    new_admissions = [
        Admission(
            id=ids.new(ids.ADMISSION),
            tenant=intent.tenant_id,
            event=intent.event_id,
            ticket_type=item.ticket_type_id,
            intent=intent.id,
            code=credentials.new_admission_code(),
            status=AdmissionStatus.VALID,
            amount=item.unit_amount,
            holder_name=intent.buyer_name,
            holder_email=intent.buyer_email,
            created_at=now,
        )
        for item in intent.items
        for _ in range(item.quantity)
    ]
    for admission in new_admissions:
        _insert(admission)
    return new_admissions


def suspend(intent: PaymentIntent) -> None:
    """Suspend an intent's valid admissions."""
    _change_status(intent, AdmissionStatus.VALID, AdmissionStatus.SUSPENDED)


def restore(intent: PaymentIntent) -> None:
    """Make an intent's suspended admissions valid again."""
    _change_status(intent, AdmissionStatus.SUSPENDED, AdmissionStatus.VALID)


def _change_status(intent: PaymentIntent, before: AdmissionStatus, after: AdmissionStatus) -> None:
    changed = Admission.update(status=after, change_number=None)
    changed.where(Admission.intent == intent, Admission.status == before).execute()


def get(tenant_id: str, admission_id: str) -> Admission:
    """Return one admission of a tenant. NotFound."""
    admission = _of_tenant.first(tenant_id=tenant_id, admission_id=admission_id)
    if admission is None:
        raise NotFound("This admission does not exist.")
    return admission


def event_of(tenant_id: str, admission_id: str) -> str | None:
    """Return the id of the event of a tenant's admission. None if there is no such admission."""
    if not ids.is_id(ids.ADMISSION, admission_id):
        return None  # Postgres refuses some texts in a parameter
    admission = _of_tenant.first(tenant_id=tenant_id, admission_id=admission_id)
    return None if admission is None else str(admission.event_id)


def end_transfers(of: Expression) -> None:
    """End the open offers of the admissions that meet a condition. Lock the admissions first."""
    offered = Transfer.admission.in_(Admission.select(Admission.id).where(of))
    is_open = Transfer.accepted_at.is_null() & Transfer.ended_at.is_null()
    Transfer.update(ended_at=clock.now()).where(offered, is_open).execute()


def of_intent(intent: PaymentIntent) -> Sequence[Admission]:
    """Return an intent's admissions. Empty before it is confirmed."""
    return _of_intent.rows(intent_id=intent.id)


def shown_to_buyer(admission: Admission) -> bool:
    """Return whether the order that bought it still shows its code, QR code and join URL.

    After a transfer or a reissue they belong to somebody else, who may not trust the buyer.
    """
    return admission.generation == 1 and admission.status != AdmissionStatus.VOID


def change(admission: Admission, **columns: Any) -> None:
    """Change a locked admission that nobody has entered with, in one conditional UPDATE.

    Door devices get the change with their next manifest.
    """
    columns["change_number"] = None
    changed = Admission.update(columns).where(
        Admission.id == admission.id,
        Admission.generation == admission.generation,
        Admission.status == admission.status,
        Admission.redeemed_at.is_null(),
    )
    if changed.execute() != 1:
        raise AssertionError(f"{admission.id} was not locked")
    for name, value in columns.items():
        setattr(admission, name, value)


def list_page(
    tenant_id: str,
    page: PageRequest,
    *,
    event_id: str | None,
    status: AdmissionStatus | None,
    redeemed: bool | None,
    q: str | None,
    giving_back: ReturnStatus | None = None,
    event_ids: Collection[str] | None = None,
    newest_first: bool = False,
) -> Page[Admission]:
    """Return a page of a tenant's admissions, the oldest first unless `newest_first`.

    `q`: text in the holder's name or email address, ASCII letters in any case. `event_ids`: only
    those of these events.
    """
    query = Admission.select()
    if event_id is None:
        query = query.where(Admission.tenant == tenant_id)
    else:
        query = query.where(Admission.event == only_event(tenant_id, event_id))
    if event_ids is not None:
        query = query.where(Admission.event.in_(list(event_ids)))
    if status is not None:
        # Most admissions are valid. Partial indexes exist for the few others.
        query = query.where(Admission.status == literal(status))
    if redeemed is not None:
        # Partial indexes exist for the redeemed ones.
        query = query.where(Admission.redeemed_at.is_null(not redeemed))
    if giving_back is not None:
        query = query.where(_GIVING_BACK[giving_back])
    if q is not None:
        query = query.where(
            holds_text(Admission.holder_name, q) | holds_text(Admission.holder_email, q)
        )
    scope = f"admissions {tenant_id} {event_id} {status} {redeemed} {q!r}"
    if giving_back is not None:
        scope += f" {giving_back}"
    admission_page = paginate(query, [Admission.id], page, scope=scope, descending=newest_first)
    _read_orders_of_old(admission_page.data)
    _read_types_of_given_back(admission_page.data)
    return admission_page


def some(
    tenant_id: str, admission_ids: Collection[str], event_ids: Collection[str] | None
) -> list[Admission]:
    """Return those of a tenant's admissions that have one of these ids, the newest first.

    `event_ids`: only those of these events.
    """
    found = Admission.select().where(
        Admission.tenant == tenant_id, Admission.id.in_(list(admission_ids))
    )
    if event_ids is not None:
        found = found.where(Admission.event.in_(list(event_ids)))
    return list(found.order_by(Admission.id.desc()))


def guests(tenant_id: str, event_id: str, page: PageRequest) -> Page[Admission]:
    """Return a page of the admissions of an event that no order bought, the newest first."""
    query = (
        Admission.select(Admission, TicketType)
        .join(TicketType)
        .where(Admission.event == only_event(tenant_id, event_id), Admission.intent.is_null())
    )
    return paginate(query, [Admission.id], page, scope=f"guests {event_id}", descending=True)


def _read_types_of_given_back(found: Sequence[Admission]) -> None:
    """Read the ticket types of admissions that are given back, all in one query."""
    given_back = [each for each in found if each.returned_at is not None]
    if given_back:
        wanted = TicketType.id.in_({each.ticket_type_id for each in given_back})
        types = {each.id: each for each in TicketType.select().where(wanted)}
        for each in given_back:
            each.ticket_type = types[each.ticket_type_id]


def _read_orders_of_old(found: Sequence[Admission]) -> None:
    """Read the orders of admissions that do not say what they cost, all in one query."""
    old = [each for each in found if each.amount is None and each.intent_id is not None]
    if old:
        wanted = PaymentIntent.id.in_({each.intent_id for each in old})
        orders = {each.id: each for each in PaymentIntent.select().where(wanted)}
        for each in old:
            each.intent = orders[str(each.intent_id)]
