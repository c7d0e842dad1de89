"""How people read times, amounts and addresses, in pages and mails, in the language of the moment.

The words and patterns are those of the CLDR (tools/translations.py). All languages write hours and
minutes as 20:30.
"""

import json
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ticketing import locales
from ticketing.constants import MICRO_UNIT_DECIMALS

_LEAST_DECIMALS = 2
_ONE_NIGHT = timedelta(hours=12)
_GROUP = 4
"""Characters of an address that are read together."""

_WORDS: dict[str, dict[str, Any]] = json.loads((locales.FOLDER / "dates.json").read_text())


def moment(at: datetime, zone: str) -> str:
    """Return a time as people of an IANA zone read it, with the zone's name."""
    local, zone = _local(at, zone)
    return f"{day(local, zone)}, {local:%H:%M} ({zone})"


def brief(at: datetime, zone: str) -> str:
    """Return a time in few characters, for tables. The zone's name is stated beside it."""
    local, _ = _local(at, zone)
    return f"{date_of(local)}, {local:%H:%M}"


def local_moment(local: datetime) -> str:
    """Return a local time, whose zone is stated beside it, with its day."""
    return f"{_written('day', local)}, {local:%H:%M}"


def end(at: datetime, start: datetime, zone: str) -> str:
    """Return when something ends, beside its start, whose day and zone need no repetition.

    Example: of an evening from 20:30 to 00:30, people say no second day.
    """
    local, name = _local(at, zone)
    is_one_day = local.date() == _local(start, zone)[0].date() or at - start <= _ONE_NIGHT
    return f"{local:%H:%M}" if is_one_day else f"{day(local, name)}, {local:%H:%M}"


def day(at: datetime, zone: str) -> str:
    """Return the day of a time in an IANA zone."""
    return _written("day", _local(at, zone)[0])


def weekday(at: datetime, zone: str) -> str:
    """Return the day of the week of a time in an IANA zone."""
    return str(_words()["weekdays"][_local(at, zone)[0].weekday()])


def clock_time(at: datetime, zone: str) -> str:
    """Return a time of a day that is stated beside it, with its zone."""
    return f"{_local(at, zone)[0]:%H:%M}"


def time_of_day(at: datetime, zone: str) -> str:
    """Return a time of today as people of an IANA zone read it, with the zone's name."""
    local, zone = _local(at, zone)
    return f"{local:%H:%M} ({zone})"


def date_of(day: date) -> str:
    """Return a day in few characters."""
    return _written("date", day)


def month(at: datetime, zone: str) -> str:
    """Return the short name of the month of a time in an IANA zone."""
    return str(_words()["sheet"][_local(at, zone)[0].month - 1])


def day_of_month(at: datetime, zone: str) -> str:
    """Return the day of the month of a time in an IANA zone."""
    return str(_local(at, zone)[0].day)


def local_day(at: datetime, zone: str) -> date:
    """Return the day of a time in an IANA zone."""
    return _local(at, zone)[0].date()


def typed(at: datetime, zone: str) -> str:
    """Return a time as a `datetime-local` field of a form has it."""
    local, _ = _local(at, zone)
    seconds = "seconds" if local.second else "minutes"
    return local.replace(tzinfo=None).isoformat(timespec=seconds)


def amount(micro_units: int, currency: str) -> str:
    """Return an amount of micro-units with its token: at least two decimals, no others if 0."""
    return f"{number(micro_units)} {currency}"


def number(micro_units: int) -> str:
    """Return an amount of micro-units as people read it. In German, it is 25,00."""
    return typed_number(micro_units).replace(".", _words()["decimal"])


def typed_number(micro_units: int) -> str:
    """Return an amount of micro-units as people type it into a wallet."""
    sign, (whole, rest) = "-" * (micro_units < 0), divmod(abs(micro_units), 10**MICRO_UNIT_DECIMALS)
    decimals = f"{rest:0{MICRO_UNIT_DECIMALS}}".rstrip("0").ljust(_LEAST_DECIMALS, "0")
    return f"{sign}{whole}.{decimals}"


def shortened(address: str) -> str:
    """Return the beginning and the end of a chain address, for people to compare."""
    return f"{address[:8]}…{address[-6:]}"


def groups(address: str) -> list[str]:
    """Return a chain address in parts that are easy to compare."""
    return [address[at : at + _GROUP] for at in range(0, len(address), _GROUP)]


def _words() -> dict[str, Any]:
    return _WORDS[locales.current()]


def _written(form: str, of: date) -> str:
    """Return a date in a form of the current language.

    Example: "%(EEEE)s, %(d)s. %(MMMM)s %(y)s" makes "Dienstag, 5. Januar 2027".
    """
    words = _words()
    pattern: str = words[form]
    return pattern % {
        "EEEE": words["weekdays"][of.weekday()],
        "d": of.day,
        "MMMM": words["months"][of.month - 1],
        "MMM": words["short_months"][of.month - 1],
        "y": of.year,
    }


def _local(at: datetime, zone: str) -> tuple[datetime, str]:
    """Return a time in a zone, with the zone's name."""
    try:
        return at.astimezone(ZoneInfo(zone)), zone
    except OverflowError:  # the last day of the year 9999
        return at, "UTC"
