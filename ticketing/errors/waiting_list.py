"""The errors of the waiting list. All but one are 409s."""

from ticketing.errors.base import Conflict, TooMany


class NotSoldOut(Conflict):
    """Nobody has to wait for this ticket type."""

    code = "not_sold_out"
    detail = "This ticket type is not sold out. It can be ordered."


class WaitingListClosed(Conflict):
    """Nobody can wait for this ticket type: it has no list, or the sale ends too soon."""

    code = "waiting_list_closed"
    detail = "This ticket type has no waiting list now."


class WaitingListFull(Conflict):
    """As many wait for this ticket type as can."""

    code = "waiting_list_full"
    detail = "Too many people wait for this ticket type already."


class TooManyPlaces(Conflict):
    """The client has as many open places on the waiting lists of an event as it may."""

    code = "too_many_places"
    detail = "Too many people of this network wait for this event already."


class EntryEnded(Conflict):
    """The entry was ordered, canceled, or has expired."""

    code = "entry_ended"
    detail = "This place on the waiting list has ended."


class OfferMade(Conflict):
    """Seats were offered for this entry a moment ago."""

    code = "offer_made"
    detail = "Tickets were offered for this place a moment ago. Try again."


class TooManyJoins(TooMany):
    """The client has joined too many waiting lists today."""

    code = "too_many_joins"
    detail = "This address has joined too many waiting lists today."
