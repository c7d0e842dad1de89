"""Schemas of admissions and their holders."""

from typing import Any

from marshmallow import ValidationError, fields, validate, validates_schema

from schemas.base import (
    BaseSchema,
    Bool,
    Choice,
    Items,
    ListOf,
    Moment,
    Number,
    PageQuery,
    Part,
    String,
    Text,
    YesNo,
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
    return String(
        "5m8r2t6w9y1a4c7e0g3j",
        "Secret. Manages the admission.",
        nullable=True,
        attribute="shown_code",
    )


def _qr() -> fields.String:
    return String(
        EXAMPLE_QR,
        "Secret. What the door reads, as the text of a QR code.",
        nullable=True,
        attribute="shown_qr",
    )


class NewHolderSchema(PersonSchema):
    """The person that an admission shall belong to. All fields are optional."""


class HolderSchema(PersonSchema):
    """The person that an admission belongs to."""


class ReturnSchema(BaseSchema):
    """What becomes of an admission that is given back."""

    status = Choice(ReturnStatus)
    amount = Number(22_500_000, "What comes back, in micro-units.")
    offered_at = Moment("Null: resold.", example="2026-12-01T18:00:00Z", nullable=True)


def _return() -> fields.Nested:
    return Part(
        ReturnSchema,
        "Null: it is not given back.",
        nullable=True,
        attribute="giving_back",
        data_key="return",
    )


class AdmissionSchema(BaseSchema):
    """An admission as its organizer sees it, without its code."""

    id = an_id("adm_")
    event_id = an_id("evt_")
    ticket_id = an_id("tkt_", attribute="ticket_type_id")
    intent_id = String("pi_01hq3v5m8r2t6w9y1a4c7e0g3j", "Null for a guest.", nullable=True)
    status = Choice(AdmissionStatus)
    generation = Number(1, "1, and one more after each transfer and each reissue.")
    holder = Part(HolderSchema)
    transferred = YesNo(False, "Whether a transfer was ever accepted.")
    redeemed_at = Moment(nullable=True)
    redeemed_gate = String(nullable=True)
    voided_at = Moment(nullable=True)
    void_reason = String(nullable=True)
    void_refund = YesNo(False, "Whether all it cost became owed to the order with the void.")
    amount = Number(25_000_000, "What it cost, in micro-units. 0 for a guest.")
    released = Number(0, "How much of that its order keeps no more. It never falls.")
    giving_back = _return()
    created_at = Moment()


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
        "Asked for by the holder.",
        "Any text but `event_canceled` and `resold`.",
        required=True,
        validate=[
            Length(1, 500),
            NOT_BLANK,
            validate.NoneOf(
                [EVENT_CANCELED_REASON, RESOLD_REASON],
                error=FieldMessage("reserved", "Invalid input."),
            ),
        ],
    )
    refund = Bool(description="Whether its price becomes owed to the order's buyer.", required=True)
    transferred = Bool(
        False, "Void it although it was transferred to another holder.", load_default=False
    )
    force = Bool(
        False,
        "Void it although a door device has scans not sent yet, or is silent.",
        load_default=False,
    )


class ReissueSchema(PersonSchema):
    """Where the new code is sent by mail. Without an address, the response shows it."""

    MAY_BE_ABSENT = True

    class Meta:
        exclude = ("name",)


class ReissuedAdmissionSchema(AdmissionSchema):
    """An admission with its new code. Only the response that makes the code contains it."""

    code = String(
        "5m8r2t6w9y1a4c7e0g3j",
        "Secret. Null in a repeated response, and if it is sent to an email address.",
        nullable=True,
        attribute="shown_code",
    )


class GuestListSchema(BaseSchema):
    """The holders of new admissions that cost nothing."""

    holders = Items(
        fields.Nested(NewHolderSchema), required=True, validate=Length(1, MAX_GUESTS, "items")
    )
    reason = Text(
        "Press.",
        "It is kept in the audit log.",
        load_default=None,
        allow_none=True,
        validate=[Length(1, 500), NOT_BLANK],
    )


class GuestsSchema(BaseSchema):
    """The new admissions of a guest list."""

    admissions = ListOf(AdmissionSchema)
    codes = ListOf(
        fields.String(),
        "The secret code of each admission, in the same order. Null in a repeated response.",
        example=["5m8r2t6w9y1a4c7e0g3j"],
        nullable=True,
    )


class BoughtAdmissionSchema(BaseSchema):
    """An admission as its order shows it.

    `code` and `qr` are null once it belongs to somebody else, was reissued, or is void.
    """

    id = an_id("adm_")
    event_id = an_id("evt_")
    ticket_id = an_id("tkt_", attribute="ticket_type_id")
    intent_id = an_id("pi_")
    status = Choice(AdmissionStatus)
    transferred = YesNo(False)
    created_at = Moment()
    code = _code()
    qr = _qr()


class HeldEventSchema(BaseSchema):
    """The event of an admission."""

    id = an_id("evt_")
    status = Choice(Publication)

    class Meta:
        include = shown(PUBLIC_FIELDS) | EFFECTIVE_TIMES


class HeldTicketTypeSchema(BaseSchema):
    """The ticket type of an admission."""

    id = an_id("tkt_")
    name = String("General admission")
    transferable = YesNo()


class PendingTransferSchema(BaseSchema):
    """An open offer, without its secret. The holder is whom the sender has named."""

    id = an_id("xfr_")
    holder = Part(HolderSchema)
    created_at = Moment()
    expires_at = Moment(example="2026-11-23T09:00:00Z")


class HeldAdmissionSchema(BaseSchema):
    """An admission as its holder sees it."""

    id = an_id("adm_")
    status = Choice(AdmissionStatus)
    generation = Number(1)
    holder = Part(HolderSchema)
    transferred = YesNo(False)
    redeemed_at = Moment(nullable=True)
    redeemed_gate = String(nullable=True)
    created_at = Moment()
    code = _code()
    qr = _qr()
    online_join_url = String(
        "https://meet.example.org/launch", "Null unless it is valid.", nullable=True
    )
    refund_recipient = Choice(
        RefundRecipient,
        "Who gets the money back if it is voided with a refund: the buyer of its order, also"
        " after a transfer. Null for a guest.",
        nullable=True,
    )
    event = Part(HeldEventSchema)
    ticket = Part(HeldTicketTypeSchema, attribute="ticket_type")
    transfer = Part(PendingTransferSchema, "The open offer. Null if there is none.", nullable=True)
    giving_back = _return()
    questions = ListOf(PublicQuestionSchema, "What its holder is asked.")
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
        "Those that are given back, or were sold on.",
        load_default=None,
        allow_none=False,
        data_key="return",
    )
    q = Text(
        description="Text to search for in holders' names and email addresses.",
        load_default=None,
        allow_none=False,
        validate=Length(1, 200),
    )
