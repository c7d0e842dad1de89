"""How often things happened, for whoever watches the service."""

from peewee import BigIntegerField, TextField

from ticketing.models.base import BaseModel


class CounterEntry(BaseModel):
    """What `name` and `label` say happened `count` times, besides what other rows tell."""

    id = TextField(primary_key=True)
    name = TextField()
    label = TextField()
    count = BigIntegerField()

    class Meta:
        table_name = "tallies"
