"""Schemas of the audit log."""

from schemas.base import BaseSchema, JsonObject, Moment, PageQuery, String, Text, an_id, documented
from schemas.checks import Length


class AuditLogEntrySchema(BaseSchema):
    """One change. `before` and `after` contain only the fields that differ."""

    id = an_id("trl_")
    at = Moment()
    actor = String(
        "key_01hq3v5m8r2t6w9y1a4c7e0g3j", "An API key, a member, or `cli` (command line)."
    )
    address = String("203.0.113.7", "The client's address.", nullable=True)
    request_id = String(nullable=True)
    action = String("events_change_event", "The `operationId` or the command.")
    subject = String(
        "evt_01hq3v5m8r2t6w9y1a4c7e0g3j", "The id of the changed resource, or `wallet`."
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
