"""What an amount is worth in euros, by the daily file of the European Central Bank (FX_URL).

It is shown beside an amount, and never used for anything else.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from peewee import ModelSelect

from ticketing import clock
from ticketing.models.exchange_rates import ExchangeRate
from ticketing.models.prepared import Prepared

READ_EVERY = timedelta(days=1)

_EURO = "EUR"
_MICRO = 10**6
_SHOWN_FOR = timedelta(days=7)
"""Longer than a weekend with holidays, on which none is published."""

_LEAST, _MOST = _MICRO // 5, 5 * _MICRO
"""A rate outside of these is a mistake."""

# <Cube time='2026-11-25'><Cube currency='USD' rate='1.0825'/>
_DAY = re.compile(rb"""<Cube time=['"]([0-9]{4}-[0-9]{2}-[0-9]{2})['"]""")
_DOLLARS = re.compile(rb"""<Cube currency=['"]USD['"] rate=['"]([0-9]{1,4}(?:\.[0-9]{1,6})?)['"]""")


class NotARate(Exception):
    """The file has no rate that can be used. The message is one sentence."""


@Prepared
def _of(currency: Any) -> ModelSelect[ExchangeRate]:
    return ExchangeRate.select().where(ExchangeRate.currency == currency)


def is_due() -> bool:
    """Return whether the last rate was read a day ago, or none was."""
    rate = _of.first(currency=_EURO)
    return rate is None or not clock.is_within(READ_EVERY, rate.read_at)


def keep(file: bytes) -> None:
    """Store the rate of the bank's daily file. NotARate: the last one stays."""
    day, dollars = _DAY.search(file), _DOLLARS.search(file)
    if day is None or dollars is None:
        raise NotARate("the file has no rate of the US dollar")
    micro_dollars = int(Decimal(dollars[1].decode()) * _MICRO)
    try:
        published_on = datetime.strptime(day[1].decode(), "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise NotARate("the file has no day") from None
    now = clock.now()
    if not _LEAST <= micro_dollars <= _MOST or published_on > now + READ_EVERY:
        raise NotARate("the rate or its day cannot be right")
    columns = {"micro_dollars": micro_dollars, "published_on": published_on, "read_at": now}
    ExchangeRate.insert(currency=_EURO, **columns).on_conflict(
        conflict_target=[ExchangeRate.currency], update=columns
    ).execute()


def euros(micro_units: int) -> str | None:
    """Return what an amount of USDC is worth in euros, as text. None: no rate is new enough.

    Example: one euro is worth 1.0825 dollars. 25 USDC are 23.0946... euros: 23.09.
    """
    rate = _of.first(currency=_EURO)
    if rate is None or not clock.is_within(_SHOWN_FOR, rate.published_on):
        return None
    cents = (100 * micro_units + rate.micro_dollars // 2) // rate.micro_dollars
    return f"{cents // 100}.{cents % 100:02}"
