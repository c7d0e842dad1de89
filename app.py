"""The application factory, for `gunicorn 'app:create_app()'` and `flask --app app ...`."""

import os
import sys

import click
from flask import Flask
from flask.cli import load_dotenv
from flask.helpers import get_load_dotenv

from ticketing import cli
from ticketing.config import Config, ConfigError, load
from ticketing.loading import without_collection


def create_app(config: Config | None = None) -> Flask:
    """Build the application from `config`, or from the environment.

    If Flask only looks for a command, it has the commands, but answers no requests.
    """
    context = click.get_current_context(silent=True)
    if config is None:
        if context and get_load_dotenv():
            # `flask --app app --help` calls this before Flask has read .env.
            load_dotenv()
        try:
            config = load(os.environ)
        except ConfigError as error:
            sys.exit(f"ticketing: {error}")
    try:
        # Flask's own commands (`run`, `routes`) ask in their own context, which has a parent.
        if context is not None and context.parent is None:
            return cli.application(config)
        return _application(config)
    except OSError as error:
        sys.exit(f"ticketing: DATABASE_URL: cannot create its folder ({error.strerror})")


def _application(config: Config) -> Flask:
    with without_collection():
        # The worker and the commands need no surfaces: those are half of all modules.
        from ticketing import application

        app = application.build()
    application.configure(app, config)
    return app
