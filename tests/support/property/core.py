"""The core of the property test's world: one or two chains, a clock, workers, nodes, and faults.

World adds the events of people: sale_events, refund_events, admission_events.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from peewee import OperationalError

from tests.support import fact_triggers
from tests.support.property.catalog import (
    EVENT_STARTS_IN,
    create_event,
    create_tenant,
    create_ticket_type,
    create_vouchers,
    empty_database,
)
from tests.support.property.model import Model
from tests.support.property.model_early import EarlyRules
from tests.support.property.node import Fault, Pool
from tests.support.provider.rules import Provider, answers_of
from tests.support.tripwire import Killed, Tripwire
from tests.support.wallets import new_address, use_address
from ticketing.chain.address import checksum
from ticketing.chain.errors import RpcError
from ticketing.config import Config
from ticketing.constants import MICRO_UNIT_DECIMALS
from ticketing.db.connection import database
from ticketing.errors import TicketingError
from ticketing.models.admissions import Admission
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.services import leases
from ticketing.services.notifications import numbering
from ticketing.services.payments import resales, settlement
from ticketing.services.payments.booking import CursorMoved
from ticketing.worker.watcher import ChainRefused, Watcher

PRICE = 900
SHIRT = 350
TICK = timedelta(seconds=3)
ENDS = {"kill": Killed, "lose_connection": OperationalError}

Happening = tuple[str, tuple[Any, ...]]
"""An event: the name of a method of World, and its arguments."""

Mishap = tuple[int, Sequence[Happening]]
"""Events in the middle of another one, and at which point of it."""


class Core:
    """Each possible event is a method. Afterwards the books are right, or an assertion fails."""

    def __init__(
        self,
        config: Config,
        chains: Sequence[Any],
        *,
        capacity: int,
        skew: int,
        tolerance: tuple[int, int],
    ) -> None:
        self.config = config
        self.chains = {chain.chain_id: chain for chain in chains}
        self.chain = chains[0]
        """The first chain. Seats can be paid on the second one too, and shirts on this one only."""

        self.settings = config.chains[self.chain.chain_id]
        self.now = datetime.fromtimestamp(max(chain.head[2] for chain in chains), UTC)
        self._skew = skew
        self.tripwire = Tripwire()
        self.pools = {chain.chain_id: self._pool_of(chain) for chain in chains}
        self._workers: list[dict[int, Watcher]] = [{} for _ in range(3)]
        self.refunds_sent: list[str] = []
        early = EarlyRules(self.settings, config.early_most)
        self.model = Model(self.settings.confirmations, 10 ** (self.chain.decimals - 6), early)
        self._capacity = capacity
        self._tolerance = tolerance
        # Not the demo wallet: a real node has accounts of its own at those addresses.
        self.wallets = checksum(self.chain.organizer.lower()), new_address()
        """The organizer's addresses. Orders are paid to the first one until the wallet changes."""

        self.whole = True
        """Whether nothing has failed in this world: then it can be healed."""

    def _pool_of(self, chain: Any) -> Pool:
        provider = Provider(answers_of(chain.batch), lambda: self.now.timestamp())
        return Pool(provider, self.tripwire.passed)

    def clock(self) -> datetime:
        """Return the service's time. It always moves forward."""
        self.now += timedelta(microseconds=1)
        return self.now

    # Events of the chain, the clock and the workers.

    def mine(self, blocks: int) -> None:
        """Mine empty blocks on each chain."""
        for chain in self.chains.values():
            chain.mine(blocks, self.chain_time())
            self.model.see(chain)

    def pass_time(self, seconds: int, mined: bool) -> None:
        """Move the clock. The chain sees it with its next block."""
        self.now += timedelta(seconds=seconds)
        if mined:
            self.mine(1)

    def reorganize(
        self, depth: int, places: Sequence[int | None], extra: int, which: int = 0
    ) -> None:
        """Replace the last blocks of a chain."""
        chain = self._one(which)
        self.model.deepest = max(self.model.deepest, chain.reorganize(depth, places, extra))
        self.model.see(chain)

    def include_dropped(self) -> None:
        """Mine the transactions that reorganizations dropped."""
        for chain in self.chains.values():
            chain.include_dropped(self.chain_time())
            self.model.see(chain)

    def set_node(self, is_cut: bool, faults: Sequence[Fault], which: int = 0) -> None:
        """Disconnect the node of a chain, give its provider these faults, or heal it."""
        self.pools[self._one(which).chain_id].set(is_cut=is_cut, faults=faults)
        self.model.suspect(name for name, *_ in faults)

    def look(self, which: int) -> None:
        """Run a look of one worker at each chain: one that cannot be read stops no other."""
        settlement.expire_free()
        resales.swap_some()
        resales.end_some_offers()
        watchers = self._workers[which]
        for chain_id, settings in self.config.chains.items():
            watcher = watchers.setdefault(chain_id, Watcher(settings))
            try:
                watcher.look()
                watcher.sweep()
            except (RpcError, CursorMoved, ChainRefused):
                pass
        numbering.number_all()

    def look_after_silence(self, which: int) -> None:
        """Run a look of one worker after the other was silent for long."""
        self.now += leases.LEASE + TICK
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
            self._workers[arguments[0]] = {}
        self.check()
        self.whole = True

    def check(self) -> None:
        """Check what must be true at every moment."""
        assert not database.in_transaction()
        self.model.check(self.tenant.id)

    def heal(self) -> None:
        """Heal everything, and let the worker see all there is."""
        for which in range(len(self.chains)):
            self.set_node(False, [], which)
        self._workers = [{} for _ in range(3)]
        self.do(("pass_time", (120, True)))
        self.do(("mine", (self.settings.confirmations,)))
        for _ in range(2):
            self.do(("look_after_silence", (0,)))
        if self.model.needs_balances:
            # For a day only logs are read of ended orders. Then balances show what logs lacked.
            self.do(("pass_time", (100_000, True)))
            self.do(("look_after_silence", (0,)))
        # Only a few addresses are compared at a time, and searched again after a search without a
        # result.
        for _ in range(len(PaymentIntent.select()) + 3):
            self.do(("pass_time", (120, True)))
            self.do(("look_after_silence", (0,)))
        self.model.check_against(self.chains)
        self.do(("give_all_back", ()))
        self.do(("check_door", ()))

    def found(self) -> None:
        """Empty the database, and create an organizer with something to sell."""
        empty_database()
        self.tenant = create_tenant(self.now, self._tolerance)
        use_address(self.tenant.id, self.wallets[0], *self.chains)
        is_early = self.model.early.depth is not None
        self.tenant.early_confirmation = is_early
        self.tenant.save()
        # While orders may be confirmed early, nobody can enter.
        doors_in = EVENT_STARTS_IN if is_early else timedelta(0)
        event = create_event(self.tenant, self.now, doors_in)
        self.paid, self.free = (
            create_ticket_type(event, price, [*self.chains], self._capacity) for price in (PRICE, 0)
        )
        self.shirt = create_ticket_type(
            event, SHIRT, [self.settings.chain_id], self._capacity, admission=False
        )
        create_vouchers(event, self.paid)
        fact_triggers.install()
        self.tripwire.watch_database()

    def seats_left(self, free: bool) -> int:
        """Return how many seats of a ticket type can be ordered, 3 at most."""
        kind = TicketType.get_by_id((self.free if free else self.paid).id)
        return min(3, max(0, kind.capacity - kind.held - kind.sold))

    def intent(self, who: int, *, paid: bool = False) -> PaymentIntent | None:
        """Return one order, the newest one for -1. `paid`: only of those that cost something."""
        query = PaymentIntent.select().order_by(PaymentIntent.id)
        if paid:
            query = query.where(PaymentIntent.chain_id.is_null(False))
        found = list(query)
        return found[who % len(found)] if found else None

    def admission(self, who: int) -> Admission | None:
        """Return one admission, the newest one for -1."""
        found = list(Admission.select().order_by(Admission.id))
        return found[who % len(found)] if found else None

    def amount(self, intent: PaymentIntent, how_much: str) -> int:
        """Return how much to send to an order, in atomic units."""
        whole = self.atomic(intent.amount)
        paid = sum(
            seen.send.amount
            for seen in self.chain_of(intent).transfers()
            if seen.send.to.lower() == intent.terms.address.lower()
        )
        nearly = self.atomic(intent.amount - intent.tolerance)
        return {
            "nearly": nearly,
            "just short": max(1, nearly - 1),
            "all": whole,
            "part": whole // 3,
            "rest": max(1, whole - paid),
            "too much": whole + self.atomic(7),
            "mote": 1,
        }[how_much]

    def chain_of(self, account: OrderAccount) -> Any:
        """Return the chain of an account: of an order, the one on which it is paid."""
        return self.chains[account.terms.chain_id]

    def _one(self, which: int) -> Any:
        return [*self.chains.values()][which % len(self.chains)]

    def atomic(self, amount: int) -> int:
        """Convert micro-units to atomic units."""
        return amount * 10 ** (self.chain.decimals - MICRO_UNIT_DECIMALS)

    def chain_time(self) -> int:
        """Return the time of the next block."""
        return int(self.now.timestamp()) + self._skew


@contextmanager
def refused(*codes: str) -> Iterator[None]:
    """Ignore refusals that are normal."""
    try:
        yield
    except TicketingError as error:
        assert error.code in codes, error
