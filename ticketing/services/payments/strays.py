"""The books of a stray account: what an order received elsewhere than on its home.

    counted       received - refunded - waived, as of the home
    unassigned    counted, while the account may still become the home (`may_be_home`) of an order
                  that is live and has not ended once: neither kept nor owed
    out of reach  counted, while the organizer does not control the address on that chain
    due           counted, otherwise

Nothing is kept. So what is due shrinks only by a refund, a waiver, or the removal of payments.

Example: Ada's order costs 10 on Base, and Polygon is an option. Her 4 on Polygon are unassigned. If
she adds 6 there, Polygon becomes the home. If she pays 10 on Base instead, the 4 are due.
"""

from typing import Any

from ticketing.chain import units
from ticketing.chain.answers import Block
from ticketing.constants import LIVE, IntentStatus
from ticketing.models.payment_intents import SET_ASIDE, PaymentIntent
from ticketing.models.stray_accounts import PENDING, StrayAccount
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import accounts
from ticketing.services.payments import payment_sums, payments

ACCOUNTS_AT_ONCE = 100

_FOLLOWS = ("unassigned", "refund_due", "refund_pending")
"""The columns that follow from the others, and from the order."""


def is_open(intent: PaymentIntent) -> bool:
    """Return whether another chain may still become the home of an order that pays in time."""
    return intent.status in LIVE and intent.ended_at is None


def may_be_home(account: StrayAccount) -> bool:
    """Return whether an order may be paid on this chain, and the buyer did not want it back."""
    return bool(account.is_option and account.in_reach and account.asked_back_at is None)


def add_up(intent: PaymentIntent, account: StrayAccount, as_of: Block) -> None:
    """Compute the books of a stray account of a locked order, as of a block of its chain."""
    totals = payment_sums.totals_of(account, as_of)
    decimals = account.terms.decimals
    sums = {
        "amount_received": units.from_atomic(totals.received, decimals)[0],
        "amount_final": units.from_atomic(totals.final, decimals)[0],
        "waived": payment_sums.waived(account),
        "pending_block": totals.open_block,
    }
    is_new = sums["amount_received"] and not account.amount_received
    write(intent, account, sums)
    if is_new:
        feed.record(intent.tenant_id, *facts.stray_seen(account))


def follow(intent: PaymentIntent) -> None:
    """Write what the stray accounts of a locked order owe, after its status has changed.

    What they hold when the order ends is owed for ever.
    """
    for account in accounts.strays_of(intent):
        if intent.status == IntentStatus.EXPIRED:
            payments.refuse_undecided(account)
        write(intent, account, {})


def write(intent: PaymentIntent, account: StrayAccount, columns: dict[str, Any]) -> None:
    """Write columns of a stray account of a locked order, and what is due with them."""
    due_before = account.refund_due_now
    before = {name: getattr(account, name) for name in (*columns, *_FOLLOWS)}
    for name, value in columns.items():
        setattr(account, name, value)
    counted = max(0, account.counted)
    is_unassigned = is_open(intent) and may_be_home(account)
    account.unassigned = counted if is_unassigned else 0
    account.refund_due = counted if account.in_reach and not is_unassigned else 0
    final = max(0, account.amount_final - account.refunded - account.waived)
    account.refund_pending = max(0, account.refund_due - final)
    changed = {name: getattr(account, name) for name in before}
    changed = {name: value for name, value in changed.items() if value != before[name]}
    if not changed:
        return
    StrayAccount.update(changed).where(StrayAccount.id == account.id).execute()
    note_change(intent)
    feed.record_all(intent.tenant_id, facts.refund_due(account, due_before))


def note_change(intent: PaymentIntent) -> None:
    """Count a change of the stray accounts of a locked order."""
    intent.strays_version += 1
    columns = {PaymentIntent.strays_version: intent.strays_version}
    PaymentIntent.update(columns).where(PaymentIntent.id == intent.id).execute()


def owe(intent: PaymentIntent, *, but: StrayAccount | None = None) -> bool:
    """Return whether a stray account of an order holds money, except for one of them.

    Then a late transfer does not pay for the order: what is owed stays owed. Money that is out of
    reach is not owed yet, so it does not count.
    """
    others = [each for each in accounts.strays_of(intent) if but is None or each.id != but.id]
    return any(each.in_reach and each.counted > 0 for each in others)


def has_unassigned(intent: PaymentIntent) -> bool:
    """Return whether money on another chain may still pay for an order."""
    return any(each.unassigned for each in accounts.strays_of(intent))


def deep_enough(chain_id: int, cursor: Block) -> list[str]:
    """Return some orders with a stray account on this chain whose payments may be final now."""
    depth = StrayAccount.required_confirmations - 1
    of_chain = (StrayAccount.chain_id == chain_id) & PENDING
    # Those that were set aside would be selected first for ever.
    query = (
        StrayAccount.select(StrayAccount.intent)
        .join(PaymentIntent)
        .where(of_chain, StrayAccount.pending_block + depth <= cursor.number, ~SET_ASIDE)
    )
    rows = query.distinct().limit(ACCOUNTS_AT_ONCE)
    return [each.intent_id for each in rows]
