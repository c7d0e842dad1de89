"""Bar charts as inline SVG: where each bar is, in units of the chart.

The chart is stretched to the width of the page. Its text is beside it, so that it is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from ticketing.services.catalog.sales_figures import SalesOfDay

HEIGHT = 100
SLOT = 10
"""The width of a day, its gap included."""

_GAP = 2
_LEAST_DAYS = 14
_QUIET_DAYS = 7
"""For how long after the last sale the chart goes on, at most to today."""

_STEPS = (1, 2, 4, 5, 10)


@dataclass(frozen=True)
class Bar:
    """The sales of one day, and the place of their bar."""

    sales: SalesOfDay
    x: int
    y: float
    width: int
    height: float


@dataclass(frozen=True)
class SalesChart:
    """The tickets sold per day, from `first` to `last`. `top` is the value at the upper end."""

    bars: Sequence[Bar]
    first: date
    last: date
    top: int
    tickets: int

    @property
    def width(self) -> int:
        """The width of all days."""
        return ((self.last - self.first).days + 1) * SLOT


def sales_chart(sold: Sequence[SalesOfDay], today: date) -> SalesChart | None:
    """Return the chart of some days with sales, the oldest first. None without sales."""
    if not sold:
        return None
    last = max(sold[-1].day, min(today, sold[-1].day + timedelta(days=_QUIET_DAYS)))
    first = min(sold[0].day, last - timedelta(days=_LEAST_DAYS - 1))
    top = _round_up(max(each.tickets for each in sold))
    return SalesChart(
        bars=[_bar(each, first, top) for each in sold],
        first=first,
        last=last,
        top=top,
        tickets=sum(each.tickets for each in sold),
    )


def _bar(sales: SalesOfDay, first: date, top: int) -> Bar:
    height = round(sales.tickets / top * HEIGHT, 1)
    at = (sales.day - first).days * SLOT
    return Bar(sales, at + _GAP // 2, round(HEIGHT - height, 1), SLOT - _GAP, height)


def _round_up(most: int) -> int:
    """Return a round number that is not below `most`, for the upper end of a scale."""
    power: int = 10 ** (len(str(most)) - 1)
    return next(step * power for step in _STEPS if step * power >= most)
