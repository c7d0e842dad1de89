"""The guest list: admissions without an order."""

import pytest

from tests.support.admissions import FREE, admissions_of, given, invite, void
from ticketing.models.admissions import Admission
from ticketing.services.payments import reconciliation

pytestmark = pytest.mark.sql

ADA = {"name": "Ada", "email": "ada@example.org"}


def test_guests_get_admissions_that_count_as_sold(acme):
    ticket = acme.ticket(capacity=3)
    answer = invite(acme, ticket, ADA, {})
    assert answer.status_code == 201
    first, second = answer.json["admissions"]
    assert (first["holder"], second["holder"]) == (ADA, {"name": None, "email": None})
    assert (first["intent_id"], first["status"], first["generation"]) == (None, "valid", 1)
    codes = [Admission.get_by_id(each["id"]).code for each in (first, second)]
    assert answer.json["codes"] == codes
    assert acme.stock(ticket) == (0, 2)
    assert reconciliation.reconcile(None) == []
    assert len(acme.api().get(f"{acme.path}/admissions").json["data"]) == 2


def test_all_are_issued_or_none(acme):
    ticket = acme.ticket(capacity=3, **FREE)
    acme.buyer(ticket)
    given(acme, ticket)
    refused = invite(acme, ticket, {}, {})
    assert (refused.status_code, refused.json["code"]) == (409, "sold_out")
    assert Admission.select().count() == 1
    assert invite(acme, ticket, {}).status_code == 201
    assert acme.preflight(ticket).json["code"] == "sold_out"


def test_a_repeat_with_the_same_idempotency_key_has_no_codes(acme):
    ticket = acme.ticket()
    path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}/admissions"
    api = acme.with_headers({"X-API-Key": acme.admin_key, "Idempotency-Key": "again"})
    first, again = (api.post(path, {"holders": [ADA]}) for _ in range(2))
    assert again.json == {**first.json, "codes": None}
    assert acme.stock(ticket) == (0, 1)


def test_a_draft_may_have_guests(acme):
    draft = acme.ticket(acme.event(status="draft"), status="draft")
    assert invite(acme, draft, {}).status_code == 201


@pytest.mark.parametrize("refund", [True, False])
def test_a_guest_can_be_voided(acme, refund):
    ticket = acme.ticket(capacity=1)
    guest = invite(acme, ticket, ADA).json["admissions"][0]["id"]
    first, again = (void(acme, guest, refund=refund) for _ in range(2))
    assert (first.json["status"], again.json) == ("void", first.json)
    assert acme.stock(ticket) == (0, 0)
    assert reconciliation.reconcile(None) == []


def test_each_guest_is_in_the_audit_log_with_the_reason(acme):
    answer = invite(acme, acme.ticket(), ADA, {})
    for guest, code in zip(answer.json["admissions"], answer.json["codes"], strict=True):
        query = {"subject": guest["id"]}
        (entry,) = acme.api().get(f"{acme.path}/audit-log", query_string=query).json["data"]
        assert entry["action"] == "admissions_add_guests"
        assert (entry["after"]["reason"], entry["after"]["holder"]) == ("Press.", guest["holder"])
        assert code not in str(entry)


def test_orders_of_a_ticket_type_with_guests_are_as_before(acme):
    ticket = acme.ticket(**FREE)
    invite(acme, ticket, ADA)
    buyer = given(acme, ticket, quantity=2)
    assert len(admissions_of(buyer)) == 2
    assert acme.stock(ticket) == (0, 3)


@pytest.mark.parametrize(
    ("holder", "field"),
    [
        (None, "holders.1"),
        ("Ada", "holders.1"),
        ({"name": ""}, "holders.1.name"),
        ({"email": "ada"}, "holders.1.email"),
        ({"age": 1}, "holders.1.age"),
    ],
)
def test_a_bad_holder_is_named_and_nobody_is_issued_anything(acme, holder, field):
    refused = invite(acme, acme.ticket(), {}, holder)
    assert (refused.status_code, list(refused.json["errors"])) == (422, [field])
    assert not Admission.select().exists()
