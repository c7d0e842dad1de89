"""Orders with vouchers: what they cost, how often a code can be used, and money that comes late."""

import json
import re
import uuid
from datetime import timedelta

import pytest

from tests.support import mcp
from tests.support.admissions import admissions_of, void
from tests.support.carts import buyer_of, shop_of_two
from tests.support.factories import PRICE, Api, Buyer, in_days, worker_once, written
from tests.support.races import at_once
from ticketing import clock
from ticketing.models.notifications import Notification
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.models.vouchers import Voucher
from ticketing.services import checkout, order_terms
from ticketing.services.channels import Person
from ticketing.services.order_requests import Order
from ticketing.services.orders.lines import Wanted
from ticketing.services.payments import settlement
from ticketing.services.payments.reconciliation import reconcile

CODE = "SPONSOR-7K4D"


@pytest.fixture(autouse=True)
def right_books(app):
    yield
    assert reconcile(None) == []


@pytest.fixture
def ticket(acme):
    return acme.ticket(capacity=None, max_per_order=10)


def vouchers_path(acme, ticket):
    return f"{acme.path}/events/{ticket['event_id']}/vouchers"


def made(acme, ticket, **fields):
    """A voucher of this ticket type's event: by default for one seat, which costs nothing."""
    body = {"code": CODE, "price_mode": "percent", "value": 100, **fields}
    api = acme.with_headers({"X-API-Key": acme.admin_key})
    answer = api.post(vouchers_path(acme, ticket), body)
    assert answer.status_code == 201, answer.json
    return answer.json


def change(acme, voucher, **fields):
    path = f"{acme.path}/events/{voucher['event_id']}/vouchers/{voucher['id']}"
    api = acme.with_headers({"X-API-Key": acme.admin_key})
    answer = api.patch(path, fields) if fields else api.post(f"{path}/disable")
    assert answer.status_code == 200, answer.json


def usages(voucher):
    now = Voucher.get_by_id(voucher["id"])
    return now.held, now.redeemed


def buy(acme, ticket, quantity=1, **fields):
    return acme.buyer(ticket, quantity=quantity, voucher=CODE, **fields)


def refusal(answer):
    assert answer.status_code == 409, answer.json
    return answer.json["code"]


# How often a code can be used.


@pytest.mark.sql
def test_fifty_orders_at_once_with_a_one_use_code_get_one_seat(acme, ticket):
    """Hi.Events#1223: the limit was read, and counted later."""
    voucher = made(acme, ticket, value=20)
    answers = at_once(*[lambda: acme.preflight(ticket, quantity=1, voucher=CODE)] * 50)
    codes = sorted(each.json.get("code", "") for each in answers)
    assert codes[0] == ""
    assert set(codes[1:]) <= {"voucher_held", "voucher_not_applicable"}
    assert usages(voucher) == (1, 0)
    assert acme.stock(ticket) == (1, 0)


def test_a_one_use_code_does_not_buy_three_tickets(acme, ticket):
    """Hi.Events#219."""
    made(acme, ticket)
    answer = acme.preflight(ticket, quantity=3, voucher=CODE)
    assert refusal(answer) == "voucher_not_applicable"
    assert (answer.json["reason"], answer.json["usages_left"]) == ("too_many_seats", 1)
    assert acme.stock(ticket) == (0, 0)


def test_too_few_seats_and_other_tickets_are_refused_with_a_reason(acme, ticket):
    other = acme.ticket(ticket["event_id"] and {"id": ticket["event_id"]})
    made(acme, ticket, max_usages=9, min_usages=2, ticket_ids=[ticket["id"]])
    for wanted, quantity, reason in (
        (ticket, 1, "too_few_seats"),
        (other, 2, "not_for_these_tickets"),
    ):
        answer = acme.preflight(wanted, quantity=quantity, voucher=CODE)
        assert refusal(answer) == "voucher_not_applicable"
        assert answer.json["reason"] == reason
        assert "usages_left" not in answer.json
    assert buy(acme, ticket, 2).intent["amount"] == 0


@pytest.mark.sql
def test_usages_come_back_by_cancelation_expiry_and_void(acme, ticket):
    voucher = made(acme, ticket, max_usages=2)
    buy(acme, ticket, 2).cancel()
    assert usages(voucher) == (0, 0)
    buy(acme, ticket, 2)
    PaymentIntent.update(expires_at=clock.now()).execute()
    settlement.expire_free()
    assert usages(voucher) == (0, 0)
    sold = buy(acme, ticket, 2)
    assert sold.purchase().status_code == 200
    assert usages(voucher) == (0, 2)
    assert refusal(acme.preflight(ticket, voucher=CODE)) == "voucher_invalid"
    for refund, seat in zip((True, False), admissions_of(sold), strict=True):
        assert void(acme, seat, refund=refund).status_code == 200
    assert usages(voucher) == (0, 0)


@pytest.mark.sql
def test_the_cancelation_of_the_event_gives_no_usage_back(acme, admin, ticket):
    voucher = made(acme, ticket, max_usages=5)
    sold, live = buy(acme, ticket, 3), buy(acme, ticket, 2)
    sold.purchase()
    assert void(acme, admissions_of(sold)[0]).status_code == 200
    path = f"{acme.path}/events/{ticket['event_id']}/status"
    assert admin.post(path, {"status": "canceled", "refund": True}).status_code == 200
    assert live.now()["status"] == "canceled"
    assert usages(voucher) == (0, 2)


def test_the_last_usage_is_news_once(acme, ticket):
    voucher = made(acme, ticket, max_usages=2)
    for _ in range(2):
        buyer = buy(acme, ticket)
        for _ in range(2):
            assert buyer.purchase().status_code == 200
    (fact,) = Notification.select().where(Notification.type == "voucher.used_up")
    found = {"event_id": ticket["event_id"], "voucher_id": voucher["id"]}
    assert json.loads(fact.data) == found


# Refusals.


def test_a_wrong_code_gets_one_answer_before_everything_else(acme, ticket):
    made(acme, ticket, code="ENDED", valid_until="2020-01-01T00:00:00Z")
    change(acme, made(acme, ticket, code="STOPPED"))
    made(acme, ticket, code="USED-UP")
    assert acme.buyer(ticket, voucher="USED-UP").purchase().status_code == 200
    made(acme, acme.ticket(), code="ELSEWHERE")
    hidden = acme.ticket({"id": ticket["event_id"]}, hide_without_voucher=True)
    bodies, results, pages = set(), set(), set()
    event = acme.api().get(f"{acme.path}/events/{ticket['event_id']}").json
    api = Api(acme.app.test_client())
    for code in ("UNKNOWN", "ENDED", "STOPPED", "USED-UP", "ELSEWHERE", "x"):
        for ticket_id in (ticket["id"], hidden["id"], "tkt_none"):
            body = {"event_id": event["id"], "ticket_id": ticket_id, "voucher": code}
            # Too many seats, and the wrong chain: these are not said.
            wrong = {**body, "quantity": 99, "chain_id": 1, "max_amount": 1}
            for sent in (body, wrong):
                answer = api.post(
                    f"{acme.checkout}/preflight", sent, headers={"X-Request-ID": "same"}
                )
                assert answer.status_code == 409
                bodies.add(answer.get_data())
            found = mcp.refused(api, "quote", tenant=acme.slug, **body)
            results.add(json.dumps({**found, "request_id": ""}, sort_keys=True))
        page = api.get(f"/{acme.slug}/{event['slug']}?voucher={code}")
        pages.add(re.sub(r'value="[^"]*"', "", page.text))
    assert len(bodies) == len(results) == len(pages) == 1
    assert json.loads(bodies.pop())["code"] == "voucher_invalid"
    assert json.loads(results.pop())["code"] == "voucher_invalid"


def test_a_hidden_type_is_sold_with_its_code_and_unknown_without(acme, ticket):
    hidden = acme.ticket({"id": ticket["event_id"]}, hide_without_voucher=True)
    closed = acme.ticket({"id": ticket["event_id"]}, require_voucher=True)
    named = [hidden["id"], closed["id"]]
    made(acme, ticket, price_mode="none", value=None, max_usages=9, ticket_ids=named)
    made(acme, ticket, code="FOR-ALL", max_usages=9)
    assert [buy(acme, each).intent["amount"] for each in (hidden, closed)] == [PRICE, PRICE]
    assert acme.preflight(hidden).status_code == 404
    assert acme.preflight(hidden, voucher="FOR-ALL").status_code == 404
    assert refusal(acme.preflight(closed)) == "voucher_required"
    # It fits nothing of the order: that is said first.
    assert refusal(acme.preflight(closed, voucher="FOR-ALL")) == "voucher_not_applicable"


# What it costs.


def test_an_order_shows_its_voucher_and_a_reader_no_code(acme, ticket):
    voucher = made(acme, ticket, value=25, max_usages=2)
    buyer = buy(acme, ticket, 2)
    intent = buyer.intent
    assert intent["voucher"] == {"id": voucher["id"], "code": CODE}
    price = PRICE - PRICE // 4
    assert (intent["amount"], intent["unit_amount"]) == (2 * price, price)
    assert intent["discount_amount"] == 2 * (PRICE // 4)
    (item,) = intent["items"]
    assert (item["list_amount"], item["unit_amount"]) == (PRICE, price)
    change(acme, voucher, value=100)
    TicketType.update(price_amount=9 * PRICE).execute()
    now = buyer.now()
    for name in ("amount", "items", "discount_amount", "voucher"):
        assert now[name] == intent[name]
    for role, code in (("read", None), ("write", CODE)):
        api = acme.with_headers({"X-API-Key": acme.key(role)})
        for path, pick in (
            (f"intents/{intent['id']}", lambda body: body),
            ("intents", lambda body: body["data"][0]),
        ):
            answer = api.get(f"{acme.path}/{path}")
            assert pick(answer.json)["voucher"] == {"id": voucher["id"], "code": code}
            assert (CODE in answer.text) is (code is not None)


def test_a_free_order_needs_no_chain_and_is_confirmed_by_purchase(acme, ticket):
    made(acme, ticket, max_usages=12)
    buyer = buy(acme, ticket, 10)
    intent = buyer.intent
    for name in ("chain_id", "address", "token_address", "payment_uri", "atomic_amount"):
        assert intent[name] is None
    assert intent["amount"] == 0
    bought = buyer.purchase()
    assert (bought.status_code, bought.json["status"]) == (200, "confirmed")
    assert len(bought.json["admissions"]) == 10


def test_seats_of_a_sponsor_do_not_count_as_free_those_of_a_public_code_do(environ, acme, ticket):
    made(acme, ticket, max_usages=100)
    made(acme, ticket, code="PUBLIC", max_usages=101)

    def order(code, quantity):
        body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "voucher": code}
        overrides = {"REMOTE_ADDR": "192.0.2.1"}
        api = Api(acme.app.test_client())
        return api.post(
            f"{acme.checkout}/preflight",
            {**body, "quantity": quantity},
            environ_overrides=overrides,
        )

    assert [order(CODE, 10).status_code for _ in range(2)] == [201, 201]
    assert order("PUBLIC", 2).status_code == 201
    refused = order("PUBLIC", 2)
    assert (refused.status_code, refused.json["code"]) == (429, "too_many_free")
    assert order("PUBLIC", 1).status_code == 201


@pytest.fixture
def environ(environ):
    return {**environ, "FREE_PER_CLIENT": "3"}


def test_a_voucher_lowers_the_least_price_and_not_the_choice(acme, ticket):
    event = acme.event(carts=True)
    gift = acme.ticket(event, free_price=True, max_price_amount=5 * PRICE)
    made(acme, gift, value=50, max_usages=9)

    def order(price):
        wanted = {"ticket_id": gift["id"], "quantity": 1}
        chosen = {} if price is None else {"price_amount": price}
        body = {"event_id": event["id"], "items": [{**wanted, **chosen}], "voucher": CODE}
        return Api(acme.app.test_client()).post(f"{acme.checkout}/preflight", body)

    assert order(None).json["amount"] == PRICE // 2
    assert order(PRICE // 2).json["amount"] == PRICE // 2
    more = order(2 * PRICE).json
    assert (more["amount"], more["discount_amount"]) == (2 * PRICE, 0)
    assert order(PRICE // 2 - 1).status_code == 422


def test_a_price_that_the_token_cannot_pay_exactly_is_refused(acme, ticket, environ, monkeypatch):
    made(acme, ticket, price_mode="subtract", value=1, max_usages=9)
    made(acme, ticket, code="EXACT", price_mode="subtract", value=PRICE // 2, max_usages=9)
    read = order_terms.units.to_atomic
    monkeypatch.setattr(order_terms.units, "to_atomic", lambda amount, _: read(amount, 2))
    assert refusal(acme.preflight(ticket, voucher=CODE)) == "not_payable"
    assert acme.preflight(ticket, voucher="EXACT").status_code == 201


def test_a_cart_uses_the_voucher_for_what_it_is_for(acme):
    adult, shirt = shop_of_two(acme)
    voucher = made(acme, adult, max_usages=3, ticket_ids=[adult["id"]])
    buyer = buyer_of(acme, (adult, 2), (shirt, 2), voucher=CODE)
    assert [item["unit_amount"] for item in buyer.intent["items"]] == [0, shirt["price_amount"]]
    assert usages(voucher) == (2, 0)


def test_a_repeat_after_the_voucher_ended_gets_the_same_answer(acme, ticket):
    voucher = made(acme, ticket)
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "voucher": CODE}
    api = Api(acme.app.test_client())

    def send(**fields):
        headers = {"Idempotency-Key": str(uuid.UUID(int=7))}
        return api.post(f"{acme.checkout}/preflight", {**body, **fields}, headers=headers)

    first = send()
    change(acme, voucher)
    assert (send().status_code, send().json) == (201, first.json)
    assert send(voucher="OTHER").status_code == 422


# The form of the page, sent again.


def again(acme, app, ticket, form, **fields):
    by = Person((), form=(form,))
    order = Order(ticket["event_id"], [Wanted(ticket["id"])], by, **fields)
    return checkout.preflight(acme.slug, order, app.extensions["ticketing"])


def test_a_form_that_is_sent_again_may_use_the_last_usage_that_it_holds(acme, app, ticket):
    voucher = made(acme, ticket, value=50)
    first = again(acme, app, ticket, "form", voucher=CODE)
    second = again(acme, app, ticket, "form", voucher=CODE, buyer_name="Ada")
    assert PaymentIntent.get_by_id(first.id).status == "canceled"
    assert second.status == "awaiting_payment"
    assert usages(voucher) == (1, 0)


@pytest.mark.sql
def test_forms_that_add_a_code_do_not_deadlock_with_orders_that_use_it(acme, app, ticket):
    made(acme, ticket, value=50, max_usages=1000)

    def forms(name):
        for number in range(12):
            again(acme, app, ticket, name, voucher=CODE if number % 2 else None)

    def orders():
        for _ in range(12):
            assert acme.preflight(ticket, voucher=CODE).status_code == 201

    at_once(*[lambda name=f"form {n}": forms(name) for n in range(4)], *[orders] * 4)


# Money that comes late.


@pytest.fixture
def late(acme, node):
    """A function: an order of 2 seats at half the price expires, `meanwhile` happens, it is paid.

    It returns the order as it is then, and the voucher.
    """

    def late(ticket, meanwhile=lambda _: None, **fields):
        voucher = made(acme, ticket, value=50, **{"max_usages": 2, **fields})
        worker_once(acme.app)
        buyer = buy(acme, ticket, 2)
        pass_time(node, 1000)
        worker_once(acme.app)
        assert buyer.now()["status"] == "expired"
        meanwhile(voucher)
        buyer.pay(node)
        worker_once(acme.app)
        return buyer.now(), voucher

    return late


def pass_time(node, seconds):
    node.rpc("evm_increaseTime", seconds)
    node.rpc("anvil_mine", "0x1")


@pytest.mark.sql
def test_late_money_is_honoured_while_usages_are_left(acme, ticket, late):
    # The list price may be what it was, although the order paid half of it.
    intent, voucher = late(ticket)
    assert (intent["status"], intent["flags"]) == ("confirmed", ["paid_late"])
    assert usages(voucher) == (0, 2)


@pytest.mark.sql
def test_late_money_is_owed_if_the_usages_are_gone(acme, ticket, late):
    taken: list[Buyer] = []
    intent, voucher = late(ticket, lambda _: taken.append(buy(acme, ticket)))
    assert (intent["status"], intent["refund_due"]) == ("expired", PRICE)
    assert usages(voucher) == (1, 0)
    assert acme.stock(ticket) == (1, 0)


def lower(voucher):
    TicketType.update(price_amount=PRICE - 1).execute()


def raise_price(voucher):
    TicketType.update(price_amount=PRICE + 1).execute()


LATE = [
    ("disabled", lambda acme, voucher: change(acme, voucher), "expired"),
    ("gives less", lambda acme, voucher: change(acme, voucher, value=49), "expired"),
    ("gives more", lambda acme, voucher: change(acme, voucher, value=51), "confirmed"),
    ("list price is lower", lambda _, voucher: lower(voucher), "confirmed"),
    ("list price is higher", lambda _, voucher: raise_price(voucher), "expired"),
    (
        "has ended",
        lambda acme, voucher: change(acme, voucher, valid_until="2020-01-01T00:00:00Z"),
        "expired",
    ),
    (
        "ends later",
        lambda acme, voucher: change(acme, voucher, valid_until=in_days(9)),
        "confirmed",
    ),
    ("fewer usages", lambda acme, voucher: change(acme, voucher, max_usages=1), "expired"),
]


@pytest.mark.parametrize(
    ("meanwhile", "status"), [each[1:] for each in LATE], ids=[e[0] for e in LATE]
)
@pytest.mark.long
def test_late_money_and_a_voucher_that_changed(acme, ticket, late, meanwhile, status):
    intent, voucher = late(ticket, lambda voucher: meanwhile(acme, voucher))
    assert intent["status"] == status
    assert intent["refund_due"] == (PRICE if status == "expired" else 0)
    assert usages(voucher) == ((0, 2) if status == "confirmed" else (0, 0))


def test_the_time_of_the_block_counts_for_the_end_of_a_voucher(acme, node, ticket):
    """The money is in a block before the end, and seen after it."""
    voucher = made(acme, ticket, value=50, max_usages=2)
    worker_once(acme.app)
    buyer = buy(acme, ticket, 2)
    pass_time(node, 1000)
    worker_once(acme.app)
    buyer.pay(node)
    ends = clock.now() + timedelta(seconds=1001 + 500)
    change(acme, voucher, valid_until=written(ends))
    pass_time(node, 5000)
    worker_once(acme.app)
    assert buyer.now()["status"] == "confirmed"
