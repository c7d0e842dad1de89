"""The venue of an event: organizers write it as one text, its name first."""

import re
from typing import NamedTuple
from urllib.parse import quote

_MAP = "https://www.openstreetmap.org/search?query="

_AFTER_NAME = re.compile(r"[,\n]")


class Place(NamedTuple):
    """A venue's name and, if it was written, its address."""

    name: str
    address: str


def of(venue: str) -> Place:
    """Return name and address of a venue.

    Example: "Altes Kesselhaus, Hafenstr. 12, 20457 Hamburg" is the name "Altes Kesselhaus" and the
    address "Hafenstr. 12, 20457 Hamburg".
    """
    name, *address = _AFTER_NAME.split(venue.strip(), maxsplit=1)
    return Place(name.strip(), ", ".join(" ".join(address).split("\n")).strip(" ,"))


def map_url(venue: str) -> str:
    """Return a link to a map of a venue, on another website. It loads nothing by itself."""
    return _MAP + quote(" ".join(venue.split()))
