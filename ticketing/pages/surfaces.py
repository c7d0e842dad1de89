"""All pages, and what they need of the application."""

from gettext import NullTranslations

from flask import Flask

from ticketing.pages import assets, door, events, home, orders, render, tickets, transfers
from ticketing.pages.console import account, after_sale, catalog, settings, sign_in
from ticketing.pages.paths import SlugConverter, TenantConverter

SURFACES = (
    home.blp,
    events.blp,
    orders.blp,
    tickets.blp,
    transfers.blp,
    door.blp,
    assets.blp,
    sign_in.blp,
    sign_in.signed_in,
    account.blp,
    settings.blp,
    *catalog.SURFACES,
    *after_sale.SURFACES,
)


def register(app: Flask) -> None:
    """Register the pages, in English."""
    app.url_map.converters.update(slug=SlugConverter, tenant=TenantConverter)
    render.register(app, NullTranslations())
    for blueprint in SURFACES:
        app.register_blueprint(blueprint)
