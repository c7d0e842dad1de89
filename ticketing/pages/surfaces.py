"""All pages in one list, and what they need of the application."""

import re

from flask import Flask
from werkzeug.routing import BaseConverter

from ticketing.constants import RESERVED_SLUGS
from ticketing.pages import (
    assets,
    door,
    embed,
    events,
    home,
    lost_links,
    mailboxes,
    orders,
    papers,
    payee_changes,
    payment_links,
    pictures,
    render,
    tickets,
    transfers,
    waiting_list,
)
from ticketing.pages.console import (
    account,
    attendees,
    audit_log,
    chosen_attendees,
    client_networks,
    connect,
    connected_apps,
    copies,
    crowds,
    deposits,
    event_forms,
    exports,
    guests,
    images,
    keys,
    messages,
    money,
    money_moving,
    overview,
    passed_ids,
    passwords,
    people,
    publishing,
    questions,
    refunds,
    scanner,
    search,
    second_factors,
    settings,
    sign_in,
    ticket_types,
    vouchers,
    wallet,
    webhooks,
)
from ticketing.pages.console import door as console_door
from ticketing.pages.console import events as console_events
from ticketing.pages.console import orders as console_orders
from ticketing.pages.console import waiting_list as console_waiting_list
from ticketing.pages.console import waiting_room as console_waiting_room

SURFACES = (
    # For buyers, holders and people at the door.
    home.blp,
    events.blp,
    embed.blp,
    lost_links.blp,
    lost_links.orders_blp,
    orders.blp,
    papers.blp,
    payee_changes.blp,
    payment_links.blp,
    mailboxes.blp,
    tickets.blp,
    transfers.blp,
    waiting_list.blp,
    waiting_list.place_blp,
    door.blp,
    assets.blp,
    pictures.blp,
    # The console, before a sale.
    sign_in.blp,
    sign_in.signed_in,
    passwords.blp,
    account.blp,
    second_factors.blp,
    connect.blp,
    connected_apps.blp,
    settings.blp,
    overview.blp,
    search.blp,
    console_events.blp,
    event_forms.blp,
    publishing.blp,
    copies.blp,
    crowds.blp,
    deposits.blp,
    messages.blp,
    console_waiting_list.blp,
    client_networks.blp,
    console_waiting_room.blp,
    images.blp,
    images.logo_blp,
    ticket_types.blp,
    ticket_types.form_blp,
    vouchers.blp,
    vouchers.form_blp,
    questions.blp,
    questions.form_blp,
    wallet.blp,
    # The console, after a sale, and access to the tenant.
    console_orders.blp,
    console_orders.erasing,
    attendees.blp,
    attendees.erasing,
    chosen_attendees.blp,
    guests.blp,
    money.blp,
    money_moving.blp,
    refunds.blp,
    passed_ids.blp,
    console_door.blp,
    scanner.blp,
    exports.blp,
    people.blp,
    keys.blp,
    webhooks.blp,
    audit_log.blp,
)

_SLUG = "[a-z0-9]+(?:-[a-z0-9]+)*"
_RESERVED = "|".join(map(re.escape, sorted(RESERVED_SLUGS)))


class SlugConverter(BaseConverter):
    """The slug of an event."""

    regex = _SLUG


class TenantConverter(BaseConverter):
    """The slug of a tenant. A word that begins another path is none."""

    regex = f"(?!(?:{_RESERVED})(?![a-z0-9-])){_SLUG}"


def register(app: Flask) -> None:
    """Register the pages, in English."""
    app.url_map.converters.update(slug=SlugConverter, tenant=TenantConverter)
    render.register(app)
    app.jinja_env.globals.update(file_of=pictures.file_of, logo_of=pictures.logo_of)
    for blueprint in SURFACES:
        app.register_blueprint(blueprint)
