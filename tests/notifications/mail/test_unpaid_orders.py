"""Buyers who have to pay get a mail: how to pay, and of each part that has arrived."""

from datetime import timedelta

import pytest

from tests.support.admissions import FREE
from tests.support.factories import CHAIN, PRICE, worker_once
from tests.support.mails import (
    ADA,
    change_intent,
    html_of,
    order_link,
    send,
    statuses,
    text_of,
)
from tests.support.refunds import FRIEND, pay_from
from ticketing.models.notifications import Mail
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.mail.parts import MOST
from ticketing.services.notifications import numbering
from tools.anvil import SECOND_CHAIN_ID as SECOND


def work(acme):
    numbering.number_all()
    assert send(acme.app) is None


@pytest.mark.sql
class TestPlaced:
    """A minute after an order was placed, its buyer hears how to pay it."""

    def test_an_order_that_nobody_pays_gets_one_mail(self, acme, server, ticket, time):
        buyer = acme.buyer(ticket, buyer=ADA, quantity=2)
        work(acme)
        time.forward(seconds=59)
        work(acme)
        assert server.mails == []
        time.forward(seconds=1)
        work(acme)
        mail = server.only()
        assert mail["Subject"].startswith("Your order: pay until ")
        assert mail["Subject"].endswith(" (Europe/Berlin), Launch Night")
        for part in (text_of(mail), html_of(mail)):
            assert "10.00 USDC" in part and order_link(buyer) in part
            assert "Ada Lovelace" not in part, "a stranger may have written it"
        time.forward(minutes=10)
        work(acme)
        assert len(server.mails) == 1

    def test_who_pays_at_once_gets_only_the_tickets(self, acme, server, ticket, time):
        buyer = acme.buyer(ticket, buyer=ADA)
        work(acme)
        change_intent(buyer, status="processing", received=5_000_000)
        time.forward(minutes=2)
        work(acme)
        assert server.mails == []
        # Nothing is reported as dropped: nobody misses this mail.
        assert statuses() == []

    @pytest.mark.parametrize(("price", "buyer"), [(PRICE, {}), (0, ADA)])
    def test_a_free_order_and_one_without_an_address_get_none(
        self, acme, server, ticket, time, price, buyer
    ):
        acme.buyer(acme.ticket(**FREE) if price == 0 else ticket, buyer=buyer)
        time.forward(minutes=2)
        work(acme)
        assert server.mails == [] and statuses() == []

    def test_an_agent_that_pays_by_x402_gets_none(self, acme, server, ticket, time):
        buyer = acme.buyer(ticket, buyer=ADA)
        change_intent(buyer, x402=True)
        time.forward(minutes=2)
        work(acme)
        assert statuses() == []

    def test_an_order_whose_time_is_up_gets_none(self, acme, server, ticket, time):
        buyer = acme.buyer(ticket, buyer=ADA)
        work(acme)
        time.forward(hours=1)
        work(acme)
        assert server.mails == [] and buyer.now()["status"] == "awaiting_payment"

    @pytest.mark.long
    def test_a_thousand_orders_with_one_address_do_not_mail_a_thousand_times(
        self, acme, server, time
    ):
        ticket = acme.ticket(capacity=None)
        first = acme.buyer(ticket, buyer={"email": "victim@example.org"})
        row = PaymentIntent.select().where(PaymentIntent.id == first.intent["id"]).dicts().get()
        orders = [{**row, "id": f"pi_{n:026}", "address": f"0x{n:040x}"} for n in range(999)]
        for order in orders:
            order["address_index"] = None
        for some in (orders[:500], orders[500:]):  # a statement has at most 65,535 parameters
            PaymentIntent.insert_many(some).execute()
        account = OrderAccount.select().dicts().get()
        del account["id"]
        copies = [{**account, "intent": each["id"], "address": each["address"]} for each in orders]
        for some in (copies[:500], copies[500:]):
            OrderAccount.insert_many(some).execute()
        mails = [
            {
                "id": f"mal_{n:026}",
                "tenant": acme.id,
                "kind": "order_placed",
                "subject": order["id"],
                "notification_id": f"ntf_{n:026}",
                "status": "waiting",
                "created_at": row["created_at"],
                "next_attempt_at": row["created_at"],
            }
            for n, order in enumerate(orders)
        ]
        Mail.insert_many(mails).execute()
        time.forward(minutes=2)
        work(acme)
        assert len(server.mails) == 3
        time.forward(hours=25)
        work(acme)
        assert len(server.mails) == 3, "a day later there is nothing to pay any more"
        assert [status for _, status in statuses()] == ["sent"] * 3


@pytest.mark.sql
class TestParts:
    """Each part that arrives is told once, with the rest."""

    @pytest.fixture
    def buyer(self, acme, ticket):
        return acme.buyer(ticket, buyer=ADA, quantity=2)

    def arrive(self, acme, buyer, time, amount):
        change_intent(buyer, received=amount)
        work(acme)
        time.forward(seconds=61)
        work(acme)

    def test_a_part_is_told_once_with_the_rest(self, acme, server, buyer, time):
        self.arrive(acme, buyer, time, 4_000_000)
        mail = server.only()
        assert mail["Subject"].startswith("4.00 USDC arrived. Pay 6.00 USDC more until ")
        for part in (text_of(mail), html_of(mail)):
            assert "4.00 USDC of 10.00 USDC have arrived" in part and order_link(buyer) in part
        work(acme)
        time.forward(seconds=61)
        work(acme)
        assert len(server.mails) == 1
        self.arrive(acme, buyer, time, 7_000_000)
        assert server.mails[1]["Subject"].startswith("7.00 USDC arrived. Pay 3.00 USDC more until ")

    def test_parts_that_follow_at_once_are_told_together(self, acme, server, buyer, time):
        change_intent(buyer, received=1_000_000)
        work(acme)
        self.arrive(acme, buyer, time, 2_000_000)
        assert server.only()["Subject"].startswith("2.00 USDC arrived.")

    def test_who_pays_the_rest_at_once_hears_nothing_of_parts(self, acme, server, buyer, time):
        change_intent(buyer, received=4_000_000)
        work(acme)
        change_intent(buyer, received=10_000_000, status="processing")
        time.forward(seconds=61)
        work(acme)
        assert server.mails == [] and statuses() == []

    def test_tiny_parts_cause_few_mails(self, acme, server, buyer, time):
        for amount in range(1, MOST + 3):
            change_intent(buyer, expires_at=time.now + timedelta(minutes=30))
            self.arrive(acme, buyer, time, amount)
        assert len(server.mails) == MOST


def test_a_part_on_the_chain_is_told(node, acme, server, time):
    buyer = acme.buyer(acme.ticket(chain_id=CHAIN), buyer=ADA)
    worker_once(acme.app)
    pay_from(node, FRIEND, buyer, PRICE // 5)
    worker_once(acme.app)
    time.forward(seconds=61)
    send(acme.app)
    assert server.only()["Subject"].startswith("1.00 USDC arrived. Pay 4.00 USDC more until ")


def test_a_part_on_another_network_is_told_with_that_network(node, second_node, acme, server, time):
    buyer = acme.buyer(acme.ticket(chain_ids=[CHAIN, SECOND]), buyer=ADA)
    worker_once(acme.app)
    pay_from(second_node, FRIEND, buyer, PRICE // 5)
    worker_once(acme.app)
    time.forward(seconds=61)
    send(acme.app)
    mail = server.only()
    assert mail["Subject"] == "Money arrived on another network: Launch Night"
    for part in (text_of(mail), html_of(mail)):
        assert "1.00 USDC have arrived on Local 2." in part and order_link(buyer) in part
