"""The console's page that copies an event: once, or to many dates; and the text of a series."""

import calendar
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from flask import Response, redirect
from werkzeug import Response as AnyResponse

from schemas.events import MAX_COPIES
from schemas.forms import CopyForm, Every
from schemas.series import SeriesChangeSchema, SeriesSchema
from ticketing import formats
from ticketing.errors import FieldMessage, Invalid
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.catalog import copies, events, series
from ticketing.web.audited import copies as audited_copies
from ticketing.web.audited import noted, recorded
from ticketing.web.context import caller, config
from ticketing.web.idempotency import once

SECTION = "events"
EVERY = {
    Every.ONCE: "Once",
    Every.WEEK: "Each week",
    Every.TWO_WEEKS: "Every two weeks",
    Every.MONTH: "Each month",
}
_WEEK = timedelta(weeks=1)
_DAYS = {Every.ONCE: timedelta(), Every.WEEK: _WEEK, Every.TWO_WEEKS: 2 * _WEEK}

blp = ConsoleBlueprint("copies", __name__, reads={Role.WRITE}, writes={Role.WRITE})


@blp.get(paths.event("<event_id>", "copy"))
def ask_to_copy(event_id: str) -> str:
    """Show the form that copies an event. It proposes the same time a week later."""
    event = events.get(caller().tenant_id, event_id)
    first = formats.typed(event.start_at + _WEEK, event.timezone)
    return _page(event_id, Form(values={"first": first, "series": event.series or ""}))


@blp.post(paths.event("<event_id>", "copy"))
def copy_event(event_id: str) -> AnyResponse:
    """Show the dates of a rule, or make the copies and go to the only one, or to the list."""

    def answer() -> AnyResponse:
        sent = typed_forms.read(CopyForm)
        if sent["show"]:
            return Response(_page(event_id, Form(values=forms.sent()), dates(sent)))
        only = once(forms.key(), partial(_copy, event_id, sent))
        done = paths.event(only) if only else f"{paths.EVENTS}?sort=-created_at"
        return redirect(f"{done}#copied", 303)

    return forms.answered(answer, partial(_page, event_id))


def _copy(event_id: str, sent: dict[str, Any]) -> str:
    """Make the copies. Return the id of the only one, or nothing."""
    copy = partial(
        copies.copy,
        caller().tenant,
        event_id,
        sent["starts"] or dates(sent),
        config(),
        status=sent["status"],
        series_slug=sent["series"],
    )
    made = noted(event_id, copy, audited_copies, action="events_copy_event")
    return made[0].id if len(made) == 1 else ""


@blp.get(paths.series("<slug>"))
def show_series(slug: str) -> str:
    """Show what the page of a series says."""
    found = series.read(caller().tenant_id, slug)
    values = {"title": found.title or "", "description": found.description}
    return _series_page(slug, Form(values=values))


@blp.post(paths.series("<slug>"))
def change_series(slug: str) -> AnyResponse:
    """Change what the page of a series says."""

    def change() -> str:
        recorded(
            SeriesSchema,
            partial(series.change, caller().tenant, slug, typed_forms.read(SeriesChangeSchema)),
            partial(series.read, caller().tenant_id, slug),
            action="series_change_series",
        )
        return f"{paths.series(slug)}#saved"

    return forms.carried_out(change, partial(_series_page, slug))


def dates(sent: dict[str, Any]) -> list[datetime]:
    """Return the local times that a rule fills in. Invalid.

    Example: each month from 31 January, three times: 31 January, 28 February, 31 March.
    """
    first, every = sent["first"], sent["every"]
    times = 1 if every is Every.ONCE else sent["times"]
    try:
        if every is Every.MONTH:
            return [_months_later(first, count) for count in range(times)]
        return [first + count * _DAYS[every] for count in range(times)]
    except (OverflowError, ValueError):
        text = "Must be in the years 1970 to 9999."
        raise Invalid({"first": [FieldMessage("time_range", text)]}) from None


def _months_later(first: datetime, months: int) -> datetime:
    years, month = divmod(first.month - 1 + months, 12)
    year, month = first.year + years, month + 1
    day = min(first.day, calendar.monthrange(year, month)[1])
    return first.replace(year=year, month=month, day=day)


def _page(event_id: str, form: Form, found: Sequence[datetime] | None = None) -> str:
    return page(
        "copy.html",
        SECTION,
        event=events.get(caller().tenant_id, event_id),
        dates=_chosen() if found is None else found,
        every=list(EVERY.items()),
        most=MAX_COPIES,
        form=form,
    )


def _chosen() -> list[datetime]:
    """Return the dates that were chosen in a form that is shown again."""
    found = []
    for text in typed_forms.chosen("starts")[:MAX_COPIES]:
        with suppress(ValueError):
            found.append(datetime.fromisoformat(text).replace(tzinfo=None))
    return found


def _series_page(slug: str, form: Form) -> str:
    return page("series.html", SECTION, slug=slug, form=form)
