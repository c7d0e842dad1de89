"""Networks whose requests are refused."""

from peewee import TextField

from ticketing.models.base import BaseModel, UtcDateTimeField


class BlockedNetwork(BaseModel):
    """A network in CIDR notation, such as 2001:db8::/32, that the operator blocks until a time."""

    network = TextField(primary_key=True)
    until = UtcDateTimeField()
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "blocked_networks"
