"""The application factory: `gunicorn 'app:create_app()'`, `flask --app app ...`."""

import logging
import os
import sys

from flask import Flask, Response

from ticketing import cli
from ticketing.blueprints import (
    api_keys,
    audit,
    checkout,
    events,
    intents,
    openapi,
    problems,
    public,
    refunds,
    system,
    ticket_types,
    tokens,
    wallets,
)
from ticketing.blueprints.context import request_id
from ticketing.config import Config, ConfigError, load
from ticketing.constants import MAX_BODY_BYTES
from ticketing.db import open_database

SURFACES = (
    *(tokens, api_keys, wallets, events, ticket_types, intents, refunds, audit),
    *(public, checkout, system),
)


def create_app(config: Config | None = None) -> Flask:
    """Build the application from `config`, or from the environment."""
    if config is None:
        try:
            config = load(os.environ)
        except ConfigError as error:
            sys.exit(f"ticketing: {error}")
    logging.basicConfig(level=config.log_level, format="%(levelname)s %(name)s: %(message)s")
    # It logs the values of every statement, and these hold what people entrusted to us.
    logging.getLogger("peewee").setLevel(logging.INFO)
    try:
        open_database(config.database_url, config.database_replica_url)
    except OSError as error:
        sys.exit(f"ticketing: DATABASE_URL: its folder cannot be made ({error.strerror})")

    app = Flask("ticketing")
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.json.compact = True  # type: ignore[attr-defined]
    app.extensions["ticketing"] = config
    app.after_request(_finish)
    problems.register(app)
    api = openapi.make_api(app)
    for surface in SURFACES:
        api.register_blueprint(surface.blp)
    cli.register(app)
    return app


def _finish(response: Response) -> Response:
    response.headers["X-Request-ID"] = request_id()
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers.setdefault("Cache-Control", "no-store")
    return response
