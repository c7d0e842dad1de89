"""Schemas of the manifest, which a device reads before it checks admissions offline."""

from marshmallow import fields

from schemas.base import BaseSchema, Instant, QueryInt, Text, an_id, documented, one_of
from schemas.checks import CURSOR, Length
from schemas.questions import ShownOptionSchema
from schemas.scans import unsynced
from schemas.ticket_keys import TicketKeySchema
from ticketing.constants import AdmissionStatus, Publication


class ManifestQuery(BaseSchema):
    """What to read of the manifest."""

    since = Text(
        load_default=None,
        allow_none=False,
        validate=[Length(1, 1000), CURSOR],
        metadata={"description": "`cursor` of an earlier manifest: only what changed since then."},
    )
    unsynced = unsynced(QueryInt)


class ManifestTicketTypeSchema(BaseSchema):
    """A ticket type of the event."""

    id = an_id("tkt_")
    name = fields.String(required=True, metadata=documented("General admission"))
    admission = fields.Boolean(
        required=True, metadata=documented(True, "False: it is handed out, and lets nobody in.")
    )


class ManifestQuestionSchema(BaseSchema):
    """A question whose answers the door shows."""

    id = an_id("que_")
    question = fields.String(required=True, metadata=documented("What do you eat?"))
    options = fields.List(fields.Nested(ShownOptionSchema), required=True)


class ManifestEventSchema(BaseSchema):
    """The event, with the salt of its code digests."""

    id = an_id("evt_")
    title = fields.String(required=True, metadata=documented("Launch Night"))
    venue = fields.String(required=True, allow_none=True)
    timezone = fields.String(required=True, metadata=documented("Europe/Berlin"))
    start_at = Instant(required=True)
    end_at = Instant(required=True, allow_none=True)
    doors_open_at = Instant(required=True)
    status = one_of(Publication, required=True)
    code_salt = fields.String(required=True, metadata=documented("5e" * 16))
    ticket_types = fields.List(fields.Nested(ManifestTicketTypeSchema), required=True)
    questions = fields.List(
        fields.Nested(ManifestQuestionSchema),
        required=True,
        metadata={"description": "Only for a device that may see names."},
    )


class ManifestAdmissionSchema(BaseSchema):
    """An admission as a door knows it."""

    id = an_id("adm_")
    generation = fields.Integer(required=True, metadata=documented(1))
    status = one_of(AdmissionStatus, required=True)
    ticket_id = an_id("tkt_")
    redeemed_at = Instant(required=True, allow_none=True)
    code_digest = fields.String(
        required=True,
        metadata=documented(
            "q2Yt0cJ8xWm1sVh5uKf3bA", "base64url(sha256(code_salt + code)[:16]), without padding."
        ),
    )
    returned = fields.Boolean(
        required=True,
        metadata=documented(
            False, "Whether it is being given back: do not let anybody in with it."
        ),
    )
    qr_digest = fields.String(
        required=True,
        allow_none=True,
        metadata=documented(
            "Zb0tqB5oVxYt3m1yUeWc7Q",
            "The same digest of the text of its QR code. Null until somebody has asked for that.",
        ),
    )
    holder_name = fields.String(
        allow_none=True, metadata=documented("Ada", "Only for a device that may see names.")
    )
    answers = fields.Dict(
        metadata=documented(
            {"que_01hq3v5m8r2t6w9y1a4c7e0g3j": "true"},
            "By question: the id of an option, or `true` or `false`. Only for such a device.",
        )
    )


class ManifestSchema(BaseSchema):
    """All admissions of an event, or those that changed."""

    cursor = fields.String(
        required=True, metadata=documented("ZmY...", "Send it as `since` for what changes later.")
    )
    keys = fields.List(fields.Nested(TicketKeySchema), required=True)
    event = fields.Nested(ManifestEventSchema, required=True)
    admissions = fields.List(fields.Nested(ManifestAdmissionSchema), required=True)
