"""Charts as inline SVG: where each bar and the line are, in units of the chart.

The chart is stretched to the width of the page. Its text is beside it, so that it is not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from itertools import accumulate
from math import ceil
from typing import Any

from ticketing.constants import MICRO_UNIT_DECIMALS
from ticketing.pages.console import list_filters
from ticketing.services.catalog.sales_figures import MOST_DAYS, SalesOfDay
from ticketing.services.door.stats import Entries

HEIGHT = 100
SLOT = 10
"""The width of a day, its gap included."""

_GAP = 2
_LEAST_DAYS = 14
_QUIET_DAYS = 7
"""For how long after the last sale the chart goes on, at most to today."""

_STEPS = (1, 2, 4, 5, 10)


class Days(StrEnum):
    """How many of the last days a chart shows."""

    WEEK = "7"
    MONTH = "30"
    QUARTER = "90"
    ALL = "all"


class Measure(StrEnum):
    """What a chart counts."""

    TICKETS = "tickets"
    MONEY = "money"


_MEASURES: dict[Measure, Callable[[SalesOfDay], float]] = {
    Measure.TICKETS: lambda sales: sales.tickets,
    Measure.MONEY: lambda sales: sales.kept / 10**MICRO_UNIT_DECIMALS,
}


@dataclass(frozen=True)
class Range:
    """Which sales a chart shows, as its reader chose in the query of the page.

    `first` and `last`: None for no bound. `days` is then what was chosen of the last days.
    """

    days: Days | None
    first: date | None
    last: date | None
    measure: Measure

    @property
    def most(self) -> int:
        """How many of the last days have to be read."""
        if self.days is None or self.days is Days.ALL:
            return MOST_DAYS
        return int(self.days)

    def of(self, sold: Sequence[SalesOfDay]) -> list[SalesOfDay]:
        """Return the days that are within the bounds."""
        first, last = self.first or date.min, self.last or date.max
        return [each for each in sold if first <= each.day <= last]


def asked_range() -> Range:
    """Return the range in the query of this page. What is not understood shows the last month."""
    first, last = (_date(list_filters.text(name)) for name in ("from", "to"))
    days = list_filters.choice("days", Days) or Days.MONTH
    measure = list_filters.choice("of", Measure) or Measure.TICKETS
    return Range(None if first or last else days, first, last, measure)


def _date(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        return None


@dataclass(frozen=True)
class Bar:
    """One value, what it is of, and the place of its bar."""

    of: Any
    x: int
    y: float
    width: int
    height: float


@dataclass(frozen=True)
class Chart:
    """Bars, and the line of their sum so far. `top` and `whole` are at the upper end of each."""

    bars: Sequence[Bar]
    width: int
    top: int
    whole: int
    line: str


@dataclass(frozen=True)
class SalesChart:
    """What was sold per day, from `first` to `last`."""

    chart: Chart
    first: date
    last: date
    tickets: int
    kept: int


def sales_chart(sold: Sequence[SalesOfDay], today: date, shown: Range) -> SalesChart | None:
    """Return the chart of some days with sales, the oldest first. None without sales."""
    sold = shown.of(sold)
    if not sold:
        return None
    last = max(sold[-1].day, min(today, sold[-1].day + timedelta(days=_QUIET_DAYS)))
    first = min(sold[0].day, last - timedelta(days=_LEAST_DAYS - 1))
    count = _MEASURES[shown.measure]
    places = [(each.day - first).days for each in sold]
    return SalesChart(
        chart=_chart(sold, [count(each) for each in sold], places, (last - first).days + 1),
        first=first,
        last=last,
        tickets=sum(each.tickets for each in sold),
        kept=sum(each.kept for each in sold),
    )


def entries_chart(entries: Sequence[Entries]) -> Chart | None:
    """Return the chart of how many came in when. None if nobody did."""
    if not entries:
        return None
    places = [each.place for each in entries]
    return _chart(entries, [each.count for each in entries], places, places[-1] + 1)


def _chart(of: Sequence[Any], values: Sequence[float], places: Sequence[int], slots: int) -> Chart:
    top, whole = _round_up(ceil(max(values))), _round_up(ceil(sum(values)))
    bars = []
    for each, value, place in zip(of, values, places, strict=True):
        height = round(value / top * HEIGHT, 1)
        at = place * SLOT + _GAP // 2
        bars.append(Bar(each, at, round(HEIGHT - height, 1), SLOT - _GAP, height))
    # Each value counts from the middle of its bar on.
    points = [
        f"{place * SLOT + SLOT // 2} {round(HEIGHT - so_far / whole * HEIGHT, 1)}"
        for place, so_far in zip(places, accumulate(values), strict=True)
    ]
    end = f"{slots * SLOT} {points[-1].split()[1]}"
    flat = f"{places[0] * SLOT} {HEIGHT}"
    line = f"M0 {HEIGHT}L{'L'.join([flat, *points, end])}"
    return Chart(bars, slots * SLOT, top, whole, line)


def _round_up(most: int) -> int:
    """Return a round number that is not below `most`, for the upper end of a scale."""
    if most < 1:
        return 1
    power: int = 10 ** (len(str(most)) - 1)
    return next(step * power for step in _STEPS if step * power >= most)
