"""Settle refunds: count a transfer on the chain as a refund. The service never sends money."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ticketing import clock, ids
from ticketing.chain import units
from ticketing.chain.answers import Block, Transfer
from ticketing.chain.registry import Chain
from ticketing.constants import IntentStatus
from ticketing.errors import ChainUnavailable, NoRefundDue, RefundNotSeen
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import Refund
from ticketing.services import node_slots
from ticketing.services.access import audit_log
from ticketing.services.access.audit_log import Actor
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import intents
from ticketing.services.payments import (
    balances,
    chain_view,
    payees,
    payment_sums,
    refund_addresses,
    refunds,
    settlement,
)
from ticketing.services.payments.balances import Position
from ticketing.services.payments.chain_view import ChainView
from ticketing.services.payments.payees import Debts, Reduction
from ticketing.services.payments.refunds import RefundOwed

_BLOCK_UNKNOWN: Position = (-1, 0)
# A waiver writes off what payments up to its block left owed, so its place is after their logs.
_AFTER_ALL_LOGS = 2**31


def settle(
    tenant_id: str,
    intent_id: str,
    tx_hash: str,
    recipient: str | None,
    enabled: Mapping[int, Chain],
    by: Actor,
) -> RefundOwed:
    """Count the transfers of a transaction as refunds of an intent. A repeat changes nothing.

    Each transfer counts as far as payees.countable says, and up to what other orders of the tenant
    have left of its value. It must be final, like a payment, and on the chain that the worker
    reads. The worker compares its block once more (worker/refund_check.py). `recipient`: one more
    address that counts, on the organizer's word. NotFound, Invalid for the recipient, NoRefundDue,
    RefundNotSeen, ChainUnavailable.
    """
    intent = intents.get(tenant_id, intent_id)
    if recipient is not None:
        recipient = refund_addresses.parse(recipient, intent, "recipient")
    if _is_repeat(intent, tx_hash, recipient):
        return refunds.owed_for(intent)
    if not intent.refund_due_now:
        raise NoRefundDue
    view = _final_view(intent, tx_hash, enabled)

    def book(locked: PaymentIntent, cursor: Block) -> dict[str, int]:
        if chain_view.is_outdated(locked.terms.chain_id, view, cursor):
            # The worker may have just removed the blocks of these transfers.
            raise ChainUnavailable("The chain was reorganized. Retry.")
        if _is_repeat(locked, tx_hash, recipient):
            return {}
        if not locked.refund_due_now:
            raise NoRefundDue
        settlement.lock_tenant(tenant_id)
        counted = _count(locked, view.transfers, recipient)
        feed.record(tenant_id, *facts.refund_settled(locked, counted, tx_hash))
        before, after = {"refunded": locked.refunded}, {"refunded": locked.refunded + counted}
        named = {} if recipient is None else {"recipient": recipient}
        audit_log.record(
            tenant_id, by, locked.id, before=before, after={**after, "tx_hash": tx_hash, **named}
        )
        return after

    return refunds.owed_for(settlement.reduce_due(intent, book))


def _is_repeat(intent: PaymentIntent, tx_hash: str, recipient: str | None) -> bool:
    """Return whether the transaction counts already for the intent, and for the recipient."""
    to_recipient = [] if recipient is None else [Refund.recipient == recipient]
    return bool(
        Refund.select()
        .where(Refund.intent == intent, Refund.tx_hash == tx_hash, Refund.canonical, *to_recipient)
        .exists()
    )


def _final_view(intent: PaymentIntent, tx_hash: str, enabled: Mapping[int, Chain]) -> ChainView:
    """Return the final transfers of the intent's token in a transaction."""
    with node_slots.slot(intent.id):
        view = chain_view.look_at(intent, tx_hash, enabled)
    final_up_to = intent.terms.final_up_to(view.as_of.number)
    return replace(
        view, transfers=[each for each in view.transfers if each.block.number <= final_up_to]
    )


def _count(intent: PaymentIntent, transfers: Sequence[Transfer], recipient: str | None) -> int:
    """Record what counts of the transfers, in micro-units. RefundNotSeen if nothing does.

    Example: Ada is owed 4 for order A and 7 for order B. One transfer sends her 10. For A it counts
    4, and then for B the unused 6. For B, 1 stays due.
    """
    debts, decimals = _debts_of(intent, recipient), intent.terms.decimals
    due = left = intent.refund_due_now
    recorded = _recorded(intent, transfers)
    for transfer in transfers:
        value = units.from_atomic(transfer.atomic_amount, decimals)[0]
        shares = [each for each in recorded if each.log_index == transfer.log_index]
        unused = value - sum(each.amount for each in shares)
        amount = min(left, unused, payees.countable(debts, transfer))
        if amount <= 0 or any(each.intent_id == intent.id for each in shares):
            continue
        _write(intent, transfer, amount)
        counted = Reduction(payees.position_of(transfer), amount, transfer.recipient)
        debts = replace(debts, reductions=[*debts.reductions, counted])
        left -= amount
    if left == due:
        raise RefundNotSeen
    return due - left


def _debts_of(intent: PaymentIntent, recipient: str | None) -> Debts:
    received, sent = payment_sums.received_by_payer(intent)
    paid_back = [
        Reduction(_position_of(refund), refund.amount, refund.recipient)
        for refund in Refund.select().where(Refund.intent == intent, Refund.canonical)
    ]
    waived = [
        Reduction((waiver.block_number, _AFTER_ALL_LOGS), payment_sums.in_effect(intent, waiver))
        for waiver in payment_sums.waivers_of(intent)
    ]
    return Debts(
        received,
        sent,
        balances.kept(intent, IntentStatus(intent.status)),
        [*paid_back, *waived],
        refund_addresses.stated_for(intent),
        recipient,
    )


def _position_of(refund: Refund) -> Position:
    # Rows from older versions have no block. Then the refund uses the oldest debts.
    if refund.block_number is None:
        return _BLOCK_UNKNOWN
    return int(refund.block_number), int(refund.log_index)


def _recorded(intent: PaymentIntent, transfers: Sequence[Transfer]) -> Sequence[Refund]:
    """Return what counts of a transaction already, for all orders of the tenant.

    ChainUnavailable if it was recorded in another block: the worker must first take that back.
    """
    if not transfers:
        return []
    recorded = list(
        Refund.select(Refund)
        .join(PaymentIntent)
        .where(
            Refund.chain_id == intent.chain_id,
            Refund.tx_hash == transfers[0].tx_hash,
            Refund.canonical,
            PaymentIntent.tenant == intent.tenant_id,
        )
    )
    if any(each.block_hash not in (None, transfers[0].block.hash) for each in recorded):
        raise ChainUnavailable("The transaction moved to another block. Retry.")
    return recorded


def _write(intent: PaymentIntent, transfer: Transfer, amount: int) -> None:
    """Record a refund, or mark one as canonical again after a reorganization."""
    columns = {
        Refund.recipient: transfer.recipient,
        Refund.amount: amount,
        Refund.block_number: transfer.block.number,
        Refund.block_hash: transfer.block.hash,
        Refund.canonical: True,
        Refund.checked: False,
    }
    Refund.insert(
        {
            Refund.id: ids.new(ids.REFUND),
            Refund.intent: intent.id,
            Refund.chain_id: intent.chain_id,
            Refund.tx_hash: transfer.tx_hash,
            Refund.log_index: transfer.log_index,
            Refund.created_at: clock.now(),
            **columns,
        }
    ).on_conflict(
        conflict_target=[Refund.intent, Refund.chain_id, Refund.tx_hash, Refund.log_index],
        update=columns,
        where=~Refund.canonical,
    ).execute()
