"""Schemas of scans at the door."""

from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from schemas.base import (
    BaseSchema,
    Choice,
    Instant,
    Int,
    Items,
    ListOf,
    Moment,
    Number,
    Part,
    String,
    Text,
    YesNo,
    an_id,
    documented,
    one_of,
)
from schemas.checks import UUID, Length, Range
from ticketing.scanning import MAX_SCANS, MAX_UNSYNCED, Decision, ScanKind, ScanOutcome

_NONCE = "6f0c1d1e-8a55-4b0e-9d3c-2b1f0e9d8c7b"
_WAYS = ({"qr"}, {"code"}, {"admission_id", "generation"})
MAX_QR = 4296
"""The most characters that a QR code can have."""


def unsynced(field: type[fields.Integer] = Int) -> fields.Integer:
    """Return the field with which a device says how many scans it has still to send."""
    return field(
        load_default=None,
        allow_none=False,
        validate=Range(0, MAX_UNSYNCED),
        metadata=documented(0, "How many scans the device has still to send."),
    )


class ScanSchema(BaseSchema):
    """One scan: a redemption by `qr`, by `code`, or by `admission_id` and `generation`; an undo."""

    nonce = Text(
        _NONCE,
        "A UUID. The same scan sent again gets the same result.",
        required=True,
        validate=UUID,
    )
    kind = one_of(
        ScanKind, "To redeem needs one way to name the admission, an undo `of`.", required=True
    )
    qr = Text("T1:AB0-ZK...", "The text of the QR code.", validate=Length(1, MAX_QR))
    code = Text(
        "5m8r2t6w9y1a4c7e0g3j", "The admission's code, as it was typed.", validate=Length(1, 100)
    )
    admission_id = Text("adm_01hq3v5m8r2t6w9y1a4c7e0g3j", validate=Length(1, 80))
    generation = Int(1, validate=Range(1, 65_535))
    at = Instant(
        "The device's clock. Required to redeem; default `sent_at`.", example="2026-12-01T18:30:00Z"
    )
    decided = one_of(Decision, "If the device let the holder in by itself.")
    of = Text(_NONCE, "Undo: the nonce of the scan that is undone.", validate=UUID)

    def example(self) -> dict[str, Any]:
        """Return a scan of a QR code."""
        names = ("nonce", "kind", "qr", "at", "decided")
        return {name: value for name, value in super().example().items() if name in names}

    @validates_schema
    def _check_combination(self, data: dict[str, Any], **_: Any) -> None:
        named = {"qr", "code", "admission_id", "generation", "of"} & data.keys()
        if data["kind"] == ScanKind.UNDO:
            if named != {"of"} or "decided" in data:
                raise ValidationError("An undo has `of`, and no admission.", "of")
        elif named not in _WAYS:
            raise ValidationError("Must have qr, or code, or admission_id and generation.", "kind")
        elif "at" not in data:
            raise ValidationError("Missing data for required field.", "at")


class ScansSchema(BaseSchema):
    """Scans to carry out in their order, all or none."""

    sent_at = Instant(
        "The device's clock now. It corrects the times of the scans.",
        example="2026-12-01T18:30:02Z",
        required=True,
    )
    scans = Items(fields.Nested(ScanSchema), required=True, validate=Length(1, MAX_SCANS, "items"))
    unsynced = unsynced()


class ScannedAdmissionSchema(BaseSchema):
    """The admission of a scan, with the generation that was presented."""

    id = an_id("adm_")
    generation = Number(1)
    ticket_id = an_id("tkt_", attribute="ticket_type_id")
    ticket_name = String("General admission")
    hand_out = YesNo(False, "It lets nobody in: it is to be handed out, as a T-shirt.")


class ScanResultSchema(BaseSchema):
    """The answer to one scan."""

    nonce = String(_NONCE)
    outcome = Choice(ScanOutcome)
    admission = Part(
        ScannedAdmissionSchema,
        "Null if it is unknown here.",
        example=ScannedAdmissionSchema().example(),
        nullable=True,
    )
    first_at = Moment(
        "When the holder came in. Null: not inside.", example="2026-12-01T18:30:00Z", nullable=True
    )
    first_gate = String("North", nullable=True)


class ScanResultsSchema(BaseSchema):
    """The results, in the order of the scans."""

    results = ListOf(ScanResultSchema)
