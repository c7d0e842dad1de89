"""Publish, withdraw, cancel: events and ticket types follow the same rules."""

import threading
from itertools import product

import pytest

from tests.support.admissions import FREE
from tests.support.factories import event_body, ticket_body
from ticketing.db.connection import database
from ticketing.services.orders import stock

STATUSES = ("draft", "published", "canceled")
ALLOWED = {
    ("draft", "published"),
    ("draft", "canceled"),
    ("published", "canceled"),
    ("published", "draft"),
    *((status, status) for status in STATUSES),
}


@pytest.mark.parametrize("kind", ["event", "ticket type"])
def test_every_move_between_statuses_is_allowed_or_refused_as_promised(acme, admin, kind):
    path, body = f"{acme.path}/events", event_body()
    if kind == "ticket type":
        path, body = f"{path}/{acme.event()['id']}/tickets", ticket_body()
    for before, after in product(STATUSES, repeat=2):
        made = admin.post(path, body).json
        here = f"{path}/{made['id']}"
        if before != "draft":
            made = admin.post(f"{here}/status", {"status": before}).json

        answer = admin.post(f"{here}/status", {"status": after})

        if (before, after) in ALLOWED:
            assert answer.status_code == 200 and answer.json["status"] == after
            assert (answer.json["updated_at"] == made["updated_at"]) == (before == after)
        else:
            assert answer.status_code == 409 and answer.json["code"] == "invalid_transition"
            assert admin.get(here).json["status"] == before


def test_a_ticket_type_that_nobody_began_to_buy_can_go_back_to_draft(acme, admin):
    event = acme.event()
    path = f"{acme.path}/events/{event['id']}/tickets"
    bought, other = acme.ticket(event, **FREE), acme.ticket(event, **FREE)
    acme.buyer(bought).cancel()

    assert admin.post(f"{path}/{other['id']}/status", {"status": "draft"}).status_code == 200
    assert admin.post(f"{path}/{bought['id']}/status", {"status": "canceled"}).status_code == 200


def test_an_order_at_the_moment_of_a_withdrawal_waits_and_nobody_fails(acme, monkeypatch):
    ticket = acme.ticket(**FREE)
    path = f"{acme.path}/events/{ticket['event_id']}/status"
    held, hold, withdrawn = threading.Event(), stock.TYPES.hold, []

    def hold_and_pause(*arguments, **options):
        found = hold(*arguments, **options)
        held.set()
        # On SQLite the withdrawal cannot begin. On Postgres it has locked the event's row by then.
        withdrawal.join(1)
        return found

    def withdraw():
        held.wait()
        api = acme.with_headers({"X-API-Key": acme.admin_key})
        withdrawn.append(api.post(path, {"status": "draft"}).status_code)
        database.close()

    monkeypatch.setattr(stock.TYPES, "hold", hold_and_pause)
    withdrawal = threading.Thread(target=withdraw)
    withdrawal.start()
    assert acme.preflight(ticket).status_code == 201
    withdrawal.join()
    assert withdrawn == [409]
