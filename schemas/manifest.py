"""Schemas of the manifest, which a device reads before it checks admissions offline."""

from marshmallow import fields

from schemas.base import (
    BaseSchema,
    Choice,
    ListOf,
    Moment,
    Number,
    Part,
    QueryInt,
    String,
    Text,
    YesNo,
    an_id,
    documented,
)
from schemas.checks import CURSOR, Length
from schemas.questions import ShownOptionSchema
from schemas.scans import unsynced
from schemas.ticket_keys import TicketKeySchema
from ticketing.constants import AdmissionStatus, Publication


class ManifestQuery(BaseSchema):
    """What to read of the manifest."""

    since = Text(
        description="`cursor` of an earlier manifest: only what changed since then.",
        load_default=None,
        allow_none=False,
        validate=[Length(1, 1000), CURSOR],
    )
    unsynced = unsynced(QueryInt)


class ManifestTicketTypeSchema(BaseSchema):
    """A ticket type of the event."""

    id = an_id("tkt_")
    name = String("General admission")
    admission = YesNo(True, "False: it is handed out, and lets nobody in.")


class ManifestQuestionSchema(BaseSchema):
    """A question whose answers the door shows."""

    id = an_id("que_")
    question = String("What do you eat?")
    options = ListOf(ShownOptionSchema)


class ManifestEventSchema(BaseSchema):
    """The event, with the salt of its code digests."""

    id = an_id("evt_")
    title = String("Launch Night")
    venue = String(nullable=True)
    timezone = String("Europe/Berlin")
    start_at = Moment()
    end_at = Moment(nullable=True)
    doors_open_at = Moment()
    status = Choice(Publication)
    code_salt = String("5e" * 16)
    ticket_types = ListOf(ManifestTicketTypeSchema)
    questions = ListOf(ManifestQuestionSchema, "Only for a device that may see names.")


class ManifestAdmissionSchema(BaseSchema):
    """An admission as a door knows it."""

    id = an_id("adm_")
    generation = Number(1)
    status = Choice(AdmissionStatus)
    ticket_id = an_id("tkt_")
    redeemed_at = Moment(nullable=True)
    code_digest = String(
        "q2Yt0cJ8xWm1sVh5uKf3bA", "base64url(sha256(code_salt + code)[:16]), without padding."
    )
    returned = YesNo(False, "Whether it is being given back: do not let anybody in with it.")
    qr_digest = String(
        "Zb0tqB5oVxYt3m1yUeWc7Q",
        "The same digest of the text of its QR code. Null until somebody has asked for that.",
        nullable=True,
    )
    holder_name = String(
        "Ada", "Only for a device that may see names.", nullable=True, required=False
    )
    answers = fields.Dict(
        metadata=documented(
            {"que_01hq3v5m8r2t6w9y1a4c7e0g3j": "true"},
            "By question: the id of an option, or `true` or `false`. Only for such a device.",
        )
    )


class ManifestSchema(BaseSchema):
    """All admissions of an event, or those that changed."""

    cursor = String("ZmY...", "Send it as `since` for what changes later.")
    keys = ListOf(TicketKeySchema)
    event = Part(ManifestEventSchema)
    admissions = ListOf(ManifestAdmissionSchema)
