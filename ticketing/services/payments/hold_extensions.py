"""Hold an order longer, once, because its buyer pays from an exchange."""

from datetime import timedelta

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import EXCHANGE_HOLD, IntentStatus
from ticketing.db.connection import write_transaction
from ticketing.errors import HoldExtended, HoldNotExtendable
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains
from ticketing.services.orders import client_limits, holds, intents
from ticketing.services.payments import settlement

_LEAST_GAIN = timedelta(minutes=1)
"""If it were held longer by less than that, it is not worth the one extension."""


def is_offered(intent: PaymentIntent) -> bool:
    """Return whether an intent that awaits its payment may be held longer, as far as it shows."""
    held: timedelta = intent.hold_until - intent.created_at
    has_none = intent.hold_extended or intent.x402 or intent.pooled
    return not has_none and held + _LEAST_GAIN <= EXCHANGE_HOLD


def extend(tenant_reference: str, intent_id: str, config: Config) -> PaymentIntent:
    """Hold an unpaid order until EXCHANGE_HOLD after it was made. Return it.

    NotFound. HoldExtended the second time. HoldNotExtendable if it awaits no payment, is held as
    long as that already, was made by an x402 client, or has seats that were given back. For a
    client without a credential also if orders of others hold more than half of the unsold tickets,
    and TooMuchUnpaid or TooManyHolds: see client_limits.check_extension.

    Example: an order of 18:00 is held until 18:15. Extended at 18:10, it is held until 19:00.
    """
    found = intents.get(tenant_reference, intent_id)
    with write_transaction():
        client_limits.take_turn(found.held_by_networks, config)
        (intent,) = settlement.lock_rows([found.id])
        if intent.hold_extended:
            raise HoldExtended
        deadline = intent.hold_until
        # One that had expired waits for its late payment, and nothing else can pay for it.
        awaits = intent.status == IntentStatus.AWAITING_PAYMENT and intent.ended_at is None
        if awaits and intent.chain_id is not None:
            # Deadlines follow the chain's time. How old the order is, both clocks agree on.
            left = EXCHANGE_HOLD - (clock.now() - intent.created_at)
            deadline = chains.now_on(intent.chain_id, chains.states()) + left
        if intent.x402 or intent.pooled or deadline < intent.hold_until + _LEAST_GAIN:
            raise HoldNotExtendable
        if intent.held_by is not None:
            held = holds.held_by(intent)
            if held.is_scarce:
                raise HoldNotExtendable
            client_limits.check_extension(intent, held.max_per_order, config)
        intent.hold_extended = True
        intent.hold_until = deadline
        intent.expires_at = max(intent.expires_at, deadline)
        changed = (PaymentIntent.hold_extended, PaymentIntent.hold_until, PaymentIntent.expires_at)
        intent.save(only=changed)
    intents.keep_items(found, intent)
    intents.add_payment_details([intent])
    return intent
