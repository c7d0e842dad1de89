"""The error of the box office: a device at the door that sells."""

from ticketing.errors.base import Conflict


class BoxOfficeFull(Conflict):
    detail = "This device holds too many unpaid seats. Cancel some orders, or wait five minutes."
