"""Metrics of the whole service, from its database, for monitoring."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peewee import Case, fn

from ticketing import clock
from ticketing.chain.registry import LOOK_ALIKES, Chain
from ticketing.constants import IntentStatus
from ticketing.models.order_accounts import OWING, OrderAccount
from ticketing.models.payment_intents import AWAITING, UNSETTLED, PaymentIntent
from ticketing.models.x402 import Outcome
from ticketing.refund_reports import RefundReport
from ticketing.services import backups, chains, counters
from ticketing.services.notifications import figures
from ticketing.services.notifications.figures import Figures

_ENTERED = [status for status in IntentStatus if status is not IntentStatus.AWAITING_PAYMENT]


@dataclass(frozen=True)
class Metrics:
    """`live`: intents that are not settled, by status. Amounts are micro-units.

    `entered`: how many intents entered each status so far.

    By chain: `cursor_lag` is the age of the last block that was read, in seconds. `rpc_errors`
    counts the failed reads so far, `skipped_blocks` the blocks that no node had any more.
    `set_aside` counts the failed settlements of an order so far; 0 are free orders. `x402_settles`
    counts what facilitators said so far, by chain and outcome: "8453 refused".
    `refund_reports` counts what consoles saw of refunds that is not as listed, by chain and kind:
    "8453 id_used". `backup_age` is that of the last good backup, in seconds. None: this command has
    made none.
    """

    live: Mapping[str, int]
    entered: Mapping[str, int]
    refunds_owed: int
    refund_due: int
    cursor_lag: Mapping[int, float]
    rpc_errors: Mapping[str, int]
    skipped_blocks: Mapping[str, int]
    set_aside: Mapping[str, int]
    x402_settles: Mapping[str, int]
    refund_reports: Mapping[str, int]
    notifications: Figures
    backup_age: float | None


def read(enabled: Mapping[int, Chain]) -> Metrics:
    """Return the current metrics."""
    counted = counters.read()
    # Look-alikes are dollars of others.
    ours = Case(None, [(OrderAccount.token_address.not_in(list(LOOK_ALIKES)), OrderAccount.due)], 0)
    sums = fn.COUNT(OrderAccount.id), fn.SUM(ours)
    owed, due = OrderAccount.select(*sums).where(OWING).scalar(as_tuple=True)
    with_facilitator = [chain_id for chain_id, chain in enabled.items() if chain.facilitator]
    none = {str(chain_id): 0 for chain_id in enabled}
    states, now, made = chains.states(), clock.now(), backups.last()
    times = {
        chain_id: states[chain_id].block_time
        for chain_id in enabled
        if chain_id in states and states[chain_id].block_time is not None
    }
    return Metrics(
        live={IntentStatus.AWAITING_PAYMENT: 0, IntentStatus.PROCESSING: 0, **_live()},
        entered={**dict.fromkeys(_ENTERED, 0), **counted[counters.ENTERED]},
        refunds_owed=int(owed),
        refund_due=int(due or 0),
        cursor_lag={chain_id: (now - at).total_seconds() for chain_id, at in times.items()},
        rpc_errors={**none, **counted[counters.RPC_ERRORS]},
        skipped_blocks={**none, **counted[counters.SKIPPED_BLOCKS]},
        set_aside={**none, "0": 0, **counted[counters.SET_ASIDE]},
        x402_settles={
            **{f"{each} {outcome}": 0 for each in with_facilitator for outcome in Outcome},
            **counted[counters.X402_SETTLES],
        },
        refund_reports={
            **{f"{chain_id} {kind}": 0 for chain_id in enabled for kind in RefundReport},
            **counted[counters.REFUND_REPORTS],
        },
        notifications=figures.read(),
        backup_age=None if made is None else (now - made).total_seconds(),
    )


def _live() -> dict[str, int]:
    """Count live intents by status. Grouped by chain first, as in the partial indexes."""
    counted: Counter[str] = Counter()
    for some in (AWAITING, UNSETTLED):
        rows: Any = (
            PaymentIntent.select(PaymentIntent.status, fn.COUNT(PaymentIntent.id))
            .where(some)
            .group_by(PaymentIntent.chain_id, PaymentIntent.status)
            .tuples()
        )
        for status, count in rows:
            counted[status] += count
    return counted
