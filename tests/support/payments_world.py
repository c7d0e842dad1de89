"""A small world for the property test: a chain, buyers, holders, an organizer, a door, workers."""

from tests.support.world_admissions import Admissions
from tests.support.world_door import Door
from tests.support.world_refunds import Refunds
from tests.support.world_sales import Sales


class World(Sales, Refunds, Admissions, Door):
    """Each possible event is a method. Afterwards the books are right, or an assertion fails."""
