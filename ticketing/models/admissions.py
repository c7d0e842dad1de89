"""Admissions, one per seat, and the offers to transfer them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from peewee import (
    BigIntegerField,
    BooleanField,
    Case,
    ForeignKeyField,
    IntegerField,
    TextField,
    fn,
)

from ticketing.constants import RESOLD_REASON, AdmissionStatus, RefundRecipient, ReturnStatus
from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.events import Event
from ticketing.models.payment_intents import FORGIVEN, PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType


class GivingBack(NamedTuple):
    """What becomes of an admission that is given back. `amount` comes back, in micro-units."""

    status: ReturnStatus
    amount: int
    offered_at: datetime | None


class Admission(BaseModel):
    """The right to enter once.

    `code` is the secret that manages the admission, `qr` is what the door reads. A transfer or a
    reissue starts a new `generation` with a new code, and the old code and QR end. `qr` is None
    until it is first asked for. A guest's admission has no intent.

    `named_at`: when the holder was last named by a holder's call. `transferred_at`: when the
    current holder accepted it. `redeemed_by` is the scan that let the holder in. `void_refund`:
    what it cost became owed when it was voided. `amount` is what it cost, in micro-units (of a
    guest: 0). `released` is how much of it its order keeps no more.
    It never falls. `deposit_released`: how much of that is the deposit of who came.

    `returned_at`: since when its holder gives it back, for `return_amount` micro-units. Both are
    None again when it is not given back any more.

    `change_number` orders the changes of one event for the manifest. Each change that a door must
    know sets it to None. services.door numbers the committed rows.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    event = ForeignKeyField(Event)
    event_id: str
    ticket_type = ForeignKeyField(TicketType)
    ticket_type_id: str
    intent = ForeignKeyField(PaymentIntent, null=True)
    intent_id: str | None
    code = TextField(unique=True)
    status = TextField()
    generation = IntegerField(default=1)
    holder_name = TextField(null=True)
    holder_email = TextField(null=True)
    named_at = UtcDateTimeField(null=True)
    transferred_at = UtcDateTimeField(null=True)
    redeemed_at = UtcDateTimeField(null=True)
    redeemed_gate = TextField(null=True)
    redeemed_by = TextField(null=True)
    voided_at = UtcDateTimeField(null=True)
    void_reason = TextField(null=True)
    void_refund = BooleanField(default=False)
    amount = BigIntegerField()
    released = BigIntegerField(default=0)
    deposit_released = BigIntegerField(default=0)
    return_amount = BigIntegerField(null=True)
    returned_at = UtcDateTimeField(null=True)
    qr = TextField(null=True)
    change_number = BigIntegerField(null=True)
    created_at = UtcDateTimeField()

    item: Any = None
    """The item of its order that it belongs to, where that is read too. A guest has none."""

    # No columns: services.admission_views sets these on an instance for its response.
    shown_code: str | None
    shown_qr: str | None
    online_join_url: str | None
    refund_recipient: RefundRecipient | None
    transfer: "Transfer | None"
    questions: Sequence[Any]
    answers: Mapping[str, Any]

    class Meta:
        table_name = "admissions"

    @property
    def holder(self) -> dict[str, str | None]:
        """The holder's name and email address, if known."""
        return {"name": self.holder_name, "email": self.holder_email}

    @property
    def deposit(self) -> int:
        """What comes back of its price to who came. It was read with its item."""
        return 0 if self.item is None else int(self.item.deposit_amount)

    @property
    def is_final(self) -> bool:
        """Whether the payment of its order is final. A guest has none. It may read the order."""
        order = None if self.intent_id is None else self.intent
        return order is None or bool(order.final)

    @property
    def giving_back(self) -> GivingBack | None:
        """What becomes of it, if it is given back, or was sold on. It may read the ticket type."""
        if self.status == AdmissionStatus.VOID:
            is_resold = self.void_reason == RESOLD_REASON
            return GivingBack(ReturnStatus.RESOLD, int(self.released), None) if is_resold else None
        if self.returned_at is None:
            return None
        is_free = self.ticket_type.taken < self.ticket_type.offered
        status = ReturnStatus.OFFERED if is_free else ReturnStatus.IN_PROGRESS
        return GivingBack(status, int(self.return_amount or 0), self.returned_at)

    @property
    def transferred(self) -> bool:
        """Whether a transfer was ever accepted."""
        return self.transferred_at is not None


def _seat_kept() -> Any:
    other = Admission.alias()
    left = other.amount - other.released
    earlier = (other.intent == Admission.intent) & (other.id < Admission.id)
    before = fn.COALESCE(fn.SUM(left), 0) - FORGIVEN
    own = Admission.amount - Admission.released
    kept = Case(None, [(before >= 0, own), (before + own <= 0, 0)], before + own)
    return Case(None, [(FORGIVEN > 0, other.select(kept.cast("BIGINT")).where(earlier))], own)


SEAT_KEPT = _seat_kept()
"""What a confirmed order keeps of a seat's cost. The seats of an order add up to what it keeps.

What is forgiven of an order is taken off its first seats. Example: 3 are forgiven of an order with
seats of 2, 10 and 10: it keeps 0, 9 and 10 of them.
"""


class Transfer(BaseModel):
    """An offer to transfer one generation of an admission. The secret offer is derived from the id.

    The holder is the person named by the sender. `ended_at` is set when the offer is accepted,
    canceled or replaced.
    """

    id = TextField(primary_key=True)
    admission = ForeignKeyField(Admission)
    admission_id: str
    generation = IntegerField()
    holder_name = TextField(null=True)
    holder_email = TextField(null=True)
    created_at = UtcDateTimeField()
    expires_at = UtcDateTimeField()
    accepted_at = UtcDateTimeField(null=True)
    ended_at = UtcDateTimeField(null=True)

    class Meta:
        table_name = "transfers"

    @property
    def holder(self) -> dict[str, str | None]:
        """The person whom the sender named."""
        return {"name": self.holder_name, "email": self.holder_email}
