"""Vouchers: codes that lower a price, or open a ticket type."""

from collections.abc import Sequence

from peewee import BigIntegerField, ForeignKeyField, IntegerField, TextField

from ticketing import clock
from ticketing.constants import VoucherStatus
from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant


class Voucher(BaseModel):
    """A code for seats of one event. `held` and `redeemed` count its usages, one per seat.

    `value` is in micro-units, or whole percent, as `price_mode` says. `ticket_ids` are the ids of
    ticket types with spaces between them. None: all types that do not require a voucher.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    event = ForeignKeyField(Event)
    event_id: str
    code = TextField()
    max_usages = IntegerField()
    held = IntegerField(default=0)
    redeemed = IntegerField(default=0)
    min_usages = IntegerField(default=1)
    valid_until = UtcDateTimeField(null=True)
    price_mode = TextField()
    value = BigIntegerField(null=True)
    ticket_ids = TextField(null=True)
    tag = TextField(null=True)
    comment = TextField(null=True)
    disabled_at = UtcDateTimeField(null=True)
    created_at = UtcDateTimeField()
    updated_at = UtcDateTimeField()

    # No column: services.catalog sets it for those who may not use the code.
    hides_code = False

    class Meta:
        table_name = "vouchers"
        indexes = ((("event", "code"), True),)

    @property
    def shown_code(self) -> str | None:
        """The code. None for those who may not use it."""
        return None if self.hides_code else self.code

    @property
    def usages_left(self) -> int:
        """For how many seats it can still be used. Held usages come back if their order ends."""
        left: int = self.max_usages - self.held - self.redeemed
        return left

    @property
    def status(self) -> VoucherStatus:
        """Whether it can be used now."""
        if self.disabled_at is not None:
            return VoucherStatus.DISABLED
        if self.valid_until is not None and clock.now() >= self.valid_until:
            return VoucherStatus.EXPIRED
        return VoucherStatus.ACTIVE if self.usages_left > 0 else VoucherStatus.USED_UP

    @property
    def ticket_type_ids(self) -> Sequence[str] | None:
        """The ids of the ticket types that it names. None: all that do not require a voucher."""
        return None if self.ticket_ids is None else str(self.ticket_ids).split()
