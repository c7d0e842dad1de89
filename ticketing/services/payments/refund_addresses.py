"""Where a buyer wants money back: they state an address, and may change it."""

import math
from collections.abc import Sequence
from datetime import timedelta

from ticketing import clock, ids
from ticketing.chain import address as addresses
from ticketing.constants import REFUND_ADDRESSES_PER_DAY
from ticketing.db.connection import write_transaction
from ticketing.errors import FieldMessage, Invalid, NothingReceived, TooManyChanges
from ticketing.models.payment_intents import Payment, PaymentIntent
from ticketing.models.refunds import RefundAddress
from ticketing.models.stray_accounts import Account
from ticketing.services import stated_addresses
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import intents
from ticketing.services.payments import settlement

_DAY = timedelta(days=1)

_ZERO = FieldMessage("zero_address", "Must not be the zero address.")
_OF_THE_TOKEN = FieldMessage("token_address", "Must not be the address of the token.")
_OF_AN_ORDER = FieldMessage("order_address", "Must not be the payment address of an order.")


def state(tenant_reference: str, intent_id: str, address: str) -> PaymentIntent:
    """Set the address for an intent's refunds. The same address again changes nothing.

    The address before still counts for some time: see payees. NotFound. Invalid: see `parse`.
    NothingReceived, TooManyChanges.
    """
    intent = intents.get(tenant_reference, intent_id)
    address = parse(address, intent, "address")
    with write_transaction():
        (intent,) = settlement.lock_rows([intent.id])
        _refuse_if_nothing_was_received(intent)
        if intent.refund_address != address:
            _refuse_too_many(intent)
            _replace(intent, address)
    intents.add_payment_details([intent])
    return intent


def parse(text: str, intent: PaymentIntent, field: str) -> str:
    """Return an address that may receive an intent's refund, with its EIP-55 checksum.

    Invalid, with the name of the `field`: for a wrong checksum, the zero address, the token's own
    address, and every address that this service issued, because money there belongs to its buyer.
    """
    address = stated_addresses.parse(text, field)
    if address == addresses.ZERO:
        raise Invalid({field: [_ZERO]})
    if address.lower() == (intent.token_address or "").lower():
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


def _refuse_if_nothing_was_received(intent: PaymentIntent) -> None:
    """Refuse an intent without any payment. One that a reorganization removed may come back.

    Each change is a notification and a mail. Anybody can order with anybody's email address.
    """
    if intent.amount_received == 0:
        ever_received = Payment.select().where(Payment.intent == intent)
        if not ever_received.exists():
            raise NothingReceived


def _refuse_too_many(intent: PaymentIntent) -> None:
    of_intent = RefundAddress.select().where(RefundAddress.intent == intent)
    newest = list(of_intent.order_by(RefundAddress.id.desc()).limit(REFUND_ADDRESSES_PER_DAY))
    if len(newest) == REFUND_ADDRESSES_PER_DAY and clock.is_within(_DAY, newest[-1].stated_at):
        left = newest[-1].stated_at + _DAY - clock.now()
        raise TooManyChanges(retry_after=max(1, math.ceil(left.total_seconds())))


def _replace(intent: PaymentIntent, address: str) -> None:
    now = clock.now()
    current = (RefundAddress.intent == intent) & RefundAddress.replaced_at.is_null()
    RefundAddress.update(replaced_at=now).where(current).execute()
    RefundAddress.insert(
        id=ids.new(ids.REFUND_ADDRESS), intent=intent.id, address=address, stated_at=now
    ).execute()
    PaymentIntent.update(refund_address=address).where(PaymentIntent.id == intent.id).execute()
    intent.refund_address = address
    feed.record(intent.tenant_id, *facts.refund_address_changed(intent))
