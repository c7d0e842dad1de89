"""peewee, and its driver for Postgres where there is a Postgres.

peewee imports the driver wherever it is installed: a fifth of every start, for nothing on SQLite.
"""

from importlib import import_module
from typing import Any

from ticketing.absent import absent

with absent("psycopg"):
    import peewee
    import playhouse.migrations  # noqa: F401

_peewee: Any = peewee


def load() -> None:
    """Give peewee the driver, as its own import of it would have done."""
    if _peewee.psycopg is not None:
        return
    status = import_module("psycopg.pq").TransactionStatus
    json = import_module("psycopg.types.json")
    _peewee.Json_pg3, _peewee.Jsonb_pg3 = json.Json, json.Jsonb
    _peewee.TransactionStatus = status
    adapter = _peewee.Psycopg3Adapter
    adapter.txn_idle, adapter.txn_inerror = status.IDLE, status.INERROR
    adapter.txn_unknown = status.UNKNOWN
    _peewee.psycopg = import_module("psycopg")
