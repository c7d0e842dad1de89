"""Where a buyer wants money back: they state an address, and may change it."""

import math
from collections.abc import Sequence
from datetime import timedelta

from ticketing import clock, ids
from ticketing.chain import address as addresses
from ticketing.constants import REFUND_ADDRESSES_PER_DAY
from ticketing.db.connection import write_transaction
from ticketing.errors import FieldMessage, Invalid, NothingReceived, TooManyChanges
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.refunds import RefundAddress
from ticketing.models.stray_accounts import Account, StrayAccount
from ticketing.services import stated_addresses
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import accounts, intents
from ticketing.services.payments import settlement, strays

_DAY = timedelta(days=1)

_ZERO = FieldMessage("zero_address", "Must not be the zero address.")
_OF_THE_TOKEN = FieldMessage("token_address", "Must not be the address of the token.")
_OF_AN_ORDER = FieldMessage("order_address", "Must not be the payment address of an order.")


def state(
    tenant_reference: str,
    intent_id: str,
    address: str,
    chain_id: int | None = None,
    token_address: str | None = None,
) -> PaymentIntent:
    """Set the address for the refunds of an intent's account: its home, or the one named.

    The same address again changes nothing. The address before still counts for some time: see
    payees. Money that could still pay for the order is asked back with that, for good: it is owed.
    NotFound. Invalid: see `parse`. NothingReceived, also on a chain without an account.
    TooManyChanges.
    """
    intent = intents.get(tenant_reference, intent_id)
    with write_transaction():
        (intent,) = settlement.lock_rows([intent.id])
        account = accounts.named(intent, chain_id, token_address)
        address = parse(address, intent if account is None else account, "address")
        if account is None:
            raise NothingReceived
        _refuse_if_nothing_was_received(account)
        if account.refund_address != address:
            _refuse_too_many(account)
            _replace(account, address)
    intents.add_payment_details([intent])
    return intent


def parse(text: str, account: Account, field: str) -> str:
    """Return an address that may receive an account's refund, with its EIP-55 checksum.

    Invalid, with the name of the `field`: for a wrong checksum, the zero address, the token's own
    address, and every address that this service issued, because money there belongs to its buyer.
    """
    address = stated_addresses.parse(text, field)
    if address == addresses.ZERO:
        raise Invalid({field: [_ZERO]})
    if address.lower() == (account.token_address or "").lower():
        raise Invalid({field: [_OF_THE_TOKEN]})
    if PaymentIntent.select().where(PaymentIntent.address == address).exists():
        raise Invalid({field: [_OF_AN_ORDER]})
    return address


def stated_for(account: Account) -> Sequence[RefundAddress]:
    """Return every address that the buyer has stated for an account, the oldest first."""
    of_account = RefundAddress.select().where(
        RefundAddress.intent == account.intent_id, RefundAddress.stray == account.stray
    )
    return list(of_account.order_by(RefundAddress.id))


def _refuse_if_nothing_was_received(account: Account) -> None:
    """Refuse an account without any payment. One that a reorganization removed may come back.

    Each change is a notification and a mail. Anybody can order with anybody's email address.
    """
    if account.amount_received == 0:
        ever_received = Payment.select().where(
            Payment.intent == account.intent_id, Payment.stray == account.stray
        )
        if not ever_received.exists():
            raise NothingReceived


def _refuse_too_many(account: Account) -> None:
    of_intent = RefundAddress.select().where(RefundAddress.intent == account.intent_id)
    newest = list(of_intent.order_by(RefundAddress.id.desc()).limit(REFUND_ADDRESSES_PER_DAY))
    if len(newest) == REFUND_ADDRESSES_PER_DAY and clock.is_within(_DAY, newest[-1].stated_at):
        left = newest[-1].stated_at + _DAY - clock.now()
        raise TooManyChanges(retry_after=max(1, math.ceil(left.total_seconds())))


def _replace(account: Account, address: str) -> None:
    now = clock.now()
    of_account = (RefundAddress.intent == account.intent_id) & (
        RefundAddress.stray == account.stray
    )
    current = of_account & RefundAddress.replaced_at.is_null()
    RefundAddress.update(replaced_at=now).where(current).execute()
    RefundAddress.insert(
        id=ids.new(ids.REFUND_ADDRESS),
        intent=account.intent_id,
        stray=account.stray,
        address=address,
        stated_at=now,
    ).execute()
    feed.record(account.tenant_id, *facts.refund_address_changed(account))
    if isinstance(account, StrayAccount):
        asked_back_at = account.asked_back_at or now
        columns = {"refund_address": address, "asked_back_at": asked_back_at}
        strays.write(account.order, account, columns)
        return
    PaymentIntent.update(refund_address=address).where(PaymentIntent.id == account.id).execute()
    account.refund_address = address
