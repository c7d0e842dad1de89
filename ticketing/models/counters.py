"""Counters for monitoring."""

from peewee import BigIntegerField, TextField

from ticketing.models.base import BaseModel


class CounterEntry(BaseModel):
    """`count` events of `name` and `label`. The total is the sum of all rows."""

    id = TextField(primary_key=True)
    name = TextField()
    label = TextField()
    count = BigIntegerField()

    class Meta:
        table_name = "tallies"
