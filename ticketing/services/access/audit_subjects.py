"""What the subjects of the audit log are called: titles and names instead of ids."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from peewee import Field, Model

from ticketing import ids
from ticketing.models.admissions import Admission
from ticketing.models.api_keys import ApiKey
from ticketing.models.connected_apps import ConnectedApp
from ticketing.models.door import DoorDevice
from ticketing.models.events import Event
from ticketing.models.members import Member
from ticketing.models.messages import Message
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.questions import Question
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.models.vouchers import Voucher

_NAMES: dict[str, tuple[Field[Any], ...]] = {
    ids.EVENT: (Event.title,),
    ids.TICKET_TYPE: (TicketType.name,),
    ids.VOUCHER: (Voucher.code,),
    ids.QUESTION: (Question.question,),
    ids.INTENT: (PaymentIntent.buyer_name, PaymentIntent.buyer_email),
    ids.ADMISSION: (Admission.holder_name, Admission.holder_email),
    ids.API_KEY: (ApiKey.name,),
    ids.MEMBER: (Member.email,),
    ids.CONNECTED_APP: (ConnectedApp.name,),
    ids.DOOR_DEVICE: (DoorDevice.name,),
    ids.MESSAGE: (Message.subject,),
    ids.TENANT: (Tenant.name,),
}
"""The columns that name each kind of subject, the best one first."""


def names(tenant_id: str, subjects: Collection[str]) -> Mapping[str, str]:
    """Return the names of these subjects of a tenant. Those without one are left out."""
    found: dict[str, str] = {}
    for prefix, columns in _NAMES.items():
        wanted = [each for each in subjects if ids.is_id(prefix, each)]
        if not wanted:
            continue
        # Each of these models has an `id` and, but for the tenant itself, a `tenant`.
        model: type[Model] = columns[0].model
        own = model.id if model is Tenant else model.tenant  # type: ignore[attr-defined]
        of_tenant = (own == tenant_id) & model.id.in_(wanted)  # type: ignore[attr-defined]
        rows: Any = model.select(model.id, *columns).where(of_tenant).tuples()  # type: ignore[attr-defined]
        for subject, *values in rows:
            name = next((each for each in values if each), None)
            if name is not None:
                found[subject] = name
    return found
