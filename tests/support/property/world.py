"""A small world for the property test: a chain, buyers, holders, an organizer, a door, workers."""

from tests.support.property.admission_events import Admissions
from tests.support.property.collection_events import Collections
from tests.support.property.door_events import Door
from tests.support.property.refund_events import Refunds
from tests.support.property.sale_events import Sales
from tests.support.property.voucher_events import Vouchers


class World(Sales, Vouchers, Collections, Refunds, Admissions, Door):
    """Each possible event is a method. Afterwards the books are right, or an assertion fails."""
