"""What clients had in a day."""

from peewee import BigIntegerField, CompositeKey, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField


class DailyAmount(BaseModel):
    """How much of something a network of a client had in the 24 hours since `began_at`.

    `client`: the digest of the network. See services/daily_counts.py.
    """

    what = TextField()
    client = TextField()
    began_at = UtcDateTimeField()
    amount = BigIntegerField()

    class Meta:
        table_name = "daily_amounts"
        primary_key = CompositeKey("what", "client")
