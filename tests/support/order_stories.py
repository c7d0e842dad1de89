"""Orders in every state that their page can show. A payment is final after three blocks."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from tests.support.admissions import FREE, admissions_of, void
from tests.support.factories import Buyer, Organizer, worker_once
from tests.support.holders import Held
from tests.support.refunds import FRIEND_ADDRESS, give_back, settle, state, waive
from ticketing import clock
from ticketing.models.chains import ChainState
from tools.anvil import Anvil

Story = Callable[[Organizer, Anvil], Buyer]

PRICE = 12_500_000
PART = 4_990_000
SURPLUS = 500_000
HOLD_SECONDS = 900
ORDER: Mapping[str, Any] = MappingProxyType(
    {"quantity": 2, "buyer": {"name": "Ada Lovelace", "email": "ada@example.org"}}
)


def _free(acme: Organizer, node: Anvil) -> Buyer:
    return acme.buyer(acme.ticket(**FREE), **ORDER)


def _unpaid(acme: Organizer, node: Anvil) -> Buyer:
    buyer = acme.buyer(acme.ticket(price_amount=PRICE), **ORDER)
    worker_once(acme.app)
    return buyer


def _unseen(acme: Organizer, node: Anvil) -> Buyer:
    buyer = _unpaid(acme, node)
    ChainState.update(looked_at=clock.now() - timedelta(hours=1)).execute()
    return buyer


def _part(acme: Organizer, node: Anvil) -> Buyer:
    return _paid(acme, node, PART, blocks=1)


def _processing(acme: Organizer, node: Anvil) -> Buyer:
    return _paid(acme, node, 2 * PRICE, blocks=1)


def _fell_back(acme: Organizer, node: Anvil) -> Buyer:
    buyer = _unpaid(acme, node)
    node.rpc("anvil_mine", "0x3")
    worker_once(acme.app)
    buyer.pay(node)
    return _reorganized(buyer, node, blocks=1)


def _confirmed(acme: Organizer, node: Anvil) -> Buyer:
    buyer = _paid(acme, node, 2 * PRICE, blocks=3)
    first = admissions_of(buyer)[0]
    Held(acme, first.id, first.code).transferred(name="Grace Hopper")
    return buyer


def _overpaid(acme: Organizer, node: Anvil) -> Buyer:
    return _paid(acme, node, 2 * PRICE + SURPLUS, blocks=3)


def _waived(acme: Organizer, node: Anvil) -> Buyer:
    buyer = _overpaid(acme, node)
    assert waive(acme, buyer, SURPLUS).status_code == 200
    return buyer


def _voided(acme: Organizer, node: Anvil) -> Buyer:
    buyer = _paid(acme, node, 2 * PRICE, blocks=3)
    assert void(acme, admissions_of(buyer)[0]).status_code == 200
    return buyer


def _event_canceled(acme: Organizer, node: Anvil) -> Buyer:
    buyer = _paid(acme, node, 2 * PRICE, blocks=3)
    path = f"{acme.path}/events/{buyer.intent['event_id']}/status"
    assert acme.api().post(path, {"status": "canceled"}).status_code == 200
    return buyer


def _reversed(acme: Organizer, node: Anvil) -> Buyer:
    node.rpc("anvil_mine", "0x3")
    buyer = _paid(acme, node, 2 * PRICE, blocks=3)
    return _reorganized(buyer, node, blocks=3)


def _expired(acme: Organizer, node: Anvil) -> Buyer:
    return _past_deadline(_unpaid(acme, node), node)


def _owed(acme: Organizer, node: Anvil) -> Buyer:
    return _past_deadline(_part(acme, node), node)


def _pending(acme: Organizer, node: Anvil) -> Buyer:
    buyer = _expired(acme, node)
    buyer.pay(node, PART)
    worker_once(acme.app)
    return buyer


def _stated(acme: Organizer, node: Anvil) -> Buyer:
    buyer = _owed(acme, node)
    assert state(buyer, FRIEND_ADDRESS).status_code == 200
    return buyer


def _returned(acme: Organizer, node: Anvil) -> Buyer:
    buyer = _stated(acme, node)
    sent = give_back(node, PART, FRIEND_ADDRESS)
    node.rpc("anvil_mine", "0x3")
    assert settle(acme, buyer, sent).status_code == 200
    return buyer


def _canceled(acme: Organizer, node: Anvil) -> Buyer:
    buyer = _unpaid(acme, node)
    assert buyer.cancel().status_code == 200
    return buyer


def _paid(acme: Organizer, node: Anvil, amount: int, *, blocks: int) -> Buyer:
    """A buyer whose payment has so many blocks."""
    buyer = _unpaid(acme, node)
    buyer.pay(node, amount)
    node.rpc("anvil_mine", hex(blocks - 1))
    worker_once(acme.app)
    return buyer


def _past_deadline(buyer: Buyer, node: Anvil) -> Buyer:
    node.rpc("evm_increaseTime", HOLD_SECONDS + 1)
    node.rpc("anvil_mine", "0x3")
    worker_once(buyer.organizer.app)
    return buyer


def _reorganized(buyer: Buyer, node: Anvil, *, blocks: int) -> Buyer:
    worker_once(buyer.organizer.app)
    node.rpc("anvil_reorg", blocks, [])
    node.rpc("anvil_mine", "0x1")
    worker_once(buyer.organizer.app)
    return buyer


STORIES: Mapping[str, Story] = MappingProxyType(
    {
        story.__name__.removeprefix("_"): story
        for story in (
            _free,
            _unpaid,
            _unseen,
            _part,
            _fell_back,
            _processing,
            _confirmed,
            _overpaid,
            _waived,
            _voided,
            _event_canceled,
            _reversed,
            _expired,
            _owed,
            _pending,
            _stated,
            _returned,
            _canceled,
        )
    }
)
