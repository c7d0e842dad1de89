"""Schemas of the waiting room of an event."""

from marshmallow import fields

from schemas.base import BaseSchema, Instant, documented, one_of
from ticketing.waiting_room import WaitingRoomMode, WaitReason


class WaitingRoomModeSchema(BaseSchema):
    """When the waiting room of an event opens."""

    waiting_room = one_of(WaitingRoomMode, required=True)


class WaitingRoomSchema(BaseSchema):
    """The waiting room of an event now."""

    mode = one_of(WaitingRoomMode, required=True)
    is_open = fields.Boolean(required=True)
    opened_at = Instant(required=True, allow_none=True)
    reason = one_of(
        WaitReason,
        required=True,
        allow_none=True,
        metadata=documented(
            "queue",
            "Why people wait. `draw`: the sale has not started. `queue`: others came first. `held`:"
            " unpaid orders hold all that is left. Null: nobody waits.",
        ),
    )
    waiting = fields.Integer(
        required=True,
        metadata=documented(1234, "People. Those who have gone count until their turn."),
    )
    admitted_per_minute = fields.Integer(
        required=True, metadata=documented(900, "People who were called, in the last seconds.")
    )
    wait_seconds = fields.Integer(
        required=True,
        allow_none=True,
        metadata=documented(82, "What people who come now can expect. Null: not known."),
    )
