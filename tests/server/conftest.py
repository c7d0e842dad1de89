"""Fixtures of the tests of the server: a tenant with one resource of each kind."""

import pytest

from tests.support.members import first_member
from tests.support.webhook_endpoints import new_webhook


@pytest.fixture
def here(acme):
    """The ids of one resource of each kind that acme has."""
    ticket = acme.ticket(price_amount=0)
    buyer = acme.buyer(ticket)
    devices = f"{acme.path}/events/{ticket['event_id']}/door-devices"
    owner = acme.with_headers({"X-API-Key": acme.admin_key})
    return {
        "tenant": acme.slug,
        "admission_id": buyer.purchase().json["admissions"][0]["id"],
        "device_id": owner.post(devices, {"name": "Phone"}).json["id"],
        "event_id": ticket["event_id"],
        "ticket_id": ticket["id"],
        "intent_id": acme.buyer(ticket).intent["id"],
        "key_id": "key_" + acme.key("read").split("_")[1],
        "member_id": first_member(acme),
        "webhook_id": new_webhook(acme).id,
    }
