"""Schemas of the audit log."""

from marshmallow import fields

from schemas.base import BaseSchema, Instant, JsonObject, PageQuery, Text, an_id, documented
from schemas.checks import Length


class AuditLogEntrySchema(BaseSchema):
    """One change. `before` and `after` contain only the fields that differ."""

    id = an_id("trl_")
    at = Instant(required=True)
    actor = fields.String(
        required=True,
        metadata=documented(
            "key_01hq3v5m8r2t6w9y1a4c7e0g3j", "An API key, a member, or `cli` (command line)."
        ),
    )
    address = fields.String(
        required=True,
        allow_none=True,
        metadata=documented("203.0.113.7", "The client's address."),
    )
    request_id = fields.String(required=True, allow_none=True)
    action = fields.String(
        required=True,
        metadata=documented("events_change_event", "The `operationId` or the command."),
    )
    subject = fields.String(
        required=True,
        metadata=documented(
            "evt_01hq3v5m8r2t6w9y1a4c7e0g3j", "The id of the changed resource, or `wallet`."
        ),
    )
    before = JsonObject(
        required=True,
        allow_none=True,
        metadata=documented({"title": "Launch"}, "Null: the resource is new."),
    )
    after = JsonObject(required=True, metadata=documented({"title": "Launch Night"}))


class AuditLogQuery(PageQuery):
    """Filters of the audit log."""

    actor = Text(load_default=None, validate=Length(1, 100))
    subject = Text(load_default=None, validate=Length(1, 100))
