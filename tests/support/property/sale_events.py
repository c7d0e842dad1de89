"""Events of buyers and the organizer about orders, in the property test's world."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta

from tests.support.fake_chain import Send
from tests.support.property.catalog import SLUG
from tests.support.property.core import Core, refused
from ticketing.constants import Publication
from ticketing.models.events import Event
from ticketing.services import checkout
from ticketing.services.access import tenants
from ticketing.services.catalog import events, ticket_types
from ticketing.services.order_requests import Order
from ticketing.services.orders import intents
from ticketing.services.orders.lines import Wanted
from ticketing.services.payments import hold_extensions, home_choice, refund_addresses

NOT_PAID = ("payment_required", "intent_expired", "intent_canceled", "intent_reversed")
"""The codes with which a purchase may be refused."""


class Sales(Core):
    """Orders, payments, and the end of a sale."""

    def preflight(self, free: bool, quantity: int, elsewhere: bool = False) -> None:
        """Order some seats. `elsewhere`: paid on the second chain, if there is one."""
        wanted = self.free if free else self.paid
        chain_id = [*self.chains][-1] if elsewhere else None
        order = Order(wanted.event_id, [Wanted(wanted.id, quantity)], chain_id=chain_id)
        self._order(order)

    def order_cart(self, seats: Sequence[int]) -> None:
        """Order some of each ticket type: for money, for nothing, and shirts."""
        types = (self.shirt, self.free, self.paid)
        wanted = [
            Wanted(each.id, quantity)
            for each, quantity in zip(types, seats, strict=True)
            if quantity
        ]
        if wanted:
            self._order(Order(self.paid.event_id, wanted))

    def _order(self, order: Order) -> None:
        # A chain outside the registry cannot be used before its token was read.
        unusable = ("not_payable", "network_unavailable")
        with refused("sold_out", "sales_ended", "event_over", "not_found", *unusable):
            checkout.preflight(self.tenant.id, order, self.config)

    def purchase(self, who: int) -> None:
        """Purchase an order."""
        if intent := self.intent(who):
            with refused("chain_unavailable", *NOT_PAID):
                checkout.purchase(intents.get(SLUG, intent.id), self.config)

    def cancel(self, who: int) -> None:
        """Cancel an order."""
        if intent := self.intent(who):
            with refused("chain_unavailable", "intent_not_cancelable"):
                checkout.cancel(SLUG, intent.id, self.config)

    def extend_hold(self, who: int) -> None:
        """Hold an order longer, as a buyer with an exchange asks for."""
        if intent := self.intent(who):
            with refused("hold_extended", "hold_not_extendable"):
                hold_extensions.extend(SLUG, intent.id, self.config)

    def pay(self, whom: Sequence[tuple[int, str]], apart: bool) -> None:
        """Pay some intents in one block of their chain: in a transaction for each, or in one."""
        sends = defaultdict(list)
        for who, how_much in whom:
            intent = self.intent(who, paid=True)
            if intent is not None:
                buyer = self.chain.buyers[who % len(self.chain.buyers)]
                amount = self.amount(intent, how_much)
                sends[intent.chain_id].append(Send(buyer, intent.terms.address, amount))
        for chain_id, on_one in sends.items():
            self.chains[chain_id].send(on_one, self.chain_time(), apart=apart)
            self.model.see(self.chains[chain_id])

    def pay_elsewhere(self, who: int, how_much: str) -> None:
        """Pay an order on the chain that is not its home."""
        intent = self.intent(who, paid=True)
        if intent is not None:
            chain = next(each for each in self.chains.values() if each.chain_id != intent.chain_id)
            buyer = self.chain.buyers[who % len(self.chain.buyers)]
            send = Send(buyer, intent.terms.address, self.amount(intent, how_much))
            chain.send([send], self.chain_time())
            self.model.see(chain)

    def choose_home(self, who: int, which: int) -> None:
        """Move an order to one of the chains."""
        intent = self.intent(who, paid=True)
        if intent is not None:
            refusals = ("already_paying", "network_unavailable", "invalid_request")
            with refused(*refusals, "intent_expired", "intent_canceled"):
                home_choice.choose(SLUG, intent.id, self._one(which).chain_id, self.config)

    def ask_back(self, who: int, which: int) -> None:
        """State where the money on one of the chains shall go."""
        intent = self.intent(who, paid=True)
        if intent is not None:
            with refused("nothing_received", "too_many_changes"):
                address, chain_id = self.chain.buyers[0], self._one(which).chain_id
                refund_addresses.state(intent, address, self.config, chain_id)

    def change_terms(self, price: int, ends_in: int | None) -> None:
        """Change the price, and end the sale in some seconds."""
        ends = None if ends_in is None else self.now + timedelta(seconds=ends_in)
        fields, sold = {"price_amount": price, "sales_end_at": ends}, self.paid
        ticket_types.change(self.tenant, sold.event_id, sold.id, fields, self.config)

    def change_returns(self, returns: str, fee: int) -> None:
        """Let holders of later orders give seats back, or not."""
        fields = {"returns": returns, "return_fee_percent": fee}
        for kind in (self.paid, self.free):
            ticket_types.change(self.tenant, kind.event_id, kind.id, fields, self.config)

    def change_tolerance(self, tolerance: tuple[int, int]) -> None:
        """Change how much may be missing of the payments of later orders."""
        percent, most = tolerance
        names = ("payment_tolerance_percent", "payment_tolerance_most")
        tenants.change(self.tenant.id, dict(zip(names, (percent, most), strict=True)))

    def end_sale(self, of_event: bool, refund: bool | None) -> None:
        """Cancel the event, or the paid ticket type."""
        sold, to = self.paid, Publication.CANCELED
        with refused("invalid_transition"):
            if of_event:
                events.set_status(self.tenant.id, sold.event_id, to, refund=refund)
            else:
                ticket_types.set_status(self.tenant, sold.event_id, sold.id, to, self.config)

    def set_early(self, is_on: bool, doors_in: int) -> None:
        """Switch early confirmation on or off, and open the doors in some hours."""
        tenants.change(self.tenant.id, {"early_confirmation": is_on})
        event = Event.get_by_id(self.paid.event_id)
        doors = min(self.now + timedelta(hours=doors_in), event.start_at)
        events.change(self.tenant, event.id, {"doors_open_at": doors}, self.config)

    def set_capacity(self, capacity: int | None) -> None:
        """Limit the seats of the whole event, or remove the limit."""
        with refused("capacity_too_low"):
            events.change(self.tenant, self.paid.event_id, {"capacity": capacity}, self.config)
