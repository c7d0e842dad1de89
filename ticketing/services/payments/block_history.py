"""The blocks that were read, kept so far back as a reorganization may reach."""

from collections.abc import Sequence

from ticketing.chain.answers import Block
from ticketing.models.chains import ChainBlock

KEPT = 512
"""Blocks of a chain; each is the last one of a range, so they reach back at least as far."""

MOST_BLOCKS_BACK = KEPT // 2
"""How far a worker goes back by itself: a single wrong answer must not undo more."""


RECENT = 128
"""How deep a block is asked for again at least. Some nodes keep no headers further back."""


def remember(chain_id: int, block: Block) -> None:
    """Keep a block that was read, and forget those too old to matter."""
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
    """Forget the blocks after `number`: they are not on the chain any more."""
    ChainBlock.delete().where(ChainBlock.chain_id == chain_id, ChainBlock.number > number).execute()


def newest_first(chain_id: int) -> Sequence[Block]:
    """Return the blocks that are kept of a chain, the newest first."""
    kept = (
        ChainBlock.select()
        .where(ChainBlock.chain_id == chain_id)
        .order_by(ChainBlock.number.desc())
    )
    return [Block(each.number, each.hash, each.time) for each in kept]


def has(chain_id: int, block: Block) -> bool:
    """Tell whether a block is kept, with this hash."""
    found: bool = (
        ChainBlock.select()
        .where(
            ChainBlock.chain_id == chain_id,
            ChainBlock.number == block.number,
            ChainBlock.hash == block.hash,
        )
        .exists()
    )
    return found
