"""The templates of pages: their language, and how they show amounts, times and people's text."""

from collections.abc import Iterable
from gettext import NullTranslations
from itertools import groupby
from typing import Any
from urllib.parse import quote

from flask import Flask, g, render_template
from jinja2 import StrictUndefined
from markupsafe import Markup

from ticketing import formats, markdown, places
from ticketing.constants import CURRENCY
from ticketing.models.ticket_types import TicketType
from ticketing.pages import assets
from ticketing.pages.reasons import reason
from ticketing.web import origin


def register(app: Flask, translations: NullTranslations) -> None:
    """Set up the templates, in the language of some translations."""
    environment = app.jinja_env
    environment.undefined = StrictUndefined
    environment.trim_blocks = environment.lstrip_blocks = True
    environment.add_extension("jinja2.ext.i18n")
    environment.policies["ext.i18n.trimmed"] = True
    # The extension adds this method.
    environment.install_gettext_translations(translations, newstyle=True)  # type: ignore[attr-defined]
    environment.filters.update(
        amount=lambda micro_units, currency=CURRENCY: formats.amount(micro_units, currency),
        number=formats.number,
        moment=formats.moment,
        end=formats.end,
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
        plain=markdown.plain,
        reason=reason,
        grouped=grouped,
    )
    environment.globals.update(asset=assets.url, accent=assets.accent_url, csrf_token=_csrf_token)


def page(name: str, *, folder: str = "pages", **values: Any) -> str:
    """Render the template of a page, which can make links to other pages."""
    return template(name, folder=folder, origin=origin.origin(), **values)


def template(name: str, *, folder: str = "pages", **values: Any) -> str:
    """Render a template in a folder of templates."""
    return render_template(f"{folder}/{name}", **values)


def _csrf_token() -> str:
    """Return the token for forms of the session. An empty text on pages without a session."""
    return str(g.get("csrf_token", ""))


def mailto(address: str) -> str:
    """Return an email address for a `mailto:` URL, where `?` would begin headers (RFC 6068)."""
    return quote(address, safe="@")


def grouped(ticket_types: Iterable[TicketType]) -> list[tuple[str | None, list[TicketType]]]:
    """Return each heading with the ticket types below it: those that follow each other."""
    found = groupby(ticket_types, key=lambda each: each.group_heading)
    return [(heading, list(of_group)) for heading, of_group in found]


def person(text: str) -> Markup:
    """Return text that somebody wrote, so that it cannot change the direction of what follows."""
    return Markup("<bdi>{}</bdi>").format(text)
