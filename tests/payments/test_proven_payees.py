"""Payees that nobody decided: set while nobody decides otherwise, and ended with their proof.

Which account has proven that it paid is decided elsewhere (payer_proofs.py). Here it is said.
"""

import pytest

from tests.support import payees
from tests.support.mails import ADA, PUBLIC_URL, SENDER, change_intent
from tests.support.payees import payee, state_only
from tests.support.refunds import FRIEND_ADDRESS, STRANGER_ADDRESS, received
from tests.support.stopped_clock import START, StoppedClock
from ticketing import clock
from ticketing.constants import PayeeSource
from ticketing.models.notifications import Mail, Notification
from ticketing.models.payments import Payment
from ticketing.notification_types import MailStatus
from ticketing.services.payments import payee_changes, payer_proofs
from tools import anvil


@pytest.fixture
def environ(environ):
    mail = {"SMTP_URL": "smtp://127.0.0.1:9", "MAIL_FROM": SENDER, "PUBLIC_URL": PUBLIC_URL}
    return {**environ, **mail}


@pytest.fixture
def time(monkeypatch):
    return StoppedClock(monkeypatch, START)


@pytest.fixture
def proven(monkeypatch):
    """What is proven now, by changing the dictionary."""
    said = {"payee": (anvil.BUYER, PayeeSource.SIGNER)}
    monkeypatch.setattr(payer_proofs, "proven_payee", lambda account: said["payee"])
    return said


@pytest.fixture
def owed(acme, time):
    buyer = acme.buyer(acme.ticket(), buyer=ADA)
    received(buyer, 7_000_000)
    Payment.update(proven=PayeeSource.SIGNER).execute()
    change_intent(buyer, due=2_000_000)
    return buyer


def facts(buyer):
    of_order = (Notification.type == "refund.address_changed") & (
        Notification.intent_id == buyer.intent["id"]
    )
    return Notification.select().where(of_order).count()


def test_it_is_set_at_once_and_only_once(acme, proven, owed):
    for _ in range(3):
        payee_changes.take_effect(acme.id)
    found = payee(acme, owed)
    assert (found["address"], found["source"]) == (anvil.BUYER, "signer")
    assert (found["cautions"], found["differs_from_payer"], facts(owed)) == ([], False, 1)


def test_another_tenant_is_left_alone(neighbour, proven, owed):
    payee_changes.take_effect(neighbour.id)
    assert owed.now()["refund_address"] is None


def test_what_owes_nothing_needs_none(proven, acme, owed):
    change_intent(owed, due=0)
    payee_changes.take_effect()
    assert owed.now()["refund_address"] is None


def test_it_ends_with_its_proof_and_another_one_follows(acme, proven, owed):
    payee_changes.take_effect()
    proven["payee"] = None
    payee_changes.take_effect()
    assert owed.now()["refund_address"] is None
    proven["payee"] = (FRIEND_ADDRESS, PayeeSource.WALLET)
    payee_changes.take_effect()
    assert payee(acme, owed)["source"] == "wallet"
    proven["payee"] = (FRIEND_ADDRESS, PayeeSource.SIGNER)
    payee_changes.take_effect()
    payees.state(owed, STRANGER_ADDRESS)
    assert payee(acme, owed)["address"] == STRANGER_ADDRESS
    payee_changes.take_effect()
    assert payee(acme, owed)["address"] == STRANGER_ADDRESS, "somebody decided"


def test_a_token_is_never_set(proven, owed):
    proven["payee"] = (owed.intent["token_address"], PayeeSource.WALLET)
    payee_changes.take_effect()
    assert owed.now()["refund_address"] is None


def _wait_a_day(time):
    sent = {"status": MailStatus.SENT, "ended_at": clock.now(), "next_attempt_at": None}
    Mail.update({**sent, "recipient": None}).execute()
    time.forward(hours=24)
    payee_changes.take_effect()


def test_a_statement_replaces_it_after_a_day_with_a_caution(acme, proven, owed, time):
    payee_changes.take_effect()
    state_only(owed, FRIEND_ADDRESS)
    assert owed.now()["refund_address"] == anvil.BUYER
    _wait_a_day(time)
    found = payee(acme, owed)
    assert (found["address"], found["cautions"]) == (FRIEND_ADDRESS, ["replaces_proven"])
    payees.confirm(owed)
    assert payee(acme, owed)["cautions"] == [], "the mailbox has confirmed it since"
    payees.stop(owed)
    found = payee(acme, owed)
    assert (found["address"], found["source"]) == (anvil.BUYER, "signer"), "at once"


def test_confirmed_by_the_mailbox_it_has_no_caution(acme, proven, owed):
    payee_changes.take_effect()
    payees.state(owed, FRIEND_ADDRESS)
    assert payee(acme, owed)["cautions"] == []


def test_a_statement_of_before_does_not_replace_it_if_nobody_was_told(acme, proven, owed, time):
    change_intent(owed, buyer_email=None)
    assert state_only(owed, FRIEND_ADDRESS).status_code == 200
    payee_changes.take_effect()
    assert owed.now()["refund_address"] == anvil.BUYER
    _wait_a_day(time)
    found = payee(acme, owed)
    assert (found["address"], found["waiting_address"]) == (anvil.BUYER, None)
    assert state_only(owed, FRIEND_ADDRESS).json["code"] == "signature_required"
