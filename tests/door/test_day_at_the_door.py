"""A day at the door: at the end each entry is accounted for."""

import random
from datetime import timedelta

import pytest

from tests.support.databases import only_once
from tests.support.door_day import Day
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.models.admissions import Admission
from ticketing.models.door import Scan
from ticketing.services.payments.reconciliation import reconcile

SEED = 13


@pytest.fixture
def new_day(acme, monkeypatch):
    def new(**options):
        stopped = StoppedClock(monkeypatch, clock.now())
        return Day(acme, stopped, random.Random(SEED), **options)

    return new


def live_through(day, *, tickets, minutes, changes=1):
    """Sell tickets, and let everybody try to come in."""
    day.sell(tickets)
    day.clock.forward(minutes=61)
    for post in day.posts:
        day.go_online(post)
    for _ in range(minutes):
        chances = ((day.transfer, 0.9), (day.void, 0.9), (day.reissue, 0.3), (day.suspend, 0.5))
        for event, chance in (*chances * changes, (day.restore, 0.1)):
            if day.draw.random() < chance:
                event()
        if day.draw.random() < 0.2:
            day.sell(2)
        for post in day.posts:
            if post.is_offline and day.draw.random() < 0.3:
                day.go_online(post)
            elif not post.is_offline:
                day.go_online(post)
                post.is_offline = day.draw.random() < 0.3
            for _ in range(len(day.queue) // (3 * minutes) + 2):
                day.admit_next(post)
    day.restore()
    while day.queue:
        day.admit_next(day.draw.choice(day.posts))
    # The second time, each device reads what the others had still to send.
    for post in [*day.posts, *day.posts]:
        while not day.go_online(post):
            pass


def account_for(day):
    """Compare who went in with what the server says."""
    rows = {row.id: row for row in Admission.select()}
    scans = {scan.nonce: scan for scan in Scan.select()}
    for ticket in day.tickets:
        row = rows[ticket.id]
        by = scans[ticket.inside] if ticket.inside else None
        assert (row.status, row.generation) == (ticket.status, ticket.generation)
        assert row.redeemed_by == (by and by.id)
        assert row.redeemed_at == (by and by.scanned_at)
    redeemed = {ticket.inside for ticket in day.tickets if ticket.inside}
    conflicts = {nonce for ticket in day.tickets for nonce in ticket.conflicts}
    assert redeemed | conflicts == day.entries.keys()
    assert not redeemed & conflicts
    _check_stats(day, len(redeemed), conflicts, scans)
    # However wrong a device's clock is, the server knows when each scan was.
    for nonce, time in day.times.items():
        assert abs(scans[nonce].scanned_at - time) < timedelta(seconds=1)
    copies = [post.device.admissions for post in day.posts]
    for row in rows.values():
        now = (row.status, row.generation, row.redeemed_at is None)
        for copy in copies:
            known = copy[row.id]
            assert (known["status"], known["generation"], known["redeemed_at"] is None) == now
    assert reconcile(day.organizer.id) == []


def _check_stats(day, inside, conflicts, scans):
    shown = day.posts[0].gate.api.get(f"{day.posts[0].gate.path}/stats").json
    assert shown["inside"] == inside == sum(each["inside"] for each in shown["by_gate"])
    assert shown["inside"] == sum(each["inside"] for each in shown["by_ticket_type"])
    newest = sorted(conflicts, key=lambda nonce: scans[nonce].id, reverse=True)
    assert [each["nonce"] for each in shown["conflicts"]] == newest[: len(shown["conflicts"])]
    assert len(shown["conflicts"]) == min(100, len(newest))


@pytest.mark.exhaustive
def test_an_hour_at_the_door(new_day):
    day = new_day()
    live_through(day, tickets=100, minutes=10)
    account_for(day)


@only_once
@pytest.mark.long
def test_a_day_at_the_door(new_day):
    day = new_day()
    live_through(day, tickets=1500, minutes=40, changes=4)
    account_for(day)
    assert len(day.entries) > 1300
    verdicts = {scan.verdict for scan in Scan.select() if scan.outcome == "conflict"}
    assert verdicts == {"already_redeemed", "void", "suspended", "superseded"}
    assert day.refusals.keys() >= {"already_redeemed", "admission_void", "doors_unsynced"}
    # A device that was offline for a day admits nobody.
    post, guest = day.posts[0], next(iter(day.entries.values()))
    day.clock.forward(hours=25)
    assert post.device.decide(guest.qr).rule == "not synced"
