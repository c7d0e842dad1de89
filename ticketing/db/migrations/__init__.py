"""Migrations from an empty database to the current one. migrate.upgrade applies them in order."""
