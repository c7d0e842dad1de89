"""A buyer moves an order to another of its networks."""

from collections.abc import Mapping

from ticketing.chain.answers import Block
from ticketing.chain.registry import Chain
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
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains
from ticketing.services.orders import accounts, intents
from ticketing.services.payments import (
    adoption,
    chain_settlement,
    settlement,
    stray_search,
    strays,
)

MOST_MOVES = 10
"""How often a buyer may move one order: each move is a notification, and a search of logs."""

_MOVED_OFTEN = "The order was moved too often. It stays on its network."

_NO_OPTION = FieldMessage("network_of_order", "Must be a network of this order.")


def choose(tenant_reference: str, intent_id: str, chain_id: int, config: Config) -> PaymentIntent:
    """Make another network the home of an order that waits for its payment. Return the order.

    What was received on the one before is then on a stray account. The same network again changes
    nothing. NotFound. Invalid for a network that the order cannot be paid on. NetworkUnavailable if
    the worker has not read it for a minute, or if the buyer wants the money there back.
    AlreadyPaying if the order is paid, or a signed transfer is being settled. IntentExpired, also
    if its hold is over by the time of its home. IntentCanceled. NetworkUnavailable, too, after
    MOST_MOVES.

    Example: Ada's order costs 25 on Base. She sent 24 on Polygon. She moves the order to Polygon,
    and adds 1 there.
    """
    found = intents.get(tenant_reference, intent_id)
    if chain_id != found.chain_id:
        _move(found, chain_id, config)
        found = intents.get(tenant_reference, intent_id)
    intents.add_payment_details([found])
    return found


def _move(found: PaymentIntent, chain_id: int, config: Config) -> None:
    """Move an order to another chain. The errors are those of `choose`."""
    if found.network_on(chain_id) is None:
        raise Invalid({"chain_id": [_NO_OPTION]})
    chain, state = config.chains.get(chain_id), chains.state(chain_id)
    if chain is None or state is None or not chains.is_fresh(state):
        raise NetworkUnavailable
    with write_transaction():
        known = lock_chains(found, chain_id)
        (intent,) = settlement.lock([found.id])
        if intent.chain_id != chain_id:
            _check(intent, known)
            move(intent, chain, known)
            moved = {PaymentIntent.moves: PaymentIntent.moves + 1}
            PaymentIntent.update(moved).where(PaymentIntent.id == intent.id).execute()


def lock_chains(intent: PaymentIntent, chain_id: int) -> Mapping[int, Block]:
    """Keep the cursors of an order's home and of another chain in place, and return them.

    The order is locked after them: see settlement.py.
    """
    found = {
        each: chains.cursor_of(settlement.lock_chain(each, shared=True))
        for each in sorted({chain_id, intent.terms.chain_id})
    }
    return {each: block for each, block in found.items() if block is not None}


def may_move(intent: PaymentIntent) -> bool:
    """Return whether a locked order waits for its payment, and none is on its way."""
    is_waiting = intent.status == IntentStatus.AWAITING_PAYMENT and strays.is_open(intent)
    return is_waiting and not adoption.is_settling(intent)


def move(intent: PaymentIntent, chain: Chain, known: Mapping[int, Block]) -> None:
    """Make another network the home of a locked order that may move, and settle it there.

    `known`: of `lock_chains`. NetworkUnavailable if the order cannot be paid there, or if the buyer
    wants the money there back.
    """
    network = intent.network_on(chain.chain_id)
    if network is None:
        raise NetworkUnavailable
    account = _account(intent, chain.chain_id)
    if account is None:
        account = stray_search.new_account(intent, network, chain, None)
    if account.asked_back:
        raise NetworkUnavailable(NetworkUnavailable.asked_back)
    if not account.may_be_home:
        raise NetworkUnavailable
    if account.id is None:
        accounts.store(account)
    accounts.write(account, stray_search.search_since_last_look(account))
    chain_settlement.move_home(intent, account, known, automatic=False)


def _check(intent: PaymentIntent, known: Mapping[int, Block]) -> None:
    """Check that a locked order may move, by the time of its home.

    AlreadyPaying, IntentExpired, IntentCanceled. NetworkUnavailable after MOST_MOVES.
    """
    home = known.get(intent.terms.chain_id)
    is_over = home is not None and home.time > intent.expires_at
    if intent.status == IntentStatus.EXPIRED or (is_over and may_move(intent)):
        raise IntentExpired(intent=intent)
    if intent.status == IntentStatus.CANCELED:
        raise IntentCanceled(intent=intent)
    if not may_move(intent):
        is_paid = intent.status in (IntentStatus.PROCESSING, IntentStatus.CONFIRMED)
        is_paying = is_paid or adoption.is_settling(intent)
        raise AlreadyPaying(None if is_paying else AlreadyPaying.missing)
    if intent.moves >= MOST_MOVES:
        raise NetworkUnavailable(_MOVED_OFTEN)


def _account(intent: PaymentIntent, chain_id: int) -> OrderAccount | None:
    options = [each for each in intent.stray_accounts if each.is_option]
    return next((each for each in options if each.chain_id == chain_id), None)
