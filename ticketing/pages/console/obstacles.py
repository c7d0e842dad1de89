"""Why nobody can buy, in a sentence each, with a link to what removes it."""

from collections.abc import Sequence
from typing import NamedTuple

from ticketing.constants import Obstacle, Publication
from ticketing.models.events import Event
from ticketing.models.ticket_types import TicketType
from ticketing.pages.console import paths
from ticketing.roles import Role


class Reason(NamedTuple):
    """Why nobody can buy. `path` None: this member, or nobody, can remove it.

    `text` and `label`, the text of the link, are translated where they are shown. `about`: the
    name of the ticket type, where the reason is one of an event.
    """

    text: str
    label: str = ""
    path: str | None = None
    about: str = ""


_CANCELED = Reason("It is canceled, so it is not sold any more.")
_OF_TICKET_TYPES = {
    Obstacle.CHAIN_NOT_ENABLED: Reason(
        "Its network does not accept payments at the moment.", "Choose another network"
    ),
    Obstacle.RECEIVERS_UNAVAILABLE: Reason(
        "Its network cannot pay an ordinary address, or was not looked at yet.",
        "Choose another network",
    ),
    Obstacle.SALES_NOT_STARTED: Reason("Its sale has not started.", "Change when it starts"),
    Obstacle.SALES_ENDED: Reason("Its sale has ended.", "Change when it ends"),
}
_FIELDS = {
    Obstacle.CHAIN_NOT_ENABLED: "chain_id",
    Obstacle.RECEIVERS_UNAVAILABLE: "chain_id",
    Obstacle.SALES_NOT_STARTED: "sales_start_at",
    Obstacle.SALES_ENDED: "sales_end_at",
}


def of_event(event: Event, ticket_types: Sequence[TicketType], role: Role) -> list[Reason]:
    """Return why nobody can buy any ticket of an event, for a member with this role."""
    if event.status == Publication.CANCELED:
        return [Reason("This event is canceled, so nothing of it is sold any more.")]
    found = [_of_event(each, event, ticket_types) for each in _hard(event.obstacles)]
    return _permitted(found, role)


def of_ticket_type(ticket_type: TicketType, event: Event, role: Role) -> list[Reason]:
    """Return why nobody can buy a ticket type, for a member with this role."""
    if ticket_type.status == Publication.CANCELED:
        return [_CANCELED]
    found = [_of_type(each, ticket_type, event) for each in _hard(ticket_type.obstacles)]
    return _permitted(found, role)


def _hard(obstacles: Sequence[Obstacle]) -> list[Obstacle]:
    """Return what keeps everybody from buying, also those who have a voucher."""
    return [each for each in obstacles if each is not Obstacle.VOUCHER_ONLY]


def _of_event(obstacle: Obstacle, event: Event, ticket_types: Sequence[TicketType]) -> Reason:
    here = paths.event(event.id)
    if obstacle == Obstacle.NOT_PUBLISHED:
        return Reason(
            "The event is a draft: only you see it.", "Publish it", paths.event(event.id, "publish")
        )
    if obstacle == Obstacle.JOIN_URL_MISSING:
        return Reason(
            "People who join online have no link for that.",
            "Add the link",
            f"{paths.event(event.id, 'edit')}#online_join_url",
        )
    if obstacle == Obstacle.EVENT_OVER:
        return _over(event)
    if obstacle == Obstacle.NO_PUBLISHED_TICKET_TYPE:
        return _no_ticket_type(event, ticket_types)
    having = (each for each in ticket_types if obstacle in each.obstacles)
    cause = next((each for each in having if each.status == Publication.PUBLISHED), None)
    if cause is None:
        return Reason("Nobody can buy at the moment.", "Look at the ticket types", f"{here}#types")
    return _of_type(obstacle, cause, event)._replace(about=cause.name)


def _no_ticket_type(event: Event, ticket_types: Sequence[TicketType]) -> Reason:
    drafts = [each for each in ticket_types if each.status == Publication.DRAFT]
    if not drafts:
        return Reason("There is no ticket type to buy.", "Add one", paths.new_ticket_type(event.id))
    return Reason("No ticket type is published.", "Publish", paths.event(event.id, "publish"))


def _of_type(obstacle: Obstacle, ticket_type: TicketType, event: Event) -> Reason:
    here = paths.ticket_type(event.id, ticket_type.id)
    if obstacle == Obstacle.NOT_PUBLISHED:
        return Reason("The ticket type is a draft.", "Publish it", f"{here}#status")
    if obstacle == Obstacle.EVENT_NOT_PUBLISHED:
        return Reason(
            "Its event is not published.", "Publish the event", paths.event(event.id, "publish")
        )
    if obstacle == Obstacle.WALLET_MISSING:
        return Reason("You have no wallet to receive payments.", "Set your wallet", paths.WALLET)
    if obstacle == Obstacle.WALLET_NOT_ON_CHAIN:
        return Reason(
            "Your wallet does not take money on its network.", "Change your wallet", paths.WALLET
        )
    if obstacle == Obstacle.EVENT_OVER:
        return _over(event)
    if obstacle == Obstacle.SOLD_OUT:
        return _sold_out(ticket_type, event)
    known = _OF_TICKET_TYPES[obstacle]
    edit = paths.ticket_type(event.id, ticket_type.id, "edit")
    return known._replace(path=f"{edit}#{_FIELDS[obstacle]}")


def _over(event: Event) -> Reason:
    edit = paths.event(event.id, "edit")
    return Reason("The event is over.", "Change when it ends", f"{edit}#end_at")


def _sold_out(ticket_type: TicketType, event: Event) -> Reason:
    if ticket_type.is_waited_for:
        return Reason(
            "People wait for it. What becomes free goes to them.",
            "See who waits",
            paths.waiting_list(event.id),
        )
    available = ticket_type.available
    if available is not None and available < ticket_type.min_per_order:
        edit = paths.ticket_type(event.id, ticket_type.id, "edit")
        return Reason("All of these tickets are sold or held.", "Raise the capacity", edit)
    edit = paths.event(event.id, "edit")
    return Reason("The event is full.", "Raise its capacity", f"{edit}#capacity")


def _permitted(found: Sequence[Reason], role: Role) -> list[Reason]:
    """Remove the links to pages that this role does not open."""
    return [each if _opens(each, role) else each._replace(path=None) for each in found]


def _opens(reason: Reason, role: Role) -> bool:
    return role.holds(Role.ADMIN if reason.path == paths.WALLET else Role.WRITE)
