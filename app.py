"""The application factory: `gunicorn 'app:create_app()'`, `flask --app app ...`."""

# ruff: noqa: E402
import gc

# Nothing that is imported is garbage. To look for some meanwhile is a tenth of the start.
gc.disable()

import logging
import os
import sys
import time

import click
from flask import Flask, Response
from flask.cli import load_dotenv
from flask.helpers import get_load_dotenv

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

gc.enable()

SURFACES = (
    *(tokens, api_keys, wallets, events, ticket_types, intents, refunds, audit),
    *(public, checkout, system),
)


def create_app(config: Config | None = None) -> Flask:
    """Build the application from `config`, or from the environment."""
    if config is None:
        if click.get_current_context(silent=True) and get_load_dotenv():
            # `flask --app app --help` comes here before Flask itself has read .env.
            load_dotenv()
        try:
            config = load(os.environ)
        except ConfigError as error:
            sys.exit(f"ticketing: {error}")
    _log(config.log_level)
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


def _log(level: str) -> None:
    """Log to standard error, with the time in UTC as RFC 3339 writes it."""
    form = logging.Formatter(
        "%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%Y-%m-%dT%H:%M:%SZ"
    )
    form.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(form)
    logging.basicConfig(level=level, handlers=[handler])
    # It logs the values of every statement, and these hold what people entrusted to us. `db
    # upgrade` tells itself which migrations it applied.
    logging.getLogger("peewee").setLevel(logging.WARNING)


def _finish(response: Response) -> Response:
    response.headers["X-Request-ID"] = request_id()
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers.setdefault("Cache-Control", "no-store")
    return response
