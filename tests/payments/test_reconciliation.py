"""Reconciliation: no finding while the books are right, else the broken rule."""

import json

import pytest
from peewee import IntegrityError

from tests.support.admissions import FREE, admissions_of, invite, void
from tests.support.broken_books import (
    BOOKS,
    BROKEN,
    FORBIDDEN,
    change,
    change_home,
    one_more_payment,
    one_more_refund,
)
from tests.support.carts import buyer_of, shop_of_two
from tests.support.factories import PRICE, cli, worker_once
from tests.support.stored_rows import restored
from ticketing.db.connection import database, is_sqlite
from ticketing.models.admissions import Admission
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.services.payments import address_check, reconciliation
from ticketing.services.payments.address_check import AddressCheck
from ticketing.services.payments.rule_scope import BREACHES_PER_RULE

pytestmark = pytest.mark.sql


@pytest.fixture
def books(acme, neighbour, node):
    """The ids of one resource of each kind of acme. A neighbour also sells."""
    ticket = acme.ticket()
    late = acme.buyer(ticket)
    late.pay(node, PRICE - 1)
    pass_time(node)
    worker_once(acme.app)
    paid, live = acme.buyer(ticket, quantity=3), acme.buyer(ticket)
    free = acme.buyer(free_ticket(acme))
    paid.pay(node, 3 * PRICE + 5)
    worker_once(acme.app)
    seats = admissions_of(paid)
    assert void(acme, seats[2]).status_code == 200
    limited = acme.ticket(acme.event(capacity=5), price_amount=0, chain_id=None)
    (guest,) = invite(acme, limited, {"name": "Ada"}).json["admissions"]
    assert free.purchase().status_code == 200
    adult, shirt = shop_of_two(acme, **FREE)
    cart, sold_cart = (buyer_of(acme, (adult, 2), (shirt, 1)) for _ in range(2))
    assert sold_cart.purchase().status_code == 200
    voucher = vouchered(acme)
    assert neighbour.buyer(free_ticket(neighbour)).purchase().status_code == 200
    statuses = [buyer.now()["status"] for buyer in (paid, live, free, late)]
    assert statuses == ["confirmed", "awaiting_payment", "confirmed", "expired"]
    assert reconciliation.reconcile(None) == []
    named = {"paid": paid, "live": live, "free": free, "expired": late}
    named |= {"cart": cart, "sold_cart": sold_cart}
    return {
        "ticket": ticket["id"],
        "other_event": ticket["event_id"],
        "limited": limited["id"],
        "shirt": shirt["id"],
        "event": limited["event_id"],
        "guest": guest["id"],
        "void": seats[2].id,
        "voucher": voucher,
        **{name: buyer.intent["id"] for name, buyer in named.items()},
        "admission": first_of(Admission, paid).id,
        "free_admission": first_of(Admission, free).id,
        "payment": first_of(Payment, paid).id,
    }


def vouchered(organizer):
    """The id of a voucher that a live order uses twice, and a confirmed one twice after a void."""
    ticket = organizer.ticket()
    event_path = f"{organizer.path}/events/{ticket['event_id']}"
    body = {"code": "ALL-FREE", "price_mode": "percent", "value": 100, "max_usages": 9}
    voucher = organizer.api().post(f"{event_path}/vouchers", body).json
    live, sold = (organizer.buyer(ticket, quantity=n, voucher="ALL-FREE") for n in (2, 3))
    assert sold.purchase().status_code == 200
    assert void(organizer, admissions_of(sold)[0]).status_code == 200
    assert live.now()["status"] == "awaiting_payment"
    return voucher["id"]


def free_ticket(organizer):
    return organizer.ticket(price_amount=0, chain_id=None)


def pass_time(node):
    """Move the chain's clock past every deadline."""
    node.rpc("evm_increaseTime", 7200)
    node.rpc("anvil_mine", "0x1")


def first_of(model, buyer):
    return model.select().where(model.intent == buyer.intent["id"]).order_by(model.id).first()


def break_books(books, sql):
    database.execute_sql(sql.format(**books))


def forget_check_constraints():
    """Make the database accept impossible stock."""
    if is_sqlite():
        database.execute_sql("PRAGMA ignore_check_constraints = 1")
        return
    checks = "SELECT conname FROM pg_constraint WHERE conrelid = 'ticket_types'::regclass"
    for (name,) in database.execute_sql(f"{checks} AND contype = 'c'"):
        database.execute_sql(f'ALTER TABLE ticket_types DROP CONSTRAINT "{name}"')


def right(intents):
    return f"the books are right: {len(reconciliation.RULES)} rules, {intents} intents\n"


def found_by(tenant_id):
    wrong = [breach for page in AddressCheck(tenant_id).run() for breach in page]
    return [(breach.rule, breach.ids) for breach in [*reconciliation.reconcile(tenant_id), *wrong]]


def seen_by(organizer):
    """Return the findings for one tenant: the same through service, API and CLI."""
    found = found_by(organizer.id)
    answer = organizer.api().get(f"{organizer.path}/reconciliation")
    assert answer.status_code == 200
    assert answer.json["ok"] is (not found)
    assert [(each["rule"], each["ids"]) for each in answer.json["breaches"]] == found
    arguments = ("reconcile", "--tenant", organizer.slug, "--json")
    printed = cli(organizer.app, *arguments, exit_code=1 if found else 0)
    assert json.loads(printed) == answer.json
    return found


def busy_books(organizer, node):
    """Every kind of order, including the reorganization."""
    ticket, free = organizer.ticket(capacity=30), free_ticket(organizer)

    def buyers(count):
        return [organizer.buyer(ticket, quantity=2) for _ in range(count)]

    never_paid, part_paid_in_time, part_paid_late, paid_late = buyers(4)
    part_paid_in_time.pay(node, 2)
    pass_time(node)
    worker_once(organizer.app)
    part_paid_late.pay(node, PRICE)
    paid_late.pay(node)
    part_paid, exact, overpaid, twice, canceled, never_seen = buyers(6)
    part_paid.pay(node, PRICE)
    exact.pay(node)
    overpaid.pay(node, 2 * PRICE + 7)
    twice.pay(node)
    twice.pay(node)
    canceled.cancel()
    free_live, free_confirmed, free_canceled = (organizer.buyer(free) for _ in range(3))
    free_confirmed.purchase()
    free_canceled.cancel()
    worker_once(organizer.app)
    refunded = {"payment": first_of(Payment, twice).id, "twice": twice.intent["id"]}
    break_books(refunded, one_more_refund("twice", PRICE))
    break_books(refunded, change_home("twice", f"refunded = {PRICE}, due = {PRICE}"))
    becomes = {
        "awaiting_payment": (part_paid, never_seen, free_live),
        "confirmed": (exact, overpaid, twice, paid_late, free_confirmed),
        "expired": (never_paid, part_paid_in_time, part_paid_late),
        "canceled": (canceled, free_canceled),
    }
    for status, of in becomes.items():
        assert [buyer.now()["status"] for buyer in of] == [status] * len(of)
    return buyers(2)


@pytest.mark.exhaustive
def test_busy_books_are_right_at_every_step(acme, neighbour, node):
    gone, half_gone = both = busy_books(acme, node)
    assert neighbour.buyer(free_ticket(neighbour)).purchase().status_code == 200
    half_gone.pay(node, PRICE)
    worker_once(acme.app)
    assert reconciliation.reconcile(None) == []
    snapshot = node.rpc("evm_snapshot")
    gone.pay(node)
    half_gone.pay(node, PRICE)
    worker_once(acme.app)
    assert [buyer.now()["status"] for buyer in both] == ["confirmed"] * 2
    assert reconciliation.reconcile(None) == []
    node.rpc("evm_revert", snapshot)
    node.rpc("anvil_mine", "0x5")
    worker_once(acme.app)
    assert [buyer.now()["status"] for buyer in both] == ["reversed"] * 2
    assert seen_by(acme) == seen_by(neighbour) == []
    assert cli(acme.app, "reconcile") == right(PaymentIntent.select().count())
    assert cli(acme.app, "reconcile", "--tenant", neighbour.id) == right(1)
    gone.pay(node)
    worker_once(acme.app)
    assert [buyer.now()["status"] for buyer in both] == ["confirmed", "reversed"]
    assert reconciliation.reconcile(None) == []


def test_what_is_being_processed_is_held(three_deep, acme, node):
    buyer = acme.buyer(acme.ticket(), quantity=2)
    worker_once(acme.app)
    buyer.pay(node)
    worker_once(acme.app)
    assert buyer.now()["status"] == "processing"
    assert seen_by(acme) == []


def test_empty_books_are_right(acme):
    assert seen_by(acme) == []
    assert cli(acme.app, "reconcile") == right(0)


@pytest.mark.exhaustive
def test_each_breach_is_named_and_nobody_else_sees_it(acme, neighbour, books):
    for broken, sql in BROKEN:
        with restored(BOOKS):
            break_books(books, sql)
            expected = [
                (rule, [books.get(name, name) for name in names.split()])
                for rule, names in broken.items()
            ]
            assert seen_by(acme) == expected, sql
            assert found_by(None) == expected, sql
            assert seen_by(neighbour) == [], sql
            printed = cli(acme.app, "reconcile", exit_code=1).splitlines()
            for line, (rule, ids) in zip(printed, expected, strict=True):
                assert line.startswith(f"{rule}  {' '.join(ids)}  ")
            assert cli(acme.app, "reconcile", "--tenant", "neighbour") == right(1)
        assert found_by(None) == [], sql


def test_every_rule_has_been_broken():
    tried = {rule for broken, _ in BROKEN for rule in broken}
    assert tried | {"stock_within_capacity"} == {*reconciliation.RULES, address_check.RULE}


def test_what_the_database_refuses_cannot_be_broken(acme, books):
    for sql in FORBIDDEN:
        with pytest.raises(IntegrityError):
            break_books(books, sql)
    assert seen_by(acme) == []


def test_stock_beyond_the_capacity_is_named_all_the_same(acme, books):
    forget_check_constraints()
    break_books(books, change("ticket", "capacity = 1"))
    assert seen_by(acme) == [("stock_within_capacity", [books["ticket"]])]
    assert reconciliation.reconcile(None)[0].detail == "1 are held and 2 sold of 1"
    break_books(books, change("ticket", "capacity = NULL, held = -1"))
    assert [rule for rule, _ in seen_by(acme)] == ["stock_within_capacity", "held_is_live"]


def test_dust_counts_once_it_makes_a_micro_unit(acme, books):
    break_books(books, change_home("paid", "token_decimals = 18"))
    break_books(books, change("payment", "dust = 600000000000"))
    assert seen_by(acme) == []
    break_books(books, one_more_payment("paid", dust=400000000000))
    assert seen_by(acme) == [("received_is_payments", [books["paid"]])]
    more = f"received = {3 * PRICE + 6}, final = {3 * PRICE + 6}, due = {PRICE + 6}"
    break_books(books, change_home("paid", more))
    assert seen_by(acme) == []


def test_a_refund_whose_payment_a_reorganization_took_away_is_no_breach(acme, books):
    break_books(books, one_more_refund("expired", 9))
    break_books(books, "UPDATE payments SET canonical = FALSE WHERE intent_id = '{expired}'")
    break_books(
        books, change_home("expired", "received = 0, final = 0, due = 0, kept = -9, refunded = 9")
    )
    assert seen_by(acme) == []


@pytest.mark.exhaustive
def test_no_more_than_a_hundred_breaches_of_a_rule_are_told(acme):
    ticket = acme.ticket(price_amount=0, chain_id=None, capacity=None, max_per_order=100)
    for quantity in (100, 1):
        assert acme.buyer(ticket, quantity=quantity).purchase().status_code == 200
    Admission.update(status="suspended").execute()
    assert len(seen_by(acme)) == BREACHES_PER_RULE == 100


def test_an_unknown_tenant_is_told_in_one_sentence(acme):
    assert "tenant does not exist" in cli(
        acme.app, "reconcile", "--tenant", "nobody-here", exit_code=1
    )
