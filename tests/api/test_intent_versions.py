"""A buyer who waits for a payment asks for the order again and again: 304 until it changes."""

import logging
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from peewee import BooleanField, IntegerField

from tests.support.books import change_home, home_of
from tests.support.factories import PRICE, statuses, worker_once
from ticketing.constants import Flag, IntentStatus
from ticketing.limits import CallClass
from ticketing.models.base import UtcDateTimeField
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import FlagsField, PaymentIntent
from ticketing.models.refunds import Refund

pytestmark = pytest.mark.sql

# The database may refuse another value, or the order is then another one.
FIXED = {"id", "tenant", "event", "wallet", "chain_id", "address", "token_address"}
# Fixed when an order is made.
FIXED |= {"quantity", "amount", "currency", "token_decimals", "created_at"}
FIXED |= {"required_confirmations", "networks", "free_seats", "voucher", "locale"}
FIXED |= {"link_generation"}  # another one ends the secret

LIMITED = {each: 2 if each == CallClass.ORDER else 0 for each in CallClass}


def ask(buyer, tag=None):
    return buyer.api.get(buyer.path, headers={"If-None-Match": tag} if tag else {})


def test_an_order_that_did_not_change_is_not_sent_again(acme):
    buyer = acme.buyer(acme.ticket())
    first = ask(buyer)
    again = ask(buyer, first.headers["ETag"])
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    assert again.headers["Cache-Control"] == "no-store"


def test_the_short_way_around_flask_answers_and_logs_the_same(acme, caplog):
    buyer = acme.buyer(acme.ticket())
    caplog.set_level(logging.INFO, "ticketing.requests")
    answers, lines = [], []
    for scheme in ("Bearer", "bearer"):  # the second one is left to Flask
        headers = {"Authorization": f"{scheme} {buyer.intent['client_secret']}"}
        api = acme.with_headers(headers)
        tag = {"If-None-Match": api.get(buyer.path).headers["ETag"], "X-Request-ID": "r" * 20}
        caplog.clear()
        answer = api.get(buyer.path, headers=tag)
        answers.append((answer.status, sorted(answer.headers.items()), answer.data))
        (line,) = caplog.records
        lines.append({**line.fields, "duration_ms": 0})
    assert answers[0] == answers[1]
    assert lines[0] == lines[1]
    assert answers[0][0] == "304 NOT MODIFIED"


def test_it_leaves_out_whoever_asks_too_often(app, acme, monkeypatch):
    buyer = acme.buyer(acme.ticket())
    tag = ask(buyer).headers["ETag"]
    settings = replace(app.extensions["ticketing"], rate_limits=LIMITED)
    monkeypatch.setitem(app.extensions, "ticketing", settings)
    answers = [ask(buyer, tag) for _ in range(3)]
    assert statuses(answers) == [304, 304, 429]
    assert [each.headers["RateLimit"].split(";")[1] for each in answers] == ["r=1", "r=0", "r=0"]


def test_each_state_on_the_way_to_the_ticket_is_sent(app, acme, node):
    buyer = acme.buyer(acme.ticket())
    tag = ask(buyer).headers["ETag"]
    buyer.pay(node, PRICE - 1)
    worker_once(app)
    part = ask(buyer, tag)
    assert (part.status_code, part.json["amount_due"]) == (200, 1)
    assert ask(buyer, part.headers["ETag"]).status_code == 304
    buyer.pay(node, 1)
    worker_once(app)
    paid = ask(buyer, part.headers["ETag"])
    assert (paid.status_code, paid.json["status"]) == (200, "confirmed")


def test_it_is_of_one_tenant_and_one_secret(api, acme, neighbour):
    buyer = acme.buyer(acme.ticket())
    tag = ask(buyer).headers["ETag"]
    headers = {"If-None-Match": tag}
    assert acme.api("paywall").get(buyer.path, headers=headers).status_code == 304
    theirs = buyer.path.replace(acme.checkout, neighbour.checkout)
    assert buyer.api.get(theirs, headers=headers).status_code == 404
    assert neighbour.api("admin").get(theirs, headers=headers).status_code == 404
    assert api.get(buyer.path, headers=headers).status_code == 401


@pytest.fixture
def paid(app, acme, node):
    """A buyer whose order is confirmed."""
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    worker_once(app)
    return buyer


def test_what_changes_the_answer_changes_the_tag(paid):
    intent_id = paid.intent["id"]
    for status in (IntentStatus.AWAITING_PAYMENT, IntentStatus.PROCESSING):
        _change(intent_id, PaymentIntent.status, status)
        for field in PaymentIntent._meta.sorted_fields:
            if field.name not in FIXED:
                _check_changes_of(paid, field)


def _check_changes_of(buyer, field):
    before, value = ask(buyer), getattr(_read(buyer.intent["id"]), field.name)
    for other in _others(field):
        _change(buyer.intent["id"], field, other)
        after = ask(buyer, before.headers["ETag"])
        assert after.status_code == 200 or ask(buyer).json == before.json, (field.name, other)
    _change(buyer.intent["id"], field, value)
    assert ask(buyer, before.headers["ETag"]).status_code == 304


def _read(intent_id):
    return PaymentIntent.get_by_id(intent_id)


def _change(intent_id, field, value):
    PaymentIntent.update({field: value}).where(PaymentIntent.id == intent_id).execute()


def _others(field):
    if field.name == "status":
        return list(IntentStatus)
    if isinstance(field, FlagsField):
        return [{each} for each in Flag]
    if isinstance(field, UtcDateTimeField):
        return [datetime(2026, 1, 1, tzinfo=UTC)]
    if isinstance(field, BooleanField):
        return [True]
    return [7] if isinstance(field, IntegerField) else ["7"]


def test_another_block_changes_the_answer_of_a_paid_order_only(acme, paid):
    waiting = acme.buyer(acme.ticket())
    tags = [ask(each).headers["ETag"] for each in (paid, waiting)]
    ChainState.update(block_number=ChainState.block_number + 1).execute()
    answers = [
        ask(buyer, tag).status_code for buyer, tag in zip((paid, waiting), tags, strict=True)
    ]
    assert answers == [200, 304]


def test_another_refund_of_the_same_amount_changes_the_answer(paid):
    intent_id = paid.intent["id"]
    change_home(intent_id, refunded=1)
    _refund(intent_id, "ref_1")
    before = ask(paid)
    assert len(before.json["refunds"]) == 1
    Refund.update(canonical=False).execute()
    _refund(intent_id, "ref_2")
    after = ask(paid, before.headers["ETag"])
    assert (after.status_code, len(after.json["refunds"])) == (200, 1)


def _refund(intent_id, refund_id):
    Refund.create(
        id=refund_id,
        intent=intent_id,
        account=home_of(intent_id),
        chain_id=31337,
        tx_hash="0x" + refund_id[-1] * 64,
        log_index=0,
        sender="0x" + "1" * 40,
        recipient="0x" + "0" * 40,
        amount=1,
        block_number=1,
        block_hash="0x" + "2" * 64,
        created_at=_read(intent_id).created_at,
    )
