"""Whoever can make an order's link must not get its refund: staff, or a leaked SECRET_KEY."""

from contextlib import suppress
from datetime import timedelta

import pytest

from tests.support.books import change_home, home_of
from tests.support.factories import CHAIN, worker_once
from tests.support.mail_server import MailServer
from tests.support.mails import PUBLIC_URL, SENDER, send
from tests.support.payees import (
    enter,
    links_in,
    order_link_in,
    payee,
    press,
    state_only,
    with_link,
)
from tests.support.payouts import PAYER, fund, listed, sign, with_address
from tests.support.refunds import FRIEND_ADDRESS as VICTIM
from tests.support.refunds import STRANGER_ADDRESS as THIEF
from tests.support.refunds import account
from ticketing import clock, credentials
from ticketing.constants import PayeeCaution
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import RefundAddress
from ticketing.models.wallets import Wallet
from ticketing.services.payments import payee_changes
from tools import anvil

EMAIL = {"email": "victim@example.org"}
INSIDER = "insider@example.org"
OWED = 100_000_000


@pytest.fixture
def server():
    with MailServer() as running:
        yield running


@pytest.fixture
def environ(environ, server):
    return {**environ, "SMTP_URL": server.url, "MAIL_FROM": SENDER, "PUBLIC_URL": PUBLIC_URL}


@pytest.fixture
def venue(app, node):
    return with_address(app, node)


@pytest.fixture
def owed(venue, node, server):
    """An order whose buyer is owed 100, and has confirmed where it goes."""
    buyer = venue.buyer(venue.ticket(), buyer=EMAIL)
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, anvil.BUYER, OWED)
    buyer.pay(node, buyer.intent["amount"] + OWED)
    worker_once(venue.app)
    assert state_only(buyer, VICTIM).status_code == 200
    send(venue.app)
    assert press(venue, links_in(server.mails[-1])["confirm"]).status_code == 303
    return buyer


def paid_back(venue, node):
    """Sign the list of the organizer's account. Return what the victim and the thief got."""
    fund(node, 2 * OWED)
    sign(node, listed(venue, node, PAYER))
    held = [anvil.balance(node.rpc, anvil.TOKEN_ADDRESS, each) for each in (VICTIM, THIEF)]
    return tuple(held)


def states_with(venue, buyer, link):
    """State the thief's address with an order's link."""
    path = f"{buyer.path}/refund-address"
    return with_link(venue, link).post(path, {"address": THIEF})


def test_a_key_of_role_write_takes_no_refund(venue, node, server, owed):
    """It can have the order's link sent to itself. The buyer's address stays, and they are told."""
    staff, path = venue.api("write"), f"{venue.path}/intents/{owed.intent['id']}"
    assert enter(venue, owed, THIEF, role="write").status_code == 403
    assert staff.post(f"{path}/email", {"email": INSIDER}).status_code == 200
    send(venue.app)
    link = next(filter(None, map(order_link_in, reversed(server.mails))))
    assert states_with(venue, owed, link).status_code == 200
    send(venue.app)
    assert payee(venue, owed)["address"] == VICTIM
    (row,) = RefundAddress.select().where(RefundAddress.address == THIEF)
    assert row.waits and row.effective_at - row.stated_at == timedelta(hours=24)
    payee_changes.take_effect()
    mailed = list(zip(server.recipients, server.mails, strict=True))
    assert INSIDER in server.recipients
    assert not any(links_in(mail) for recipient, mail in mailed if recipient == INSIDER)
    fund(node, OWED)
    assert listed(venue, node, PAYER)["payments"] == []
    (stop,) = [links_in(mail)["stop"] for to, mail in mailed[-2:] if to == EMAIL["email"]]
    assert press(venue, stop).status_code == 303
    assert paid_back(venue, node) == (OWED, 0)


def test_the_secret_key_alone_takes_no_refund(venue, node, server, owed):
    """It makes the link of every order, but neither a button of a mail nor a day."""
    key, order_id = venue.app.extensions["ticketing"].keyring.current, owed.intent["id"]
    secret = credentials.client_secret(key, order_id, 0)
    assert states_with(venue, owed, f"{order_id}.{secret}").status_code == 200
    send(venue.app)
    told = server.mails[-1]
    assert server.recipients[-1] == EMAIL["email"] and links_in(told)
    (row,) = RefundAddress.select().where(RefundAddress.address == THIEF)
    for salt in ("", "0" * 32, row.id, order_id):
        made = credentials.change_secret(key, order_id, row.id, salt)
        assert press(venue, f"/_r/{order_id}.{row.id}.{made}").status_code == 404
    assert press(venue, links_in(told)["stop"]).status_code == 303
    payee_changes.take_effect()
    assert paid_back(venue, node) == (OWED, 0)


def test_write_access_to_the_database_is_seen_by_who_signs_and_moves_nothing(venue, node, owed):
    """It decides where a refund goes and how much is owed, but the person who signs sees both."""
    change_home(owed.intent["id"], refund_address=THIEF, due=2 * OWED)
    RefundAddress.update(address=THIEF).execute()
    fund(node, 3 * OWED)
    of_list = listed(venue, node, PAYER)
    assert [(each["to"], each["amount"]) for each in of_list["payments"]] == [(THIEF, 2 * OWED)]
    # Another owner gets nothing of what the order's address holds: its contract pays the first one.
    Wallet.update(owner=THIEF).execute()
    holders = (THIEF, owed.intent["address"])
    before = [anvil.balance(node.rpc, anvil.TOKEN_ADDRESS, each) for each in holders]
    made = venue.api().get(f"{venue.path}/collections?chain_id={CHAIN}").json
    assert made["transactions"]
    for each in made["transactions"]:
        with suppress(RuntimeError):
            anvil.send(node.rpc, PAYER, {"to": each["to"], "data": each["data"]})
    after = [anvil.balance(node.rpc, anvil.TOKEN_ADDRESS, each) for each in holders]
    assert after == before


def test_without_a_mailbox_the_account_that_paid_must_sign(venue, node):
    """EIP-191: the text says which order, and to which address. A signature is good once."""
    buyer = venue.buyer(venue.ticket())
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, anvil.BUYER, OWED)
    buyer.pay(node, buyer.intent["amount"] + OWED)
    worker_once(venue.app)
    _proven(buyer)
    refused = state_only(buyer, VICTIM)
    assert (refused.status_code, refused.json["code"]) == (409, "signature_required")
    assert refused.json["signer"] == anvil.BUYER and VICTIM in refused.json["message"]
    text = "0x" + refused.json["message"].encode().hex()
    made = node.rpc("personal_sign", text, anvil.BUYER)
    other = f"{made[:-4]}{int(made[-4:-2], 16) ^ 1:02x}{made[-2:]}"
    for signature in ("0x", "0x00", other, "no"):
        assert state_only(buyer, VICTIM, signature=signature).status_code == 422
    assert state_only(buyer, THIEF, signature=made).status_code == 422
    answer = state_only(buyer, VICTIM, signature=made)
    assert answer.status_code == 200 and answer.json["refund_address"] == VICTIM
    assert payee(venue, buyer)["cautions"] == [
        PayeeCaution.REPLACES_PROVEN,
        PayeeCaution.NOBODY_TOLD,
    ]


def test_addresses_of_the_organizer_are_no_payees(venue, node, owed):
    """An owner, a gathering receiver, an account that pays back."""
    fund(node, OWED)
    assert listed(venue, node, PAYER)["payments"]
    wallet = Wallet.get(Wallet.tenant_id == venue.id)
    payer = account(node, PAYER)
    for address in (wallet.owner, wallet.gathering, payer):
        for answer in (state_only(owed, address), enter(venue, owed, address)):
            assert answer.status_code == 422
            assert answer.json["errors"].keys() == {"address"}


def _proven(buyer):
    """Let the account that paid be the payee, as if it had signed for it."""
    order_id, now = buyer.intent["id"], clock.now()
    RefundAddress.insert(
        id="rad_" + "0" * 26,
        intent=order_id,
        account=home_of(order_id),
        address=anvil.BUYER,
        source="signer",
        stated_at=now,
        effective_at=now,
    ).execute()
    change_home(order_id, refund_address=anvil.BUYER)
    PaymentIntent.update(payees_version=1).where(PaymentIntent.id == order_id).execute()
