"""The receipt of an order: who sold what to whom, and where all the money of it is.

It is not signed: the transactions are the proof. Its number is the id of the order, because
numbers without gaps would need a lock that every order waits for.

Example: an order of 50 received 55 on its home, Base. The rest is owed, of which 2 were paid back:

    received 55 = kept 50 + owed 3 + paid back 2
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import fn

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import MAX_PAYMENTS_SHOWN, RECEIPT_NOTICE
from ticketing.db.connection import snapshot
from ticketing.models.billing import Billing
from ticketing.models.events import Event
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.refunds import Refund
from ticketing.models.tenants import Tenant
from ticketing.services import chains
from ticketing.services.orders import billing, intents


@dataclass(frozen=True)
class AccountReceipt:
    """What an order received on one network, in one token, and where that is now.

    Amounts are micro-units. `received` is the sum of the others, from `kept` to `waived`. `open` is
    not decided yet: the order may still be paid with it. `out_of_reach`: it is not owed yet, as the
    organizer's wallet is not on this network. `is_home`: the order is paid here. `payments` are the
    largest ones, in the order of the chain; `others` are not listed, `others_amount` is their sum.
    """

    chain_id: int
    network: str
    explorer_url: str | None
    token_address: str
    symbol: str | None
    is_home: bool
    received: int
    kept: int
    open: int
    refund_due: int
    out_of_reach: int
    refunded: int
    waived: int
    payments: Sequence[Payment]
    others: int
    others_amount: int
    refunds: Sequence[Refund]


@dataclass(frozen=True)
class Buyer:
    """Who the order is billed to, or whose name is on it."""

    name: str | None
    address: str | None
    tax_id: str | None


@dataclass(frozen=True)
class Receipt:
    """The receipt of an order as of a time. `may_bill`: the buyer may still write the billing."""

    intent: PaymentIntent
    as_of: datetime
    buyer: Buyer
    billing: Billing | None
    may_bill: bool
    accounts: Sequence[AccountReceipt]
    notice: str = RECEIPT_NOTICE

    @property
    def event(self) -> Event:
        """The event of the order."""
        event: Event = self.intent.event
        return event

    @property
    def seller(self) -> Tenant:
        """The organizer."""
        tenant: Tenant = self.intent.tenant
        return tenant

    @property
    def voucher_code(self) -> str | None:
        """The code of the voucher that was used."""
        voucher = self.intent.voucher
        return None if voucher is None else str(voucher.code)

    @property
    def list_total(self) -> int:
        """What the tickets cost without the discount."""
        return int(self.intent.amount + self.intent.discount_amount)


def get(tenant_reference: str, intent_id: str, config: Config) -> Receipt:
    """Return the receipt of an order of the tenant with this slug or id. NotFound."""
    return find(intents.get(tenant_reference, intent_id).id, config)


def find(intent_id: str, config: Config) -> Receipt:
    """Return the receipt of an order of any tenant, for a caller with its secret. NotFound."""
    with snapshot():
        intent = intents.find(intent_id)
        intents.add_payment_details([intent])
        bill = billing.of(intent.id)
        accounts = _accounts(intent, config)
    return Receipt(
        intent=intent,
        as_of=clock.now(),
        buyer=Buyer(intent.buyer_name, None, None) if bill is None else _buyer(bill, intent),
        billing=bill,
        may_bill=billing.is_open(intent),
        accounts=accounts,
    )


def _buyer(bill: Billing, intent: PaymentIntent) -> Buyer:
    return Buyer(bill.name or intent.buyer_name, bill.address, bill.tax_id)


def _accounts(intent: PaymentIntent, config: Config) -> list[AccountReceipt]:
    """Return the home of an order, if it costs something, and then where it received more."""
    largest: dict[int, list[Payment]] = defaultdict(list)
    for payment in intents.largest_payments_of(intent):
        if payment.canonical:
            largest[payment.account_id].append(payment)
    listed = sum(map(len, largest.values()))
    counts = _counts(intent) if listed == MAX_PAYMENTS_SHOWN else {}
    every = [*([] if intent.chain_id is None else [intent.home]), *intent.strays]
    return [_account(each, largest[each.id], counts, config) for each in every]


def _counts(intent: PaymentIntent) -> Mapping[int, int]:
    """Return how many payments each account of an order has, by its id."""
    query = (
        Payment.select(Payment.account, fn.COUNT(Payment.id))
        .where(Payment.intent == intent.id, Payment.canonical)
        .group_by(Payment.account)
    )
    rows: Any = query.tuples()
    return dict(rows)


def _account(
    account: OrderAccount, payments: Sequence[Payment], counts: Mapping[int, int], config: Config
) -> AccountReceipt:
    known = chains.known_as(account.chain_id, config)
    return AccountReceipt(
        chain_id=account.terms.chain_id,
        network=chains.name_of(account.chain_id, config),
        explorer_url=None if known is None else known.explorer_url,
        token_address=account.terms.token_address,
        symbol=account.currency if account.is_home else account.symbol,
        is_home=account.is_home,
        received=account.received,
        kept=account.kept,
        open=account.open,
        refund_due=account.due,
        out_of_reach=account.out_of_reach,
        refunded=account.refunded,
        waived=account.waived,
        payments=payments,
        others=max(0, counts.get(account.id, 0) - len(payments)),
        others_amount=account.received - sum(each.amount for each in payments),
        refunds=account.refunds,
    )
