"""What apps say of themselves at the URL that is their id: a page asks for it, the worker reads it.

So no thread that answers requests waits for a server that a stranger has chosen.

Example: a member opens the page of an app at 12:00:00. The URL was not read lately, so the page
says so and asks again after 2, 4, 8, 16, 32 and 64 seconds. The worker reads the URL at 12:00:01
for 0.3 s. At 12:00:02 the page shows the app, and no URL is read for it until 12:10:01. If nothing
had come, the page would say that until then.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from ticketing import clock, ids
from ticketing.db import pruning
from ticketing.db.connection import one_at_a_time, write_transaction
from ticketing.errors import AppRefused, TooManyDescriptions
from ticketing.limits import DESCRIPTION_KEPT, DESCRIPTION_SECONDS
from ticketing.models.app_descriptions import AppDescription
from ticketing.services.daily_counts import DAY, seconds_until
from ticketing.services.oauth.answers import Awaited

MAX_DOCUMENT_BYTES = 16 * 1024
DEADLINE_SECONDS = 5.0
"""For how long the worker waits for one URL."""

LEAST_SECONDS = 0.1
"""What a reading counts at least. So a tenant has at most 50 in an hour."""

WAITED_FOR = timedelta(seconds=60)
"""For how long a page asks again. The worker does not read what was asked for before."""

FIRST_PAUSE_SECONDS = 2
MOST_AT_ONCE = 32

UNREADABLE = "This app's description of itself cannot be read. Try again in ten minutes."
_NOT_READ = "This app's description of itself was not read. Try again in a few minutes."
_HOUR = timedelta(hours=1)
_FORGOTTEN_AFTER = 2 * WAITED_FOR
"""Then a page may ask again for what was not read."""


def document(url: str, tenant_id: str) -> str:
    """Return the JSON text at a URL, as it was read in the last DESCRIPTION_KEPT.

    Awaited if the worker must read it first. AppRefused if nothing came. TooManyDescriptions.
    """
    now = clock.now()
    of_url = AppDescription.select().where(AppDescription.url == url)
    found: AppDescription | None = of_url.order_by(AppDescription.asked_at.desc()).first()
    if found is not None and found.read_at is not None:
        if found.read_at > now - DESCRIPTION_KEPT:
            if found.document is None:
                raise AppRefused(UNREADABLE)
            return str(found.document)
    elif found is not None and found.asked_at > now - _FORGOTTEN_AFTER:
        age = now - found.asked_at
        if age >= WAITED_FOR:
            raise AppRefused(_NOT_READ)
        raise Awaited(max(FIRST_PAUSE_SECONDS, round(age.total_seconds())))
    with write_transaction():
        one_at_a_time(f"descriptions of apps for {tenant_id}")
        _check_time(tenant_id, now)
        AppDescription.create(
            id=ids.new(ids.APP_DESCRIPTION), tenant=tenant_id, url=url, asked_at=now
        )
    raise Awaited(FIRST_PAUSE_SECONDS)


def to_read() -> list[AppDescription]:
    """Return what the worker has to read, the oldest first."""
    is_awaited = AppDescription.asked_at > clock.now() - WAITED_FOR
    return list(
        AppDescription.select()
        .where(AppDescription.read_at.is_null(), is_awaited)
        .order_by(AppDescription.asked_at)
        .limit(MOST_AT_ONCE)
    )


def keep(row: AppDescription, file: bytes | None, seconds: float) -> None:
    """Store what came from a URL after some seconds. None: no JSON of MAX_DOCUMENT_BYTES came."""
    columns = {"read_at": clock.now(), "waited_ms": math.ceil(1000 * seconds)}
    is_unread = (AppDescription.id == row.id) & AppDescription.read_at.is_null()
    AppDescription.update(**columns, document=_text(file)).where(is_unread).execute()


def forget_old() -> None:
    """Delete documents after DESCRIPTION_KEPT, and rows after a day."""
    now = clock.now()
    pruning.delete_some(
        AppDescription.id,
        AppDescription.asked_at < now - DAY,
        first=AppDescription.asked_at,
    )
    is_old = AppDescription.read_at < now - DESCRIPTION_KEPT
    (
        AppDescription.update(document=None)
        .where(AppDescription.document.is_null(False), is_old)
        .execute()
    )


def _text(file: bytes | None) -> str | None:
    try:
        text = None if file is None else file.decode()
    except UnicodeDecodeError:
        return None
    # Postgres stores no NUL, and JSON has none.
    return None if text is None or "\0" in text else text


def _check_time(tenant_id: str, now: datetime) -> None:
    """Check that a tenant has DEADLINE_SECONDS left of its hour. TooManyDescriptions.

    Example, with 10 s an hour: two URLs that say nothing were asked for at 12:00 and 12:20, 5 s
    each. A third one is possible from 13:00 on. A hundred URLs that answer at once count 0.1 s
    each, so after 50 of them the next is possible when the first is an hour old.
    """
    rows = (
        AppDescription.select(
            AppDescription.asked_at, AppDescription.read_at, AppDescription.waited_ms
        )
        .where(AppDescription.tenant == tenant_id, AppDescription.asked_at > now - _HOUR)
        .order_by(AppDescription.asked_at.desc())
    )
    used = DEADLINE_SECONDS
    for row in rows:
        used += _seconds_of(row, now)
        if used > DESCRIPTION_SECONDS:
            raise TooManyDescriptions(retry_after=seconds_until(row.asked_at + _HOUR))


def _seconds_of(row: AppDescription, now: datetime) -> float:
    """Return what a reading counts: all of its time while the worker may still wait."""
    if row.read_at is not None:
        return max(LEAST_SECONDS, int(row.waited_ms or 0) / 1000)
    return DEADLINE_SECONDS if row.asked_at > now - _FORGOTTEN_AFTER else LEAST_SECONDS
