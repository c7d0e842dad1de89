"""Migrations from an empty database to the current one. db/migrate.py applies them in order.

A migration imports no model, because models change. docs/extending.md shows how to add one.
"""
