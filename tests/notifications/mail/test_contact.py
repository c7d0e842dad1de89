"""Where answers to a mail go: to the organizer's contact address, which its footer names."""

import pytest

from tests.support import webhook_receivers
from tests.support.admissions import invite
from tests.support.factories import cli
from tests.support.mails import ADA, SENDER, confirm, confirmed, html_of, send, tell, text_of
from tests.support.members import invite as invite_member
from ticketing import clock
from ticketing.models.tenants import Tenant
from ticketing.services.notifications import numbering

CONTACT = "hello@acme.example"
LONG = "a" * 64 + "@" + ".".join(["b" * 60] * 3) + ".org"


def set_contact(acme, address):
    assert acme.api().patch(acme.path, {"contact_email": address}).status_code == 200


def sent(acme, server, buyer):
    tell(acme.id, confirm(buyer))
    assert send(acme.app) is None
    return server.only()


def test_answers_go_to_the_organizer_and_the_footer_names_it(acme, server, buyer):
    set_contact(acme, CONTACT)
    mail = sent(acme, server, buyer)
    assert (mail["Reply-To"], mail["From"]) == (CONTACT, f"Acme <{SENDER}>")
    footer = text_of(mail).replace("\r\n", "\n").partition("\n-- \n")[2]
    said = f"A question? Just answer this mail. It reaches Acme at {CONTACT}.\n"
    assert footer.startswith(said)
    assert f"<bdi>{CONTACT}</bdi>" in html_of(mail).partition("Just answer this mail.")[2]


def test_without_a_contact_there_is_neither(acme, server, buyer):
    mail = sent(acme, server, buyer)
    assert mail["Reply-To"] is None
    assert "A question?" not in text_of(mail) + html_of(mail)


def test_it_is_that_of_the_mails_tenant(acme, neighbour, server, buyer):
    set_contact(neighbour, "hello@neighbour.example")
    assert sent(acme, server, buyer)["Reply-To"] is None


@pytest.mark.parametrize(
    ("address", "reply_to"),
    [
        ("hello@m\u00fcller.example", "hello@xn--mller-kva.example"),
        ("a?subject=x&b%0A@example.org", "a?subject=x&b%0A@example.org"),
        (LONG, LONG),
        ("m\u00fcller@example.org", None),
        ('"a, b"@example.org', None),
        ("=?utf-8?q?Bcc=3A_victim?=@example.org", None),
        ("a@b\r\nBcc: victim@example.org", None),
        ("a@example.org, b@example.org", None),
        ("<script>@example.org", None),
        ("\u202egro.elpmaxe@a", None),
    ],
)
def test_a_header_has_one_address_or_none_and_the_mail_is_sent(
    acme, server, buyer, address, reply_to
):
    Tenant.update(contact_email=address).where(Tenant.id == acme.id).execute()
    mail = sent(acme, server, buyer)
    assert mail["Reply-To"] == reply_to
    assert mail["Bcc"] is None and server.recipients == [ADA["email"]]
    ways = ("Write to Acme: ", "Just answer this mail. It reaches Acme at ")
    assert f"A question? {ways[reply_to is not None]}" in text_of(mail)
    assert "<script" not in html_of(mail) and "\u202e" not in html_of(mail) + text_of(mail)


def test_guests_and_invited_members_answer_the_organizer_too(acme, server, ticket):
    set_contact(acme, CONTACT)
    assert invite(acme, ticket, {"email": "guest@example.org"}).status_code == 201
    invite_member(acme, "grace@example.org")
    numbering.number_all()
    send(acme.app)
    assert {mail["To"]: mail["Reply-To"] for mail in server.mails} == {
        "guest@example.org": CONTACT,
        "grace@example.org": CONTACT,
    }


def test_what_the_service_says_to_the_organizer_itself_is_not_answered_to_it(acme, server):
    set_contact(acme, CONTACT)
    add = ("members", "add", acme.slug, "boss@example.org", "--role", "admin")
    cli(acme.app, *add, "--password-stdin", stdin="correct horse battery\n")
    keyring = acme.app.extensions["ticketing"].keyring
    endpoint = webhook_receivers.endpoint(
        acme.id, keyring, url="https://hooks.example.net/", failing_since=clock.now()
    )
    tell(acme.id, ("webhook.failing", {"webhook_id": endpoint.id, "is_disabled": False}))
    send(acme.app)
    mail = server.only()
    assert (mail["To"], mail["Reply-To"]) == ("boss@example.org", None)
    assert CONTACT not in text_of(mail) + html_of(mail)


def test_a_buyer_with_an_encoded_word_as_address_gets_no_mail_and_delays_none(acme, server):
    odd = {"email": "=?utf-8?q?Bcc=3A_victim?=@example.org"}
    buyers = [confirmed(acme, acme.ticket(), buyer=each) for each in (odd, ADA)]
    tell(acme.id, *map(confirm, buyers))
    send(acme.app)
    assert server.recipients == [ADA["email"]]
