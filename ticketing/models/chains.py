"""How far each chain has been read."""

from peewee import BigIntegerField, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField


class ChainState(BaseModel):
    """What the worker knows of a chain: its token, and the last block it has read.

    `refusal` says why the chain is not watched although the environment enables it.
    """

    chain_id = BigIntegerField(primary_key=True)
    token_address = TextField()
    decimals = IntegerField(null=True)
    symbol = TextField(null=True)
    refusal = TextField(null=True)
    block_number = BigIntegerField(null=True)
    block_hash = TextField(null=True)
    block_time = UtcDateTimeField(null=True)
    looked_at = UtcDateTimeField(null=True)

    class Meta:
        table_name = "chains"
