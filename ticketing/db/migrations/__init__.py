"""The schema, and what changes it from then on. db/migrate.py applies the files in order.

A migration imports no model, because models change. docs/extending.md shows how to add one.
"""
