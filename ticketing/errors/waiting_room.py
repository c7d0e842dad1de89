"""The error of somebody who has to wait in the waiting room of an event."""

from typing import Any

from ticketing.errors.base import TooMany


class InWaitingRoom(TooMany):
    """More people want tickets than can be served at once, and others came first.

    `place`: 1 is the next one, None while places are not drawn yet. `wait_seconds`: an estimate.
    `token`: it keeps the place.
    """

    code = "waiting_room"
    detail = (
        "Many people want these tickets. Retry after the seconds in Retry-After, with the `token`"
        " as the header Waiting-Room-Token. Without it, you lose your place."
    )

    def __init__(self, *, retry_after: int, **extensions: Any) -> None:
        super().__init__(retry_after=retry_after)
        self.extensions = extensions
