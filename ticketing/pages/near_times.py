"""Times near now as people say them: today, tomorrow, on Tuesday, 12 minutes ago."""

from datetime import datetime

from ticketing import clock, formats, locales
from ticketing.locales import N_

_WEEK, _MINUTES = 7, 60
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


def ago(at: datetime) -> str:
    """Return how long ago something was, in minutes or, from an hour on, in hours.

    Example: "1 minute ago" until two minutes have passed, and "3 hours ago" after 3 h 59 min.
    """
    count = max(1, int((clock.now() - at).total_seconds()) // _MINUTES)
    if count < _MINUTES:
        text = locales.ngettext("%(count)s minute ago", "%(count)s minutes ago", count)
    else:
        count //= _MINUTES
        text = locales.ngettext("%(count)s hour ago", "%(count)s hours ago", count)
    return text % {"count": count}
