"""Purchase: looking at the chain now and settling."""

from tests.factories import PRICE


def test_a_paid_intent_is_confirmed_with_one_admission_per_seat(acme, node):
    ticket = acme.ticket(acme.event(online_join_url="https://meet.example.org/x"))
    buyer = acme.buyer(ticket, quantity=3)
    assert acme.stock(ticket) == (3, 0)
    buyer.pay(node)

    answer = buyer.purchase()

    assert answer.status_code == 200
    assert answer.json["status"] == "confirmed"
    assert answer.json["amount_received"] == 3 * PRICE
    assert answer.json["amount_due"] == answer.json["refund_due"] == 0
    assert answer.json["online_join_url"] == "https://meet.example.org/x"
    codes = {admission["code"] for admission in answer.json["admissions"]}
    assert len(codes) == 3 and min(map(len, codes)) >= 16
    assert acme.stock(ticket) == (0, 3)
