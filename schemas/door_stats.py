"""Schemas of what a door counts."""

from marshmallow import fields

from schemas.base import BaseSchema, Instant, an_id, documented, one_of
from schemas.scans import ScannedAdmissionSchema
from ticketing.scanning import Decision, ScanKind, ScanOutcome


class TicketTypeCountSchema(BaseSchema):
    """The admissions of one ticket type."""

    ticket_id = an_id("tkt_")
    name = fields.String(required=True, metadata=documented("General admission"))
    admission = fields.Boolean(
        required=True,
        metadata=documented(True, "False: `inside` is how many were handed out."),
    )
    inside = fields.Integer(required=True, metadata=documented(120))
    admissions = fields.Integer(
        required=True, metadata=documented(200, "Those inside, and those that are not void.")
    )


class GateCountSchema(BaseSchema):
    """How many came in at one gate."""

    gate = fields.String(
        required=True, allow_none=True, metadata=documented("North", "Null: without a gate.")
    )
    inside = fields.Integer(required=True, metadata=documented(120))


class RecordedScanSchema(BaseSchema):
    """A scan as it was recorded."""

    id = an_id("scn_")
    nonce = fields.String(
        required=True, metadata=documented("6f0c1d1e-8a55-4b0e-9d3c-2b1f0e9d8c7b")
    )
    kind = one_of(ScanKind, required=True)
    outcome = one_of(ScanOutcome, required=True)
    reason = one_of(
        ScanOutcome,
        required=True,
        attribute="verdict",
        metadata={"description": "What was found. Of a conflict: why it is one."},
    )
    decided = one_of(Decision, required=True, allow_none=True)
    credential = fields.String(
        required=True,
        metadata=documented("dev_01hq3v5m8r2t6w9y1a4c7e0g3j", "The device or key that sent it."),
    )
    gate = fields.String(required=True, allow_none=True, metadata=documented("North"))
    admission = fields.Nested(
        ScannedAdmissionSchema,
        required=True,
        allow_none=True,
        attribute="scanned",
        metadata=documented(ScannedAdmissionSchema().example()),
    )
    scanned_at = Instant(
        required=True, metadata={"description": "The device's time, corrected by `sent_at`."}
    )
    received_at = Instant(required=True)
    first_at = Instant(required=True, allow_none=True)
    first_gate = fields.String(required=True, allow_none=True, metadata=documented("South"))


class DoorStatsSchema(BaseSchema):
    """The counts of one event."""

    inside = fields.Integer(
        required=True, metadata=documented(120, "Without what is handed out, as in `by_gate`.")
    )
    admissions = fields.Integer(required=True, metadata=documented(200))
    handed_out = fields.Integer(required=True, metadata=documented(12))
    to_hand_out = fields.Integer(
        required=True, metadata=documented(30, "All of it: `handed_out` included.")
    )
    by_ticket_type = fields.List(fields.Nested(TicketTypeCountSchema), required=True)
    by_gate = fields.List(fields.Nested(GateCountSchema), required=True)
    last_scans = fields.List(
        fields.Nested(RecordedScanSchema),
        required=True,
        metadata={"description": "The last 20, the newest first."},
    )
    conflicts = fields.List(
        fields.Nested(RecordedScanSchema),
        required=True,
        metadata={"description": "The open ones, 100 at most, the newest first."},
    )
