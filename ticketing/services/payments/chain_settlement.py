"""Settle orders on one of their chains, and record what reduces their refunds.

An order is settled on its home by settlement.py. Money on another chain is in a stray account:
strays.py. If that pays for the order, the order moves there: adoption.py. All of it happens under
the lock of the order.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.constants import IntentStatus
from ticketing.db.connection import write_transaction
from ticketing.errors import ChainUnavailable
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import SET_ASIDE, PaymentIntent
from ticketing.services import chains
from ticketing.services.orders import accounts
from ticketing.services.payments import (
    adoption,
    balances,
    late_orders,
    payment_sums,
    payments,
    strays,
)
from ticketing.services.payments.settlement import (
    INTENTS_PER_TRANSACTION,
    lock,
    lock_chain,
    or_set_aside,
    settle,
    write_changes,
)

Book = Callable[[OrderAccount, Block], dict[str, int]]
"""Records what reduces the refund due of a locked account: see reduce_due."""


def settle_on(
    intent: PaymentIntent, chain_id: int, as_of: Block, *, may_expire: bool = True
) -> None:
    """Set the state of one locked intent from its payments on one chain. Call it in a transaction.

    `as_of` is a block of that chain. If money on another chain pays for the intent, it moves there:
    see adoption.py. `may_expire`: see `settle`.

    Example: an order of 10 on Base expires at 18:00, and Polygon is an option. The worker of
    Polygon has found 10 there. The order is settled on Polygon: nothing came on Base, so Polygon
    becomes its home, and the order is `processing`.
    """
    is_home = chain_id == intent.chain_id
    if not intent.stray_accounts:
        if is_home:
            settle(intent, as_of, may_expire=may_expire)
        return
    if is_home:
        settle(intent, as_of, may_expire=False)
    for account in intent.stray_accounts:
        if account.chain_id == chain_id and not _is_honoured_late(intent, account, as_of):
            strays.add_up(intent, account, as_of)
    account_to_adopt = adoption.able(intent)
    if account_to_adopt is not None:
        move_home(intent, account_to_adopt, {chain_id: as_of}, automatic=True)
    elif chain_id == intent.chain_id:
        settle(intent, as_of, may_expire=may_expire)


def _is_honoured_late(intent: PaymentIntent, account: OrderAccount, as_of: Block) -> bool:
    """Decide whether a late transfer to a stray account pays for a locked order that has ended.

    Then the account becomes the home. It is decided once, when it is booked, before anything of it
    is owed.
    """
    if not balances.has_ended(intent):
        return False
    waived = payment_sums.waived(account)
    totals = payment_sums.totals_of(account, as_of)
    transfer = payment_sums.covering(account, totals, waived)
    is_open = intent.status in (IntentStatus.EXPIRED, IntentStatus.AWAITING_PAYMENT)
    if (
        transfer is not None
        and is_open
        and account.may_be_home
        and not adoption.is_settling(intent)
        and intent.home.counted <= 0
        and not strays.owe(intent, but=account)
        and late_orders.take_seats(intent, transfer, account.chain_id)
    ):
        payments.honour(transfer)
        move_home(intent, account, {account.chain_id: as_of}, automatic=True)
        return True
    payments.refuse_undecided(account)
    return False


def move_home(
    intent: PaymentIntent, to: OrderAccount, known: Mapping[int, Block], *, automatic: bool
) -> None:
    """Make a stray account the home of a locked order, and settle the order on it.

    `known`: the cursors of chains that the caller has locked. Those of others may move meanwhile:
    then the next look settles again.
    """
    former = intent.terms.chain_id
    write_changes(intent, adoption.swap_home(intent, to, automatic=automatic))
    for chain_id in (former, to.chain_id):
        cursor = known.get(chain_id) or chains.cursor(chain_id)
        if cursor is None:
            continue
        for account in intent.stray_accounts:
            if account.chain_id == chain_id:
                strays.add_up(intent, account, cursor)
        if chain_id == intent.chain_id:
            settle(intent, cursor, may_expire=False)


def settle_again(chain_id: int, intent_ids: Collection[str], *, may_expire: bool = True) -> int:
    """Settle intents as of the cursor, because blocks were added or a deadline passed.

    Return how many have a new status, or are final now. `may_expire`: see `settle`.
    """
    moved = 0
    with write_transaction():
        cursor = chains.cursor_of(lock_chain(chain_id, shared=True))
        if cursor is not None:
            for intent in lock(intent_ids):
                moved += settle_or_set_aside(intent, chain_id, cursor, may_expire=may_expire)
    return moved


def settle_or_set_aside(
    intent: PaymentIntent, chain_id: int, as_of: Block, *, may_expire: bool = False
) -> bool:
    """Settle one locked intent. If that fails, set it aside: it must not stop all others.

    Return whether it has a new status, or is final now. The rest: see `settle_on`.
    """
    before = intent.status, intent.early
    with or_set_aside(intent.id, intent.chain_id):
        settle_on(intent, chain_id, as_of, may_expire=may_expire)
        return (intent.status, intent.early) != before
    return False


def set_aside_due(chain_id: int) -> list[str]:
    """Return some intents of a chain that were set aside and must be tried again now."""
    is_due = SET_ASIDE & (PaymentIntent.set_aside_until <= clock.now())
    query = PaymentIntent.select(PaymentIntent.id).where(PaymentIntent.chain_id == chain_id, is_due)
    rows = query.order_by(PaymentIntent.set_aside_until).limit(INTENTS_PER_TRANSACTION)
    return [intent.id for intent in rows]


def reduce_due(account: OrderAccount, book: Book) -> OrderAccount:
    """Record what reduces the refund due of an account, under its intent's lock, and settle it.

    `book` gets the locked account, settled as of its chain's cursor, and the cursor. It returns the
    new value of `refunded` or `waived`, in micro-units. ChainUnavailable before the chain's first
    read.
    """
    with write_transaction():
        cursor = _known_cursor(account.terms.chain_id)
        (intent,) = lock([account.intent_id])
        locked_account = _account_of(intent, account)
        _reduce_due(locked_account, cursor, book)
        return locked_account


def reduce_due_of_each(owing: Collection[OrderAccount], book: Book) -> list[int]:
    """Do the same for many accounts, of any chains, in one transaction. Return which were reduced.

    `book` returns an empty dict for an account that is left as it is, and locks nothing. An intent
    that cannot be settled is set aside: it must not stop all others. ChainUnavailable.
    """
    reduced: list[int] = []
    of_intent: dict[str, list[OrderAccount]] = defaultdict(list)
    for account in owing:
        of_intent[account.intent_id].append(account)
    with write_transaction():
        chain_ids = {account.chain_id for account in owing}
        cursors = {chain_id: _known_cursor(chain_id) for chain_id in sorted(chain_ids)}
        for intent in lock(of_intent):
            for each in of_intent[intent.id]:
                locked_account = _account_of(intent, each)
                with or_set_aside(intent.id, locked_account.chain_id):
                    if _reduce_due(locked_account, cursors[each.chain_id], book):
                        reduced.append(each.id)
    return reduced


def _account_of(intent: PaymentIntent, wanted: OrderAccount) -> OrderAccount:
    """Return an account of a locked intent as it is now."""
    return next(each for each in intent.accounts if each.id == wanted.id)


def _known_cursor(chain_id: int) -> Block:
    """Keep a chain's cursor in place, and return it. ChainUnavailable before its first read."""
    cursor = chains.cursor_of(lock_chain(chain_id, shared=True))
    if cursor is None:
        raise ChainUnavailable("The worker has not read this chain yet.")
    return cursor


def _reduce_due(account: OrderAccount, cursor: Block, book: Book) -> bool:
    """Settle a locked account, record what reduces its refund due, and settle it again.

    The mark that the refund is paid by hand ends with that.
    """
    # This also takes all other locks, because `book` may lock the tenant, which is the last.
    _settle_account(account, cursor)
    changes = book(account, cursor)
    if changes:
        _write_reduction(account, {**changes, "by_hand_at": None})
        _settle_account(account, cursor)
    return bool(changes)


def _settle_account(account: OrderAccount, as_of: Block) -> None:
    if account.is_home:
        settle(account.order, as_of, may_expire=False)
    else:
        strays.add_up(account.order, account, as_of)


def _write_reduction(account: OrderAccount, columns: dict[str, Any]) -> None:
    if not account.is_home:
        strays.write(account.order, account, columns)
        return
    before = account.refunded + account.waived
    after = columns.get("refunded", account.refunded) + columns.get("waived", account.waived)
    accounts.write(account, {**columns, "due": account.due - (after - before)})
    accounts.note_change(account.order)
