"""Early confirmation: a client that pays gets its tickets with the first answer."""

import pytest

from tests.support.x402 import required


@pytest.fixture
def environ(environ):
    """A payment is final after 30 blocks, and early after 1."""
    return {**environ, "CONFIRMATIONS_31337": "30"}


def test_the_answer_to_a_payment_has_the_tickets(api, path, wallet, acme):
    answer = api.post(path, headers=wallet.header(required(api.post(path))))
    assert answer.status_code == 200, answer.json
    assert (answer.json["status"], answer.json["final"]) == ("confirmed", False)
    assert answer.json["admissions"][0]["code"]
    assert "PAYMENT-RESPONSE" in answer.headers


def test_without_it_the_answer_is_202(api, path, wallet, acme):
    acme.api().patch(acme.path, {"early_confirmation": False})
    answer = api.post(path, headers=wallet.header(required(api.post(path))))
    assert answer.status_code == 202, answer.json
    assert (answer.json["status"], answer.json["final"]) == ("processing", False)
