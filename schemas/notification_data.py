"""Schemas of what notifications say: the `data` of each type, for the document. See facts.py."""

from collections.abc import Mapping
from typing import Any

from marshmallow import fields, validate

from schemas.base import (
    EXAMPLE_ADDRESS,
    EXAMPLE_TOKEN,
    BaseSchema,
    Instant,
    an_id,
    documented,
    one_of,
)
from ticketing.constants import (
    CURRENCY,
    AdmissionStatus,
    Flag,
    IntentStatus,
    PayeeSource,
    Publication,
)
from ticketing.notification_types import NotificationType
from ticketing.roles import Role


def _amount(example: int = 25_000_000, description: str | None = None) -> fields.Integer:
    return fields.Integer(required=True, metadata=documented(example, description))


def _count(example: int = 3) -> fields.Integer:
    return fields.Integer(required=True, metadata=documented(example))


def _yes_or_no(description: str | None = None) -> fields.Boolean:
    return fields.Boolean(required=True, metadata=documented(False, description))


def _chain(*, allow_none: bool = False) -> fields.Integer:
    return fields.Integer(required=True, allow_none=allow_none, metadata=documented(8453))


def _nullable_id(prefix: str) -> Any:
    return an_id(prefix, allow_none=True)


class EventFactSchema(BaseSchema):
    """An event became public, or something of it changed."""

    event_id = an_id("evt_")
    status = one_of(Publication, required=True)


class EventChangedFactSchema(EventFactSchema):
    """Fields of an event have new values."""

    changed = fields.List(
        fields.String(), required=True, metadata=documented(["venue"], "Names of fields.")
    )
    tell_people = _yes_or_no("Whether mails follow if it moved.")


class EventCanceledFactSchema(EventFactSchema):
    """An event was canceled. The counts are what ended with it."""

    refund = _yes_or_no()
    admissions_voided = _count()
    intents_canceled = _count()


class StockFactSchema(BaseSchema):
    """A ticket type was sold out, or is available again."""

    event_id = an_id("evt_")
    ticket_id = an_id("tkt_")
    capacity = fields.Integer(required=True, allow_none=True, metadata=documented(100))


class MessageFactSchema(BaseSchema):
    """All mails of a message have ended."""

    message_id = an_id("msg_")
    event_id = an_id("evt_")
    recipients = _count()
    sent = _count()
    failed = _count(0)


class VoucherFactSchema(BaseSchema):
    """A confirmed order took the last usages of a voucher."""

    event_id = an_id("evt_")
    voucher_id = an_id("vou_")


class FactItemSchema(BaseSchema):
    """Seats of one ticket type."""

    ticket_id = an_id("tkt_")
    quantity = _count(2)


class IntentFactSchema(BaseSchema):
    """An order was made, or entered its status."""

    intent_id = an_id("pi_")
    event_id = an_id("evt_")
    ticket_id = _nullable_id("tkt_")
    items = fields.List(fields.Nested(FactItemSchema), required=True)
    status = one_of(IntentStatus, required=True)
    final = _yes_or_no("Whether the network can undo the payment no more.")
    flags = fields.List(one_of(Flag), required=True)
    quantity = _count(2)
    amount = _amount(50_000_000)
    amount_received = _amount(50_000_000)
    currency = fields.String(required=True, metadata=documented(CURRENCY))
    chain_id = _chain(allow_none=True)


class PartPaidFactSchema(IntentFactSchema):
    """Money arrived, and the order still waits for the rest."""

    amount_due = _amount(20_000_000)


class ChainChangedFactSchema(BaseSchema):
    """An order is paid on another network now."""

    intent_id = an_id("pi_")
    event_id = an_id("evt_")
    to = _chain()
    automatic = _yes_or_no("Its money was found there.")

    class Meta:
        include = {"from": _chain(allow_none=True)}


class StrayFactSchema(BaseSchema):
    """Money arrived that is not on the network, or not in the token, of its order."""

    intent_id = an_id("pi_")
    event_id = an_id("evt_")
    chain_id = _chain()
    token_address = fields.String(required=True, metadata=documented(EXAMPLE_TOKEN))
    amount = _amount()


class RefundFactSchema(BaseSchema):
    """A refund is due, or was written off."""

    intent_id = an_id("pi_")
    event_id = an_id("evt_")
    amount = _amount()
    currency = fields.String(required=True, metadata=documented(CURRENCY))
    chain_id = _chain(allow_none=True)
    token_address = fields.String(
        required=True, allow_none=True, metadata=documented(EXAMPLE_TOKEN)
    )


class RefundSettledFactSchema(RefundFactSchema):
    """A transfer counts as a refund."""

    tx_hash = fields.String(required=True, metadata=documented("0x" + "5e" * 32))
    automatic = _yes_or_no("The worker found it by itself.")


class RefundAddressFactSchema(BaseSchema):
    """Where a refund goes was stated, counts from now on, or ended."""

    intent_id = an_id("pi_")
    event_id = an_id("evt_")
    chain_id = _chain(allow_none=True)
    token_address = fields.String(
        required=True, allow_none=True, metadata=documented(EXAMPLE_TOKEN)
    )
    source = one_of(PayeeSource, required=True, metadata={"description": "Who decided it."})
    status = fields.String(
        required=True,
        validate=validate.OneOf(("waits", "counts", "ended")),
        metadata=documented(
            "waits",
            "`waits`: the buyer stated an address that does not count yet. `counts`: this is where"
            " the money goes now. `ended`: it was stopped or taken back, or its proof ended.",
        ),
    )


class AdmissionFactSchema(BaseSchema):
    """Something happened to a ticket."""

    admission_id = an_id("adm_")
    event_id = an_id("evt_")
    ticket_id = an_id("tkt_")
    intent_id = _nullable_id("pi_")
    generation = _count(1)
    status = one_of(AdmissionStatus, required=True)


class AdmissionVoidedFactSchema(AdmissionFactSchema):
    """A ticket was taken back, or given back and sold on: then it has a `reason`."""

    reason = fields.String(metadata=documented("resold"))


class ReturnOfferedFactSchema(AdmissionFactSchema):
    """The holder gives a ticket back, if somebody else buys its place."""

    return_amount = _amount(22_500_000, "What comes back then.")


class TransferOfferedFactSchema(AdmissionFactSchema):
    """The holder offered a ticket to somebody else."""

    transfer_id = an_id("xfr_")


class AdmissionRedeemedFactSchema(AdmissionFactSchema):
    """A scan let the holder in."""

    redeemed_at = Instant(required=True)


class DeviceFactSchema(BaseSchema):
    """A device can scan at the doors of an event from now on."""

    device_id = an_id("dev_")
    event_id = an_id("evt_")
    sells = _yes_or_no()


class KeyFactSchema(BaseSchema):
    """There is a new secret of this role."""

    key_id = an_id("key_")
    role = one_of(Role, required=True)
    rotated = _yes_or_no("Of a key that had one before.")


class MemberFactSchema(BaseSchema):
    """A person got an invitation, or a link to set a new password."""

    member_id = an_id("mem_")
    role = one_of(Role, required=True)


class WalletFactSchema(BaseSchema):
    """A change of the wallet waits, was made, or is not made."""

    address = fields.String(required=True, metadata=documented(EXAMPLE_ADDRESS))
    chain_ids = fields.List(fields.Integer(), required=True, allow_none=True)
    former_address = fields.String(
        required=True, allow_none=True, metadata=documented(EXAMPLE_ADDRESS)
    )
    effective_at = Instant(required=True, allow_none=True)
    by = fields.String(required=True, metadata=documented("mem_01hq3v5m8r2t6w9y1a4c7e0g3j"))


class WebhookFactSchema(BaseSchema):
    """A test of one endpoint."""

    webhook_id = an_id("whk_")


class WebhookFailingFactSchema(WebhookFactSchema):
    """An endpoint has failed for a day, or was disabled."""

    is_disabled = _yes_or_no()
    failing_since = Instant(required=True)


_TYPE = NotificationType
OF_TYPE: Mapping[NotificationType, type[BaseSchema]] = {
    _TYPE.EVENT_PUBLISHED: EventFactSchema,
    _TYPE.EVENT_CHANGED: EventChangedFactSchema,
    _TYPE.EVENT_CANCELED: EventCanceledFactSchema,
    _TYPE.TICKET_TYPE_SOLD_OUT: StockFactSchema,
    _TYPE.TICKET_TYPE_AVAILABLE_AGAIN: StockFactSchema,
    _TYPE.VOUCHER_USED_UP: VoucherFactSchema,
    _TYPE.INTENT_CREATED: IntentFactSchema,
    _TYPE.INTENT_PART_PAID: PartPaidFactSchema,
    _TYPE.INTENT_PROCESSING: IntentFactSchema,
    _TYPE.INTENT_CONFIRMED: IntentFactSchema,
    _TYPE.INTENT_FINALIZED: IntentFactSchema,
    _TYPE.INTENT_EXPIRED: IntentFactSchema,
    _TYPE.INTENT_CANCELED: IntentFactSchema,
    _TYPE.INTENT_REVERSED: IntentFactSchema,
    _TYPE.INTENT_CHAIN_CHANGED: ChainChangedFactSchema,
    _TYPE.STRAY_SEEN: StrayFactSchema,
    _TYPE.REFUND_DUE: RefundFactSchema,
    _TYPE.REFUND_ADDRESS_CHANGED: RefundAddressFactSchema,
    _TYPE.REFUND_SETTLED: RefundSettledFactSchema,
    _TYPE.REFUND_WAIVED: RefundFactSchema,
    _TYPE.ADMISSION_ISSUED: AdmissionFactSchema,
    _TYPE.ADMISSION_TRANSFER_OFFERED: TransferOfferedFactSchema,
    _TYPE.ADMISSION_TRANSFERRED: AdmissionFactSchema,
    _TYPE.ADMISSION_RETURN_OFFERED: ReturnOfferedFactSchema,
    _TYPE.ADMISSION_RETURN_CANCELED: AdmissionFactSchema,
    _TYPE.ADMISSION_VOIDED: AdmissionVoidedFactSchema,
    _TYPE.ADMISSION_REISSUED: AdmissionFactSchema,
    _TYPE.ADMISSION_REDEEMED: AdmissionRedeemedFactSchema,
    _TYPE.ADMISSION_REDEEM_UNDONE: AdmissionFactSchema,
    _TYPE.DOOR_DEVICE_PAIRED: DeviceFactSchema,
    _TYPE.API_KEY_CREATED: KeyFactSchema,
    _TYPE.MEMBER_INVITED: MemberFactSchema,
    _TYPE.WALLET_CHANGE_REQUESTED: WalletFactSchema,
    _TYPE.WALLET_CHANGED: WalletFactSchema,
    _TYPE.WALLET_CHANGE_CANCELED: WalletFactSchema,
    _TYPE.MESSAGE_SENT: MessageFactSchema,
    _TYPE.WEBHOOK_FAILING: WebhookFailingFactSchema,
    _TYPE.WEBHOOK_TEST: WebhookFactSchema,
}
"""The schema of the data of each type."""
