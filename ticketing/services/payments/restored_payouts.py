"""After a restored backup: find what was paid by lists that the backup does not know.

For RESTORED_FOR, all events are read, from the last block that the backup knows on. Every URL is
asked, and must answer: one node could hide what was paid. An id that is on no list is recomputed
for every order that was ever paid. An event with such an id and its own Transfer in the order's
token is booked if it went to an address that may get the order's refunds. Otherwise it holds the
order back until an administrator says what it was. An event without such a Transfer is nothing:
anybody can write one.

Nobody gets a list before all blocks up to the restore were read; then, until the end of that time,
only owners of wallets do: other payers may hold lists that are not known here, and can still be
paid.

Example: the backup is of Monday. On Tuesday the organizer signed a list, and on Wednesday the
backup was restored. The worker reads Tuesday's blocks, and books what was paid. On Thursday the
organizer gets a list from their own wallet, on Sunday from any account.

What remains: a list of Tuesday that nobody has signed yet, and that somebody signs on Thursday.
docs/operations.md says to sign none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta

from ticketing import clock
from ticketing.db.connection import write_transaction
from ticketing.models.chains import ChainState
from ticketing.models.order_accounts import HAS_MONEY, OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payouts import PayoutCursor
from ticketing.models.wallets import Wallet
from ticketing.services import chains
from ticketing.services.payments import payout_ids, watched_orders
from ticketing.services.payments.payout_ids import Place

RESTORED_FOR = timedelta(hours=72)
"""As long as a list can be paid."""

_PAGE = 1000


def note() -> None:
    """Note that the database was restored just now, for every chain that the worker has read."""
    with write_transaction():
        for state in ChainState.select().where(ChainState.block_number.is_null(False)):
            of_state = {
                PayoutCursor.block_number: state.block_number,
                PayoutCursor.block_hash: state.block_hash,
                PayoutCursor.block_time: state.block_time,
            }
            restored = {PayoutCursor.restored_at: clock.now()}
            row = _row(state.chain_id)
            is_idle = row is None or not payout_ids.listed_ids(state.chain_id, row.block_time)
            (
                PayoutCursor.insert({PayoutCursor.chain_id: state.chain_id, **of_state, **restored})
                .on_conflict(
                    conflict_target=[PayoutCursor.chain_id],
                    # Without lists, the cursor was not moved: nothing was paid before the backup.
                    update={**of_state, **restored} if is_idle else restored,
                )
                .execute()
            )


def is_restored(chain_id: int) -> bool:
    """Return whether lists that are not known here may still be paid, or were not read yet.

    It ends when both our clock and the blocks that were read are past its end: the worker may have
    been away, and a node may invent a late block.
    """
    row = _row(chain_id)
    if row is None or row.restored_at is None:
        return False
    return bool(min(row.block_time, clock.now()) <= row.restored_at + RESTORED_FOR)


def is_catching_up(chain_id: int) -> bool:
    """Return whether events from before the backup was restored were not all read yet."""
    row = _row(chain_id)
    return row is not None and row.restored_at is not None and row.block_time <= row.restored_at


def _row(chain_id: int) -> PayoutCursor | None:
    found: PayoutCursor | None = PayoutCursor.get_or_none(PayoutCursor.chain_id == chain_id)
    return found


def is_owner(tenant_id: str, payer: str) -> bool:
    """Return whether an account is, or was, where a tenant's payments go."""
    of_tenant = (Wallet.tenant_id == tenant_id) & (Wallet.owner == payer)
    return bool(Wallet.select().where(of_tenant).exists())


def places_of(chain_id: int, ids: Collection[str]) -> dict[str, Place]:
    """Return the account that each id belongs to, for ids that are on no list. Others are left out.

    Every account that was ever paid is asked for: what is owed may be newer than the backup, too.
    So are accounts that are newer than the backup: those of orders of the last 30 days that may
    have been paid on this chain instead of their own. It takes about 0.15 ms an account.
    """
    found: dict[str, Place] = {}
    if ids:
        for page in _candidates(chain_id):
            of_id = payout_ids.owners_of_ids(page)
            by_id = {account.id: account for account in page}
            found = {
                id_: payout_ids.place_of(by_id[of_id[id_]]) for id_ in of_id.keys() & set(ids)
            } | found
    return found


def _candidates(chain_id: int) -> Iterator[Sequence[OrderAccount]]:
    """Yield accounts that a list may have paid, page by page."""
    after = 0
    query = (
        OrderAccount.select(OrderAccount, PaymentIntent)
        .join(PaymentIntent)
        .where(OrderAccount.chain_id == chain_id, HAS_MONEY)
        .order_by(OrderAccount.id)
        .limit(_PAGE)
    )
    while page := list(query.where(OrderAccount.id > after)):
        yield page
        after = page[-1].id
    states = chains.states()
    state = states.get(chain_id)
    if state is not None:
        orders = watched_orders.elsewhere(
            list(states), chain_id, state.token_address, clock.now(), with_old=True
        )
        for start in range(0, len(orders), _PAGE):
            some = enumerate(orders[start : start + _PAGE], 1)
            yield [_unknown(number, intent, state) for number, intent in some]


def _unknown(number: int, intent: PaymentIntent, state: ChainState) -> OrderAccount:
    """Return what an order may have received on a chain. It is not stored: its id is any number."""
    return OrderAccount(
        id=-number,
        intent=intent,
        tenant_id=intent.tenant_id,
        chain_id=state.chain_id,
        token_address=state.token_address,
        token_decimals=state.decimals or 0,
        required_confirmations=1,
        address=intent.address,
    )
