"""The steps from an empty console to a first sale, a sentence each, with a link."""

from typing import NamedTuple

from ticketing.constants import Publication, Role
from ticketing.models.tenants import Tenant
from ticketing.pages.console import paths
from ticketing.services.catalog.first_steps import FirstSteps


class Step(NamedTuple):
    """A step. `title`, `text` and `label`, the text of the link, are translated where shown.

    `path` None: there is nothing to do, or another member has to do it.
    """

    title: str
    text: str
    label: str
    is_done: bool
    path: str | None


def steps(found: FirstSteps, tenant: Tenant, role: Role) -> list[Step]:
    """Return the steps for a member with this role."""
    return [
        Step(
            "Wallet",
            "What buyers pay can go to your wallet only. Only an administrator can set it.",
            "Set the wallet",
            found.has_wallet,
            paths.WALLET if role.holds(Role.ADMIN) else None,
        ),
        *(_permitted(step, role) for step in _of_event(found, tenant)),
    ]


def _of_event(found: FirstSteps, tenant: Tenant) -> list[Step]:
    event = found.event
    return [
        Step(
            "Event",
            "An event has a title, a time and a place. It is a draft until you publish it.",
            "Create an event",
            event is not None,
            paths.NEW_EVENT,
        ),
        Step(
            "Ticket type",
            "A ticket type has a price, a network and a capacity.",
            "Add a ticket type",
            found.ticket_type is not None,
            None if event is None else paths.new_ticket_type(event.id),
        ),
        Step(
            "Publish",
            "Publish the event and its ticket type, so that others see them.",
            "Look and publish",
            found.is_published,
            _to_publish(found),
        ),
        Step(
            "Test purchase",
            "Buy a ticket yourself, as your guests will. Then move the money to your wallet.",
            "Open the public page",
            False,
            f"/{tenant.slug}/{event.slug}" if event and found.is_published else None,
        ),
    ]


def _to_publish(found: FirstSteps) -> str | None:
    event, ticket_type = found.event, found.ticket_type
    if event is None or ticket_type is None:
        return None
    if ticket_type.status != Publication.PUBLISHED:
        return f"{paths.ticket_type(event.id, ticket_type.id)}#status"
    return f"{paths.event(event.id)}#status"


def _permitted(step: Step, role: Role) -> Step:
    return step if role.holds(Role.WRITE) else step._replace(path=None)
