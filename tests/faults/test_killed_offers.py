"""kill -9 of the worker while it offers seats to those who wait: each once, with its mail."""

import random
import time
from collections import Counter
from contextlib import contextmanager

import pytest

from tests.support.mail_server import MailServer
from tests.support.remote import eventually, in_process
from ticketing.db.connection import database, open_database
from ticketing.models.notifications import Lease
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.services.waiting_list import entries

pytestmark = pytest.mark.long

WAITING, ROUNDS, FREED = 20, 4, 4
"""In each round so many seats become free, and workers are killed until all are offered."""


@pytest.fixture
def server():
    with MailServer() as running:
        yield running


@pytest.fixture
def variables(variables, server):
    mail = {"SMTP_URL": server.url, "MAIL_FROM": "tickets@example.org"}
    return {**variables, **mail, "PUBLIC_URL": "https://tickets.example.org"}


@contextmanager
def rows(stack):
    open_database(stack.database_url)
    try:
        yield
    finally:
        database.close()


def offered(stack):
    with rows(stack):
        return WaitingListEntry.select().where(WaitingListEntry.status == "offered").count()


def test_each_is_offered_once_however_often_the_worker_is_killed(stack, remote, server):
    terms = {"price_amount": 0, "chain_id": None, "capacity": 0, "allow_waitinglist": True}
    ticket = remote.ticket(**terms)
    asked = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
    for n in range(WAITING):
        body = {**asked, "email": f"{n}@example.org"}
        assert remote.send("POST", f"{remote.checkout}/waiting-list", body).status == 202
    with rows(stack):
        ids = [each.id for each in WaitingListEntry.select().order_by(WaitingListEntry.id)]
        for entry_id in ids:
            entries.confirm(entry_id)

    choose = random.Random(9)
    path = f"{remote.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
    kills = 0
    for number in range(1, ROUNDS + 1):
        wanted = number * FREED
        assert remote.send("PATCH", path, {"capacity": wanted}).status == 200
        attempts = 1
        while offered(stack) < wanted:
            with rows(stack):
                Lease.delete().execute()  # the next worker need not wait for the killed one
            stack.start_worker()
            attempts += 1
            # A worker takes a second or more to start, so each gets more time than the last one.
            moment = time.monotonic() + choose.uniform(0.5, attempts)
            eventually(lambda moment=moment: time.monotonic() > moment)
            stack.kill("worker")
            kills += 1
    assert kills >= ROUNDS

    with rows(stack):
        found = list(WaitingListEntry.select().order_by(WaitingListEntry.id))
        orders = [each.intent_id for each in found if each.intent_id]
        assert PaymentIntent.select().count() == len(orders) == ROUNDS * FREED
        Lease.delete().execute()
    expected = ["offered"] * (ROUNDS * FREED) + ["waiting"] * (WAITING - ROUNDS * FREED)
    assert [each.status for each in found] == expected
    stack.start_worker()

    def told():
        subjects = Counter(mail["To"] for mail in server.mails if "Your turn" in mail["Subject"])
        return len(subjects) == ROUNDS * FREED

    eventually(told)
    in_process(stack, "reconcile")
