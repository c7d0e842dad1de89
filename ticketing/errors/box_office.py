"""The error of the box office: a device at the door that sells."""

from ticketing.errors.base import Conflict


class BoxOfficeFull(Conflict):
    """The device would hold more unpaid seats than it may have."""

    code = "box_office_full"
    detail = "This device holds too many unpaid seats. Cancel some orders, or wait five minutes."
