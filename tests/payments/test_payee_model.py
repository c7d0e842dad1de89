"""Every sequence of what people do about a refund's address, against what must always hold.

Nobody who has only the order's link, or only a role below finance, decides where money goes without
the buyer's mailbox, or a day in which it was told. The sequences run in the service, on a stopped
clock. Each one continues from a savepoint of the one before.
"""

from contextlib import suppress
from datetime import timedelta

import pytest

from tests.support.books import home_of
from tests.support.mails import ADA, PUBLIC_URL, SENDER, change_intent
from tests.support.refunds import FRIEND_ADDRESS, STRANGER_ADDRESS, received
from tests.support.stopped_clock import START, StoppedClock
from ticketing.db.connection import savepoint, write_transaction
from ticketing.errors import PayeeChangeEnded, RefundAddressFixed, TooManyChanges
from ticketing.models.notifications import Mail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import RefundAddress
from ticketing.notification_types import MailStatus
from ticketing.services.payments import payee_changes, refund_addresses
from tools import anvil

pytestmark = pytest.mark.long

OWN, THIEF, OTHER = FRIEND_ADDRESS, STRANGER_ADDRESS, anvil.BUYER
STEPS = 6
REFUSED = (TooManyChanges, RefundAddressFixed, PayeeChangeEnded)
DAY = timedelta(hours=24)


@pytest.fixture
def environ(environ):
    return {
        **environ,
        "SMTP_URL": "smtp://127.0.0.1:9",
        "MAIL_FROM": SENDER,
        "PUBLIC_URL": PUBLIC_URL,
    }


@pytest.fixture
def time(monkeypatch):
    return StoppedClock(monkeypatch, START)


@pytest.fixture
def buyer(time, acme):
    """An order that owes money, and whose buyer has confirmed where it goes."""
    made = acme.buyer(acme.ticket(), buyer=ADA)
    received(made, 7_000_000)
    change_intent(made, due=2_000_000)
    _state(made, OWN)
    payee_changes.confirm(_newest(made))
    _send(time)
    return made


def _state(buyer, address):
    config = buyer.organizer.app.extensions["ticketing"]
    refund_addresses.state(PaymentIntent.get_by_id(buyer.intent["id"]), address, config)


def _newest(buyer):
    of_order = RefundAddress.select().where(RefundAddress.intent == buyer.intent["id"])
    return of_order.order_by(RefundAddress.id.desc()).first()


def _of_thief(buyer):
    rows = RefundAddress.select().where(
        RefundAddress.intent == buyer.intent["id"], RefundAddress.address == THIEF
    )
    return list(rows.order_by(RefundAddress.id))


def _send(time):
    """Let the mail server take what waits."""
    sent = {"status": MailStatus.SENT, "ended_at": time.now, "next_attempt_at": None}
    Mail.update({**sent, "recipient": None}).where(Mail.status == MailStatus.WAITING).execute()


class Undone(Exception):
    """Ends a savepoint, so that the next sequence begins where this one did."""


class People:
    """The thief, who has the link, and the buyer, who reads mails."""

    def __init__(self, buyer, time):
        self.buyer, self.time = buyer, time

    def steal(self):
        """The thief states their address with the link."""
        _state(self.buyer, THIEF)

    def confuse(self):
        """The thief states another address with the link, and takes it back."""
        _state(self.buyer, OTHER)

    def wait(self):
        """A day passes. Mails are sent at its beginning."""
        _send(self.time)
        self.time.forward(hours=24)
        payee_changes.take_effect()

    def nap(self):
        """Less than a day passes."""
        _send(self.time)
        self.time.forward(hours=10)
        payee_changes.take_effect()

    def fail(self):
        """A day passes in which the mail server is down."""
        self.time.forward(hours=24)
        payee_changes.take_effect()

    def stop(self):
        """The buyer says "This wasn't me" of the thief's last statement."""
        rows = _of_thief(self.buyer)
        if rows:
            payee_changes.stop(rows[-1])

    def correct(self):
        """The buyer states the own address again, and confirms that from the mailbox."""
        _state(self.buyer, OWN)
        newest = _newest(self.buyer)
        if newest.waits and newest.address == OWN:
            payee_changes.confirm(newest)


def check(buyer, time, acts):
    """The thief gets the money only after a day in which the buyer was told and said nothing."""
    payee = home_of(buyer.intent["id"]).refund_address
    # A second address of the thief's may have counted in its turn, for a day in which it was told.
    assert payee in (OWN, THIEF, OTHER), acts
    if payee == THIEF:
        row = next(each for each in reversed(_of_thief(buyer)) if each.is_payee)
        assert row.told_at is not None and time.now - row.told_at >= DAY, acts
        assert row.ended_at is None, acts
        closed = [each.ended_at for each in _of_thief(buyer) if each.ended_at is not None]
        assert all(row.counts_since < each for each in closed), acts
    waiting = [each for each in _of_thief(buyer) if each.waits and each.effective_at]
    off_lists = [each.effective_at - each.stated_at for each in waiting]
    assert len(waiting) <= 1 and all(each <= DAY for each in off_lists), acts


ACTS = (
    ("steal", "confuse", "wait", "stop"),
    ("steal", "nap", "stop", "correct"),
    ("steal", "fail", "wait", "stop"),
)


@pytest.mark.parametrize("names", ACTS, ids=" ".join)
def test_the_link_alone_takes_no_refund(buyer, time, names):
    """All 4,096 sequences of six acts, each of them one of four."""
    people, count = People(buyer, time), 0

    def run(acts):
        nonlocal count
        count += 1
        check(buyer, time, acts)
        if len(acts) == STEPS:
            return
        for name in names:
            before = time.now
            with suppress(Undone), savepoint():
                with suppress(*REFUSED), savepoint():
                    getattr(people, name)()
                run((*acts, name))
                raise Undone
            time.now = before

    with suppress(Undone), write_transaction():
        run(())
        raise Undone
    assert count == sum(len(names) ** length for length in range(STEPS + 1))
