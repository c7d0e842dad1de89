"""The state of each chain in the database: which accept payments, how far each has been read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from peewee import ModelSelect

from ticketing import clock
from ticketing.chain.answers import Block, TokenFacts
from ticketing.chain.eip3009 import TokenDomain
from ticketing.chain.errors import RpcError
from ticketing.chain.registry import LOCAL_CHAIN_IDS, REGISTRY, Chain
from ticketing.config import Config
from ticketing.db.connection import write_transaction
from ticketing.models.chains import ChainState
from ticketing.models.prepared import Prepared
from ticketing.services import catalog_version

DOWN_AFTER = timedelta(seconds=60)
"""A chain that was not read for so long is down: nobody waits for it."""

CLOCK_SKEW = timedelta(hours=1)
"""How far a chain's clock and ours may differ. On the local chain, tests move the time."""

LOOKED_JUST_NOW = timedelta(minutes=3)
"""After a look so recent, the newest block that was read shows whether our clock is right."""

AWAITED_FOR = timedelta(minutes=10)
"""How long a chain is read at full speed after somebody has signed something on it."""

LONGEST_BLOCK_TIME = timedelta(minutes=5)
"""How much later than its newest block it may be on a chain, if our clock is far ahead."""


@Prepared
def _all_states() -> ModelSelect[ChainState]:
    return ChainState.select()


@Prepared
def _state(chain_id: Any) -> ModelSelect[ChainState]:
    return ChainState.select().where(ChainState.chain_id == chain_id)


def states() -> dict[int, ChainState]:
    """Return the state of each chain that the worker has ever read, by chain id."""
    found: list[ChainState] = _all_states.rows()
    return {state.chain_id: state for state in found}


def state(chain_id: int) -> ChainState | None:
    """Return the state of a chain. None if the worker has never read it."""
    found: ChainState | None = _state.first(chain_id=chain_id)
    return found


def states_of(chain_id: int | None) -> dict[int, ChainState]:
    """Return the state of one chain, by chain id, if the worker has ever read it."""
    found = None if chain_id is None else _state.first(chain_id=chain_id)
    return {} if found is None else {found.chain_id: found}


def states_of_all(chain_ids: Collection[int]) -> dict[int, ChainState]:
    """Return the states of some chains, by chain id, as far as the worker has read them."""
    if len(chain_ids) > 1:
        return states()
    return states_of(next(iter(chain_ids), None))


def is_fresh(state: ChainState) -> bool:
    """Return whether the worker has read a chain a moment ago, so that money there is seen."""
    return state.refusal is None and clock.is_within(DOWN_AFTER, state.looked_at)


def payable(enabled: Mapping[int, Chain], known: Mapping[int, ChainState]) -> dict[int, Chain]:
    """Return the enabled chains that accept payments, with what the worker found out about them.

    Chains that the worker rejected are left out. A chain outside the registry is left out until
    the worker has read its token's decimals.
    """
    chains = (_with_facts(chain, known.get(chain.chain_id)) for chain in enabled.values())
    return {chain.chain_id: chain for chain in chains if chain is not None}


def _with_facts(chain: Chain, state: ChainState | None) -> Chain | None:
    if state is not None and state.token_address == chain.token_address:
        if state.refusal is not None:
            return None
        chain = replace(
            chain,
            decimals=state.decimals,
            symbol=state.symbol,
            has_receivers=bool(state.has_receivers),
        )
    return chain if chain.decimals is not None else None


@dataclass(frozen=True)
class Network:
    """A chain that an organizer may name. `least_sensible_price` is in micro-units, 0: any."""

    chain_id: int
    name: str
    is_enabled: bool
    least_sensible_price: int


def networks(config: Config) -> list[Network]:
    """Return all chains that are enabled or in the registry, the enabled ones first.

    Local chains are left out if they are not enabled.
    """
    known = {**REGISTRY, **config.chains}
    found = [
        Network(chain.chain_id, chain.name, chain_id in config.chains, chain.least_sensible_price)
        for chain_id, chain in sorted(known.items())
        if chain_id in config.chains or chain_id not in LOCAL_CHAIN_IDS
    ]
    return sorted(found, key=lambda network: not network.is_enabled)


def name_of(chain_id: int | None, config: Config) -> str:
    """Return the name of a chain as people know it, also of one that is no longer enabled."""
    known = known_as(chain_id, config)
    return f"chain {chain_id}" if known is None else known.name


def known_as(chain_id: int | None, config: Config) -> Chain | None:
    """Return a chain, also one of the registry that is no longer enabled. None: not known."""
    return config.chains.get(chain_id or 0) or REGISTRY.get(chain_id or 0)


def now_on(chain_id: int, known: Mapping[int, ChainState]) -> datetime:
    """Return the current time for deadlines on this chain: never before its newest block.

    If our clock is more than CLOCK_SKEW ahead of a chain that was read just now, our clock is
    wrong: then the time is a little after the newest block.

    Example: the host's clock jumps two days ahead. An order must not hold its seats for two days.
    """
    state, now = known.get(chain_id), clock.now()
    newest: datetime | None = state.block_time if state is not None else None
    if state is None or newest is None:
        return now
    is_ahead = now > newest + CLOCK_SKEW and clock.is_within(LOOKED_JUST_NOW, state.looked_at)
    if is_ahead and chain_id not in LOCAL_CHAIN_IDS:
        return newest + LONGEST_BLOCK_TIME
    return max(now, newest)


def check_head(chain_id: int, head: Block) -> Block:
    """Return a head. RpcError if its time is more than CLOCK_SKEW ahead of our clock.

    Deadlines follow the chain's time: one wrong head would end the holds of all live orders.
    """
    if chain_id not in LOCAL_CHAIN_IDS and head.time > clock.now() + CLOCK_SKEW:
        raise RpcError(f"its newest block is from {head.time}, which is far ahead of our clock")
    return head


def cursor(chain_id: int) -> Block | None:
    """Return the last block of a chain that the worker has read. None before the first."""
    return cursor_of(_state.first(chain_id=chain_id))


def domain_of(state: ChainState | None, chain: Chain) -> TokenDomain | None:
    """Return the EIP-712 name and version of a chain's token. None if they are not known."""
    if state is None or state.token_address != chain.token_address:
        return None
    if state.domain_name is None or state.domain_version is None:
        return None
    return TokenDomain(state.domain_name, state.domain_version)


def note_facts(
    chain: Chain, facts: TokenFacts, refusal: str | None, domain: TokenDomain | None = None
) -> None:
    """Store the facts about a chain's token. `refusal`: why the chain is rejected, or None."""
    columns = {
        "token_address": chain.token_address,
        "decimals": facts.decimals,
        "symbol": facts.symbol,
        "refusal": refusal,
        "domain_name": domain.name if domain else None,
        "domain_version": domain.version if domain else None,
    }
    known: ChainState | None = _state.first(chain_id=chain.chain_id)
    if known is not None and all(getattr(known, name) == columns[name] for name in columns):
        return
    with write_transaction():
        (
            ChainState.insert(chain_id=chain.chain_id, **columns)
            .on_conflict(conflict_target=[ChainState.chain_id], update=columns)
            .execute()
        )
        catalog_version.advance_all()


def note_receivers(chain_id: int, *, are_available: bool) -> None:
    """Store whether receivers have their addresses on a chain, whose facts are stored."""
    known: ChainState | None = _state.first(chain_id=chain_id)
    if known is None or known.has_receivers == are_available:
        return
    with write_transaction():
        columns = {ChainState.has_receivers: are_available}
        ChainState.update(columns).where(ChainState.chain_id == chain_id).execute()
        catalog_version.advance_all()


def note_facilitator(chain_id: int, refusal: str | None) -> None:
    """Store why the facilitator of a chain cannot be used. None: it can."""
    columns = {
        ChainState.facilitator_refusal: refusal,
        ChainState.facilitator_asked_at: clock.now(),
    }
    ChainState.update(columns).where(ChainState.chain_id == chain_id).execute()


def has_facilitator(state: ChainState | None) -> bool:
    """Return whether the facilitator of a chain was asked, and can be used."""
    return (
        state is not None
        and state.facilitator_asked_at is not None
        and state.facilitator_refusal is None
    )


def note_look(chain_id: int) -> None:
    """Store that the worker has read the chain just now."""
    ChainState.update(looked_at=clock.now()).where(ChainState.chain_id == chain_id).execute()


def await_blocks(chain_id: int) -> Block | None:
    """Let the worker read a chain at full speed for AWAITED_FOR. Return its cursor.

    Somebody has signed something there, and waits until the books show it.
    """
    until = {ChainState.awaited_until: clock.now() + AWAITED_FOR}
    ChainState.update(until).where(ChainState.chain_id == chain_id).execute()
    return cursor(chain_id)


def is_awaited(chain_id: int) -> bool:
    """Return whether somebody waits for what was signed on this chain."""
    state = _state.first(chain_id=chain_id)
    until = None if state is None else state.awaited_until
    return until is not None and clock.now() < until


def note_gap(chain_id: int, cursor: Block) -> datetime:
    """Store that no node has the block after the cursor. Return since when that is known."""
    state, now = _state.first(chain_id=chain_id), clock.now()
    if state is not None and state.gap_after == cursor.number and state.gap_seen_at is not None:
        seen_at: datetime = state.gap_seen_at
        return seen_at
    _write_gap(chain_id, cursor.number, now)
    return now


def forget_gap(chain_id: int) -> None:
    """Store that a node has the block after the cursor."""
    state = _state.first(chain_id=chain_id)
    if state is not None and state.gap_seen_at is not None:
        _write_gap(chain_id, None, None)


def _write_gap(chain_id: int, after: int | None, seen_at: datetime | None) -> None:
    columns = {ChainState.gap_after: after, ChainState.gap_seen_at: seen_at}
    ChainState.update(columns).where(ChainState.chain_id == chain_id).execute()


def read_from(chain_id: int) -> int:
    """Return the first block that may be read again: where the newest gap ended, or 0."""
    state = _state.first(chain_id=chain_id)
    return int((state.read_from if state is not None else None) or 0)


def begin_at(chain_id: int, number: int) -> None:
    """Store that no block before this one is read any more: a gap ended there."""
    columns = {ChainState.read_from: number}
    ChainState.update(columns).where(ChainState.chain_id == chain_id).execute()


def cursor_of(state: ChainState | None) -> Block | None:
    """Return the last block that the worker has read. None before the first."""
    if state is None or state.block_number is None or state.block_hash is None:
        return None
    return Block(state.block_number, state.block_hash, state.block_time)
