"""Schemas of admissions and their holders."""

from typing import Any

from marshmallow import ValidationError, fields, validate, validates_schema

from schemas.base import (
    BaseSchema,
    Bool,
    Instant,
    Items,
    PageQuery,
    Text,
    an_id,
    documented,
    one_of,
    shown,
)
from schemas.checks import ALWAYS, NOT_BLANK, Length
from schemas.events import EFFECTIVE_TIMES, PUBLIC_FIELDS
from schemas.people import PersonSchema
from schemas.questions import Answers, PublicQuestionSchema
from ticketing.constants import (
    EVENT_CANCELED_REASON,
    MAX_GUESTS,
    RESOLD_REASON,
    AdmissionStatus,
    Publication,
    RefundRecipient,
    ReturnStatus,
)
from ticketing.errors import FieldMessage

EXAMPLE_QR = "T1:" + "6BF+H0QK/2.NC 5V" * 9


def _code() -> fields.String:
    return fields.String(
        required=True,
        allow_none=True,
        attribute="shown_code",
        metadata=documented("5m8r2t6w9y1a4c7e0g3j", "Secret. Manages the admission."),
    )


def _qr() -> fields.String:
    return fields.String(
        required=True,
        allow_none=True,
        attribute="shown_qr",
        metadata=documented(EXAMPLE_QR, "Secret. What the door reads, as the text of a QR code."),
    )


class NewHolderSchema(PersonSchema):
    """The person that an admission shall belong to. All fields are optional."""


class HolderSchema(PersonSchema):
    """The person that an admission belongs to."""


class ReturnSchema(BaseSchema):
    """What becomes of an admission that is given back."""

    status = one_of(ReturnStatus, required=True)
    amount = fields.Integer(
        required=True, metadata=documented(22_500_000, "What comes back, in micro-units.")
    )
    offered_at = Instant(
        required=True, allow_none=True, metadata=documented("2026-12-01T18:00:00Z", "Null: resold.")
    )


def _return() -> fields.Nested:
    return fields.Nested(
        ReturnSchema,
        required=True,
        allow_none=True,
        attribute="giving_back",
        data_key="return",
        metadata={"description": "Null: it is not given back."},
    )


class AdmissionSchema(BaseSchema):
    """An admission as its organizer sees it, without its code."""

    id = an_id("adm_")
    event_id = an_id("evt_")
    ticket_id = an_id("tkt_", attribute="ticket_type_id")
    intent_id = fields.String(
        required=True,
        allow_none=True,
        metadata=documented("pi_01hq3v5m8r2t6w9y1a4c7e0g3j", "Null for a guest."),
    )
    status = one_of(AdmissionStatus, required=True)
    generation = fields.Integer(
        required=True,
        metadata=documented(1, "1, and one more after each transfer and each reissue."),
    )
    holder = fields.Nested(HolderSchema, required=True)
    transferred = fields.Boolean(
        required=True, metadata=documented(False, "Whether a transfer was ever accepted.")
    )
    redeemed_at = Instant(required=True, allow_none=True)
    redeemed_gate = fields.String(required=True, allow_none=True)
    voided_at = Instant(required=True, allow_none=True)
    void_reason = fields.String(required=True, allow_none=True)
    void_refund = fields.Boolean(
        required=True,
        metadata=documented(False, "Whether all it cost became owed to the order with the void."),
    )
    amount = fields.Integer(
        required=True,
        metadata=documented(25_000_000, "What it cost, in micro-units. 0 for a guest."),
    )
    released = fields.Integer(
        required=True,
        metadata=documented(0, "How much of that its order keeps no more. It never falls."),
    )
    giving_back = _return()
    created_at = Instant(required=True)


def _answers() -> fields.Dict:
    return fields.Dict(
        required=True,
        metadata=documented({"diet": "Vegetarian"}, "The holder's answers, by identifier."),
    )


class AnsweredAdmissionSchema(AdmissionSchema):
    """An admission as its organizer sees it, with its holder's answers."""

    answers = _answers()


class VoidSchema(BaseSchema):
    """Why an admission is taken back, and whether its price is owed to the order."""

    reason = Text(
        required=True,
        validate=[
            Length(1, 500),
            NOT_BLANK,
            validate.NoneOf(
                [EVENT_CANCELED_REASON, RESOLD_REASON],
                error=FieldMessage("reserved", "Invalid input."),
            ),
        ],
        metadata=documented(
            "Asked for by the holder.", "Any text but `event_canceled` and `resold`."
        ),
    )
    refund = Bool(
        required=True,
        metadata={"description": "Whether its price becomes owed to the order's buyer."},
    )
    transferred = Bool(
        load_default=False,
        metadata=documented(False, "Void it although it was transferred to another holder."),
    )
    force = Bool(
        load_default=False,
        metadata=documented(
            False, "Void it although a door device has scans not sent yet, or is silent."
        ),
    )


class ReissueSchema(PersonSchema):
    """Where the new code is sent by mail. Without an address, the response shows it."""

    MAY_BE_ABSENT = True

    class Meta:
        exclude = ("name",)


class ReissuedAdmissionSchema(AdmissionSchema):
    """An admission with its new code. Only the response that makes the code contains it."""

    code = fields.String(
        required=True,
        allow_none=True,
        attribute="shown_code",
        metadata=documented(
            "5m8r2t6w9y1a4c7e0g3j",
            "Secret. Null in a repeated response, and if it is sent to an email address.",
        ),
    )


class GuestListSchema(BaseSchema):
    """The holders of new admissions that cost nothing."""

    holders = Items(
        fields.Nested(NewHolderSchema), required=True, validate=Length(1, MAX_GUESTS, "items")
    )
    reason = Text(
        load_default=None,
        allow_none=True,
        validate=[Length(1, 500), NOT_BLANK],
        metadata=documented("Press.", "It is kept in the audit log."),
    )


class GuestsSchema(BaseSchema):
    """The new admissions of a guest list."""

    admissions = fields.List(fields.Nested(AdmissionSchema), required=True)
    codes = fields.List(
        fields.String(),
        required=True,
        allow_none=True,
        metadata=documented(
            ["5m8r2t6w9y1a4c7e0g3j"],
            "The secret code of each admission, in the same order. Null in a repeated response.",
        ),
    )


class BoughtAdmissionSchema(BaseSchema):
    """An admission as its order shows it.

    `code` and `qr` are null once it belongs to somebody else, was reissued, or is void.
    """

    id = an_id("adm_")
    event_id = an_id("evt_")
    ticket_id = an_id("tkt_", attribute="ticket_type_id")
    intent_id = an_id("pi_")
    status = one_of(AdmissionStatus, required=True)
    transferred = fields.Boolean(required=True, metadata=documented(False))
    created_at = Instant(required=True)
    code = _code()
    qr = _qr()


class HeldEventSchema(BaseSchema):
    """The event of an admission."""

    id = an_id("evt_")
    status = one_of(Publication, required=True)

    class Meta:
        include = shown(PUBLIC_FIELDS) | EFFECTIVE_TIMES


class HeldTicketTypeSchema(BaseSchema):
    """The ticket type of an admission."""

    id = an_id("tkt_")
    name = fields.String(required=True, metadata=documented("General admission"))
    transferable = fields.Boolean(required=True)


class PendingTransferSchema(BaseSchema):
    """An open offer, without its secret. The holder is whom the sender has named."""

    id = an_id("xfr_")
    holder = fields.Nested(HolderSchema, required=True)
    created_at = Instant(required=True)
    expires_at = Instant(required=True, metadata=documented("2026-11-23T09:00:00Z"))


class HeldAdmissionSchema(BaseSchema):
    """An admission as its holder sees it."""

    id = an_id("adm_")
    status = one_of(AdmissionStatus, required=True)
    generation = fields.Integer(required=True, metadata=documented(1))
    holder = fields.Nested(HolderSchema, required=True)
    transferred = fields.Boolean(required=True, metadata=documented(False))
    redeemed_at = Instant(required=True, allow_none=True)
    redeemed_gate = fields.String(required=True, allow_none=True)
    created_at = Instant(required=True)
    code = _code()
    qr = _qr()
    online_join_url = fields.String(
        required=True,
        allow_none=True,
        metadata=documented("https://meet.example.org/launch", "Null unless it is valid."),
    )
    refund_recipient = one_of(
        RefundRecipient,
        required=True,
        allow_none=True,
        metadata={
            "description": "Who gets the money back if it is voided with a refund: the buyer of"
            " its order, also after a transfer. Null for a guest."
        },
    )
    event = fields.Nested(HeldEventSchema, required=True)
    ticket = fields.Nested(HeldTicketTypeSchema, required=True, attribute="ticket_type")
    transfer = fields.Nested(
        PendingTransferSchema,
        required=True,
        allow_none=True,
        metadata={"description": "The open offer. Null if there is none."},
    )
    giving_back = _return()
    questions = fields.List(
        fields.Nested(PublicQuestionSchema),
        required=True,
        metadata={"description": "What its holder is asked."},
    )
    answers = _answers()


class HolderChangeSchema(BaseSchema):
    """The holder's fields and the answers to change. Missing ones do not change."""

    holder = fields.Nested(NewHolderSchema, metadata={"description": "Required without `answers`."})
    answers = Answers()

    @validates_schema
    def has_something(self, data: dict[str, Any], **_: Any) -> None:
        """Require one of the two. ValidationError."""
        if not data:
            raise ValidationError(ALWAYS["required"], "holder")


class AdmissionListQuery(PageQuery):
    """Filters of the list of admissions."""

    event_id = Text(load_default=None, allow_none=False, validate=Length(1, 80))
    status = one_of(AdmissionStatus, load_default=None, allow_none=False)
    redeemed = fields.Boolean(
        load_default=None,
        allow_none=False,
        truthy={"true"},
        falsy={"false"},
        metadata={"description": "Whether its holder has entered."},
    )
    giving_back = one_of(
        ReturnStatus,
        load_default=None,
        allow_none=False,
        data_key="return",
        metadata={"description": "Those that are given back, or were sold on."},
    )
    q = Text(
        load_default=None,
        allow_none=False,
        validate=Length(1, 200),
        metadata={"description": "Text to search for in holders' names and email addresses."},
    )
