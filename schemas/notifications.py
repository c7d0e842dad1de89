"""Schemas of the feed of notifications."""

from schemas.base import (
    BaseSchema,
    Choice,
    JsonObject,
    ListOf,
    Moment,
    Number,
    QueryInt,
    an_id,
    documented,
    one_of,
)
from schemas.checks import Range
from ticketing.constants import DEFAULT_PAGE, MAX_PAGE, MAX_SAFE_INTEGER
from ticketing.notification_types import NotificationType

_EXAMPLE_DATA = {
    "admission_id": "adm_01hq3v5m8r2t6w9y1a4c7e0g3j",
    "event_id": "evt_01hq3v5m8r2t6w9y1a4c7e0g3j",
    "ticket_id": "tkt_01hq3v5m8r2t6w9y1a4c7e0g3j",
    "intent_id": "pi_01hq3v5m8r2t6w9y1a4c7e0g3j",
    "generation": 1,
    "status": "valid",
}


class NotificationSchema(BaseSchema):
    """A fact. `sequence` is its place in the feed."""

    id = an_id("ntf_")
    sequence = Number(1042)
    type = Choice(NotificationType, example=NotificationType.ADMISSION_ISSUED.value)
    created_at = Moment()
    data = JsonObject(
        required=True,
        metadata=documented(_EXAMPLE_DATA, "Ids, statuses and amounts. No personal data."),
    )


class NotificationPageSchema(BaseSchema):
    """Notifications, the oldest first."""

    data = ListOf(NotificationSchema)
    next_after = Number(1042, "Send it as `after` to read on, also if `data` is empty.")


class NotificationQuery(BaseSchema):
    """Which part of the feed to return."""

    after = QueryInt(
        description="Return what comes after this `sequence`. Default: all that is kept.",
        load_default=None,
        allow_none=False,
        validate=Range(0, MAX_SAFE_INTEGER),
    )
    type = one_of(NotificationType, load_default=None, allow_none=False)
    limit = QueryInt(
        description=f"The maximum number of items, 1 to {MAX_PAGE}.",
        load_default=DEFAULT_PAGE,
        validate=Range(1, MAX_PAGE),
    )
