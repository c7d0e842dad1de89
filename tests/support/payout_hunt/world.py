"""What people and nodes do about refunds that are owed, and what must be true after each act."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from tests.support.books import change_home, home_of
from tests.support.payout_hunt import liar
from tests.support.payout_hunt.chain import (
    CODE_HASH,
    WORTHLESS,
    PayoutChain,
    refunded_log,
    transfer_log,
)
from tests.support.property.catalog import (
    create_event,
    create_tenant,
    create_ticket_type,
    empty_database,
)
from tests.support.property.node import Pool
from tests.support.provider.rules import Provider, answers_of
from tests.support.wallets import use_address
from ticketing import ids
from ticketing.chain import receivers, refunded_events
from ticketing.chain.address import checksum
from ticketing.chain.answers import TRANSFER_TOPIC
from ticketing.chain.endpoint import Endpoint
from ticketing.chain.errors import RpcError
from ticketing.chain.node import connect, connect_each
from ticketing.chain.refunded_events import ListedPayment
from ticketing.chain.rpc import RpcClient
from ticketing.config import load
from ticketing.constants import IntentStatus, PayoutReason
from ticketing.db.connection import database, open_database, write_transaction
from ticketing.errors import TicketingError
from ticketing.models.chains import ChainBlock, ChainState
from ticketing.models.collections import Collection
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.payouts import PassedId, Payout, PayoutCursor, PayoutEvent
from ticketing.models.refunds import Refund, RefundAddress, Waiver
from ticketing.services import checkout, leases
from ticketing.services.access.audit_log import Actor
from ticketing.services.money import payouts
from ticketing.services.money.payout_lists import BlockedOrder, PayoutList
from ticketing.services.order_requests import Order
from ticketing.services.orders.lines import Wanted
from ticketing.services.payments import (
    passed_ids,
    refund_settlement,
    refunds_by_hand,
    restored_payouts,
    settlement,
    waivers,
)
from ticketing.services.payments.booking import CursorMoved
from ticketing.worker import witness_check
from ticketing.worker.watcher import ChainRefused, Watcher
from tools.anvil import TOKEN_ADDRESS

CHAIN, CONFIRMATIONS, PRICE = 31337, 3, 900
START = 1_800_000_000
URLS = ("http://one.invalid", "http://two.invalid")
OWNER, PAYER, BUYER, STRANGER, *PAYEES = (
    checksum(f"0x{each}" * 1 + each * 19) for each in ("0a", "0b", "0c", "0d", "e1", "e2", "e3")
)
PAYERS = (OWNER, PAYER)
ORDERS = 3
BY = Actor("cli", "test")
TICK = timedelta(seconds=3)
LIST_HOURS = 73

_ADDED = (Payout, PayoutEvent, PayoutCursor, PassedId, Refund, RefundAddress, Waiver)
_ADDED_BY_WORKER = (Payment, Collection, ChainBlock)
_KEPT = (PaymentIntent, ChainState)


class HuntClient(RpcClient):
    """RpcClient without the network: each URL has a pool of the current world."""

    pools: ClassVar[Mapping[str, Any]]

    def __init__(self, urls: Sequence[str], chain_id: int | None = None) -> None:
        super().__init__(urls, chain_id)
        self._endpoints = [Endpoint(url, self.pools[url]) for url in urls]


@dataclass(frozen=True)
class Answered:
    """A list that the service answered."""

    payer: str
    valid_before: int
    payments: Sequence[ListedPayment]
    orders: Sequence[str]


class PayoutWorld:
    """Each act is a method. `check` finds money that lists paid twice."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.config = load(environ)
        self.chain = PayoutChain(CHAIN, TOKEN_ADDRESS, START, [BUYER, STRANGER, *PAYERS])
        self.now = datetime.fromtimestamp(START, UTC)
        self.chain_now = START
        self.providers = [
            Provider(answers_of(self.chain.batch), lambda: self.now.timestamp()) for _ in URLS
        ]
        self.pools = {
            url: Pool(provider, lambda: None)
            for url, provider in zip(URLS, self.providers, strict=True)
        }
        self.orders: list[str] = []
        self.lists: list[Answered] = []
        self.signed: dict[str, Answered] = {}
        """The lists that were signed, by transaction."""
        self.gifts: dict[str, str] = {}
        """The orders for which somebody sent money otherwise, by transaction."""
        self.invented: set[str] = set()
        """The orders for which a node has invented a payment, or a refund."""
        self._lies = 0
        self._backup: tuple[Any, int] | None = None

    def found(self) -> None:
        """Empty the database, and create an organizer with orders that were paid too much."""
        empty_database()
        self.tenant = create_tenant(self.now, (0, 0))
        use_address(self.tenant.id, OWNER, CHAIN)
        event = create_event(self.tenant, self.now, timedelta(0))
        ticket = create_ticket_type(event, PRICE, [CHAIN], 100)
        self._watcher = Watcher(self.config.chains[CHAIN])
        self.look()
        for _ in range(ORDERS):
            order = Order(event.id, [Wanted(ticket.id, 1)], chain_id=CHAIN)
            self.orders.append(checkout.preflight(self.tenant.id, order, self.config).id)
        self.addresses = {each: str(self.order(each).address) for each in self.orders}
        for number in range(len(self.orders)):
            self.overpay(number, PRICE + 5 * number)
        self.mine(CONFIRMATIONS)
        self.look()
        for number, each in enumerate(self.orders):
            assert self.order(each).status == IntentStatus.CONFIRMED
            self.state(number, number)

    def order(self, id_: str) -> PaymentIntent:
        """Return an order as it is now."""
        found: PaymentIntent = PaymentIntent.get_by_id(id_)
        return found

    def clock(self) -> datetime:
        """Return the service's time. It always moves forward."""
        self.now += timedelta(microseconds=1)
        return self.now

    # The chain, the clocks and the worker.

    def mine(self, blocks: int) -> None:
        """Mine empty blocks."""
        self.chain.mine(blocks, self._time())

    def pass_time(self, seconds: int, *, here: bool, there: bool) -> None:
        """Move the server's clock, the chain's, or both."""
        self.now += timedelta(seconds=seconds * here)
        self.chain_now += seconds * there
        self.mine(1)

    def reorganize(self, depth: int, *, drop: bool) -> None:
        """Replace some blocks that are not final."""
        self.chain.reorganize(depth, drop=drop, time=self._time())

    def include_dropped(self) -> None:
        """Mine what was dropped."""
        self.chain.include_dropped(self._time())

    def look(self) -> None:
        """Let the worker do all that it does."""
        self.now += leases.LEASE + TICK
        settlement.expire_free()
        tasks = (
            self._watcher.look,
            self._watcher.sweep,
            self._watcher.check_refunds,
            lambda: witness_check.ask(self.config.chains[CHAIN], self.config),
        )
        for task in tasks:
            with suppress(RpcError, CursorMoved, ChainRefused):
                task()

    def _time(self) -> int:
        self.chain_now = max(self.chain_now + 2, self.chain.head.time + 1)
        return self.chain_now

    # Buyers and strangers.

    def overpay(self, who: int, amount: int) -> None:
        """Send more to an order."""
        self.chain.transfer(BUYER, self._address(who), amount, self._time())

    def state(self, who: int, which: int) -> None:
        """Let an order have another payee at once. The rules of statements are tested elsewhere."""
        of_order, now = RefundAddress.intent == self._id(who), self.clock()
        to = PAYEES[which % len(PAYEES)]
        with write_transaction():
            RefundAddress.update(replaced_at=now).where(
                of_order, RefundAddress.replaced_at.is_null()
            ).execute()
            RefundAddress.create(
                id=ids.new(ids.REFUND_ADDRESS),
                intent=self._id(who),
                account=home_of(self._id(who)),
                address=to,
                stated_at=now,
                effective_at=now,
                decided_by=RefundAddress.BY_MAILBOX,
            )
            change_home(self._id(who), refund_address=to)
            version = {PaymentIntent.payees_version: PaymentIntent.payees_version + 1}
            PaymentIntent.update(version).where(PaymentIntent.id == self._id(who)).execute()

    def use_id(self, who: int, payer: str, n: int, to: str, amount: int, *, real: bool) -> None:
        """Call the factory by hand with an id of an order. No list has this payment."""
        paid = ListedPayment(self._payment_id(who, n), to, amount)
        if any(paid in each.payments and each.payer == payer for each in self.lists):
            return
        token = TOKEN_ADDRESS if real else WORTHLESS
        tx_hash = self.chain.pay(payer, token, 2**40, [paid], self._time())
        if tx_hash and real:
            self.gifts[tx_hash] = self._id(who)

    def send_by_hand(self, who: int, payer: str, amount: int) -> None:
        """Send money to the payee of an order, without the factory."""
        tx_hash = self.chain.transfer(payer, self._payee(who), amount, self._time())
        assert tx_hash
        self.gifts[tx_hash] = self._id(who)

    def collect(self, who: int) -> None:
        """Send what an order holds to the organizer's wallet, as anybody can."""
        self.chain.collect(OWNER, self._address(who), self._time())

    # Administrators.

    def ask(
        self, payer: str, only: Sequence[int] | None = None, *, accept: bool = False
    ) -> PayoutList | None:
        """Ask for a list, check it, and keep it. None: the service refuses it now."""
        chosen = None if only is None else [self._id(each) for each in only]
        before = {each: home_of(each) for each in self.orders}
        try:
            found = payouts.propose(
                self.tenant.id,
                CHAIN,
                None,
                payer,
                self.config.chains,
                BY,
                chosen,
                accept_unwitnessed=accept,
                include_cautioned=True,
            )
        except TicketingError as error:
            assert error.status in (422, 503), error
            return None
        self._check_sums(found, before)
        paid = [each.payment for each in found.payments]
        orders = [each.intent_id for each in found.payments]
        if paid:
            until = int(found.valid_before.timestamp())
            self.lists.append(Answered(payer, until, paid, orders))
        return found

    def _check_sums(self, found: PayoutList, before: Mapping[str, OrderAccount]) -> None:
        """What is due is listed, blocked, listed for another, or left; here, nothing is left."""
        parts = [*found.payments, *found.blocked, *found.listed_for_another]
        due = {id_: each for id_, each in before.items() if each.due}
        named = [each.intent_id for each in parts]
        assert sorted(named) == sorted(due), ("named once each", named, sorted(due))
        assert (found.left.orders, found.left.amount) == (0, 0), found.left
        amounts = {id_: each.due_now or each.due for id_, each in due.items()}
        assert {each.intent_id: each.amount for each in parts} == amounts
        assert found.sum == sum(each.amount for each in found.payments)
        used = self.chain.used()
        for each in found.payments:
            if (found.payer, each.payment.id) not in used:
                paid, true = self.paid_by_lists(each.intent_id), self.debt(each.intent_id)
                assert paid + each.amount <= true, ("listed twice", each, paid, true)

    def sign(self, which: int) -> None:
        """Sign a list. The factory refuses what has ended or was paid."""
        if self.lists:
            signed = self.lists[which % len(self.lists)]
            tx_hash = self.chain.pay(
                signed.payer, TOKEN_ADDRESS, signed.valid_before, signed.payments, self._time()
            )
            # It may be dropped and come back: then it is no transaction of its own.
            if tx_hash:
                self.signed[tx_hash] = signed

    def settle(self, who: int, which: int, *, named: bool) -> None:
        """Say that a transaction paid an order. `named`: to an address that the admin names."""
        every = [*self.signed, *self.gifts]
        if not every:
            return
        tx_hash = every[which % len(every)]
        is_for_it = self.gifts.get(tx_hash) == self._id(who)
        recipient = self._recipient_of(tx_hash) if named and is_for_it else None
        with suppress(TicketingError):
            self._settle(self._id(who), tx_hash, recipient)

    def _settle(self, id_: str, tx_hash: str, recipient: str | None) -> None:
        refund_settlement.settle(self.tenant.id, id_, tx_hash, recipient, self.config.chains, BY)

    def mark(self, who: int, *, by_hand: bool) -> None:
        """Say that an order is paid by hand, or is not."""
        with suppress(TicketingError):
            refunds_by_hand.mark(self.tenant.id, self._id(who), by_hand=by_hand, by=BY)

    def waive(self, who: int) -> None:
        """Write off what an order is due now."""
        amount = home_of(self._id(who)).due_now
        with suppress(TicketingError):
            waivers.waive(self.tenant.id, self._id(who), amount, "a fee", BY)

    def pass_over(self, who: int, payer: str, n: int) -> None:
        """Say that an id was used for something else, if that is true."""
        self._pass_over(self._id(who), payer, self._payment_id(who, n))

    def _pass_over(self, id_: str, payer: str, payment_id: str) -> bool:
        tx_hash = self.chain.used().get((payer, payment_id))
        if tx_hash in self.signed or tx_hash is None:
            return False
        with suppress(TicketingError):
            passed_ids.pass_over(self.tenant.id, id_, payer, payment_id, "checked", BY)
            return True
        return False

    # A backup.

    def back_up(self) -> None:
        """Copy the rows."""
        rows = {
            model: list(model.select().dicts()) for model in (*_ADDED, *_ADDED_BY_WORKER, *_KEPT)
        }
        self._backup = rows, len(self.lists)

    def restore(self) -> None:
        """Restore the copy. Nobody signs later what was answered since then."""
        if self._backup is None:
            return
        rows, answered = self._backup
        with write_transaction():
            for model in (*_ADDED, *_ADDED_BY_WORKER):
                model.delete().execute()
                if rows[model]:
                    model.insert_many(rows[model]).execute()
            for model in _KEPT:
                for row in rows[model]:
                    key = model._meta.primary_key
                    model.update(row).where(key == row[key.name]).execute()
        lost = self.lists[answered:]
        self.lists = self.lists[:answered]
        lost_hashes = {tx_hash for tx_hash, signed in self.signed.items() if signed in lost}
        self.chain.dropped = [each for each in self.chain.dropped if each.hash not in lost_hashes]
        restored_payouts.note()
        self.restart()

    def restart(self) -> None:
        """Start another worker, whose connections are new."""
        self._watcher.leave()
        connect.cache_clear()
        connect_each.cache_clear()
        self._watcher = Watcher(self.config.chains[CHAIN])

    # Nodes.

    def be_honest(self) -> None:
        """Let both nodes tell the truth."""
        for url, provider in zip(URLS, self.providers, strict=True):
            self.pools[url].is_cut = False
            provider.well()

    def lie(
        self, url: int, kind: str, who: int, payer: str, n: int, amount: int, many: int
    ) -> None:
        """Let one node lie. `many`: which of the things that it could invent it does invent."""
        self._lies += 1
        for other, provider in enumerate(self.providers):
            if other != url:
                self.pools[URLS[other]].is_cut = False
                provider.well()
        provider, rules = self.providers[url], self.providers[url].rules
        some = [bool(many >> bit & 1) for bit in range(4)]
        address = self._address(who)
        if kind == "down":
            self.pools[URLS[url]].is_cut = True
        elif kind == "lags":
            provider.lag_head(1 + many)
        elif kind == "hides":
            rules += [liar.hides_events, *[liar.says_unused] * some[0]]
            rules += [liar.says_no_factory] * some[1]
            rules += [liar.hides(TRANSFER_TOPIC)] * some[2]
        elif kind == "event":
            self._invent_event(url, who, payer, n, amount, some)
        else:
            to_owner = receivers.receiver_address(OWNER, receivers.GATHERING_SALT)
            logs = [transfer_log(TOKEN_ADDRESS, BUYER, address, amount)]
            logs += [transfer_log(TOKEN_ADDRESS, address, to_owner, amount)] * some[2]
            rules.append(liar.invents(self.chain, logs, self._lies, has_receipt=some[0]))
            rules += [liar.says_held(address, 10**9)] * some[1]
            self.invented.add(self._id(who))

    def _invent_event(
        self, url: int, who: int, payer: str, n: int, amount: int, some: Sequence[bool]
    ) -> None:
        has_receipt, has_transfer, is_used, is_of_payee = some
        to = self._payee(who) if is_of_payee else STRANGER
        paid = ListedPayment(self._payment_id(who, n), to, amount)
        logs = [transfer_log(TOKEN_ADDRESS, payer, to, amount)] * has_transfer
        logs.append(refunded_log(payer, TOKEN_ADDRESS, paid))
        rules = self.providers[url].rules
        rules.append(liar.invents(self.chain, logs, self._lies, has_receipt=has_receipt))
        rules += [liar.says_used(payer, paid.id)] * is_used
        if has_receipt and has_transfer:
            self.invented.add(self._id(who))

    # What must be true.

    def debt(self, id_: str) -> int:
        """Return what an order may be paid back at most.

        That is what it really received, less what is kept. A node that invents payments can have
        the price paid back, too: it could have invented the payment for the ticket as well.
        """
        return self.chain.received(self.addresses[id_]) - PRICE * (id_ not in self.invented)

    def paid_by_lists(self, id_: str) -> int:
        """Return what payers have paid for an order by signing lists."""
        return sum(
            payment.atomic_amount
            for tx_hash, signed in self.signed.items()
            if self.chain.has(tx_hash)
            for payment, order in zip(signed.payments, signed.orders, strict=True)
            if order == id_
        )

    def check(self) -> None:
        """Check that nobody was paid twice."""
        assert not database.in_transaction()
        for each in self.orders:
            paid, debt = self.paid_by_lists(each), self.debt(each)
            assert paid <= debt, ("paid twice", self.orders.index(each), paid, debt)

    def end(self) -> None:
        """Let everybody tell the truth, and everything end. Then every debt must be payable."""
        self.be_honest()
        self.include_dropped()
        for _ in range(2):
            self.pass_time(LIST_HOURS * 3600, here=True, there=True)
            self.chain_now = max(self.chain_now, int(self.now.timestamp()))
            self.now = max(self.now, datetime.fromtimestamp(self.chain_now, UTC))
            self._wait()
        for _ in range(4 * ORDERS):
            found = self.ask(OWNER)
            assert found is not None, "no list at the end"
            if not any(self._act_on(each) for each in found.blocked):
                break
            self._wait()
        else:
            raise AssertionError(("stuck", found.blocked))
        assert not found.listed_for_another, found.listed_for_another
        if self.lists and found.payments:
            self.sign(-1)
            self._wait()
        for each in self.orders:
            if each not in self.invented:
                assert not self.order(each).refund_due, ("still due", self.orders.index(each))
        self.check()

    def _wait(self) -> None:
        for _ in range(4):
            self.pass_time(120, here=True, there=True)
            self.mine(CONFIRMATIONS)
            self.look()

    def _act_on(self, blocked: BlockedOrder) -> bool:
        """Do what a person does about an order that is not listed. Return whether it may help."""
        id_, reason = blocked.intent_id, blocked.reason
        who = self.orders.index(id_)
        if reason == PayoutReason.BY_HAND:
            self.mark(who, by_hand=False)
        elif reason == PayoutReason.NO_PAYEE:
            self.state(who, 0)
        elif reason == PayoutReason.UNWITNESSED and self._is_true(id_):
            self.ask(OWNER, [who], accept=True)
            self.sign(-1)
        elif reason in (PayoutReason.ALREADY_PAID, PayoutReason.PAID_ELSEWHERE):
            assert blocked.payer and blocked.payment_id, ("nothing to check", blocked)
            self._clear(id_, blocked.payer, blocked.payment_id)
        elif reason == PayoutReason.NOT_FINAL:
            self.mine(CONFIRMATIONS)
        else:
            assert id_ in self.invented, ("stuck", blocked)
            return False
        return True

    def _clear(self, id_: str, payer: str, payment_id: str) -> None:
        """Settle what used an id, or pass it over."""
        tx_hash = self.chain.used().get((payer, payment_id))
        if tx_hash is not None:
            with suppress(TicketingError):
                self._settle(id_, tx_hash, self._recipient_of(tx_hash))
                return
        passed_ids.pass_over(self.tenant.id, id_, payer, payment_id, "checked", BY)

    def _is_true(self, id_: str) -> bool:
        """Return whether the books have no payment of an order that is not on the chain."""
        booked = Payment.select().where(Payment.intent == id_, Payment.canonical)
        return all(self.chain.has(each.tx_hash) for each in booked)

    def _recipient_of(self, tx_hash: str) -> str | None:
        sent = [
            checksum(to)
            for block in self.chain.blocks
            for transaction, _ in block.transactions
            if transaction.hash == tx_hash
            for _, to, _ in self.chain.transfers([block])
        ]
        return sent[0] if len(set(sent)) == 1 else None

    def _id(self, who: int) -> str:
        return self.orders[who % len(self.orders)]

    def _address(self, who: int) -> str:
        return self.addresses[self._id(who)]

    def _payee(self, who: int) -> str:
        return str(home_of(self._id(who)).refund_address or PAYEES[0])

    def _payment_id(self, who: int, n: int) -> str:
        return refunded_events.payment_id(CHAIN, TOKEN_ADDRESS, self._id(who), n)


@contextmanager
def payout_worlds(database_url: str) -> Iterator[Any]:
    """Yield a function that creates a world. It replaces the service's clock and nodes."""
    world: PayoutWorld | None = None

    def new_world() -> PayoutWorld:
        nonlocal world
        connect.cache_clear()
        connect_each.cache_clear()
        open_database(database_url)
        if database_url.startswith("sqlite"):
            database.execute_sql("PRAGMA synchronous = OFF")
        world = PayoutWorld(
            {
                "SECRET_KEY": "of no use here, but it must be long enough",
                f"RPC_URL_{CHAIN}": " ".join(URLS),
                f"TOKEN_ADDRESS_{CHAIN}": TOKEN_ADDRESS,
                f"CONFIRMATIONS_{CHAIN}": str(CONFIRMATIONS),
                f"EARLY_CONFIRMATIONS_{CHAIN}": "0",
            }
        )
        HuntClient.pools = world.pools
        world.found()
        return world

    def now() -> datetime:
        assert world is not None
        return world.clock()

    def monotonic() -> float:
        return world.now.timestamp() if world is not None else 0.0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ticketing.chain.node.RpcClient", HuntClient)
        patch.setattr("ticketing.chain.endpoint.time", SimpleNamespace(monotonic=monotonic))
        patch.setattr("ticketing.chain.receivers.FACTORY_CODE_HASH", CODE_HASH)
        patch.setattr("ticketing.services.money.payout_checks.BEHIND_SECONDS", 0.0)
        patch.setattr("ticketing.worker.witness_check.AGAIN_SECONDS", 0.0)
        patch.setattr("ticketing.clock.now", now)
        try:
            yield new_world
        finally:
            connect.cache_clear()
            connect_each.cache_clear()
            database.close()
