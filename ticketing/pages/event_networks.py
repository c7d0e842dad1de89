"""The networks on which the tickets of an event can be paid, for its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ticketing.config import Config
from ticketing.models.ticket_types import TicketType
from ticketing.services import chains


@dataclass(frozen=True)
class Choice:
    """The networks of an order form. `has_usual`: each ticket has others, so one may leave it open.

    `options` are chain ids with the names of their chains.
    """

    options: Sequence[tuple[int, str]]
    has_usual: bool


def names(ticket_type: TicketType, config: Config) -> Sequence[str]:
    """Return the names of the networks on which a ticket type can be paid now, or of all."""
    found = ticket_type.usable_chains or ticket_type.chain_ids
    return [chains.name_of(each, config) for each in found]


def choice(on_sale: Sequence[TicketType], config: Config) -> Choice | None:
    """Return what a buyer can choose. None if each ticket type has only one network.

    Example: all tickets are sold on Base and Polygon: the buyer chooses one of both, Base first. If
    another ticket is sold on Polygon only, the buyer may also leave the choice to the service.
    """
    of_each = [each.usable_chains for each in on_sale if each.price_amount or each.free_price]
    if all(len(ids) < 2 for ids in of_each):
        return None
    every = dict.fromkeys(chain_id for ids in of_each for chain_id in ids)
    options = [(chain_id, chains.name_of(chain_id, config)) for chain_id in every]
    return Choice(options, has_usual=any(ids != of_each[0] for ids in of_each))
