"""Refunds that are due: list them, and mark them as paid. The service never sends money."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ticketing import clock, ids
from ticketing.chain import units
from ticketing.chain.answers import Block, Transfer
from ticketing.chain.errors import RpcError
from ticketing.chain.node import connect
from ticketing.chain.registry import Chain
from ticketing.conflicts import NoRefundDue, RefundNotSeen
from ticketing.errors import ChainUnavailable
from ticketing.models.payment_intents import TO_REFUND, PaymentIntent
from ticketing.models.refunds import Refund
from ticketing.services import counters, node_places
from ticketing.services.access import audit_log
from ticketing.services.access.audit_log import Actor
from ticketing.services.orders import intents
from ticketing.services.pagination import Page, PageRequest, paginate
from ticketing.services.payments import settlement


@dataclass(frozen=True)
class RefundOwed:
    """The refund that is due for one intent, and the senders of its payments."""

    intent: PaymentIntent
    senders: Sequence[str]

    @property
    def amount(self) -> int:
        """The amount that can be refunded now, in micro-units, without pending payments."""
        return int(self.intent.refund_due - self.intent.refund_pending)


def list_page(tenant_id: str, page: PageRequest) -> Page[RefundOwed]:
    """Return a page of the refunds that a tenant owes, in the order of their intents."""
    query = intents.few_of_tenant(tenant_id).where(TO_REFUND)
    found = paginate(query, [PaymentIntent.id], page, scope=f"refunds {tenant_id}")
    return Page([_owed(intent) for intent in found.data], found.next_cursor)


def settle(
    tenant_id: str, intent_id: str, tx_hash: str, enabled: Mapping[int, Chain], by: Actor
) -> RefundOwed:
    """Mark the refund as paid by the transaction `tx_hash`. A repeat changes nothing.

    The transaction must send at least the refund, in the same token, to an address that paid. It
    must be final, like a payment. NotFound, NoRefundDue, RefundNotSeen, ChainUnavailable.
    """
    intent = intents.get(tenant_id, intent_id)
    settled = Refund.select().where(
        Refund.intent == intent,
        Refund.tx_hash == tx_hash,
        Refund.canonical == True,  # noqa: E712
    )
    if settled.exists():
        return _owed(intent)
    if intent.refund_due == intent.refund_pending:
        raise NoRefundDue
    transfers = _transfers_back(intent, tx_hash, enabled)

    def book(intent: PaymentIntent) -> int:
        booked = _book(intent, transfers, intent.refund_due - intent.refund_pending)
        if booked:
            after = {"refunded": intent.refunded + booked, "tx_hash": tx_hash}
            before = {"refunded": intent.refunded}
            audit_log.record(tenant_id, by, intent_id, before=before, after=after)
        return booked

    return _owed(settlement.send_back(intent, book))


def _owed(intent: PaymentIntent) -> RefundOwed:
    canonical = [each for each in intents.payments_of(intent) if each.canonical]
    return RefundOwed(intent, list(dict.fromkeys(payment.sender for payment in canonical)))


def _transfers_back(
    intent: PaymentIntent, tx_hash: str, enabled: Mapping[int, Chain]
) -> list[Transfer]:
    """Return the transfers of a final transaction to addresses that paid the intent."""
    terms = intent.terms
    chain = enabled.get(terms.chain_id)
    if chain is None:
        raise ChainUnavailable("The chain of this intent is no longer enabled.")
    with node_places.place(intent.id):
        head, sent = _read(chain, tx_hash, terms.token_address)
    final_up_to = head.number - terms.required_confirmations + 1
    senders = _owed(intent).senders
    return [each for each in sent if each.recipient in senders and each.block.number <= final_up_to]


def _read(chain: Chain, tx_hash: str, token_address: str) -> tuple[Block, list[Transfer]]:
    try:
        node = connect(chain)
        return node.head(), node.transfers_of(tx_hash, token_address)
    except RpcError:
        counters.add(counters.UNSEEN, str(chain.chain_id))
        raise ChainUnavailable from None


def _book(intent: PaymentIntent, transfers: Sequence[Transfer], due: int) -> int:
    """Record the transfers that cover `due`, and return it. RefundNotSeen."""
    left = due
    for transfer in transfers:
        amount, _ = units.from_atomic(transfer.atomic_amount, intent.terms.decimals)
        counted = min(amount, left)
        if counted:
            _write(intent, transfer, counted)
        left -= counted
    if left:
        raise RefundNotSeen
    return due


def _write(intent: PaymentIntent, transfer: Transfer, amount: int) -> None:
    """Record a refund, or mark one as canonical again after a reorganization.

    RefundNotSeen if the transfer is already recorded. The other refund may belong to another
    tenant, so the error does not show it.
    """
    columns = {
        Refund.intent: intent.id,
        Refund.recipient: transfer.recipient,
        Refund.amount: amount,
        Refund.block_number: transfer.block.number,
        Refund.block_hash: transfer.block.hash,
        Refund.canonical: True,
    }
    written = (
        Refund.insert(
            {
                Refund.id: ids.new(ids.REFUND),
                Refund.chain_id: intent.chain_id,
                Refund.tx_hash: transfer.tx_hash,
                Refund.log_index: transfer.log_index,
                Refund.created_at: clock.now(),
                **columns,
            }
        )
        .on_conflict(
            conflict_target=[Refund.chain_id, Refund.tx_hash, Refund.log_index],
            update=columns,
            where=Refund.canonical == False,  # noqa: E712
        )
        .as_rowcount()
        .execute()
    )
    if written != 1:
        raise RefundNotSeen
