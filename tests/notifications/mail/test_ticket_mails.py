"""Mails with tickets: of an order, of a guest, of a new holder."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from tests.support.admissions import FREE, admissions_of, change, given, invite
from tests.support.carts import buyer_of, shop_of_two
from tests.support.mails import (
    ADA,
    PUBLIC_URL,
    SENDER,
    START,
    WHEN,
    calendar_of,
    confirm,
    confirmed,
    html_of,
    order_link,
    send,
    tell,
    text_of,
)
from ticketing.models.admissions import Admission
from ticketing.models.notifications import Mail

TIMES = "\u00d7"


def test_a_confirmed_order_gets_one_mail_with_all_its_tickets(acme, server, buyer):
    tell(acme.id, confirm(buyer))
    assert send(acme.app) is None
    mail = server.only()
    assert mail["Subject"] == "Your tickets for Launch Night"
    assert (mail["To"], mail["From"]) == (ADA["email"], f"Acme <{SENDER}>")
    assert mail["Auto-Submitted"] == "auto-generated"
    assert abs(mail["Date"].datetime - datetime.now(UTC)) < timedelta(hours=1)
    (row,) = Mail.select()
    assert mail["Message-ID"] == f"<{row.id}@tickets.example.org>"
    for part in (text_of(mail), html_of(mail)):
        assert WHEN in part and "Main Hall" in part and "Ada Lovelace" in part
        assert order_link(buyer) in part
        assert f"{PUBLIC_URL}/acme/launch-night" in part
        for admission in admissions_of(buyer):
            assert f"{PUBLIC_URL}/t/{admission.code}" in part
    entry = calendar_of(mail)
    assert (str(entry["summary"]), entry.decoded("dtstart")) == ("Launch Night", START)
    assert entry["url"] == f"{PUBLIC_URL}/acme/launch-night"
    assert "meet.example.org" not in str(mail)
    assert not [each for each in admissions_of(buyer) if each.code in str(entry)]
    assert (row.status, row.recipient, row.attempts) == ("sent", None, 1)


def test_a_text_is_complete_and_kind(acme, server, buyer):
    tell(acme.id, confirm(buyer))
    send(acme.app)
    first, second = admissions_of(buyer)
    now = datetime.now(ZoneInfo("Europe/Berlin"))
    day = f"{now.day} {now:%b} {now.year}"
    assert (
        text_of(server.only()).replace("\r\n", "\n")
        == f"""Hello Ada Lovelace,

2 tickets for Launch Night. Show a code at the door, on your phone or on paper.

Open my tickets: {order_link(buyer)}

Launch Night
When: {WHEN}
Where: Main Hall
Online: the link to join is on the page of your ticket.
About the event: {PUBLIC_URL}/acme/launch-night

General admission, Ada Lovelace
{PUBLIC_URL}/t/{first.code}
Code: {first.code}

General admission, Ada Lovelace
{PUBLIC_URL}/t/{second.code}
Code: {second.code}

2 {TIMES} General admission: 10.00
Paid on Local, {day}: 10.00 USDC

Receipt: {order_link(buyer)}/receipt
Add to calendar: {PUBLIC_URL}/v1/public/tenants/acme/events/{buyer.intent["event_id"]}.ics
Print: {order_link(buyer)}/print

Each link opens one ticket with the QR code for the door. Anybody who has a link or a code can \
come in, so do not forward this mail. To give a ticket away, open its link, and use “Pass on”.

--\x20
Sent automatically for Acme, {PUBLIC_URL}
"""
    )


def test_tickets_that_are_superseded_void_or_suspended_are_left_out(acme, server, ticket):
    buyer = confirmed(acme, ticket, quantity=4)
    usable, superseded, void, suspended = admissions_of(buyer)
    change(superseded, generation=2)
    change(void, status="void")
    change(suspended, status="suspended")
    tell(acme.id, confirm(buyer))
    send(acme.app)
    mail = server.only()
    assert mail["Subject"] == "Your ticket for Launch Night"
    shown = [each for each in (usable, superseded, void, suspended) if each.code in str(mail)]
    assert shown == [usable]


def test_a_mail_with_nothing_left_to_say_is_dropped(acme, server, buyer):
    for admission in admissions_of(buyer):
        change(admission, status="void")
    tell(acme.id, confirm(buyer))
    send(acme.app)
    (row,) = Mail.select()
    assert (row.status, row.error) == ("dropped", "nothing left to say")
    assert not server.mails


def test_a_free_order_s_mail_has_no_text_of_the_buyer(acme, server):
    ticket = acme.ticket(**FREE)
    buyer = given(acme, ticket, buyer={"name": "Buy at evil.example", "email": ADA["email"]})
    (admission,) = admissions_of(buyer)
    change(admission, holder_name="Buy at evil.example")
    tell(acme.id, confirm(buyer))
    send(acme.app)
    assert "evil" not in str(server.only())
    assert text_of(server.only()).startswith("Hello,")


def issued(admission, **more):
    return {"admission_id": admission.id, "generation": admission.generation, **more}


def test_a_guest_gets_a_ticket(acme, server, ticket):
    assert invite(acme, ticket, ADA, {"name": "No address"}).status_code == 201
    guests = list(Admission.select())
    facts = [("admission.issued", issued(each, intent_id=None)) for each in guests]
    tell(acme.id, *facts)
    send(acme.app)
    (guest,) = [each for each in guests if each.holder_email]
    mail = server.only()
    assert mail["Subject"] == "Your ticket for Launch Night"
    assert f"{PUBLIC_URL}/t/{guest.code}" in text_of(mail) and guest.code in html_of(mail)
    assert "no longer work" not in text_of(mail)
    assert str(calendar_of(mail)["summary"]) == "Launch Night"


def test_a_new_holder_gets_a_ticket_and_the_admissions_of_an_order_get_none(acme, server, buyer):
    first, second = admissions_of(buyer)
    change(first, generation=2, transferred_at=datetime.now(UTC), holder_email="bob@example.org")
    first = Admission.get_by_id(first.id)
    intent_id = buyer.intent["id"]
    tell(
        acme.id,
        ("admission.issued", issued(second, intent_id=intent_id)),
        ("admission.transferred", issued(first, intent_id=intent_id)),
    )
    send(acme.app)
    assert server.recipients == ["bob@example.org"]
    assert first.code in text_of(server.only())


def test_a_ticket_of_an_older_generation_is_not_sent(acme, server, buyer):
    admission = admissions_of(buyer)[0]
    tell(acme.id, ("admission.transferred", issued(admission, intent_id=buyer.intent["id"])))
    change(admission, generation=2)
    send(acme.app)
    assert not server.mails


def test_an_order_of_several_types_counts_them_and_names_each_tickets_own(acme, server):
    ticket, shirt = shop_of_two(acme, **FREE)
    buyer = buyer_of(acme, (ticket, 2), (shirt, 1), buyer=ADA)
    assert buyer.purchase().status_code == 200
    tell(acme.id, confirm(buyer))
    send(acme.app)
    mail = server.only()
    text = text_of(mail).replace("\r\n", "\n")
    assert "\n2 \u00d7 Adult\n1 \u00d7 T-shirt\n" in text
    assert text.count("\nAdult\nhttp") == 2 and text.count("\nT-shirt\nhttp") == 1
    page = html_of(mail)
    assert "2 \u00d7 <bdi>Adult</bdi>" in page and "1 \u00d7 <bdi>T-shirt</bdi>" in page
    assert page.count("<bdi>Adult</bdi>") == 3
