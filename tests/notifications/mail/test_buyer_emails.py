"""The buyer of an order says where its mails go: they come there, and nowhere else."""

from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from tests.support import order_pages
from tests.support.admissions import FREE, admissions_of, change, given
from tests.support.mails import (
    ADA,
    PUBLIC_URL,
    change_intent,
    confirmed,
    order_link,
    send,
    statuses,
    text_of,
)
from ticketing import clock
from ticketing.limits import SENT_AGAIN_PER_DAY
from ticketing.models.notifications import Mail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.notifications import numbering

pytestmark = pytest.mark.sql

OTHER = "ada@other.example"


def send_to(buyer, email):
    return buyer.api.post(f"{buyer.path}/email", {"email": email})


def address_of(buyer):
    return PaymentIntent.get_by_id(buyer.intent["id"]).buyer_email


def test_an_order_without_an_address_gets_its_tickets_by_mail(acme, server, ticket):
    buyer = confirmed(acme, ticket, buyer={})
    answer = send_to(buyer, OTHER)
    assert answer.status_code == 200 and answer.json["id"] == buyer.intent["id"]
    send(acme.app)
    assert server.recipients == [OTHER]
    assert admissions_of(buyer)[0].code in text_of(server.only())


def test_an_order_that_waits_gets_a_mail_that_says_how_to_pay(acme, server, ticket):
    buyer = acme.buyer(ticket)
    assert send_to(buyer, OTHER).status_code == 200
    send(acme.app)
    mail = server.only()
    assert mail["Subject"].startswith("Your order: pay until ")
    assert order_link(buyer) in text_of(mail) and "5.00 USDC" in text_of(mail)


def test_of_an_order_whose_payment_is_not_final_it_says_so(acme, server, ticket):
    buyer = acme.buyer(ticket)
    change_intent(buyer, status="processing", received=5_000_000)
    send_to(buyer, OTHER)
    send(acme.app)
    assert server.only()["Subject"] == "Your payment has arrived: Launch Night"


def test_an_order_that_is_owed_money_gets_the_question_where_it_goes(acme, server, ticket):
    buyer = acme.buyer(ticket)
    change_intent(buyer, status="expired", received=2_000_000, due=2_000_000)
    send_to(buyer, OTHER)
    send(acme.app)
    assert server.only()["Subject"] == "You get 2.00 USDC back: Launch Night"


def test_mails_that_wait_go_to_the_new_address_only(acme, server, ticket):
    buyer = confirmed(acme, ticket, buyer=ADA)
    numbering.number_all()
    send_to(buyer, OTHER)
    send(acme.app)
    to_other = [each for each in server.mails if each["To"] == OTHER]
    assert len(to_other) == 1 and address_of(buyer) == OTHER
    assert ADA["email"] not in str(to_other[0])
    assert order_link(buyer) not in str([each for each in server.mails if each["To"] != OTHER])


def test_the_same_address_gets_the_mail_again(acme, server, ticket):
    buyer = confirmed(acme, ticket, buyer=ADA)
    for _ in range(2):
        assert send_to(buyer, ADA["email"]).status_code == 200
        send(acme.app)
    assert server.recipients == [ADA["email"]] * 2
    first, second = server.mails
    assert first["Message-ID"] != second["Message-ID"]


def test_what_waits_is_not_sent_twice(acme, server, ticket):
    buyer = confirmed(acme, ticket, buyer=ADA)
    for email in ("a@example.org", "b@example.org"):
        send_to(buyer, email)
    told = [("email_changed", "waiting")] * 2
    assert sorted(statuses()) == [*told, ("order_confirmed", "waiting")]
    send(acme.app)
    assert sorted(server.recipients) == ["a@example.org", ADA["email"], "b@example.org"]


def test_tickets_with_the_buyers_address_get_the_new_one_and_others_keep_theirs(acme, server):
    buyer = given(acme, acme.ticket(**FREE), quantity=5, buyer=ADA)
    own, friends, inside, passed_on, nobodys = admissions_of(buyer)
    change(own, holder_email=ADA["email"].upper())
    change(friends, holder_email="grace@example.org")
    change(inside, redeemed_at=clock.now())
    change(passed_on, generation=2)
    change(nobodys, holder_email=None)
    assert send_to(buyer, OTHER).status_code == 200
    emails = [each.holder_email for each in admissions_of(buyer)]
    assert emails == [OTHER, "grace@example.org", ADA["email"], ADA["email"], None]


def test_it_is_possible_five_times_a_day(acme, server, ticket, time):
    buyer = confirmed(acme, ticket, buyer=ADA)
    for number in range(SENT_AGAIN_PER_DAY):
        assert send_to(buyer, f"a{number}@example.org").status_code == 200
        send(acme.app)
        time.forward(minutes=1)
    answer = send_to(buyer, OTHER)
    assert (answer.status_code, answer.json["code"]) == (429, "too_many_changes")
    assert answer.headers["Retry-After"] == str(24 * 3600 - 60 * SENT_AGAIN_PER_DAY)
    assert address_of(buyer) == f"a{SENT_AGAIN_PER_DAY - 1}@example.org"
    time.forward(hours=24)
    assert send_to(buyer, OTHER).status_code == 200


def test_it_ends_90_days_after_the_event(acme, ticket, time):
    buyer = confirmed(acme, ticket, buyer=ADA)
    over = PaymentIntent.get_by_id(buyer.intent["id"]).event.over_at
    time.forward(seconds=(over + timedelta(days=90) - clock.now()).total_seconds() + 1)
    assert send_to(buyer, OTHER).json["code"] == "email_closed"


def test_only_the_link_of_the_order_opens_it(acme, neighbour, ticket):
    buyer = confirmed(acme, ticket, buyer=ADA)
    path = f"{buyer.path}/email"
    for api in (acme.api(), acme.api("paywall"), neighbour.api()):
        assert api.post(path, {"email": OTHER}).status_code == 403
    wrong = acme.with_headers({"Authorization": "Bearer cs_x"})
    assert wrong.post(path, {"email": OTHER}).status_code == 404
    assert not Mail.select().exists() and address_of(buyer) == ADA["email"]


@pytest.mark.parametrize("wrong", ["", "nobody@", "a b@example.org", None])
def test_what_is_no_address_is_refused(acme, ticket, wrong):
    buyer = confirmed(acme, ticket, buyer=ADA)
    answer = send_to(buyer, wrong)
    assert answer.status_code == 422 and set(answer.json["errors"]) == {"email"}


def test_the_form_of_the_page_does_the_same(acme, server, ticket):
    buyer = confirmed(acme, ticket, buyer={})
    headers = {**order_pages.SAME_ORIGIN, "Host": urlsplit(PUBLIC_URL).netloc}
    answer = order_pages.press(buyer, "email", headers=headers, email=f" {OTHER} ")
    assert answer.status_code == 303 and answer.headers["Location"].endswith("#mailed")
    send(acme.app)
    assert server.recipients == [OTHER]
    again = order_pages.press(buyer, "email", headers=headers, email="nobody@")
    assert again.status_code == 422


class TestBudgets:
    """A stranger who makes an order chooses any address, and then others."""

    def test_one_mailbox_gets_three_mails_a_day(self, acme, server, ticket):
        for _ in range(5):
            buyer = acme.buyer(acme.ticket(capacity=None))
            send_to(buyer, "victim@example.org")
            send(acme.app)
        assert server.recipients == ["victim@example.org"] * 3

    def test_a_part_of_the_price_opens_no_mailbox(self, acme, server):
        for _ in range(5):
            buyer = acme.buyer(acme.ticket(capacity=None))
            change_intent(buyer, received=1)
            send_to(buyer, "victim@example.org")
            send(acme.app)
        assert server.recipients == ["victim@example.org"] * 3

    def test_tickets_that_were_paid_for_are_always_sent(self, acme, server):
        for _ in range(5):
            buyer = confirmed(acme, acme.ticket(capacity=None), buyer={})
            send_to(buyer, ADA["email"])
            send(acme.app)
        assert server.recipients == [ADA["email"]] * 5
