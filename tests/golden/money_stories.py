"""Stories of orders whose money goes each way, told through the API on two local chains."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tests.support.admissions import FREE, admissions_of, given, void
from tests.support.carts import carts_of
from tests.support.elsewhere import state
from tests.support.factories import CHAIN, PRICE, Buyer, Organizer, worker_once
from tests.support.mails import ADA
from tests.support.refunds import FRIEND, FRIEND_ADDRESS, give_back, pay_from, settle, waive
from tools.anvil import SECOND_CHAIN_ID, Anvil

PART = PRICE // 5


@dataclass
class Shop:
    """An organizer who sells on two chains."""

    acme: Organizer
    nodes: Mapping[int, Anvil]

    def order(self, *chain_ids: int, quantity: int = 1, **ticket: Any) -> Buyer:
        """Order seats of a new event that are sold on these chains."""
        kind = self.acme.ticket(carts_of(self.acme), chain_ids=list(chain_ids or [CHAIN]), **ticket)
        return self.acme.buyer(kind, quantity=quantity, buyer=ADA)

    def pay(self, buyer: Buyer, amount: int, chain_id: int = CHAIN) -> None:
        """Pay for an order from the account of a friend."""
        pay_from(self.nodes[chain_id], FRIEND, buyer, amount)
        self.look()

    def paid(self, **fields: Any) -> Buyer:
        """An order that is paid in full."""
        buyer = self.order(**fields)
        self.pay(buyer, buyer.intent["amount"])
        return buyer

    def refund(self, buyer: Buyer, amount: int, chain_id: int = CHAIN) -> None:
        """The buyer names an address, and the organizer pays it back."""
        state(buyer, FRIEND_ADDRESS, chain_id)
        sent = give_back(self.nodes[chain_id], amount, FRIEND_ADDRESS)
        self.look()
        answer = settle(self.acme, buyer, sent, chain_id=chain_id)
        assert answer.status_code == 200, answer.json

    def pass_time(self, seconds: int) -> None:
        """Move the clock of the first chain."""
        self.nodes[CHAIN].rpc("evm_increaseTime", seconds)
        self.nodes[CHAIN].rpc("anvil_mine", "0x1")
        self.look()

    def look(self) -> None:
        """Let the worker look at both chains."""
        worker_once(self.acme.app)

    def change(self, **fields: Any) -> None:
        """Change the organizer's settings."""
        assert self.acme.api().patch(self.acme.path, fields).status_code == 200


def free(shop: Shop) -> list[Buyer]:
    """An order that costs nothing."""
    return [given(shop.acme, shop.acme.ticket(**FREE), quantity=2, buyer=ADA)]


def paid_in_parts(shop: Shop) -> list[Buyer]:
    """An order that is paid in two parts."""
    buyer = shop.order(quantity=2)
    shop.pay(buyer, PART)
    shop.pay(buyer, 2 * PRICE - PART)
    return [buyer]


def part_refunded(shop: Shop) -> list[Buyer]:
    """A part arrives in time, the rest does not, and the part is paid back."""
    buyer = shop.order()
    shop.pay(buyer, PART)
    shop.pass_time(1000)
    shop.refund(buyer, PART)
    return [buyer]


def late(shop: Shop) -> list[Buyer]:
    """Two orders are paid late. The second one finds no seat."""
    kind = shop.acme.ticket(capacity=2)
    buyers = [shop.acme.buyer(kind, buyer=ADA) for _ in range(2)]
    shop.pass_time(1000)
    shop.acme.buyer(kind)
    for buyer in buyers:
        shop.pay(buyer, PRICE)
    return buyers


def canceled_and_paid(shop: Shop) -> list[Buyer]:
    """A buyer cancels, and pays nevertheless."""
    buyer = shop.order(capacity=1)
    assert buyer.cancel().status_code == 200
    shop.pay(buyer, PRICE)
    return [buyer]


def tolerance(shop: Shop) -> list[Buyer]:
    """A little is missing, and forgiven. A bit more comes later."""
    shop.change(payment_tolerance_percent=5)
    nearly, more = shop.order(), shop.order()
    for buyer in (nearly, more):
        shop.pay(buyer, PRICE * 96 // 100)
    shop.pay(more, PRICE * 5 // 100)
    return [nearly, more]


def overpaid_and_waived(shop: Shop) -> list[Buyer]:
    """Too much arrives, and the organizer writes it off."""
    buyer = shop.order()
    shop.pay(buyer, PRICE + 7)
    assert waive(shop.acme, buyer, 7).status_code == 200
    return [buyer]


def stray_paid_back(shop: Shop) -> list[Buyer]:
    """An order that is paid at home gets money on a network that is no option. It is paid back."""
    buyer = shop.paid()
    shop.pay(buyer, PART, SECOND_CHAIN_ID)
    shop.refund(buyer, PART, SECOND_CHAIN_ID)
    return [buyer]


def stray_owed(shop: Shop) -> list[Buyer]:
    """Parts arrive on both networks of two orders. One of them is then paid on the second one."""
    waits, moves = (shop.order(CHAIN, SECOND_CHAIN_ID) for _ in range(2))
    for buyer in (waits, moves):
        shop.pay(buyer, PART)
        shop.pay(buyer, PART, SECOND_CHAIN_ID)
    shop.pay(moves, PRICE - PART, SECOND_CHAIN_ID)
    return [waits, moves]


def paid_on_another_option(shop: Shop) -> list[Buyer]:
    """An order is paid on the second network on which it is sold: that becomes its home."""
    buyer = shop.order(CHAIN, SECOND_CHAIN_ID)
    shop.pay(buyer, PRICE, SECOND_CHAIN_ID)
    return [buyer]


def void_refunded(shop: Shop) -> list[Buyer]:
    """Of three seats, one is taken back with a refund, and one without. The refund is paid."""
    buyer = shop.paid(quantity=3)
    first, second, _ = admissions_of(buyer)
    assert void(shop.acme, first).status_code == 200
    assert void(shop.acme, second, refund=False).status_code == 200
    shop.refund(buyer, PRICE)
    return [buyer]


def event_canceled(shop: Shop) -> list[Buyer]:
    """An event with a paid order, one paid in part, and one that nobody paid is canceled."""
    kind = shop.acme.ticket(shop.acme.event())
    paid, part, unpaid = (shop.acme.buyer(kind, buyer=ADA) for _ in range(3))
    shop.pay(paid, PRICE)
    shop.pay(part, PART)
    path = f"{shop.acme.path}/events/{kind['event_id']}/status"
    canceled = shop.acme.api().post(path, {"status": "canceled", "refund": True})
    assert canceled.status_code == 200, canceled.json
    shop.look()
    shop.refund(paid, PRICE)
    return [paid, part, unpaid]


def reorganized(shop: Shop) -> list[Buyer]:
    """A payment leaves the chain after it was final."""
    buyer, node = shop.order(), shop.nodes[CHAIN]
    node.rpc("anvil_mine", "0x3")
    shop.pay(buyer, PRICE)
    node.rpc("anvil_reorg", 1, [])
    node.rpc("anvil_mine", "0x1")
    shop.look()
    return [buyer]


STORIES: Mapping[str, Callable[[Shop], list[Buyer]]] = MappingProxyType(
    {
        story.__name__: story
        for story in (
            free,
            paid_in_parts,
            part_refunded,
            late,
            canceled_and_paid,
            tolerance,
            overpaid_and_waived,
            stray_paid_back,
            stray_owed,
            paid_on_another_option,
            void_refunded,
            event_canceled,
            reorganized,
        )
    }
)
