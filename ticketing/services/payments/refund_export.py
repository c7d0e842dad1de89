"""Export the refunds that are due, to be signed offline and paid from the payment addresses."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from peewee import fn

from ticketing.chain import units
from ticketing.chain.registry import Chain
from ticketing.constants import RefundStatus
from ticketing.models.refunds import Refund
from ticketing.models.stray_accounts import Account
from ticketing.services.orders import accounts
from ticketing.services.payments import (
    collections,
    payee_changes,
    payee_states,
    refunds,
    wallet_export,
)
from ticketing.services.payments.payee_states import PayeeState

PAGE = 500


class Send(StrEnum):
    """Whether a refund can be sent from the payment address: YES, or the reason why not."""

    YES = "yes"
    NO_REFUND_ADDRESS = "no_refund_address"
    WAITS = "waits"
    """The buyer has stated another address, which does not count yet."""
    BALANCE_TOO_LOW = "balance_too_low"
    NOT_SEEN = "not_seen"
    RECEIVER = "receiver"
    """No key can sign for it: the organizer pays the refund from an account of his own."""


@dataclass(frozen=True)
class ExportedRefund:
    """A refund that is due. Its fields, in their order, are the columns of the export.

    `address` is the payment address. A receiver has no `derivation_path`. `balance` and `amount`
    are in atomic units of the token. `settled_refunds` is how many refunds of the intent were
    settled on this chain and in this token.
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

    An intent that owes on several chains has a refund on each. Refunds of less than `min_amount`
    micro-units are left out. Pending refunds are left out. What an old order is owed below one
    atomic unit cannot be sent. ChainUnavailable if an enabled chain cannot be read.
    """
    payee_changes.take_effect(tenant_id)
    after = ""
    while page := _page(tenant_id, after, min_amount):
        after = page[-1].id
        payees = payee_states.of(page)
        balances = wallet_export.balances_of(page, enabled)
        refund_counts = _settled_refunds(page)
        receivers = collections.receivers_among(page)
        for account in page:
            terms = account.terms
            amount = units.whole_atomic(account.refund_due_now, terms.decimals)
            balance = balances.get(account.id)
            is_receiver = account.id in receivers
            send = _send(account, payees[account.id], amount, balance)
            yield ExportedRefund(
                account.intent_id,
                terms.address,
                "" if is_receiver else f"0/{account.order.address_index}",
                terms.chain_id,
                terms.token_address,
                balance,
                account.refund_address,
                amount,
                refund_counts.get(account.id, 0),
                Send.RECEIVER if is_receiver else send,
            )


def _page(tenant_id: str, after: str, min_amount: int) -> list[Account]:
    """Return the next refunds after the account with an id."""
    found: list[Account] = []
    for kind in accounts.KINDS:
        of_status = refunds.listed(kind, RefundStatus.DUE)
        query = kind.few_of_tenant(tenant_id).where(
            of_status.condition,
            of_status.amount >= min_amount,
            kind.model.id > after,
        )
        found.extend(query.order_by(kind.model.id).limit(PAGE))
    return sorted(found, key=accounts.place)[:PAGE]


def _send(account: Account, payee: PayeeState, amount: int, balance: int | None) -> Send:
    if payee.waits_until is not None:
        return Send.WAITS
    if account.refund_address is None:
        return Send.NO_REFUND_ADDRESS
    if balance is None:
        return Send.NOT_SEEN
    return Send.YES if balance >= amount else Send.BALANCE_TOO_LOW


def _settled_refunds(page: Sequence[Account]) -> dict[str, int]:
    columns = Refund.intent, Refund.stray
    rows: Iterable[Any] = (
        Refund.select(*columns, fn.COUNT(Refund.id))
        .where(Refund.intent.in_([account.intent_id for account in page]), Refund.canonical)
        .group_by(*columns)
        .tuples()
    )
    return {stray or intent_id: count for intent_id, stray, count in rows}
