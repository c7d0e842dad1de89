"""A buyer moves an order to another of its networks."""

from ticketing.config import Config
from ticketing.constants import IntentStatus
from ticketing.db.connection import write_transaction
from ticketing.errors import (
    AlreadyPaying,
    FieldMessage,
    IntentCanceled,
    IntentExpired,
    Invalid,
    NetworkUnavailable,
)
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.stray_accounts import StrayAccount
from ticketing.services import chains
from ticketing.services.orders import accounts, intents
from ticketing.services.payments import (
    adoption,
    chain_settlement,
    settlement,
    stray_search,
    strays,
)

_NO_OPTION = FieldMessage("network_of_order", "Must be a network of this order.")


def choose(tenant_reference: str, intent_id: str, chain_id: int, config: Config) -> PaymentIntent:
    """Make another network the home of an order that waits for its payment. Return the order.

    What was received on the one before is then on a stray account. The same network again changes
    nothing. NotFound. Invalid for a network that the order cannot be paid on. NetworkUnavailable if
    the worker has not read it for a minute, or if the buyer wants the money there back.
    AlreadyPaying if the order is paid, or a signed transfer is being settled. IntentExpired,
    IntentCanceled.

    Example: Ada's order costs 25 on Base. She sent 24 on Polygon. She moves the order to Polygon,
    and adds 1 there.
    """
    found = intents.get(tenant_reference, intent_id)
    network = next((each for each in found.networks or () if each.chain_id == chain_id), None)
    if network is None and chain_id != found.chain_id:
        raise Invalid({"chain_id": [_NO_OPTION]})
    if network is not None and chain_id != found.chain_id:
        chain = config.chains.get(chain_id)
        state = chains.states_of(chain_id).get(chain_id)
        if chain is None or state is None or not chains.is_fresh(state):
            raise NetworkUnavailable
        with write_transaction():
            cursors = {
                each: chains.cursor_of(settlement.lock_chain(each, shared=True))
                for each in sorted({chain_id, found.terms.chain_id})
            }
            (intent,) = settlement.lock([found.id])
            if intent.chain_id != chain_id:
                _check(intent)
                account = _account(intent, chain_id) or stray_search.new_account(
                    intent, network, chain, None
                )
                if not strays.may_be_home(account):
                    raise NetworkUnavailable
                known = {each: block for each, block in cursors.items() if block is not None}
                stray_search.begin_unless_known(account)
                chain_settlement.move(intent, account, known, automatic=False)
        found = intents.get(tenant_reference, intent_id)
    intents.add_payment_details([found])
    return found


def _check(intent: PaymentIntent) -> None:
    """Check that a locked order may move. AlreadyPaying, IntentExpired, IntentCanceled."""
    if intent.status == IntentStatus.EXPIRED:
        raise IntentExpired(intent=intent)
    if intent.status == IntentStatus.CANCELED:
        raise IntentCanceled(intent=intent)
    is_waiting = intent.status == IntentStatus.AWAITING_PAYMENT and strays.is_open(intent)
    if not is_waiting or adoption.is_settling(intent):
        raise AlreadyPaying


def _account(intent: PaymentIntent, chain_id: int) -> StrayAccount | None:
    options = [each for each in accounts.strays_of(intent) if each.is_option]
    return next((each for each in options if each.chain_id == chain_id), None)
