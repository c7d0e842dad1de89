"""Workers and orders change the stock of the same ticket types, and do not deadlock."""

import contextlib
import threading
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from tests.support.factories import CHAIN
from tests.support.races import at_once
from ticketing import clock
from ticketing.config import load
from ticketing.models.chains import ChainState
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.services import checkout
from ticketing.services.channels import Person
from ticketing.services.order_requests import Order
from ticketing.services.orders import stock, vouchers
from ticketing.services.orders.lines import Wanted
from ticketing.services.payments import chain_settlement, reconciliation

pytestmark = [pytest.mark.sql, pytest.mark.long]

OTHER_CHAIN = 8453
TOKEN = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
MEET_SECONDS = 1
"""How long the first release of each worker waits for the other one."""


@pytest.fixture
def met_after_first_release(monkeypatch):
    """Each worker waits after its first release, until both have done one or time is up.

    Only workers that begin with different ticket types meet. On SQLite they never do: one
    transaction writes at a time.
    """
    meeting, own, release = threading.Barrier(2), threading.local(), stock.TYPES.release

    def release_and_meet(*arguments):
        release(*arguments)
        if not hasattr(own, "has_met"):
            own.has_met = True
            with contextlib.suppress(threading.BrokenBarrierError):
                meeting.wait(MEET_SECONDS)

    monkeypatch.setattr(stock.TYPES, "release", release_and_meet)


def past_all_holds(chain_id):
    """Move the cursor of a chain to a block after the end of all holds."""
    in_a_day = clock.now() + timedelta(days=1)
    cursor = {"block_number": 1, "block_hash": "0x01", "block_time": in_a_day}
    insert = ChainState.insert(chain_id=chain_id, token_address=TOKEN, decimals=6, **cursor)
    insert.on_conflict(conflict_target=[ChainState.chain_id], update=cursor).execute()


@pytest.mark.parametrize("capacity", [None, 100])
def test_expiries_of_two_chains_lock_ticket_types_in_one_order(
    acme, met_after_first_release, capacity
):
    one, two = (acme.ticket(acme.event(capacity=capacity)) for _ in range(2))
    here = [acme.buyer(each).intent["id"] for each in (one, two)]
    there = [acme.buyer(each).intent["id"] for each in (two, one)]
    on_other = PaymentIntent.id.in_(there)
    PaymentIntent.update(chain_id=OTHER_CHAIN).where(on_other).execute()
    of_them = OrderAccount.intent.in_(there)
    OrderAccount.update(chain_id=OTHER_CHAIN).where(of_them).execute()
    for chain_id in (CHAIN, OTHER_CHAIN):
        past_all_holds(chain_id)
    moved = at_once(
        lambda: chain_settlement.settle_again(CHAIN, here),
        lambda: chain_settlement.settle_again(OTHER_CHAIN, there),
    )
    assert moved == [2, 2]
    assert {each.held for each in TicketType.select()} == {0}
    assert reconciliation.reconcile(None) == []


def wanted(ticket, code, *form):
    return Order(
        event_id=ticket["event_id"],
        wanted=(Wanted(ticket["id"]),),
        by=Person(form, form=form),
        voucher=code,
    )


def test_an_order_that_replaces_one_locks_its_voucher_before_the_ticket_type(
    acme, environ, monkeypatch
):
    ticket, config = acme.ticket(), load(environ)
    here = f"{acme.path}/events/{ticket['event_id']}/vouchers"
    for code in ("CODE-A", "CODE-B"):
        assert acme.api().post(here, {"code": code, "max_usages": 9}).status_code == 201
    checkout.preflight(acme.slug, wanted(ticket, "CODE-A", "ada"), config)
    meeting, own = threading.Barrier(2), threading.local()

    def and_meet(function):
        def met(*arguments, **options):
            done = function(*arguments, **options)
            if not hasattr(own, "has_met"):
                own.has_met = True
                with contextlib.suppress(threading.BrokenBarrierError):
                    meeting.wait(MEET_SECONDS)
            return done

        return met

    # Ada has released the ticket type, and Grace holds CODE-B: each wants what the other one has.
    monkeypatch.setattr(stock.TYPES, "release", and_meet(stock.TYPES.release))
    monkeypatch.setattr(vouchers.USAGES, "hold", and_meet(vouchers.USAGES.hold))
    at_once(
        lambda: checkout.preflight(acme.slug, wanted(ticket, "CODE-B", "ada"), config),
        lambda: checkout.preflight(acme.slug, wanted(ticket, "CODE-B", "grace"), config),
    )
    assert acme.stock(ticket) == (2, 0)
    assert reconciliation.reconcile(None) == []


def test_one_form_from_two_networks_at_once_is_one_order(acme, environ):
    """Example: a phone leaves the wireless network between two clicks."""
    ticket, config = acme.ticket(), load(environ)

    def order(client):
        sent = replace(wanted(ticket, None), by=Person((client,), form=("form",)))
        return checkout.preflight(acme.slug, sent, config)

    for _ in range(5):
        at_once(*(partial(order, client) for client in ("home", "train", "cafe")))
    assert acme.stock(ticket) == (1, 0)
