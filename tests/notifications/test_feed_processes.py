"""The feed is read while processes write, and while they are killed: nothing is missed."""

import multiprocessing
import os
import signal
import time

import pytest

from tests.support.feed import feed_page
from tests.support.remote import eventually
from ticketing.constants import IntentStatus
from ticketing.db.connection import open_database, write_transaction
from ticketing.models.notifications import Notification
from ticketing.notification_types import NotificationType
from ticketing.services.notifications import feed, numbering

pytestmark = pytest.mark.long

WRITERS, TRANSACTIONS, EACH = 4, 25, 3
FACT = NotificationType.INTENT_CONFIRMED


def write(url, tenant_id, name, transactions):
    """Record facts in transactions of different length. Every fifth one is rolled back."""
    open_database(url)
    for number in range(transactions):
        try:
            with write_transaction():
                for part in range(EACH):
                    feed.record(tenant_id, FACT, {"by": f"{name}.{number}.{part}"})
                    time.sleep(0.001 * (name % 3))
                if number % 5 == 4:
                    raise InterruptedError
        except InterruptedError:
            continue


def write_without_end(url, tenant_id):
    """Record facts until somebody kills this process."""
    open_database(url)
    while True:
        with write_transaction():
            for _ in range(EACH):
                feed.record(tenant_id, FACT, {})


def number_without_end(url):
    """Number facts until somebody kills this process, as a worker does."""
    open_database(url)
    while True:
        numbering.number_all()
        time.sleep(0.01)


@pytest.fixture
def start(starts_processes):
    """Return a function that starts a process. All are killed at the end."""
    context, running = multiprocessing.get_context("spawn"), []

    def run(function, *arguments):
        process = context.Process(target=function, args=arguments, daemon=True)
        process.start()
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.join()


class Reader:
    """Reads the feed on and on, and checks that it only grows at its end."""

    def __init__(self, organizer):
        self.organizer, self.after, self.seen = organizer, 0, []

    def read(self):
        page = feed_page(self.organizer, after=self.after, limit=100)
        sequences = [each["sequence"] for each in page["data"]]
        first = len(self.seen) + 1
        assert sequences == list(range(first, first + len(sequences))), "a gap, or late"
        self.seen += page["data"]
        self.after = page["next_after"]
        return len(sequences)

    def check(self):
        """Check that what was read is all that there is, each once."""
        while self.read():
            pass
        rows = {row.id: row.sequence for row in Notification.select()}
        assert {each["id"]: each["sequence"] for each in self.seen} == rows
        assert len(self.seen) == len(rows)


def test_a_reader_beside_4_writers_and_2_workers_misses_nothing(app, acme, database_url, start):
    reader = Reader(acme)
    for _ in range(2):
        start(number_without_end, database_url)
    writers = [start(write, database_url, acme.id, name, TRANSACTIONS) for name in range(WRITERS)]
    while any(writer.is_alive() for writer in writers):
        reader.read()
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    reader.check()
    recorded = [each["data"]["by"] for each in reader.seen]
    assert len(set(recorded)) == len(recorded) == WRITERS * TRANSACTIONS * EACH * 4 // 5
    # What one transaction has recorded stays in its order.
    for name in range(WRITERS):
        own = [each.split(".") for each in recorded if each.startswith(f"{name}.")]
        assert own == sorted(own, key=lambda each: [int(part) for part in each])


def test_processes_that_are_killed_leave_no_gap_and_no_half_transaction(
    app, acme, database_url, start
):
    reader = Reader(acme)
    for _ in range(3):
        before = len(reader.seen)
        processes = [
            start(write_without_end, database_url, acme.id),
            start(write_without_end, database_url, acme.id),
            start(number_without_end, database_url),
        ]
        eventually(lambda before=before: reader.read() >= 0 and len(reader.seen) > before + 30)
        for process in processes:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
    reader.check()
    assert len(reader.seen) % EACH == 0


# SQLite has one writer at a time.
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_an_open_transaction_makes_nobody_wait_and_is_not_missed(
    app, acme, database_url, start, request
):
    context = multiprocessing.get_context("spawn")
    begun, may_end = context.Event(), context.Event()
    slow = start(hold_open, database_url, acme.id, begun, may_end)
    assert begun.wait(60)
    acme.event()
    reader = Reader(acme)
    assert reader.read() == 1
    may_end.set()
    slow.join()
    reader.check()
    assert [each["type"] for each in reader.seen] == ["event.published", FACT]


def hold_open(url, tenant_id, begun, may_end):
    """Record a fact, and commit only when told so."""
    open_database(url)
    with write_transaction():
        feed.record(tenant_id, FACT, {"status": IntentStatus.CONFIRMED})
        begun.set()
        may_end.wait(60)
