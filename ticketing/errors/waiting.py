"""The errors of those who wait: on a waiting list, or in the waiting room of an event."""

from typing import Any

from ticketing.errors.base import Conflict, TooMany


class NotSoldOut(Conflict):
    detail = "This ticket type is not sold out. It can be ordered."


class WaitingListClosed(Conflict):
    """Nobody can wait for this ticket type: it has no list, or the sale ends too soon."""

    detail = "This ticket type has no waiting list now."


class WaitingListFull(Conflict):
    detail = "Too many people wait for this ticket type already."


class TooManyPlaces(Conflict):
    detail = "Too many people of this network wait for this event already."


class EntryEnded(Conflict):
    """The entry was ordered, canceled, or has expired."""

    detail = "This place on the waiting list has ended."


class OfferMade(Conflict):
    detail = "Tickets were offered for this place a moment ago. Try again."


class TooManyJoins(TooMany):
    detail = "This address has joined too many waiting lists today."


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
