"""Write off refunds that are not sent back.

Not while a list of payouts can still be paid: its signature would pay what was written off.
"""

from __future__ import annotations

from dataclasses import dataclass

from peewee import ModelSelect, fn

from ticketing import clock, ids
from ticketing.chain.answers import Block
from ticketing.chain.registry import LOOK_ALIKES
from ticketing.constants import RefundStatus
from ticketing.errors import AmountChanged, RefundListed
from ticketing.models.order_accounts import OWING, OrderAccount
from ticketing.models.payment_intents import SET_ASIDE
from ticketing.models.payouts import Payout, PayoutEvent
from ticketing.models.refunds import Waiver
from ticketing.services.access import audit_log
from ticketing.services.access.audit_log import Actor
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import accounts, intents
from ticketing.services.payments import chain_settlement, payment_sums, payout_events, refunds
from ticketing.services.payments.refunds import RefundOwed

WAIVED_AT_ONCE = 500
"""How many refunds one call waives: other writers wait for its transaction."""


@dataclass(frozen=True)
class SmallRefunds:
    """How many refunds up to some amount are due, and their sum in micro-units."""

    count: int
    amount: int


@dataclass(frozen=True)
class Waived:
    """How many refunds were waived, their sum in micro-units, and how many of them are left."""

    waived: int
    amount: int
    left: int


def waive(
    tenant_id: str,
    intent_id: str,
    amount: int,
    reason: str,
    by: Actor,
    chain_id: int | None = None,
    token_address: str | None = None,
) -> RefundOwed:
    """Write off the refund of an intent. `amount` must be what is due now, in micro-units.

    It is the refund of one account: the home, or the one on `chain_id`, see accounts.named.
    NotFound, NoRefundDue, AmountChanged, ChainUnavailable. RefundListed if it is on a list that can
    still be paid: somebody may sign it.
    """
    account = accounts.owing(intents.get(tenant_id, intent_id), chain_id, token_address)
    if amount != account.due_now:
        raise AmountChanged

    def book(locked: OrderAccount, cursor: Block) -> dict[str, int]:
        if amount != locked.due_now:
            raise AmountChanged
        if payout_events.is_listed(locked):
            raise RefundListed
        return _write_off(locked, cursor, reason, by)

    return refunds.owed_for(chain_settlement.reduce_due(account, book))


def small(tenant_id: str, max_amount: int, chain_id: int | None = None) -> SmallRefunds:
    """Return how many refunds of `max_amount` micro-units or less are due, and their sum."""
    sums = fn.COUNT(OrderAccount.id), fn.SUM(OrderAccount.due)
    count, amount = _small(tenant_id, max_amount, chain_id).select(*sums).scalar(as_tuple=True)
    return SmallRefunds(int(count), int(amount or 0))


def waive_small(
    tenant_id: str, max_amount: int, reason: str, by: Actor, chain_id: int | None = None
) -> Waived:
    """Write off the refunds of `max_amount` micro-units or less, WAIVED_AT_ONCE of them at most.

    The largest of them come first. An account is left out while a part of what it owes is pending:
    together with that part, it may owe more. So is one on a list that can still be paid.
    `chain_id`: those of this chain only. Call it again until none is left. ChainUnavailable.
    """
    negated = refunds.listed(RefundStatus.DUE).negated.expression
    query = _small(tenant_id, max_amount, chain_id)
    found = list(
        query.order_by(negated, OrderAccount.intent, OrderAccount.id).limit(WAIVED_AT_ONCE)
    )
    amounts: dict[int, int] = {}

    def book(locked: OrderAccount, cursor: Block) -> dict[str, int]:
        due = int(locked.due)
        if locked.pending or not 0 < due <= max_amount or payout_events.is_listed(locked):
            return {}
        amounts[locked.id] = due
        return _write_off(locked, cursor, reason, by)

    waived = chain_settlement.reduce_due_of_each(found, book)
    left = small(tenant_id, max_amount, chain_id)
    return Waived(len(waived), sum(amounts[each] for each in waived), left.count)


def _small(tenant_id: str, max_amount: int, chain_id: int | None) -> ModelSelect[OrderAccount]:
    """Select the accounts that owe so little, all of it final, that can be settled and waived."""
    is_paid = fn.EXISTS(
        PayoutEvent.select().where(
            PayoutEvent.payer == Payout.payer, PayoutEvent.payment_id == Payout.payment_id
        )
    )
    is_listed = fn.EXISTS(
        Payout.select().where(
            accounts.at_place(Payout), ~is_paid, Payout.valid_before >= clock.now()
        )
    )
    negated = refunds.listed(RefundStatus.DUE).negated.expression
    query = accounts.of_tenant(tenant_id).where(
        OWING,
        negated >= -max_amount,
        OrderAccount.pending == 0,
        # The amounts are added up, and look-alikes are dollars of others.
        OrderAccount.token_address.not_in(list(LOOK_ALIKES)),
        ~SET_ASIDE,
        ~is_listed,
    )
    return query if chain_id is None else query.where(OrderAccount.chain_id == chain_id)


def _write_off(account: OrderAccount, cursor: Block, reason: str, by: Actor) -> dict[str, int]:
    """Waive what a locked account owes from final payments. Return its new value of `waived`."""
    amount = account.due_now
    _write_waiver(account, cursor, amount, reason)
    feed.record(account.tenant_id, *facts.refund_waived(account, amount))
    before, after = {"waived": account.waived}, {"waived": account.waived + amount}
    said = {**after, "reason": reason, **accounts.in_audit(account)}
    audit_log.record(account.tenant_id, by, account.intent_id, before=before, after=said)
    return after


def _write_waiver(account: OrderAccount, cursor: Block, amount: int, reason: str) -> None:
    """Record a waiver with the final payments that it depends on."""
    terms = account.terms
    final_up_to = terms.final_up_to(cursor.number)
    Waiver.insert(
        id=ids.new(ids.WAIVER),
        intent=account.intent_id,
        account=account.id,
        amount=amount,
        received=payment_sums.received_up_to(account, final_up_to),
        block_number=final_up_to,
        reason=reason,
        created_at=clock.now(),
    ).execute()
