"""The organizer ends the links of an order that an x402 client made: its claim and its key end."""

import pytest

from tests.support.mail_server import MailServer
from tests.support.x402 import required
from ticketing.models.payment_intents import PaymentIntent


@pytest.fixture
def environ(environ):
    with MailServer() as server:
        yield {**environ, "SMTP_URL": server.url, "MAIL_FROM": "tickets@example.org"}


def end_links(acme, intent_id):
    path = f"{acme.path}/intents/{intent_id}/email"
    answer = acme.api().post(path, {"email": "new@example.org", "end_old_links": True})
    assert answer.status_code == 200, answer.json


def test_a_signed_payment_with_the_claim_of_before_gets_no_tickets(
    api, acme, path, wallet, facilitator
):
    facilitator.mode = "refuse"
    asked = required(api.post(path))
    refused = api.post(path, headers=wallet.header(asked))
    end_links(acme, PaymentIntent.get().id)
    facilitator.mode = "submit"
    for known in (asked, required(refused)):
        answer = api.post(path, headers=wallet.header(known))
        assert (answer.status_code, answer.json["code"]) == (400, "invalid_payment")
    assert PaymentIntent.get().status == "awaiting_payment"


def test_a_repeat_of_a_payment_gets_no_tickets_again(api, acme, path, wallet):
    paid = wallet.header(required(api.post(path)))
    first = api.post(path, headers=paid)
    assert first.status_code == 200 and first.json["admissions"]
    end_links(acme, first.json["id"])
    again = api.post(path, headers=paid)
    assert (again.status_code, again.json["code"]) == (400, "invalid_payment")
    assert "client_secret" not in again.text and "admissions" not in again.text


def test_a_repeat_of_its_key_is_refused(api, acme, path, wallet):
    key = {"Idempotency-Key": "k" * 40}
    paid = api.post(path, headers=key | wallet.header(required(api.post(path, headers=key))))
    assert paid.status_code == 200
    end_links(acme, paid.json["id"])
    again = api.post(path, headers=key)
    assert (again.status_code, again.json["code"]) == (404, "not_found")
    assert PaymentIntent.select().count() == 1
