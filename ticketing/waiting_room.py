"""The waiting room of an event: when it opens, and how people wait in it."""

from enum import StrEnum


class WaitingRoomMode(StrEnum):
    """When the waiting room of an event opens.

    `auto`: when the service is overloaded. `on`: also half an hour before the sale starts, and when
    it is switched on during the sale. `off`: never.
    """

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class WaitReason(StrEnum):
    """Why somebody waits.

    `draw`: the sale has not started, and places are drawn when it starts. `queue`: others came
    first. `held`: orders that are not paid yet hold all that is left. `neighbor`: others of the
    same network have their turn.
    """

    DRAW = "draw"
    QUEUE = "queue"
    HELD = "held"
    NEIGHBOR = "neighbor"


DRAW_SECONDS = 30 * 60
"""How long before the start of the sale people can come without an advantage over each other."""

PATIENCE_SECONDS = 120
"""Who has not asked for longer is passed over once when their turn comes."""

TURN_SECONDS = 600
"""How long somebody may order, once it is their turn."""
