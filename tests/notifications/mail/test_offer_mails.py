"""Mails about a ticket that is offered to somebody."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import admissions_of
from tests.support.mails import PUBLIC_URL, html_of, send, tell, text_of
from ticketing import credentials, ids
from ticketing.models.admissions import Admission, Transfer


@pytest.fixture
def offer(buyer):
    now = datetime.now(UTC)
    return Transfer.create(
        id=ids.new(ids.TRANSFER),
        admission=admissions_of(buyer)[0],
        generation=1,
        holder_name="Bob",
        holder_email="bob@example.org",
        created_at=now,
        expires_at=now + timedelta(hours=48),
    )


def offered(transfer):
    return "admission.transfer_offered", {
        "admission_id": transfer.admission_id,
        "generation": 1,
        "transfer_id": transfer.id,
    }


def test_an_offer_is_sent_to_whom_the_sender_named(acme, server, offer):
    tell(acme.id, offered(offer))
    send(acme.app)
    mail = server.only()
    assert mail["To"] == "bob@example.org"
    assert mail["Subject"] == "A ticket for Launch Night is offered to you"
    secret = credentials.transfer_offer(acme.app.extensions["ticketing"].keyring.current, offer.id)
    assert f"{PUBLIC_URL}/x/{secret}" in text_of(mail)
    assert f"{PUBLIC_URL}/x/{secret}" in html_of(mail)
    assert "The offer ends on" in text_of(mail) and "(Europe/Berlin)" in text_of(mail)
    assert Admission.get_by_id(offer.admission_id).code not in str(mail)


def test_an_offer_that_has_ended_is_not_sent(acme, server, offer):
    Transfer.update(ended_at=datetime.now(UTC)).execute()
    tell(acme.id, offered(offer))
    send(acme.app)
    assert not server.mails
