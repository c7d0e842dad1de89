"""Preflight: hold the stock, fix the price, issue the address."""

import logging
import re

import pytest

from tests.support.factories import CHAIN, PRICE, Api
from tests.support.wallets import issued

pytestmark = pytest.mark.sql

INTENT_FIELDS = {
    "id",
    "strays",
    "payment_options",
    "status",
    "flags",
    "event_id",
    "ticket_id",
    "locale",
    "quantity",
    "unit_amount",
    "items",
    "discount_amount",
    "voucher",
    "amount",
    "amount_received",
    "amount_due",
    "refund_due",
    "refund_pending",
    "refund_address",
    "payee",
    "refunds",
    "currency",
    "chain_id",
    "address",
    "token_address",
    "atomic_amount",
    "payment_uri",
    "required_confirmations",
    "confirmations",
    "final",
    "expires_at",
    "created_at",
    "confirmed_at",
}
TOKEN = "0x5FbDB2315678afecb367f032d93F642f64180aa3"


def test_it_holds_the_stock_fixes_the_price_and_issues_an_address(acme):
    ticket = acme.ticket()

    answer = acme.preflight(ticket, quantity=2, buyer={"email": "a@example.org", "name": "Ada"})

    assert answer.status_code == 201
    intent = answer.json
    assert set(intent) == INTENT_FIELDS | {"client_secret"}
    address = issued(acme.id, 1)
    expected = {
        "status": "awaiting_payment",
        "flags": [],
        "event_id": ticket["event_id"],
        "ticket_id": ticket["id"],
        "quantity": 2,
        "unit_amount": PRICE,
        "items": [
            {
                "ticket_id": ticket["id"],
                "name": ticket["name"],
                "quantity": 2,
                "list_amount": PRICE,
                "unit_amount": PRICE,
                "amount": 2 * PRICE,
                "deposit_amount": 0,
            }
        ],
        "locale": None,
        "discount_amount": 0,
        "voucher": None,
        "amount": 2 * PRICE,
        "amount_received": 0,
        "amount_due": 2 * PRICE,
        "refund_due": 0,
        "refund_pending": 0,
        "refund_address": None,
        "refunds": [],
        "currency": "USDC",
        "chain_id": CHAIN,
        "address": address,
        "token_address": TOKEN,
        "atomic_amount": 2 * PRICE,
        "payment_uri": f"ethereum:{TOKEN}@{CHAIN}/transfer?address={address}&uint256={2 * PRICE}",
        "required_confirmations": 1,
        "confirmations": 0,
        "final": False,
        "confirmed_at": None,
    }
    assert {name: intent[name] for name in expected} == expected
    assert acme.stock(ticket) == (2, 0)


def test_the_client_secret_is_in_this_answer_only(acme):
    buyer = acme.buyer(acme.ticket())
    assert set(buyer.now()) == INTENT_FIELDS
    admin = acme.api("read").get(f"{acme.path}/intents/{buyer.intent['id']}")
    assert buyer.intent["client_secret"] not in admin.text


def test_no_two_intents_get_the_same_address(acme):
    ticket = acme.ticket(capacity=None)
    addresses = [acme.buyer(ticket).intent["address"] for _ in range(5)]
    assert len(set(addresses)) == 5
    assert acme.api().get(f"{acme.path}/wallet").json["next_index"] == 6


def test_what_the_buyer_says_of_themselves_reaches_the_organizer(acme):
    buyer = acme.buyer(acme.ticket(), buyer={"email": "ada@example.org"})
    intent = acme.api("read").get(f"{acme.path}/intents/{buyer.intent['id']}").json
    assert intent["buyer"] == {"email": "ada@example.org", "name": None}


def test_a_slug_names_the_event_too(acme):
    event = acme.event(slug="launch")
    ticket = acme.ticket(event)
    body = {"event_id": "launch", "ticket_id": ticket["id"]}
    assert acme.with_headers({}).post(f"{acme.checkout}/preflight", body).status_code == 201


def test_too_few_left_is_sold_out_and_holds_nothing(acme):
    ticket = acme.ticket(capacity=3)
    acme.buyer(ticket, quantity=2)
    answer = acme.preflight(ticket, quantity=2)
    assert (answer.status_code, answer.json["code"]) == (409, "sold_out")
    assert acme.stock(ticket) == (2, 0)
    assert acme.preflight(ticket, quantity=1).status_code == 201


@pytest.mark.parametrize(
    ("fields", "order", "status", "code"),
    [
        ({"chain_id": 1}, {}, 409, "not_payable"),
        ({}, {"chain_id": 1}, 422, "invalid_request"),
        ({"status": "draft"}, {}, 404, "not_found"),
    ],
)
def test_it_says_why_it_refuses_and_holds_nothing(acme, fields, order, status, code):
    ticket = acme.ticket(**fields)
    answer = acme.preflight(ticket, **order)
    assert (answer.status_code, answer.json["code"]) == (status, code)
    assert acme.stock(ticket) == (0, 0)
    assert acme.api().get(f"{acme.path}/wallet").json["next_index"] == 1


def test_what_the_public_does_not_see_is_not_found(acme, neighbour):
    draft = acme.event(status="draft")
    hidden = acme.ticket(draft)
    ticket = acme.ticket()
    post = Api(acme.app.test_client()).post
    for organizer, event_id, ticket_id in (
        (acme, draft["id"], hidden["id"]),
        (acme, ticket["event_id"], hidden["id"]),
        (neighbour, ticket["event_id"], ticket["id"]),
        (acme, "evt_nothing", ticket["id"]),
        (acme, ticket["event_id"], "tkt_nothing"),
    ):
        body = {"event_id": event_id, "ticket_id": ticket_id}
        assert post(f"{organizer.checkout}/preflight", body).status_code == 404


def test_an_order_of_exactly_max_amount_passes(acme):
    assert acme.preflight(acme.ticket(), quantity=2, max_amount=2 * PRICE).status_code == 201


def test_a_later_change_of_price_does_not_reach_an_open_intent(acme):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
    assert acme.api("write").patch(path, {"price_amount": 2 * PRICE}).status_code == 200
    assert buyer.now()["amount"] == PRICE
    assert acme.buyer(ticket).intent["amount"] == 2 * PRICE


def test_an_intent_id_sorts_by_creation_time(acme):
    ticket = acme.ticket()
    ids = [acme.buyer(ticket).intent["id"] for _ in range(3)]
    assert ids == sorted(ids)
    assert re.fullmatch(r"pi_[0-9a-z]{26}", ids[0])


def test_what_a_buyer_entrusts_to_us_is_in_no_log(acme, caplog):
    caplog.set_level(logging.DEBUG)
    acme.buyer(acme.ticket(), buyer={"email": "ada@example.org", "name": "Ada Lovelace"})
    assert "ada@example.org" not in caplog.text
    assert "Lovelace" not in caplog.text
