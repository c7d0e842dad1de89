"""The number of requests of each caller in its current minute."""

from peewee import BigIntegerField, TextField

from ticketing.models.base import BaseModel


class RateCount(BaseModel):
    """One caller's requests of one class in one minute. `minute` counts from the Unix epoch."""

    caller = TextField(primary_key=True)
    minute = BigIntegerField()
    used = BigIntegerField()

    class Meta:
        table_name = "rate_counts"
