"""Export the refunds that are due, to be signed offline and paid from the payment addresses."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from peewee import fn

from ticketing.chain import units
from ticketing.chain.registry import Chain
from ticketing.models.payment_intents import TO_REFUND, PaymentIntent
from ticketing.models.refunds import Refund
from ticketing.services.orders import intents
from ticketing.services.payments import collections, wallet_export

PAGE = 500


class Send(StrEnum):
    """Whether a refund can be sent from the payment address: YES, or the reason why not."""

    YES = "yes"
    NO_REFUND_ADDRESS = "no_refund_address"
    BALANCE_TOO_LOW = "balance_too_low"
    NOT_SEEN = "not_seen"
    RECEIVER = "receiver"
    """No key can sign for it: the organizer pays the refund from an account of his own."""


@dataclass(frozen=True)
class ExportedRefund:
    """A refund that is due. Its fields, in their order, are the columns of the export.

    `address` is the payment address. A receiver has no `derivation_path`. `balance` and `amount`
    are in atomic units of the token. `settled_refunds` is how many refunds of the intent were
    settled.
    """

    intent_id: str
    address: str
    derivation_path: str
    chain_id: int
    token_address: str
    balance: int | None
    refund_address: str | None
    amount: int
    settled_refunds: int
    send: Send


def due(
    tenant_id: str, enabled: Mapping[int, Chain], min_amount: int = 1
) -> Iterator[ExportedRefund]:
    """Yield the refunds that a tenant owes, ordered by intent id. Reads page by page.

    Refunds of less than `min_amount` micro-units are left out.

    Pending refunds are left out. What an old order is owed below one atomic unit cannot be sent.
    ChainUnavailable if an enabled chain cannot be read.
    """
    after = ""
    while page := _page(tenant_id, after, min_amount):
        balances = wallet_export.balances_of(page, enabled)
        refund_counts = _settled_refunds(page)
        receivers = collections.receivers_among(page)
        for intent in page:
            terms = intent.terms
            amount = units.whole_atomic(intent.refund_due_now, terms.decimals)
            balance = balances.get(terms.address)
            is_receiver = intent.id in receivers
            yield ExportedRefund(
                intent.id,
                terms.address,
                "" if is_receiver else f"0/{intent.address_index}",
                terms.chain_id,
                terms.token_address,
                balance,
                intent.refund_address,
                amount,
                refund_counts.get(intent.id, 0),
                Send.RECEIVER if is_receiver else _send(intent, amount, balance),
            )
        after = page[-1].id


def _page(tenant_id: str, after: str, min_amount: int) -> list[PaymentIntent]:
    is_enough = TO_REFUND & (PaymentIntent.refund_due - PaymentIntent.refund_pending >= min_amount)
    due_after = intents.few_of_tenant(tenant_id).where(is_enough, PaymentIntent.id > after)
    return list(due_after.order_by(PaymentIntent.id).limit(PAGE))


def _send(intent: PaymentIntent, amount: int, balance: int | None) -> Send:
    if intent.refund_address is None:
        return Send.NO_REFUND_ADDRESS
    if balance is None:
        return Send.NOT_SEEN
    return Send.YES if balance >= amount else Send.BALANCE_TOO_LOW


def _settled_refunds(page: Sequence[PaymentIntent]) -> dict[str, int]:
    rows: Iterable[Any] = (
        Refund.select(Refund.intent, fn.COUNT(Refund.id))
        .where(Refund.intent.in_([intent.id for intent in page]), Refund.canonical)
        .group_by(Refund.intent)
        .tuples()
    )
    return dict(rows)
