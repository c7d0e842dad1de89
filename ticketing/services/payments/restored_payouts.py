"""After a restored backup: find what was paid by lists that the backup does not know.

For RESTORED_FOR, the events of all owners of wallets are read as if they had lists, from the last
block that the backup knows. An id that is unknown is recomputed for every order that ever owed. In
that time nobody but an owner gets a list: other payers may hold lists that are not known here.

Example: the backup is of Monday. On Tuesday the organizer signed a list from the own wallet, and on
Wednesday the backup was restored. The worker reads Tuesday's blocks, and books what was paid. If
the organizer asks for a list before that, it has the same ids, which the factory refuses.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any

from ticketing import clock
from ticketing.chain.refunded_events import PaidRefund, Refunded
from ticketing.db.connection import write_transaction
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import OWING, REFUNDED, WAIVED, PaymentIntent
from ticketing.models.payouts import Payout, PayoutCursor
from ticketing.models.wallets import Wallet
from ticketing.services.payments import payout_ids

RESTORED_FOR = timedelta(hours=72)
"""As long as a list can be paid."""


def note() -> None:
    """Note that the database was restored just now, for every chain that the worker has read."""
    with write_transaction():
        for state in ChainState.select().where(ChainState.block_number.is_null(False)):
            columns = {PayoutCursor.restored_at: clock.now()}
            (
                PayoutCursor.insert(
                    {
                        PayoutCursor.chain_id: state.chain_id,
                        PayoutCursor.block_number: state.block_number,
                        PayoutCursor.block_hash: state.block_hash,
                        PayoutCursor.block_time: state.block_time,
                        **columns,
                    }
                )
                .on_conflict(conflict_target=[PayoutCursor.chain_id], update=columns)
                .execute()
            )


def is_restored(chain_id: int) -> bool:
    """Return whether the database was restored so recently that lists may be missing."""
    row: PayoutCursor | None = PayoutCursor.get_or_none(PayoutCursor.chain_id == chain_id)
    return row is not None and clock.is_within(RESTORED_FOR, row.restored_at)


def is_owner(tenant_id: str, payer: str) -> bool:
    """Return whether an account is, or was, where a tenant's payments go."""
    of_tenant = (Wallet.tenant_id == tenant_id) & (Wallet.owner == payer)
    return bool(Wallet.select().where(of_tenant).exists())


def owners(chain_id: int) -> list[str]:
    """Return all owners of wallets whose events must be read, because a backup was restored."""
    if not is_restored(chain_id):
        return []
    rows: Iterable[Any] = (
        Wallet.select(Wallet.owner).where(Wallet.owner.is_null(False)).distinct().tuples()
    )
    return [owner for (owner,) in rows]


def intents_of(chain_id: int, events: Collection[Refunded]) -> dict[tuple[str, str], PaymentIntent]:
    """Return the order of each event of an owner whose id is one of an order, by payer and id."""
    found: dict[tuple[str, str], PaymentIntent] = {}
    ids_of: dict[str, set[str]] = defaultdict(set)
    for each in events:
        ids_of[each.payer].add(each.id)
    for payer, ids in ids_of.items():
        tenants = Wallet.select(Wallet.tenant_id).where(Wallet.owner == payer)
        wallets = Wallet.select(Wallet.id).where(Wallet.owner.is_null(False))
        intents = {
            intent.id: intent
            for intent in PaymentIntent.select().where(
                OWING | WAIVED | REFUNDED,
                PaymentIntent.chain_id == chain_id,
                PaymentIntent.tenant.in_(tenants),
                PaymentIntent.wallet.in_(wallets),
            )
        }
        of_id = payout_ids.owners_of_ids(list(intents.values()))
        found |= {(payer, id_): intents[of_id[id_]] for id_ in ids if id_ in of_id}
    return found


def add_lists(chain_id: int, paid: Sequence[PaidRefund]) -> None:
    """Store the payments of events as if they had been listed. Call it in a transaction."""
    intents = intents_of(chain_id, [each.event for each in paid])
    for each in paid:
        event = each.event
        intent = intents.get((event.payer, event.id))
        if intent is None:
            continue
        Payout.insert(
            {
                Payout.payer: event.payer,
                Payout.payment_id: event.id,
                Payout.tenant_id: intent.tenant_id,
                Payout.intent: intent.id,
                Payout.chain_id: chain_id,
                Payout.token_address: intent.terms.token_address,
                Payout.recipient: event.to,
                Payout.amount: 0,
                Payout.atomic_amount: str(event.atomic_amount),
                Payout.created_at: clock.now(),
                Payout.valid_before: each.block.time,
            }
        ).on_conflict_ignore().execute()
