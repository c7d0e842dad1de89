"""Schemas of what notifications say: the `data` of each type, for the document. See facts.py."""

from collections.abc import Mapping

from marshmallow import fields, validate

from schemas.base import (
    EXAMPLE_ADDRESS,
    EXAMPLE_TOKEN,
    BaseSchema,
    Choice,
    ListOf,
    Moment,
    Number,
    String,
    YesNo,
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


class EventFactSchema(BaseSchema):
    """An event became public, or something of it changed."""

    event_id = an_id("evt_")
    status = Choice(Publication)


class EventChangedFactSchema(EventFactSchema):
    """Fields of an event have new values."""

    changed = ListOf(fields.String(), "Names of fields.", example=["venue"])
    tell_people = YesNo(False, "Whether mails follow if it moved.")


class EventCanceledFactSchema(EventFactSchema):
    """An event was canceled. The counts are what ended with it."""

    refund = YesNo(False)
    admissions_voided = Number(3)
    intents_canceled = Number(3)


class StockFactSchema(BaseSchema):
    """A ticket type was sold out, or is available again."""

    event_id = an_id("evt_")
    ticket_id = an_id("tkt_")
    capacity = Number(100, nullable=True)


class MessageFactSchema(BaseSchema):
    """All mails of a message have ended."""

    message_id = an_id("msg_")
    event_id = an_id("evt_")
    recipients = Number(3)
    sent = Number(3)
    failed = Number(0)


class VoucherFactSchema(BaseSchema):
    """A confirmed order took the last usages of a voucher."""

    event_id = an_id("evt_")
    voucher_id = an_id("vou_")


class FactItemSchema(BaseSchema):
    """Seats of one ticket type."""

    ticket_id = an_id("tkt_")
    quantity = Number(2)


class IntentFactSchema(BaseSchema):
    """An order was made, or entered its status."""

    intent_id = an_id("pi_")
    event_id = an_id("evt_")
    ticket_id = an_id("tkt_", allow_none=True)
    items = ListOf(FactItemSchema)
    status = Choice(IntentStatus)
    final = YesNo(False, "Whether the network can undo the payment no more.")
    flags = ListOf(one_of(Flag))
    quantity = Number(2)
    amount = Number(50_000_000)
    amount_received = Number(50_000_000)
    currency = String(CURRENCY)
    chain_id = Number(8453, nullable=True)


class PartPaidFactSchema(IntentFactSchema):
    """Money arrived, and the order still waits for the rest."""

    amount_due = Number(20_000_000)


class ChainChangedFactSchema(BaseSchema):
    """An order is paid on another network now."""

    intent_id = an_id("pi_")
    event_id = an_id("evt_")
    to = Number(8453)
    automatic = YesNo(False, "Its money was found there.")

    class Meta:
        include = {"from": Number(8453, nullable=True)}


class StrayFactSchema(BaseSchema):
    """Money arrived that is not on the network, or not in the token, of its order."""

    intent_id = an_id("pi_")
    event_id = an_id("evt_")
    chain_id = Number(8453)
    token_address = String(EXAMPLE_TOKEN)
    amount = Number(25_000_000)


class RefundFactSchema(BaseSchema):
    """A refund is due, or was written off."""

    intent_id = an_id("pi_")
    event_id = an_id("evt_")
    amount = Number(25_000_000)
    currency = String(CURRENCY)
    chain_id = Number(8453, nullable=True)
    token_address = String(EXAMPLE_TOKEN, nullable=True)


class RefundSettledFactSchema(RefundFactSchema):
    """A transfer counts as a refund."""

    tx_hash = String("0x" + "5e" * 32)
    automatic = YesNo(False, "The worker found it by itself.")


class RefundAddressFactSchema(BaseSchema):
    """Where a refund goes was stated, counts from now on, or ended."""

    intent_id = an_id("pi_")
    event_id = an_id("evt_")
    chain_id = Number(8453, nullable=True)
    token_address = String(EXAMPLE_TOKEN, nullable=True)
    source = Choice(PayeeSource, "Who decided it.")
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
    intent_id = an_id("pi_", allow_none=True)
    generation = Number(1)
    status = Choice(AdmissionStatus)


class AdmissionVoidedFactSchema(AdmissionFactSchema):
    """A ticket was taken back, or given back and sold on: then it has a `reason`."""

    reason = String("resold", required=False)


class ReturnOfferedFactSchema(AdmissionFactSchema):
    """The holder gives a ticket back, if somebody else buys its place."""

    return_amount = Number(22_500_000, "What comes back then.")


class TransferOfferedFactSchema(AdmissionFactSchema):
    """The holder offered a ticket to somebody else."""

    transfer_id = an_id("xfr_")


class AdmissionRedeemedFactSchema(AdmissionFactSchema):
    """A scan let the holder in."""

    redeemed_at = Moment()


class DeviceFactSchema(BaseSchema):
    """A device can scan at the doors of an event from now on."""

    device_id = an_id("dev_")
    event_id = an_id("evt_")
    sells = YesNo(False)


class KeyFactSchema(BaseSchema):
    """There is a new secret of this role."""

    key_id = an_id("key_")
    role = Choice(Role)
    rotated = YesNo(False, "Of a key that had one before.")


class MemberFactSchema(BaseSchema):
    """A person got an invitation, or a link to set a new password."""

    member_id = an_id("mem_")
    role = Choice(Role)


class WalletFactSchema(BaseSchema):
    """A change of the wallet waits, was made, or is not made."""

    address = String(EXAMPLE_ADDRESS)
    chain_ids = ListOf(fields.Integer(), nullable=True)
    former_address = String(EXAMPLE_ADDRESS, nullable=True)
    effective_at = Moment(nullable=True)
    by = String("mem_01hq3v5m8r2t6w9y1a4c7e0g3j")


class WebhookFactSchema(BaseSchema):
    """A test of one endpoint."""

    webhook_id = an_id("whk_")


class WebhookFailingFactSchema(WebhookFactSchema):
    """An endpoint has failed for a day, or was disabled."""

    is_disabled = YesNo(False)
    failing_since = Moment()


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
