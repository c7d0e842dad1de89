"""Orders of several ticket types, where they are shown: files, figures, lists."""

import pytest

from tests.api.test_exports import read
from tests.support.admissions import FREE, admissions_of, given, invite, sold, void
from tests.support.carts import SHIRT_PRICE, buyer_of, shop_of_two, use_voucher
from tests.support.factories import PRICE, worker_once

pytestmark = pytest.mark.sql


@pytest.fixture
def both(acme, node):
    """A paid order of two tickets and a shirt, a plain order, and the ids of both types."""
    ticket, shirt = shop_of_two(acme)
    cart = buyer_of(acme, (ticket, 2), (shirt, 1), buyer={"name": "Ada"})
    plain = acme.buyer(ticket)
    worker_once(acme.app)
    cart.pay(node)
    worker_once(acme.app)
    assert cart.now()["status"] == "confirmed"
    return ticket, shirt, cart, plain


def by(acme, ticket, kind, role="write"):
    query = {"event_id": ticket["event_id"], "by": kind}
    answer = acme.api(role).get(f"{acme.path}/sales", query_string=query)
    assert answer.status_code == 200, answer.json
    return answer.json["data"]


def test_orders_csv_has_a_row_an_order_and_items_csv_a_row_an_item(acme, both):
    ticket, shirt, cart, plain = both
    of_cart, of_plain = read(acme, ticket["event_id"], "orders")
    several = ("ticket_id", "ticket_type", "unit_amount")
    assert [of_cart[name] for name in several] == ["", "", ""]
    assert of_cart["items"] == "2 x Adult; 1 x T-shirt"
    assert of_cart["amount"] == str(2 * PRICE + SHIRT_PRICE)
    assert [of_plain[name] for name in several] == [ticket["id"], "Adult", str(PRICE)]
    assert of_plain["items"] == "1 x Adult"
    assert of_plain["discount_amount"] == "0" and of_plain["voucher_id"] == ""
    rows = read(acme, ticket["event_id"], "items")
    shown = ("intent_id", "ticket_type", "quantity", "list_amount", "unit_amount", "amount")
    assert [[row[name] for name in shown] for row in rows] == [
        [cart.intent["id"], "Adult", "2", str(PRICE), str(PRICE), str(2 * PRICE)],
        [cart.intent["id"], "T-shirt", "1", *[str(SHIRT_PRICE)] * 3],
        [plain.intent["id"], "Adult", "1", *[str(PRICE)] * 3],
    ]
    assert [row["status"] for row in rows] == ["confirmed", "confirmed", "awaiting_payment"]
    assert {row["vouchered"] for row in rows} == {"false"}
    assert [row["ticket_id"] for row in rows] == [ticket["id"], shirt["id"], ticket["id"]]
    for order in (of_cart, of_plain):
        of_it = [row for row in rows if row["intent_id"] == order["intent_id"]]
        assert sum(int(row["amount"]) for row in of_it) == int(order["amount"])


def test_an_order_of_one_item_with_a_voucher_has_its_ticket_type(acme):
    ticket = acme.ticket(name="=SUM(1)", capacity=None)
    buyer = acme.buyer(ticket, quantity=3)
    voucher = use_voucher(buyer, ticket, "SPONSOR", PRICE + 7)
    (order,) = read(acme, ticket["event_id"], "orders")
    assert (order["ticket_id"], order["unit_amount"]) == (ticket["id"], str(PRICE))
    assert (order["ticket_type"], order["items"]) == ("'=SUM(1)", "3 x =SUM(1)")
    assert (order["discount_amount"], order["voucher_id"]) == ("21", voucher.id)
    assert "SPONSOR" not in order.values()


def test_attendees_csv_has_what_each_seat_cost_and_released(acme, both):
    ticket, shirt, cart, _ = both
    assert void(acme, admissions_of(cart)[0]).status_code == 200
    assert invite(acme, ticket, {"name": "Guest"}).status_code == 201
    rows = read(acme, ticket["event_id"], "attendees")
    assert [(row["ticket_id"], row["amount"], row["released"]) for row in rows] == [
        (ticket["id"], str(PRICE), str(PRICE)),
        (ticket["id"], str(PRICE), "0"),
        (shirt["id"], str(SHIRT_PRICE), "0"),
        (ticket["id"], "0", "0"),
    ]


def test_sales_by_ticket_type_tell_tickets_merchandise_and_guests_apart(acme, both):
    ticket, shirt, cart, _ = both
    invite(acme, ticket, {"name": "Guest"})
    assert by(acme, ticket, "ticket") == [
        {
            "ticket_id": ticket["id"],
            "name": "Adult",
            "orders": 1,
            "tickets": 2,
            "merchandise": 0,
            "guests": 1,
            "amount": 2 * PRICE,
            "discount_amount": 0,
            "kept": 2 * PRICE,
        },
        {
            "ticket_id": shirt["id"],
            "name": "T-shirt",
            "orders": 1,
            "tickets": 0,
            "merchandise": 1,
            "guests": 0,
            "amount": SHIRT_PRICE,
            "discount_amount": 0,
            "kept": SHIRT_PRICE,
        },
    ]
    assert void(acme, admissions_of(cart)[0]).status_code == 200
    of_tickets, of_shirts = by(acme, ticket, "ticket")
    assert (of_tickets["tickets"], of_tickets["kept"]) == (1, PRICE)
    assert of_tickets["amount"] == 2 * PRICE
    (today,) = acme.api().get(f"{acme.path}/sales?event_id={ticket['event_id']}").json["data"]
    for name in ("tickets", "merchandise", "amount", "kept"):
        assert of_tickets[name] + of_shirts[name] == today[name], name


def test_sales_by_voucher_and_tag_count_the_seats_that_used_it(acme, node):
    ticket = acme.ticket(capacity=None)
    for code, tag, quantity in (("ONE", "sponsors", 2), ("TWO", "sponsors", 1), ("TRE", None, 1)):
        buyer = sold(acme, node, ticket, quantity=quantity)
        use_voucher(buyer, ticket, code, PRICE + 5, tag=tag)
    sold(acme, node, ticket)
    use_voucher(acme.buyer(ticket), ticket, "UNPAID", PRICE)
    found = by(acme, ticket, "voucher")
    names = ("code", "tag", "orders", "tickets", "amount", "discount_amount", "kept")
    assert [[each[name] for name in names] for each in found][:1] == [
        ["ONE", "sponsors", 1, 2, 2 * PRICE, 10, 2 * PRICE]
    ]
    assert {each["code"] for each in found} == {"ONE", "TWO", "TRE"}
    assert {each["code"] for each in by(acme, ticket, "voucher", role="read")} == {None}
    assert [(each["tag"], each["orders"], each["tickets"]) for each in by(acme, ticket, "tag")] == [
        ("sponsors", 2, 3),
        (None, 1, 1),
    ]
    (of_type,) = by(acme, ticket, "ticket")
    assert (of_type["tickets"], of_type["discount_amount"]) == (5, 20)


def test_sales_of_one_event_need_an_event_and_are_empty_for_others(acme, neighbour):
    ticket = acme.ticket(**FREE)
    given(acme, ticket)
    reader = acme.api("read")
    for kind in ("ticket", "voucher", "tag"):
        answer = reader.get(f"{acme.path}/sales", query_string={"by": kind})
        assert answer.status_code == 422 and list(answer.json["errors"]) == ["event_id"]
        assert by(neighbour, ticket, kind) == []
        assert by(acme, {"event_id": "evt_none"}, kind) == []
    assert [each["tickets"] for each in by(acme, ticket, "ticket")] == [1]
