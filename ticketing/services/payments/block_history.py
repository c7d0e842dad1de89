"""The blocks that were read, as far back as a reorganization can reach."""

from collections.abc import Sequence

from ticketing.chain.answers import Block
from ticketing.models.chains import ChainBlock

KEPT = 512
"""How many block numbers the stored blocks reach back from the cursor.

Of each range, only its last block is stored. After a range of more than KEPT blocks, that one is
the only one.
"""

MOST_BLOCKS_BACK = KEPT // 2
"""The most blocks that a worker goes back by itself. One wrong response must not undo more."""

RECENT = 128
"""Blocks this near to the cursor are asked for again. Some nodes keep no older headers."""


def last_old(number: int, confirmations: int) -> int:
    """Return the last block that is not asked for again when the cursor is at block `number`.

    Payments that are not final yet are asked for again, however many blocks that takes.
    """
    return number - max(RECENT, confirmations)


def remember(chain_id: int, block: Block) -> None:
    """Store a block that was read, and delete blocks that are too old to matter."""
    columns = {"hash": block.hash, "time": block.time}
    (
        ChainBlock.insert(chain_id=chain_id, number=block.number, **columns)
        .on_conflict(conflict_target=[ChainBlock.chain_id, ChainBlock.number], update=columns)
        .execute()
    )
    (
        ChainBlock.delete()
        .where(ChainBlock.chain_id == chain_id, ChainBlock.number < block.number - KEPT)
        .execute()
    )


def forget_after(chain_id: int, number: int) -> None:
    """Delete the blocks after `number`: they are no longer on the chain."""
    ChainBlock.delete().where(ChainBlock.chain_id == chain_id, ChainBlock.number > number).execute()


def forget_before(chain_id: int, number: int) -> None:
    """Delete the blocks before `number`: no node has them any more."""
    ChainBlock.delete().where(ChainBlock.chain_id == chain_id, ChainBlock.number < number).execute()


def newest_first(chain_id: int) -> Sequence[Block]:
    """Return the stored blocks of a chain, the newest first."""
    rows = (
        ChainBlock.select()
        .where(ChainBlock.chain_id == chain_id)
        .order_by(ChainBlock.number.desc())
    )
    return [Block(row.number, row.hash, row.time) for row in rows]


def has(chain_id: int, block: Block) -> bool:
    """Return whether this block is stored with the same hash."""
    is_stored: bool = (
        ChainBlock.select()
        .where(
            ChainBlock.chain_id == chain_id,
            ChainBlock.number == block.number,
            ChainBlock.hash == block.hash,
        )
        .exists()
    )
    return is_stored
