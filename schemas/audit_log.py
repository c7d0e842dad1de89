"""The trail of changes on the wire."""

import json
from typing import Any

from marshmallow import fields, validate

from schemas.base import BaseSchema, Instant, PageQuery, Text


class JsonObject(fields.Dict):
    """A JSON object that is kept as its text."""

    def _serialize(self, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        found: dict[str, Any] | None = None if value is None else json.loads(value)
        return found


class AuditLogEntrySchema(BaseSchema):
    """One change: of its subject, the fields that differ."""

    id = fields.String(required=True)
    at = Instant(required=True)
    actor = fields.String(
        required=True,
        metadata={"description": "The API key or member; `cli` for the command line."},
    )
    address = fields.String(
        required=True, allow_none=True, metadata={"description": "Where the request came from."}
    )
    request_id = fields.String(required=True, allow_none=True)
    action = fields.String(
        required=True, metadata={"description": "The `operationId`, or the command."}
    )
    subject = fields.String(
        required=True, metadata={"description": "The id of what changed, or `wallet`."}
    )
    before = JsonObject(
        required=True, allow_none=True, metadata={"description": "Null: it did not exist."}
    )
    after = JsonObject(required=True)

    EXAMPLE = {
        "id": "trl_01hq3v5m8r2t6w9y1a4c7e0g3j",
        "at": "2026-11-21T09:02:00Z",
        "actor": "key_01hq3v5m8r2t6w9y1a4c7e0g3j",
        "address": "203.0.113.7",
        "request_id": "req_01hq3v5m8r2t6w9y1a4c7e0g3j",
        "action": "events_change_event",
        "subject": "evt_01hq3v5m8r2t6w9y1a4c7e0g3j",
        "before": {"title": "Launch"},
        "after": {"title": "Launch Night"},
    }


class AuditLogQuery(PageQuery):
    """Which changes."""

    actor = Text(load_default=None, validate=validate.Length(1, 100))
    subject = Text(load_default=None, validate=validate.Length(1, 100))
