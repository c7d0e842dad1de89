"""What money of states is worth. Pages show it, and nothing is computed with it."""

from peewee import BigIntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField


class ExchangeRate(BaseModel):
    """How many millionths of a US dollar one unit of `currency` is worth.

    `published_on` is the beginning of the day of the rate, `read_at` when it was last read.
    """

    currency = TextField(primary_key=True)
    micro_dollars = BigIntegerField()
    published_on = UtcDateTimeField()
    read_at = UtcDateTimeField()

    class Meta:
        table_name = "exchange_rates"
