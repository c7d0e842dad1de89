"""The templates of pages: their language, and how they show amounts, times and people's text."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any
from urllib.parse import quote

from flask import Flask, current_app, g, request
from jinja2 import StrictUndefined
from markupsafe import Markup, escape

from ticketing import formats, locales, markdown, places
from ticketing.constants import CURRENCY
from ticketing.models.ticket_types import TicketType
from ticketing.pages import assets, near_times
from ticketing.pages.icons import icon
from ticketing.pages.reasons import reason
from ticketing.pages.templates import LoadedMessages, PageEnvironment
from ticketing.services.catalog import descriptions
from ticketing.web import origin

_CONSOLE = "console"
"""The folder of templates that are English only."""


def register(app: Flask) -> None:
    """Set up the templates."""
    environment = app.jinja_env
    environment.undefined = StrictUndefined
    environment.trim_blocks = environment.lstrip_blocks = True
    environment.add_extension("jinja2.ext.i18n")
    environment.add_extension(LoadedMessages)
    environment.policies["ext.i18n.trimmed"] = True
    # The extension adds this method.
    environment.install_gettext_callables(  # type: ignore[attr-defined]
        locales.gettext, locales.ngettext, newstyle=True
    )
    environment.filters.update(
        amount=lambda micro_units, currency=CURRENCY: formats.amount(micro_units, currency),
        number=formats.number,
        typed_number=formats.typed_number,
        moment=formats.moment,
        soon=near_times.soon,
        ago=near_times.ago,
        end=formats.end,
        local_moment=formats.local_moment,
        brief=formats.brief,
        day=formats.day,
        month=formats.month,
        day_of_month=formats.day_of_month,
        clock_time=formats.clock_time,
        place=places.of,
        map_url=places.map_url,
        date=formats.date_of,
        groups=formats.groups,
        shortened=formats.shortened,
        typed=formats.typed,
        time_of_day=formats.time_of_day,
        mailto=mailto,
        person=person,
        markdown=markdown.html,
        described=descriptions.html,
        plain=descriptions.plain,
        icon=icon,
        reason=reason,
        said=locales.gettext,
        grouped=grouped,
    )
    environment.globals.update(
        asset=assets.url,
        accent=assets.accent_url,
        # Pages without a session have none.
        csrf_token=lambda: str(g.get("csrf_token", "")),
    )


def page(name: str, *, folder: str = "pages", spoken: str | None = None, **values: Any) -> str:
    """Render the template of a page, which can make links to other pages."""
    return template(name, folder=folder, spoken=spoken, origin=origin.origin(), **values)


def template(name: str, *, folder: str = "pages", spoken: str | None = None, **values: Any) -> str:
    """Render a template in a folder of templates, in the language of its reader.

    That is the one of the query, else `spoken`, else that of the order, the event, the organizer.
    """
    chosen = None if folder == _CONSOLE else locales.chosen(request.environ["QUERY_STRING"])
    of_order = spoken or (values["intent"].locale if values.get("intent") else None)
    preferred = [values[each].locale for each in ("event", "tenant") if values.get(each)]
    is_english = folder == _CONSOLE
    locale = locales.DEFAULT if is_english else locales.first(chosen, of_order, *preferred)
    known = {"locale": locale, "locales": locales.offered(), "lang": _query(chosen or of_order)}
    environment = current_app.jinja_env
    assert isinstance(environment, PageEnvironment)
    with locales.speaking(locale):
        return environment.speaking(locale).get_template(f"{folder}/{name}").render(known, **values)


def chosen_query() -> str:
    """Return the query with which links to other public pages keep the chosen language."""
    return _query(locales.chosen(request.environ["QUERY_STRING"]))


def _query(chosen: str | None) -> str:
    return "" if chosen is None else f"?{locales.PARAMETER}={chosen}"


def mailto(address: str) -> str:
    """Return an email address for a `mailto:` URL, where `?` would begin headers (RFC 6068)."""
    return quote(address, safe="@")


def grouped(ticket_types: Iterable[TicketType]) -> list[tuple[str | None, list[TicketType]]]:
    """Return each heading with the ticket types below it: those that follow each other."""
    found = groupby(ticket_types, key=lambda each: each.group_heading)
    return [(heading, list(of_group)) for heading, of_group in found]


def person(text: str) -> Markup:
    """Return text that somebody wrote, so that it cannot change the direction of what follows."""
    return Markup(f"<bdi>{escape(text)}</bdi>")
