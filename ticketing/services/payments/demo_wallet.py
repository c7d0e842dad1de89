"""The wallet of a demo: the local node pays for an order. There is none on other chains."""

from ticketing.chain import units
from ticketing.chain.errors import RpcError
from ticketing.chain.local_node import LocalNode
from ticketing.chain.registry import LOCAL_CHAIN_IDS
from ticketing.config import Config
from ticketing.errors import ChainUnavailable, NotFound
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import node_slots
from ticketing.services.orders import intents


def exists_for(intent: PaymentIntent) -> bool:
    """Return whether the demo wallet can pay for an order: on a local chain only."""
    return intent.chain_id in LOCAL_CHAIN_IDS


def pay(intent_id: str, config: Config) -> str:
    """Pay what is due for an order, if something is. Return the id of the order.

    NotFound if its chain is not a local one. ChainUnavailable. NodesBusy.
    """
    intent = intents.find(intent_id)
    chain = config.chains.get(intent.chain_id or 0)
    if chain is None or not exists_for(intent):
        raise NotFound("There is no demo wallet for this order.")
    terms = intent.terms
    try:
        if intent.amount_due:
            due = units.to_atomic(intent.amount_due, terms.decimals)
            with node_slots.slot(intent.id):
                LocalNode(chain).send(terms.token_address, terms.address, due)
    except RpcError:
        raise ChainUnavailable from None
    return intent_id
