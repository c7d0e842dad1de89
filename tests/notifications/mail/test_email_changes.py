"""Another email address of an order: who is told, which button puts it back, and whose it is."""

import re
from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from tests.support import order_pages
from tests.support.admissions import admissions_of, change
from tests.support.factories import Api
from tests.support.mails import (
    ADA,
    PUBLIC_URL,
    change_intent,
    confirmed,
    html_of,
    order_link,
    send,
    text_of,
)
from tests.support.races import at_once
from ticketing import clock
from ticketing.models.notifications import Mail
from ticketing.models.order_emails import OrderEmail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import erasure
from ticketing.services.orders import mailboxes

pytestmark = pytest.mark.sql

A, B, C, S = ADA["email"], "b@example.org", "c@example.org", "insider@example.org"
PAGE = {**order_pages.SAME_ORIGIN, "Host": urlsplit(PUBLIC_URL).netloc}


@pytest.fixture
def paid(acme, ticket):
    """An order with Ada's address that is paid, whose first mails were sent."""
    buyer = confirmed(acme, ticket, buyer=ADA)
    Mail.delete().execute()
    return buyer


def by_link(buyer, email, status=200):
    answer = buyer.api.post(f"{buyer.path}/email", {"email": email})
    assert answer.status_code == status, answer.json
    return answer


def by_staff(buyer, email, role="write", **more):
    organizer = buyer.organizer
    path = f"{organizer.path}/intents/{buyer.intent['id']}/email"
    return organizer.api(role).post(path, {"email": email, **more})


def read(buyer):
    return PaymentIntent.get_by_id(buyer.intent["id"])


def of(buyer):
    return mailboxes.of(read(buyer))


def told(server, acme):
    """Send what waits, and return the mails by their recipients."""
    before = len(server.mails)
    send(acme.app)
    return {each["To"]: each for each in server.mails[before:]}


def buttons(mail):
    """Return the paths of the buttons in a mail: what puts the address back, what confirms."""
    found = re.findall(rf"{PUBLIC_URL}(/_m/\S+)", text_of(mail))
    assert all(path in html_of(mail) for path in found)
    return found


def press(acme, path):
    return Api(acme.app.test_client()).post(path, headers=PAGE)


def look(acme, path):
    return Api(acme.app.test_client()).get(path, headers={"Host": PAGE["Host"]})


class TestWhoIsTold:
    def test_a_member_with_the_role_write_cannot_take_an_order_in_silence(self, acme, server, paid):
        """Finding 1 of the audit: nothing went to the victim's mailbox."""
        assert by_staff(paid, S).status_code == 200
        mail = told(server, acme)[A]
        assert mail["Subject"] == "Mails about your order now go to another address: Launch Night"
        assert "Acme changed the email address of your order" in text_of(mail)
        assert S not in str(mail) and order_link(paid) not in str(mail)
        (put_back,) = buttons(mail)
        assert press(acme, put_back).status_code == 303
        assert read(paid).buyer_email == A and of(paid).buyers == (A,)

    def test_the_link_tells_the_address_before_without_the_new_one(self, acme, server, paid):
        by_link(paid, B)
        mails = told(server, acme)
        assert mails.keys() == {A, B}
        text = text_of(mails[A])
        assert "was changed on the order\u2019s page" in text
        assert B not in str(mails[A]) and order_link(paid) not in str(mails[A])
        put_back, confirm = buttons(mails[A])
        assert not buttons(mails[B]) and put_back != confirm

    def test_the_same_address_is_told_nothing(self, acme, server, paid):
        by_link(paid, A)
        assert told(server, acme).keys() == {A} and not OrderEmail.select().exists()

    def test_a_correction_before_the_first_payment_leaves_no_row(self, acme, server, ticket):
        buyer = acme.buyer(ticket, buyer=ADA)
        by_link(buyer, B)
        assert not OrderEmail.select().exists() and of(buyer).buyers == (B,)
        mail = told(server, acme)[A]
        assert not buttons(mail) and "write to Acme" in text_of(mail)

    def test_an_order_without_an_address_tells_nobody(self, acme, server, ticket):
        buyer = confirmed(acme, ticket, buyer={})
        Mail.delete().execute()
        by_link(buyer, B)
        assert told(server, acme).keys() == {B}
        assert of(buyer) == mailboxes.Mailboxes((), (B,))

    def test_a_mail_that_waits_says_nothing_once_the_address_is_back(self, acme, server, paid):
        by_link(paid, B)
        by_link(paid, A)
        mails = told(server, acme)
        assert mails.keys() == {A, B} and mails[A]["Subject"].startswith("Your ticket")

    @pytest.mark.parametrize("part", [0, 1])
    def test_a_stranger_who_did_not_pay_reaches_a_mailbox_three_times_a_day(
        self, acme, server, part
    ):
        for number in range(5):
            buyer = acme.buyer(acme.ticket(capacity=None), buyer={"email": "victim@example.org"})
            change_intent(buyer, received=part)
            Mail.delete().where(Mail.status == "waiting").execute()
            for address in ("x", "y"):
                by_link(buyer, f"{address}{number}@example.org")
            send(acme.app)
        received = server.recipients.count("victim@example.org")
        # Who paid a part is told each time: it may be the buyer.
        assert received == (5 if part else 3)


class TestWhoseItIs:
    def test_an_address_that_the_link_set_counts_after_a_day(self, acme, server, paid, time):
        by_link(paid, B)
        assert of(paid) == mailboxes.Mailboxes((A,), (A, B))
        time.forward(hours=24)
        assert of(paid).buyers == (A, B)

    def test_it_counts_at_once_if_the_mailbox_before_confirms_it(self, acme, server, paid):
        by_link(paid, B)
        put_back, confirm = buttons(told(server, acme)[A])
        page = look(acme, confirm)
        assert page.status_code == 200 and of(paid).buyers == (A,)
        assert "Is this your new address?" in page.text and B not in page.text
        assert press(acme, confirm).status_code == 303
        assert of(paid).buyers == (A, B)
        assert "Your new address is confirmed" in look(acme, confirm).text
        assert press(acme, confirm).status_code == 303
        assert look(acme, put_back).status_code == 404

    def test_an_address_that_was_replaced_before_it_counted_is_forgotten(self, acme, paid, time):
        by_link(paid, B)
        by_link(paid, C)
        time.forward(hours=25)
        assert of(paid) == mailboxes.Mailboxes((A, C), (A, C))

    def test_an_address_keeps_counting_once_it_has(self, acme, paid, time):
        for email in (B, C, "d@example.org", "e@example.org"):
            by_link(paid, email)
            time.forward(hours=25)
        assert of(paid).told == (A, "d@example.org", "e@example.org")
        assert OrderEmail.select().count() == 3

    def test_an_address_of_the_organizer_never_counts(self, acme, paid, time):
        by_staff(paid, S)
        changed_at = clock.now()
        time.forward(hours=48)
        assert of(paid) == mailboxes.Mailboxes((A,), (A, S), changed_by_staff_at=changed_at)

    def test_nor_does_it_before_the_first_payment(self, acme, ticket, time):
        """Else a member of role write could become the buyer of an order that waits."""
        buyer = acme.buyer(ticket, buyer=ADA)
        by_staff(buyer, S)
        change_intent(buyer, status="confirmed", confirmed_at=clock.now())
        time.forward(hours=48)
        assert of(buyer).buyers == (A,)

    def test_the_link_after_the_organizer_tells_the_mailbox_again(self, acme, server, paid, time):
        """A member of role write sets an address, opens its link, and sets another one there."""
        by_staff(paid, S)
        changed_at = clock.now()
        told(server, acme)
        by_link(paid, C)
        mails = told(server, acme)
        assert mails.keys() == {A, S, C}
        assert len(buttons(mails[A])) == 2 and not buttons(mails[S])
        time.forward(hours=25)
        assert of(paid).changed_by_staff_at == changed_at

    def test_the_first_address_of_an_order_set_by_the_organizer_does_not_count(self, acme, ticket):
        buyer = confirmed(acme, ticket, buyer={})
        by_staff(buyer, S)
        assert of(buyer).buyers == () and of(buyer).told == (S,)


class TestPutBack:
    def test_opening_the_link_changes_nothing(self, acme, server, paid):
        by_link(paid, B)
        put_back, _ = buttons(told(server, acme)[A])
        page = look(acme, put_back)
        assert page.status_code == 200 and "<script" not in page.text
        assert "Did you change the address?" in page.text and B not in page.text
        assert read(paid).buyer_email == B
        assert page.headers["Cache-Control"] == "no-store"

    def test_the_button_puts_back_the_address_and_the_tickets(self, acme, server, paid):
        (ticket,) = admissions_of(paid)
        change(ticket, holder_email=A)
        by_link(paid, B)
        assert admissions_of(paid)[0].holder_email == B
        put_back, _ = buttons(told(server, acme)[A])
        assert press(acme, put_back).headers["Location"] == put_back
        assert "Your address is back" in look(acme, put_back).text
        assert admissions_of(paid)[0].holder_email == A
        mails = told(server, acme)
        assert mails.keys() == {A, B}
        assert order_link(paid) in text_of(mails[A]) and not buttons(mails[B])
        assert OrderEmail.select().count() == 1

    def test_afterwards_the_link_alone_changes_nothing(self, acme, server, paid):
        by_link(paid, B)
        put_back, _ = buttons(told(server, acme)[A])
        press(acme, put_back)
        assert by_link(paid, C, status=409).json["code"] == "email_put_back"
        assert by_link(paid, A).json["id"] == paid.intent["id"]
        page = order_pages.press(paid, "email", headers=PAGE, email=C)
        assert page.status_code == 409 and "Only the organizer can change it now" in page.text
        assert by_staff(paid, C).status_code == 200

    def test_it_works_days_later_and_after_more_changes(self, acme, server, paid, time):
        """A thief waits until their address counts, and then sets another one."""
        by_link(paid, B)
        put_back, _ = buttons(told(server, acme)[A])
        time.forward(hours=30)
        by_link(paid, C)
        by_staff(paid, S)
        assert press(acme, put_back).status_code == 303
        assert (read(paid).buyer_email, of(paid).buyers, of(paid).told) == (A, (A,), (A,))

    def test_a_repeat_changes_nothing(self, acme, server, paid):
        by_link(paid, B)
        put_back, _ = buttons(told(server, acme)[A])
        press(acme, put_back)
        told(server, acme)
        assert press(acme, put_back).status_code == 303
        assert told(server, acme) == {}

    def test_each_wrong_link_is_404(self, acme, server, paid):
        by_link(paid, B)
        put_back, confirm = buttons(told(server, acme)[A])
        intent_id, place, secret = put_back.removeprefix("/_m/").split(".")
        other = confirm.split(".")[2]
        for wrong in (
            put_back[:-1],
            f"/_m/{intent_id}.2.{secret}",
            f"/_m/{intent_id}.3.{secret}",
            f"/_m/{intent_id}.{place}.{other}",
            f"/_m/{intent_id}.9.{secret}",
            f"/_m/{intent_id}",
            "/_m/pi_%00.1.ch_x",
        ):
            assert look(acme, wrong).status_code == press(acme, wrong).status_code == 404, wrong
        assert read(paid).buyer_email == B
        foreign = {**PAGE, "Sec-Fetch-Site": "cross-site"}
        assert Api(acme.app.test_client()).post(put_back, headers=foreign).status_code == 403

    def test_of_two_changes_at_once_the_mailbox_is_told_of_both(self, acme, server, paid):
        for number in range(4):
            at_once(
                lambda number=number: by_staff(paid, f"s{number}@example.org"),
                lambda number=number: paid.api.post(
                    f"{paid.path}/email", {"email": f"b{number}@example.org"}
                ),
            )
            mail = told(server, acme)[A]
            assert of(paid).buyers == (A,) and len(of(paid).told) == 2
            assert f"/_m/{paid.intent['id']}.1." in buttons(mail)[0]

    def test_it_is_pressed_while_the_link_changes_it_again(self, acme, server, paid):
        by_link(paid, B)
        put_back, _ = buttons(told(server, acme)[A])
        pressed, _ = at_once(
            lambda: press(acme, put_back),
            lambda: paid.api.post(f"{paid.path}/email", {"email": C}),
        )
        assert pressed.status_code == 303 and read(paid).buyer_email == A
        assert of(paid) == mailboxes.Mailboxes((A,), (A,), is_put_back=True)


class TestErased:
    def test_nothing_is_left_of_former_addresses(self, acme, server, paid):
        by_link(paid, B)
        put_back, _ = buttons(told(server, acme)[A])
        by_link(paid, C)
        erasure.erase_intent(acme.id, paid.intent["id"])
        assert not OrderEmail.select().exists()
        assert not Mail.select().where(Mail.recipient.is_null(False)).exists()
        assert look(acme, put_back).status_code == 404
        assert told(server, acme) == {} and of(paid) == mailboxes.Mailboxes((), ())

    def test_it_ends_90_days_after_the_event_but_the_button_does_not(
        self, acme, server, paid, time
    ):
        by_link(paid, B)
        put_back, _ = buttons(told(server, acme)[A])
        over = read(paid).event.over_at
        time.forward(seconds=(over + timedelta(days=90) - clock.now()).total_seconds() + 1)
        assert by_link(paid, C, status=409).json["code"] == "email_closed"
        assert press(acme, put_back).status_code == 303 and read(paid).buyer_email == A
