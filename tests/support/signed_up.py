"""Organizers who have signed up: created once by the CLI, then copied into each test's database.

To create a tenant takes some 15 ms of CPU. To insert its rows takes two.
"""

from dataclasses import replace
from typing import Any

from flask import Flask
from peewee import sort_models

from tests.support.factories import Organizer, new_organizer
from tests.support.wallets import give_wallet
from ticketing.db.connection import write_transaction
from ticketing.models.base import BaseModel

Rows = list[tuple[type[BaseModel], list[dict[str, Any]]]]


class SignedUp:
    """The rows of organizers, by their slug."""

    def __init__(self) -> None:
        self._organizers: dict[str, Organizer] = {}
        self._rows: dict[str, Rows] = {}

    def create(self, app: Flask, slug: str) -> None:
        """Create an organizer in the empty database of `app`, and keep its rows."""
        self._organizers[slug] = new_organizer(app, slug, address=None)
        self._rows[slug] = [
            (model, rows)
            for model in sort_models(BaseModel.__subclasses__())
            if (rows := list(model.select().dicts()))
        ]

    def copy(self, app: Flask, slug: str) -> Organizer:
        """Insert the rows of an organizer into the database of `app`, with a new wallet."""
        with write_transaction():
            for model, rows in self._rows[slug]:
                model.insert_many(rows).execute()
        organizer = self._organizers[slug]
        give_wallet(organizer.id, app.extensions["ticketing"].chains)
        return replace(organizer, app=app)
