"""The books of a stray account: what an order received elsewhere than on its home.

    counted       received - refunded - waived, as of the home
    open          counted, while the account may still become the home of an order that is live and
                  has not ended once: neither kept nor owed
    out of reach  counted, while the organizer does not control the address on that chain
    due           counted, otherwise

Nothing is kept. So what is due shrinks only by a refund, a waiver, or the removal of payments.

Example: Ada's order costs 10 on Base, and Polygon is an option. Her 4 on Polygon are open. If she
adds 6 there, Polygon becomes the home. If she pays 10 on Base instead, the 4 are due.
"""

from typing import Any

from ticketing.chain import units
from ticketing.chain.answers import Block
from ticketing.constants import LIVE, IntentStatus
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import accounts
from ticketing.services.payments import payment_sums, payments

_FOLLOWS = ("open", "out_of_reach", "due", "pending")
"""The columns that follow from the others, and from the order."""


def is_open(intent: PaymentIntent) -> bool:
    """Return whether another chain may still become the home of an order that pays in time."""
    return intent.status in LIVE and intent.ended_at is None


def add_up(intent: PaymentIntent, account: OrderAccount, as_of: Block) -> None:
    """Compute the books of a stray account of a locked order, as of a block of its chain."""
    totals = payment_sums.totals_of(account, as_of)
    decimals = account.token_decimals
    sums = {
        "received": units.from_atomic(totals.received, decimals)[0],
        "final": units.from_atomic(totals.final, decimals)[0],
        "waived": payment_sums.waived(account),
        "pending_block": totals.open_block,
        # Of one that was the home a moment ago.
        "kept": 0,
    }
    is_new = sums["received"] and not account.received
    write(intent, account, sums)
    if is_new:
        feed.record(intent.tenant_id, *facts.stray_seen(account))


def follow(intent: PaymentIntent) -> None:
    """Write what the stray accounts of a locked order owe, after its status has changed.

    What they hold when the order ends is owed for ever.
    """
    for account in intent.stray_accounts:
        if intent.status == IntentStatus.EXPIRED:
            payments.refuse_undecided(account)
        write(intent, account, accounts.state_of(intent))


def write(intent: PaymentIntent, account: OrderAccount, columns: dict[str, Any]) -> None:
    """Write columns of a stray account of a locked order, and what is due with them."""
    due_before = account.due_now
    before = {name: getattr(account, name) for name in (*columns, *_FOLLOWS)}
    for name, value in columns.items():
        setattr(account, name, value)
    counted = max(0, account.counted)
    is_unassigned = is_open(intent) and account.may_be_home
    is_due = account.in_reach and not is_unassigned
    account.open = counted if is_unassigned else 0
    account.out_of_reach = 0 if account.in_reach else counted
    account.due = counted if is_due else 0
    final = max(0, account.final - account.refunded - account.waived)
    account.pending = max(0, account.due - final)
    changed = {name: getattr(account, name) for name in before}
    changed = {name: value for name, value in changed.items() if value != before[name]}
    if not changed:
        return
    OrderAccount.update(changed).where(OrderAccount.id == account.id).execute()
    accounts.note_change(intent)
    feed.record_all(intent.tenant_id, facts.refund_due(account, due_before))


def owe(intent: PaymentIntent, *, but: OrderAccount | None = None) -> bool:
    """Return whether a stray account of an order holds money, except for one of them.

    Then a late transfer does not pay for the order: what is owed stays owed. Money that is out of
    reach is not owed yet, so it does not count.
    """
    others = [each for each in intent.stray_accounts if each is not but]
    return any(each.in_reach and each.counted > 0 for each in others)


def has_open(intent: PaymentIntent) -> bool:
    """Return whether money on another chain may still pay for an order."""
    return any(each.open for each in intent.stray_accounts)
