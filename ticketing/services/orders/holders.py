"""Holders: find the admission that a code opens, and name its holder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peewee import JOIN, ModelSelect

from ticketing import clock, credentials
from ticketing.constants import AdmissionStatus
from ticketing.db.connection import locked, write_transaction
from ticketing.errors import AdmissionVoid, AlreadyRedeemed, Conflict, NotFound, NotTransferable
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.items import IntentItem, is_of_seat
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.services.orders import admissions

Holder = Mapping[str, str | None]
"""`name` and `email`, both optional."""


OF_ORDER = (
    PaymentIntent.id,
    PaymentIntent.status,
    PaymentIntent.chain_id,
    PaymentIntent.token_address,
    PaymentIntent.early,
    PaymentIntent.confirmed_at,
    PaymentIntent.locale,
)
"""What is read of the order with an admission: whether its payment is final, or when; language."""


OF_ITEM = (IntentItem.return_fee_percent, IntentItem.deposit_amount)
"""And of its item: what is kept and what comes back of its price."""


def _with_the_rest(where: Any) -> ModelSelect[Admission]:
    return (
        Admission.select(Admission, Event, TicketType, Tenant, *OF_ORDER, *OF_ITEM)
        .join(Event)
        .join_from(Admission, TicketType)
        .join_from(Admission, Tenant)
        .join_from(Admission, PaymentIntent, JOIN.LEFT_OUTER)
        .join_from(Admission, IntentItem, JOIN.LEFT_OUTER, on=is_of_seat(), attr="item")
        .where(where)
    )


def _select(tenant: Any, admission_id: Any) -> ModelSelect[Admission]:
    of_tenant = (Tenant.id == tenant) | (Tenant.slug == tenant)
    return _with_the_rest((Admission.id == admission_id) & of_tenant)


_of_tenant: Prepared[Admission] = Prepared(_select, last="item")


def _by_code(code: Any) -> ModelSelect[Admission]:
    return _with_the_rest(Admission.code == code)


_of_code: Prepared[Admission] = Prepared(_by_code, last="item")


def find(code: str) -> Admission:
    """Return the admission that a code opens, with event, ticket type and tenant. NotFound."""
    admission = _of_code.first(code=code) if credentials.is_admission_code(code) else None
    return _opened(admission, code)


def get(tenant_reference: str, admission_id: str, code: str | None) -> Admission:
    """Return an admission with event, ticket type and tenant, if `code` opens it.

    `tenant_reference` is a slug or an id. `code` None: the caller has another credential for it.
    NotFound, also for a wrong code.
    """
    admission: Admission | None = _of_tenant.first(
        tenant=tenant_reference, admission_id=admission_id
    )
    return _opened(admission, code)


def lock(tenant_reference: str, admission_id: str, code: str | None) -> Admission:
    """Return what `get` does, and lock the admission until the write transaction ends."""
    return _opened(locked(_select(tenant_reference, admission_id), of=Admission).first(), code)


def counted_for(admission: Admission) -> str:
    """Return the id for which requests with an admission's code are counted.

    It is the order, or the admission after a transfer or reissue: the buyer must not use up the
    requests of the new holder.
    """
    is_buyers = admission.generation == 1
    return (is_buyers and admission.intent_id) or admission.id


def _opened(admission: Admission | None, code: str | None) -> Admission:
    opens = code is None or credentials.same(code, "" if admission is None else admission.code)
    if admission is None or not opens:
        raise NotFound("This admission does not exist.")
    return admission


def name(tenant_reference: str, admission_id: str, code: str | None, holder: Holder) -> Admission:
    """Change the given fields of the holder, until the holder has entered.

    NotFound, AdmissionVoid, AlreadyRedeemed; NotTransferable if the ticket type is not
    transferable and a holder was named before.
    """
    with write_transaction():
        admission = lock(tenant_reference, admission_id, code)
        current = admission.holder
        if all(current[field] == value for field, value in holder.items()):
            return admission
        conflict = naming_obstacle(admission)
        if conflict is not None:
            raise conflict
        fields = {f"holder_{field}": value for field, value in holder.items()}
        admissions.change(admission, named_at=clock.now(), **fields)
        return admission


def naming_obstacle(admission: Admission) -> Conflict | None:
    """Return why the holder of an admission cannot be named now. None if that is possible."""
    if admission.status == AdmissionStatus.VOID:
        return AdmissionVoid()
    if admission.redeemed_at is not None:
        return AlreadyRedeemed()
    if admission.named_at is not None and not admission.ticket_type.transferable:
        return NotTransferable("The holder of this admission can be named only once.")
    return None
