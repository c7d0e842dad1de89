"""A small world for the property test: a chain, buyers, an organizer, workers, and faults."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from peewee import OperationalError

from tests.support.fake_chain import Send
from tests.support.payments_catalog import (
    SLUG,
    create_event,
    create_tenant,
    create_ticket_type,
    empty_database,
)
from tests.support.payments_model import Model
from tests.support.provider import Provider, answers_of
from tests.support.tripwire import Killed, Tripwire
from tests.support.world_node import Fault, Pool
from ticketing.chain.errors import RpcError
from ticketing.config import Config
from ticketing.constants import MICRO_UNIT_DECIMALS, Publication
from ticketing.db.connection import database
from ticketing.errors import TicketingError
from ticketing.models.payment_intents import TO_REFUND, PaymentIntent
from ticketing.services import chains, checkout
from ticketing.services.access.audit_log import Actor
from ticketing.services.catalog import events, ticket_types
from ticketing.services.payments import refund_addresses, refund_settlement, refunds, settlement
from ticketing.services.payments.booking import CursorMoved
from ticketing.worker.watcher import ChainRefused, Watcher

PRICE = 900
BY = Actor("cli", "settle")
NOT_PAID = ("payment_required", "intent_expired", "intent_canceled", "intent_reversed")
"""The codes with which a purchase may be refused."""
TICK = timedelta(seconds=3)
ENDS = {"kill": Killed, "lose_connection": OperationalError}

Happening = tuple[str, tuple[Any, ...]]
"""An event: the name of a method of World, and its arguments."""

Mishap = tuple[int, Sequence[Happening]]
"""Events in the middle of another one, and at which point of it."""


class World:
    """Each possible event is a method. Afterwards the books are right, or an assertion fails."""

    def __init__(self, config: Config, chain: Any, *, capacity: int, skew: int) -> None:
        self.config = config
        (self.settings,) = config.chains.values()
        self.chain = chain
        self.now = datetime.fromtimestamp(chain.head[2], UTC)
        self._skew = skew
        self.tripwire = Tripwire()
        provider = Provider(answers_of(chain.batch), lambda: self.now.timestamp())
        self.pool = Pool(provider, self.tripwire.passed)
        self._workers: list[Watcher | None] = [None] * 3
        self.refunds_sent: list[str] = []
        self.model = Model(self.settings.confirmations, 10 ** (chain.decimals - 6))
        self._capacity = capacity
        self.whole = True
        """Whether nothing has failed in this world: then it can be healed."""

    def clock(self) -> datetime:
        """Return the service's time. It always moves forward."""
        self.now += timedelta(microseconds=1)
        return self.now

    # Events of buyers and the organizer.

    def preflight(self, free: bool, quantity: int) -> None:
        """Order some seats."""
        wanted = self._free if free else self._paid
        order = checkout.Order(wanted.event_id, wanted.id, quantity)
        with _refused("sold_out", "not_payable", "sales_ended", "not_found"):
            checkout.preflight(self._tenant, order, self.config)

    def purchase(self, who: int) -> None:
        """Purchase an order."""
        if intent := self._intent(who):
            with _refused("chain_unavailable", *NOT_PAID):
                checkout.purchase(SLUG, intent.id, self.config)

    def cancel(self, who: int) -> None:
        """Cancel an order."""
        if intent := self._intent(who):
            with _refused("chain_unavailable", "intent_not_cancelable"):
                checkout.cancel(SLUG, intent.id, self.config)

    def pay(self, whom: Sequence[tuple[int, str]], apart: bool) -> None:
        """Pay some intents in one block: in a transaction for each, or in one."""
        sends = []
        for who, how_much in whom:
            intent = self._intent(who, paid=True)
            if intent is not None:
                buyer = self.chain.buyers[who % len(self.chain.buyers)]
                sends.append(Send(buyer, intent.terms.address, self._amount(intent, how_much)))
        if sends:
            self.chain.send(sends, self._chain_time(), apart=apart)
            self.model.see(self.chain)

    def send_refund(self, who: int, how_much: str, to_stated: bool) -> None:
        """Give back what is due to one intent, or a part of it, or too much."""
        if (intent := self._owed(who)) is None:
            return
        due = refunds.due_now(intent)
        amount = {"all": due, "part": max(1, due // 2), "too much": due + 9}[how_much]
        payees = [each.sender for each in refunds.owed_for(intent).payers] or self.chain.buyers
        if to_stated and intent.refund_address is not None:
            payees = [intent.refund_address]
        self.refunds_sent += self.chain.send(
            [Send(self.chain.organizer, payees[0], self._atomic(amount))], self._chain_time()
        )
        self.model.see(self.chain)

    def settle_refund(self, who: int, which: int, named: bool) -> None:
        """Claim that one of the refunds sent was for this intent."""
        if self.refunds_sent and (intent := self._intent(who, paid=True)):
            tx_hash = self.refunds_sent[which % len(self.refunds_sent)]
            recipient = self.chain.buyers[0] if named else None
            with _refused("no_refund_due", "refund_not_seen", "chain_unavailable"):
                refund_settlement.settle(
                    self._tenant.id, intent.id, tx_hash, recipient, self.config.chains, BY
                )

    def state_refund_address(self, who: int, which: int) -> None:
        """State where money that is owed shall go."""
        if intent := self._intent(who, paid=True):
            buyers = self.chain.buyers
            refund_addresses.state(SLUG, intent.id, buyers[which % len(buyers)])

    def waive(self, who: int) -> None:
        """Write off what is due to one intent."""
        if intent := self._owed(who):
            with _refused("amount_changed", "chain_unavailable"):
                refunds.waive(self._tenant.id, intent.id, refunds.due_now(intent), "fees", BY)

    def _owed(self, who: int) -> PaymentIntent | None:
        owed = list(PaymentIntent.select().where(TO_REFUND).order_by(PaymentIntent.id))
        return owed[who % len(owed)] if owed else None

    def change_terms(self, price: int, ends_in: int | None) -> None:
        """Change the price, and end the sale in some seconds."""
        ends = None if ends_in is None else self.now + timedelta(seconds=ends_in)
        fields, sold = {"price_amount": price, "sales_end_at": ends}, self._paid
        ticket_types.change(self._tenant, sold.event_id, sold.id, fields, self.config)

    def end_sale(self, of_event: bool) -> None:
        """Cancel the event, or the paid ticket type."""
        sold, to = self._paid, Publication.CANCELED
        with _refused("invalid_transition"):
            if of_event:
                events.set_status(self._tenant.id, sold.event_id, to)
            else:
                ticket_types.set_status(self._tenant, sold.event_id, sold.id, to, self.config)

    # Events of the chain, the clock and the workers.

    def mine(self, blocks: int) -> None:
        """Mine empty blocks."""
        self.chain.mine(blocks, self._chain_time())
        self.model.see(self.chain)

    def pass_time(self, seconds: int, mined: bool) -> None:
        """Move the clock. The chain sees it with its next block."""
        self.now += timedelta(seconds=seconds)
        if mined:
            self.mine(1)

    def reorganize(self, depth: int, places: Sequence[int | None], extra: int) -> None:
        """Replace the last blocks of the chain."""
        self.model.deepest = max(self.model.deepest, self.chain.reorganize(depth, places, extra))
        self.model.see(self.chain)

    def include_dropped(self) -> None:
        """Mine the transactions that reorganizations dropped."""
        self.chain.include_dropped(self._chain_time())
        self.model.see(self.chain)

    def set_node(self, is_cut: bool, faults: Sequence[Fault]) -> None:
        """Disconnect the node, give its provider these faults, or heal it."""
        self.pool.set(is_cut=is_cut, faults=faults)
        self.model.suspect(name for name, *_ in faults)

    def look(self, which: int) -> None:
        """Run a look of one worker."""
        settlement.expire_free()
        watcher = self._workers[which] = self._workers[which] or Watcher(self.settings)
        try:
            watcher.look()
            watcher.sweep()
        except (RpcError, CursorMoved, ChainRefused):
            return

    def look_after_silence(self, which: int) -> None:
        """Run a look of one worker after the other was silent for long."""
        self.now += chains.LEASE + TICK
        self.look(which)

    # How events are combined.

    def do(self, event: Happening, mishap: Mishap | None = None) -> None:
        """Run an event, with other events in the middle of it."""
        name, arguments = event
        point, mishaps = mishap or (0, [])
        self.now += TICK
        self.whole = False
        ends_in = next((ENDS[name] for name, _ in mishaps if name in ENDS), None)
        with self.tripwire.armed(point, lambda: [self.do(each) for each in mishaps], ends_in):
            getattr(self, name)(*arguments)
        if ends_in is Killed and name.startswith("look"):
            self._workers[arguments[0]] = None
        self.check()
        self.whole = True

    def check(self) -> None:
        """Check what must be true at every moment."""
        assert not database.in_transaction()
        self.model.check(self._tenant.id)

    def heal(self) -> None:
        """Heal everything, and let the worker see all there is."""
        self.set_node(False, [])
        self._workers = [None] * 3
        self.do(("pass_time", (120, True)))
        self.do(("mine", (self.settings.confirmations,)))
        for _ in range(2):
            self.do(("look_after_silence", (0,)))
        # Only a few addresses are compared at a time, and searched again after a search without a
        # result.
        for _ in range(len(PaymentIntent.select()) + 3):
            self.do(("pass_time", (120, True)))
            self.do(("look_after_silence", (0,)))
        self.model.check_against(self.chain)

    def found(self) -> None:
        """Empty the database, and create an organizer with something to sell."""
        empty_database()
        self._tenant = create_tenant(self.now)
        event = create_event(self._tenant, self.now)
        self._paid, self._free = (
            create_ticket_type(event, price, self.settings.chain_id, self._capacity)
            for price in (PRICE, 0)
        )
        self.tripwire.watch_database()

    def _intent(self, who: int, *, paid: bool = False) -> PaymentIntent | None:
        query = PaymentIntent.select().order_by(PaymentIntent.id)
        if paid:
            query = query.where(PaymentIntent.chain_id.is_null(False))
        found = list(query)
        return found[who % len(found)] if found else None

    def _amount(self, intent: PaymentIntent, how_much: str) -> int:
        whole = self._atomic(intent.amount)
        paid = sum(
            seen.send.amount
            for seen in self.chain.transfers()
            if seen.send.to.lower() == intent.terms.address.lower()
        )
        return {
            "all": whole,
            "part": whole // 3,
            "rest": max(1, whole - paid),
            "too much": whole + self._atomic(7),
            "mote": 1,
        }[how_much]

    def _atomic(self, amount: int) -> int:
        return amount * 10 ** (self.chain.decimals - MICRO_UNIT_DECIMALS)

    def _chain_time(self) -> int:
        return int(self.now.timestamp()) + self._skew


@contextmanager
def _refused(*codes: str) -> Iterator[None]:
    """Ignore refusals that are normal."""
    try:
        yield
    except TicketingError as error:
        assert error.code in codes, error
