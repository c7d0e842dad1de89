"""The steps from an empty console to money that can be spent: a sentence each, with a link."""

from typing import NamedTuple

from ticketing.constants import Publication
from ticketing.models.tenants import Tenant
from ticketing.pages.console import paths
from ticketing.roles import Role
from ticketing.services.catalog.first_steps import FirstSteps


class Step(NamedTuple):
    """A step. `title`, `text` and `label`, the text of the link, are translated where shown.

    `path` None: there is nothing to do, or another member has to do it. `is_press`: a button sends
    a form to the path, because there is nothing else to fill in.
    """

    title: str
    text: str
    label: str
    is_done: bool
    path: str | None
    is_optional: bool = False
    is_press: bool = False


def steps(found: FirstSteps, tenant: Tenant, role: Role) -> list[Step]:
    """Return the steps for a member with this role."""
    # Who has sold something has done all of these once, also if the newest event is a draft.
    of_event = [
        _permitted(step._replace(is_done=step.is_done or found.has_sold), role, Role.WRITE)
        for step in _of_event(found, tenant)
    ]
    of_money = [_permitted(step, role, Role.ADMIN) for step in _of_money(found)]
    return [_permitted(_wallet(found), role, Role.ADMIN), *of_event, *of_money]


def _wallet(found: FirstSteps) -> Step:
    return Step(
        "Wallet",
        "What buyers pay can go to your wallet only. Only an administrator can set it.",
        "Set the wallet",
        found.wallet is not None,
        paths.WALLET,
        is_optional=found.is_free,
    )


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
            "Buy a ticket yourself, as your guests will.",
            "Open the public page",
            found.has_sold,
            f"/{tenant.slug}/{event.slug}" if event and found.is_published else None,
        ),
    ]


def _of_money(found: FirstSteps) -> list[Step]:
    if found.is_free:
        return []
    return [
        Step(
            "Move the money",
            "What was paid is at the addresses of your orders. One press moves it to your wallet.",
            "Move the money",
            found.has_collected,
            paths.MONEY if found.has_sold else None,
        ),
        Step(
            "Spend it",
            "Look into your wallet, or at your exchange: has the money arrived, and can you send"
            " some of it on? Then everything works.",
            "I can spend it",
            False,
            paths.CREDITED if found.has_collected else None,
            is_press=True,
        ),
    ]


def _to_publish(found: FirstSteps) -> str | None:
    event, ticket_type = found.event, found.ticket_type
    if event is None or ticket_type is None:
        return None
    if event.status != Publication.PUBLISHED:
        return paths.event(event.id, "publish")
    return f"{paths.ticket_type(event.id, ticket_type.id)}#status"


def _permitted(step: Step, role: Role, needed: Role) -> Step:
    return step if role.holds(needed) else step._replace(path=None)
