"""All pages, and what they need of the application."""

from gettext import NullTranslations

from flask import Flask

from ticketing.pages import assets, door, events, home, orders, render, tickets, transfers
from ticketing.pages.paths import SlugConverter, TenantConverter

SURFACES = (home, events, orders, tickets, transfers, door, assets)


def register(app: Flask) -> None:
    """Register the pages, in English."""
    app.url_map.converters.update(slug=SlugConverter, tenant=TenantConverter)
    render.register(app, NullTranslations())
    for surface in SURFACES:
        app.register_blueprint(surface.blp)
