"""Mark a refund that the organizer pays by hand, as from an exchange: it is on no list then.

A list and a transfer by hand must not both pay. So an order on a list that can still be paid cannot
be marked, and services/money/payouts.py leaves out a marked order. Both decide under the order's
lock. chain_settlement.py removes the mark when a refund of the order is counted or waived.
"""

from ticketing import clock
from ticketing.db.connection import write_transaction
from ticketing.errors import ChainUnavailable, NoRefundDue, RefundListed
from ticketing.models.order_accounts import OrderAccount
from ticketing.services.access import audit_log
from ticketing.services.access.audit_log import Actor
from ticketing.services.orders import accounts, intents
from ticketing.services.payments import payout_events, refunds, restored_payouts, settlement
from ticketing.services.payments.refunds import RefundOwed

_NOT_READ = "A backup was restored. The worker reads what was paid since then. Retry in a minute."


def mark(
    tenant_id: str,
    intent_id: str,
    *,
    by_hand: bool,
    by: Actor,
    chain_id: int | None = None,
    token_address: str | None = None,
) -> RefundOwed:
    """Mark the refund of an intent as paid by hand, or remove the mark. A repeat changes nothing.

    It is the refund of one account: the home, or the one on `chain_id`, see accounts.named. The
    mark can always be removed. A free order has none. NotFound, NoRefundDue, RefundListed,
    ChainUnavailable.
    """
    intent = intents.get(tenant_id, intent_id)
    with write_transaction():
        if intent.chain_id is None:
            raise NoRefundDue
        if by_hand:
            # The cursor of events stays in place, by which a list has ended.
            settlement.lock_chain(chain_id or intent.chain_id, shared=True)
        (locked,) = settlement.lock_rows([intent_id])
        account = accounts.owing(locked, chain_id, token_address)
        if by_hand:
            _check(account)
        before = account.by_hand_at
        after = (before or clock.now()) if by_hand else None
        if after != before:
            accounts.write(account, {"by_hand_at": after})
            was = {"by_hand": not by_hand}
            now = {"by_hand": by_hand, **accounts.in_audit(account)}
            audit_log.record(tenant_id, by, intent_id, before=was, after=now)
    return refunds.owed_for(account)


def _check(locked: OrderAccount) -> None:
    """Check that an account of a locked order can be marked.

    NoRefundDue, RefundListed, ChainUnavailable.
    """
    if not locked.due_now:
        raise NoRefundDue
    chain_id = locked.terms.chain_id
    if restored_payouts.is_catching_up(chain_id):
        raise ChainUnavailable(_NOT_READ)
    if payout_events.is_listed(locked):
        raise RefundListed
