"""The errors of the waiting list. All but one are 409s."""

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
