"""Schemas of what a door counts."""

from schemas.base import BaseSchema, Choice, ListOf, Moment, Number, Part, String, YesNo, an_id
from schemas.scans import ScannedAdmissionSchema
from ticketing.scanning import Decision, ScanKind, ScanOutcome


class TicketTypeCountSchema(BaseSchema):
    """The admissions of one ticket type."""

    ticket_id = an_id("tkt_")
    name = String("General admission")
    admission = YesNo(True, "False: `inside` is how many were handed out.")
    inside = Number(120)
    admissions = Number(200, "Those inside, and those that are not void.")


class GateCountSchema(BaseSchema):
    """How many came in at one gate."""

    gate = String("North", "Null: without a gate.", nullable=True)
    inside = Number(120)


class RecordedScanSchema(BaseSchema):
    """A scan as it was recorded."""

    id = an_id("scn_")
    nonce = String("6f0c1d1e-8a55-4b0e-9d3c-2b1f0e9d8c7b")
    kind = Choice(ScanKind)
    outcome = Choice(ScanOutcome)
    reason = Choice(
        ScanOutcome, "What was found. Of a conflict: why it is one.", attribute="verdict"
    )
    decided = Choice(Decision, nullable=True)
    credential = String("dev_01hq3v5m8r2t6w9y1a4c7e0g3j", "The device or key that sent it.")
    gate = String("North", nullable=True)
    admission = Part(
        ScannedAdmissionSchema,
        example=ScannedAdmissionSchema().example(),
        nullable=True,
        attribute="scanned",
    )
    scanned_at = Moment("The device's time, corrected by `sent_at`.")
    received_at = Moment()
    first_at = Moment(nullable=True)
    first_gate = String("South", nullable=True)


class DoorStatsSchema(BaseSchema):
    """The counts of one event."""

    inside = Number(120, "Without what is handed out, as in `by_gate`.")
    admissions = Number(200)
    handed_out = Number(12)
    to_hand_out = Number(30, "All of it: `handed_out` included.")
    by_ticket_type = ListOf(TicketTypeCountSchema)
    by_gate = ListOf(GateCountSchema)
    last_scans = ListOf(RecordedScanSchema, "The last 20, the newest first.")
    conflicts = ListOf(RecordedScanSchema, "The open ones, 100 at most, the newest first.")
