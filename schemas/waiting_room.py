"""Schemas of the waiting room of an event."""

from schemas.base import BaseSchema, Choice, Moment, Number, YesNo
from ticketing.waiting_room import WaitingRoomMode, WaitReason


class WaitingRoomModeSchema(BaseSchema):
    """When the waiting room of an event opens."""

    waiting_room = Choice(WaitingRoomMode)


class WaitingRoomSchema(BaseSchema):
    """The waiting room of an event now."""

    mode = Choice(WaitingRoomMode)
    is_open = YesNo()
    opened_at = Moment(nullable=True)
    reason = Choice(
        WaitReason,
        "Why people wait. `draw`: the sale has not started. `queue`: others came first. `held`:"
        " unpaid orders hold all that is left. Null: nobody waits.",
        example="queue",
        nullable=True,
    )
    waiting = Number(1234, "People. Those who have gone count until their turn.")
    admitted_per_minute = Number(900, "People who were called, in the last seconds.")
    wait_seconds = Number(
        82, "What people who come now can expect. Null: not known.", nullable=True
    )
