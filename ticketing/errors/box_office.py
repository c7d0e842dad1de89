"""The error of the box office: a device at the door that sells."""

from ticketing.errors.base import Conflict


class BoxOfficeFull(Conflict):
    """The device has as many unpaid orders as it may have."""

    code = "box_office_full"
    detail = "This device has too many unpaid orders. Cancel some, or wait until they expire."
