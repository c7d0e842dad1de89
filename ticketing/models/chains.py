"""The state of each chain, and the blocks that were read."""

from peewee import BigIntegerField, BooleanField, CompositeKey, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField


class ChainState(BaseModel):
    """The worker's state of a chain: its token, and the last block that was read.

    `refusal` is the reason why an enabled chain is not watched. `domain_name` and `domain_version`
    are what messages for the token are signed with (EIP-712). None: not known, or it has none.

    `facilitator_refusal` is the reason why its facilitator cannot be used, as found at
    `facilitator_asked_at`. None, too, while it was never asked.

    `has_receivers`: whether receivers have their addresses on this chain (chain/receivers.py).
    None: the worker has not asked yet.

    `gap_seen_at`: since when no node has the block after block `gap_after`. `read_from`: no block
    before this one is read any more, because a gap ended there. `awaited_until`: until then it is
    read at full speed, because somebody has just signed something.

    `strays_looked_at`: when the balances of orders with another home were read the last time, and
    `strays_block` after which block.
    """

    chain_id = BigIntegerField(primary_key=True)
    token_address = TextField()
    decimals = IntegerField(null=True)
    symbol = TextField(null=True)
    refusal = TextField(null=True)
    domain_name = TextField(null=True)
    domain_version = TextField(null=True)
    facilitator_refusal = TextField(null=True)
    facilitator_asked_at = UtcDateTimeField(null=True)
    has_receivers = BooleanField(null=True)
    block_number = BigIntegerField(null=True)
    block_hash = TextField(null=True)
    block_time = UtcDateTimeField(null=True)
    looked_at = UtcDateTimeField(null=True)
    gap_after = BigIntegerField(null=True)
    gap_seen_at = UtcDateTimeField(null=True)
    read_from = BigIntegerField(null=True)
    awaited_until = UtcDateTimeField(null=True)
    strays_looked_at = UtcDateTimeField(null=True)
    strays_block = BigIntegerField(null=True)

    class Meta:
        table_name = "chains"


class ChainBlock(BaseModel):
    """A block that was read. A different hash on the chain shows a reorganization."""

    chain_id = BigIntegerField()
    number = BigIntegerField()
    hash = TextField()
    time = UtcDateTimeField()

    class Meta:
        table_name = "chain_blocks"
        primary_key = CompositeKey("chain_id", "number")
