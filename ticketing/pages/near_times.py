"""Times of the next days as people say them: today, tomorrow, on Tuesday."""

from datetime import datetime

from ticketing import clock, formats, locales
from ticketing.locales import N_

_WEEK = 7
_TODAY, _TOMORROW, _WEEKDAY = N_("today, %(time)s"), N_("tomorrow, %(time)s"), "%(day)s, %(time)s"


def soon(at: datetime, zone: str) -> str:
    """Return a time as people of an IANA zone say it now, in the language of the moment.

    Example: on a Sunday, "tomorrow, 14:05" and "Tuesday, 14:00". A week later is a date.
    """
    now = clock.now()
    days = (formats.local_day(at, zone) - formats.local_day(now, zone)).days
    if not 0 <= days < _WEEK:
        return formats.moment(at, zone)
    text = _WEEKDAY if days > 1 else locales.gettext((_TODAY, _TOMORROW)[days])
    return text % {"day": formats.weekday(at, zone), "time": formats.clock_time(at, zone)}
