"""The application factory, for `gunicorn 'app:create_app()'` and `flask --app app ...`."""

import os
import sys

import click
from flask import Flask
from flask.cli import load_dotenv
from flask.helpers import get_load_dotenv

from ticketing import cli, logs
from ticketing.blueprints import (
    admissions,
    api_keys,
    audit_log,
    chains,
    checkout,
    door,
    door_devices,
    erasure,
    events,
    holders,
    intents,
    metrics,
    pairing,
    public,
    reconciliation,
    refunds,
    system,
    ticket_types,
    tokens,
    transfers,
    wallets,
)
from ticketing.config import Config, ConfigError, load
from ticketing.constants import MAX_BODY_BYTES
from ticketing.db.connection import open_database
from ticketing.services.access.rate_limits import Limiter
from ticketing.web import openapi, problems, rate_limit, request_log
from ticketing.web.response_cache import Front

SURFACES = (
    *(tokens, api_keys, wallets, events, ticket_types, intents, admissions, refunds),
    *(reconciliation, audit_log, public, checkout, holders, transfers, chains, system),
    *(door_devices, pairing, door, erasure),
)


def create_app(config: Config | None = None) -> Flask:
    """Build the application from `config`, or from the environment."""
    if config is None:
        if click.get_current_context(silent=True) and get_load_dotenv():
            # `flask --app app --help` calls this before Flask has read .env.
            load_dotenv()
        try:
            config = load(os.environ)
        except ConfigError as error:
            sys.exit(f"ticketing: {error}")
    logs.configure(config.log_level, config.log_format)
    try:
        open_database(config.database_url)
    except OSError as error:
        sys.exit(f"ticketing: DATABASE_URL: cannot create its folder ({error.strerror})")

    app = Flask("ticketing")
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.json.compact = True  # type: ignore[attr-defined]
    app.extensions["ticketing"] = config
    app.extensions["limiter"] = Limiter()
    app.url_map.merge_slashes = False  # otherwise `//` redirects to an absolute http:// URL
    request_log.register(app)
    rate_limit.register(app)
    problems.register(app)
    api = openapi.make_api(app)
    for surface in SURFACES:
        api.register_blueprint(surface.blp)
    app.register_blueprint(metrics.blp)
    cli.register(app)
    app.wsgi_app = Front(app)  # type: ignore[method-assign]
    return app
