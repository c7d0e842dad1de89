"""Events as an iCalendar file (RFC 5545), for calendars and mails. It has no join URL."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC
from typing import TYPE_CHECKING

from ticketing.constants import Publication
from ticketing.models.events import Event
from ticketing.services.catalog import descriptions

if TYPE_CHECKING:
    import icalendar

CONTENT_TYPE = "text/calendar; charset=utf-8"
EXAMPLE = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//ticketing//ticketing//EN
BEGIN:VEVENT
SUMMARY:Launch Night
DTSTART:20261201T190000Z
DTEND:20261201T210000Z
DTSTAMP:20261121T090000Z
UID:evt_01hq3v5m8r2t6w9y1a4c7e0g3j
SEQUENCE:0
CREATED:20261121T090000Z
LAST-MODIFIED:20261121T090000Z
LOCATION:Main Hall
STATUS:CONFIRMED
END:VEVENT
END:VCALENDAR
""".replace("\n", "\r\n")

_STATUS = {
    Publication.DRAFT: "TENTATIVE",
    Publication.PUBLISHED: "CONFIRMED",
    Publication.CANCELED: "CANCELLED",
}
_LINE_BREAK = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_NOT_IN_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")


def ics(events: Iterable[tuple[Event, str | None]]) -> str:
    """Return a calendar with some events, each with its page: None if there is none."""
    # Few requests and mails need it: 83 modules.
    import icalendar

    calendar = icalendar.Calendar()
    calendar.add("VERSION", "2.0")
    calendar.add("PRODID", "-//ticketing//ticketing//EN")
    for event, url in events:
        shown = icalendar.Event()
        _describe(shown, event, url)
        calendar.add_component(shown)
    made: bytes = calendar.to_ical()
    return made.decode()


def _describe(shown: icalendar.Event, event: Event, url: str | None) -> None:
    """Write an event into a part of a calendar.

    The UID follows from the event's id, so a new version replaces the old one. SEQUENCE grows with
    each change: it is the age of the event at its last change, in seconds, rounded up.
    """
    changed_at = event.updated_at.astimezone(UTC).replace(microsecond=0)
    shown.add("UID", event.id)
    # Without METHOD, DTSTAMP is the time of the last change (RFC 5545, 3.8.7.2).
    shown.add("DTSTAMP", changed_at)
    shown.add("CREATED", event.created_at.astimezone(UTC).replace(microsecond=0))
    shown.add("LAST-MODIFIED", changed_at)
    shown.add("SEQUENCE", math.ceil((event.updated_at - event.created_at).total_seconds()))
    shown.add("STATUS", _STATUS[Publication(event.status)])
    shown.add("SUMMARY", _text(event.title))
    shown.add("DTSTART", event.start_at.astimezone(UTC))
    if event.end_at is not None:
        shown.add("DTEND", event.end_at.astimezone(UTC))
    description = descriptions.plain(event)
    for name, text in (("LOCATION", event.venue), ("DESCRIPTION", description)):
        if text:
            shown.add(name, _text(text))
    if url is not None:
        shown.add("URL", url)


def _text(text: str) -> str:
    """Return a text without control characters, which iCalendar forbids. Line breaks stay."""
    return _NOT_IN_TEXT.sub("", _LINE_BREAK.sub("\n", text))
