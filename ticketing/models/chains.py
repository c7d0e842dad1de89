"""How far each chain has been read."""

from peewee import BigIntegerField, CompositeKey, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField


class ChainState(BaseModel):
    """What the worker knows of a chain: its token, and the last block it has read.

    `refusal` says why the chain is not watched although the environment enables it.
    `lease_holder` is the worker that reads it, until `lease_until` if it does not renew.
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
    lease_holder = TextField(null=True)
    lease_until = UtcDateTimeField(null=True)

    class Meta:
        table_name = "chains"


class ChainBlock(BaseModel):
    """A block that was read, so that a reorganization can be told from the hashes alone."""

    chain_id = BigIntegerField()
    number = BigIntegerField()
    hash = TextField()
    time = UtcDateTimeField()

    class Meta:
        table_name = "chain_blocks"
        primary_key = CompositeKey("chain_id", "number")
