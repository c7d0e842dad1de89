"""What people do through the API becomes mails, with the facts that the service records itself."""

import re
from urllib.parse import urlsplit

import pytest

from tests.support.admissions import FREE, admissions_of, given, invite
from tests.support.factories import worker_once
from tests.support.mails import ADA, PUBLIC_URL, text_of
from ticketing.models.admissions import Admission

pytestmark = pytest.mark.exhaustive

BOB, GUEST = "bob@example.org", "guest@example.org"


@pytest.fixture
def environ(environ):
    """No chain is enabled: the sales cost nothing."""
    del environ["RPC_URL_31337"]
    return environ


@pytest.fixture
def told(acme, server):
    """A function that lets the worker run, and returns the new mails: recipient and subject."""
    seen = []

    def told():
        worker_once(acme.app)
        mails = [(mail["To"], mail["Subject"]) for mail in server.mails]
        new = sorted(mails[len(seen) :])
        seen[:] = mails
        return new

    return told


def test_the_story_of_a_ticket(acme, server, told):
    ticket = acme.ticket(**FREE)
    assert told() == []
    buyer = given(acme, ticket, quantity=2, buyer=ADA)
    assert told() == [(ADA["email"], "Your tickets for Launch Night")]

    assert invite(acme, ticket, {"email": GUEST}, {"name": "No address"}).status_code == 201
    assert told() == [(GUEST, "Your ticket for Launch Night")]

    admission, _ = admissions_of(buyer)
    holder = acme.with_headers({"Authorization": f"Bearer {admission.code}"})
    path = f"{acme.checkout}/admissions/{admission.id}/transfer"
    offer = holder.post(path, {"holder": {"email": BOB}}).json
    assert told() == [(BOB, "A ticket for Launch Night is offered to you")]
    assert offer["url"] in text_of(server.mails[-1])

    accepted = {"offer": offer["offer"], "holder": {"email": BOB}}
    assert holder.post(f"{acme.checkout}/transfers/accept", accepted).status_code == 200
    assert told() == [(BOB, "Your ticket for Launch Night")]
    assert Admission.get_by_id(admission.id).code in str(server.mails[-1])

    event = f"{acme.path}/events/{ticket['event_id']}"
    assert acme.api().patch(event, {"description": "More."}).status_code == 200
    assert told() == []
    assert acme.api().patch(event, {"venue": "Side Hall"}).status_code == 200
    everybody = [ADA["email"], BOB, GUEST]
    assert told() == [(each, "New time or place: Launch Night") for each in everybody]

    canceled = acme.api().post(f"{event}/status", {"status": "canceled"})
    assert canceled.status_code == 200
    assert told() == [(each, "Canceled: Launch Night") for each in everybody]
    assert told() == []


def test_every_link_in_a_mail_opens_a_page(acme, server, told):
    buyer = given(acme, acme.ticket(**FREE), quantity=2, buyer=ADA)
    admission, _ = admissions_of(buyer)
    holder = acme.with_headers({"Authorization": f"Bearer {admission.code}"})
    path = f"{acme.checkout}/admissions/{admission.id}/transfer"
    assert holder.post(path, {"holder": {"email": BOB}}).status_code == 201
    assert len(told()) == 2
    browser = acme.with_headers({"Host": urlsplit(PUBLIC_URL).netloc})
    opened = set()
    for mail in server.mails:
        for kind in ("plain", "html"):
            text = mail.get_body((kind,)).get_content()
            for page in re.findall(rf"{re.escape(PUBLIC_URL)}(/[\w./-]+)", text):
                assert browser.get(page).status_code == 200, page
                opened.add(page.split("/")[1])
    assert opened == {"o", "t", "x", "acme", "v1"}
