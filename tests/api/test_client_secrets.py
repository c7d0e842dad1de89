"""The client secret opens one intent of one tenant, and reveals nothing about others."""

import pytest

from tests.support.credentials_table import bearer, both_ways
from tests.support.field_values import OPERATIONS
from tests.support.routes import UNKNOWN, endpoints, same, sent_to
from ticketing.roles import LADDER, Role

OF_FREE = {
    "get_what_to_sign": (404,),
    "pay_without_fee": (404,),
    "choose_chain": (422,),
    "tell_payer": (404,),
}
"""Nobody pays for a free order, and it has no network. The others say 200 or 409."""


@pytest.fixture
def buyer(acme):
    """A buyer with a free intent."""
    return acme.buyer(acme.ticket(price_amount=0))


def send_to_all(app, tenant, intent_id, headers):
    """The responses of all endpoints of one intent that a role opens too, by method and view."""
    return {
        (endpoint.method, endpoint.view): app.test_client().open(
            endpoint.path(tenant=tenant, intent_id=intent_id),
            method=endpoint.method,
            headers=headers,
            **sent_to(OPERATIONS, endpoint, {}),
        )
        for endpoint in endpoints(app, "/v1/checkout/")
        if endpoint.ids == ["intent_id"] and not endpoint.needs_secret
    }


def test_it_opens_its_own_intent(app, acme, buyer):
    for tenant in (acme.slug, acme.id):
        answers = send_to_all(app, tenant, buyer.intent["id"], buyer.api.headers)
        assert len(answers) >= 4
        for (_, view), answer in answers.items():
            assert answer.status_code in OF_FREE.get(view, (200, 409)), view


def test_a_wrong_one_is_the_404_of_an_unknown_intent(app, acme, neighbour, buyer):
    own, intent_id = buyer.intent["client_secret"], buyer.intent["id"]
    theirs = neighbour.buyer(neighbour.ticket(price_amount=0)).intent
    others = acme.buyer(acme.ticket(price_amount=0)).intent
    unknown = send_to_all(app, acme.slug, UNKNOWN["intent_id"], both_ways(acme, acme.admin_key)[1])
    assert all(answer.status_code == 404 for answer in unknown.values())
    for tenant, asked, secret in (
        *((acme.slug, intent_id, wrong) for wrong in (own[:-1], own + "0", own.upper(), "cs_")),
        (acme.slug, intent_id, others["client_secret"]),
        (acme.slug, intent_id, theirs["client_secret"]),
        (acme.slug, theirs["id"], own),
        (acme.slug, theirs["id"], theirs["client_secret"]),
        (acme.slug, UNKNOWN["intent_id"], own),
        (neighbour.slug, intent_id, own),
        (neighbour.id, intent_id, own),
        ("nobody-here", intent_id, own),
    ):
        for where, answer in send_to_all(app, tenant, asked, bearer(secret)).items():
            assert same(answer) == same(unknown[where]), (tenant, asked, where)


def test_an_intent_is_open_from_the_paywall_role_upwards(app, acme, buyer):
    for role in LADDER:
        for headers in both_ways(acme, acme.key(role.value)):
            answers = send_to_all(app, acme.slug, buyer.intent["id"], headers).values()
            allowed = (403,) if role is Role.READ else (200, 404, 409, 422)
            assert all(answer.status_code in allowed for answer in answers), role
