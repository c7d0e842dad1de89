"""A small world for the property test: a chain, buyers, holders, an organizer, a door, workers."""

from tests.support.world_admissions import Admissions
from tests.support.world_refunds import Refunds
from tests.support.world_sales import Sales


class World(Sales, Refunds, Admissions):
    """What can happen is a method. Each leaves the books in order, or an assertion fails."""
