"""What directories of x402 services find: in the 402 of a POST or GET, and in what is settled."""

import pytest
from x402.extensions.bazaar.facilitator import (
    _sanitize_resource_service_metadata as sanitized,
)
from x402.extensions.bazaar.facilitator import (
    validate_and_extract,
    validate_discovery_extension_spec,
)

from tests.support.databases import only_once
from tests.support.factories import PRICE, worker_once
from tests.support.payouts import with_address
from tests.support.x402 import encoded, required
from ticketing.models.tenants import Tenant
from ticketing.services.x402.payment_header import MAX_BYTES

LONG = "\N{BALLET SHOES}" * 200


@pytest.fixture
def venue(app, node):
    return with_address(app, node)


@pytest.fixture
def ticket(venue):
    made = venue.ticket(venue.event(carts=True), capacity=100)
    worker_once(venue.app)
    return made


@pytest.fixture
def path(venue, ticket):
    return f"/v1/x402/tenants/{venue.slug}/tickets/{ticket['id']}/orders"


@pytest.fixture
def event_path(venue, ticket):
    return f"/v1/x402/tenants/{venue.slug}/events/{ticket['event_id']}/orders"


def body_of(extensions):
    """Check the extension as a facilitator does, and return the body that it lists."""
    bazaar = extensions["bazaar"]
    assert validate_discovery_extension_spec(bazaar).valid
    found = validate_and_extract(bazaar)
    assert found.valid, found.errors
    return found.info.input.body


@only_once
def test_the_402_and_the_payload_to_settle_can_be_listed(
    api, path, event_path, ticket, wallet, facilitator
):
    items = [{"ticket_id": ticket["id"], "quantity": 2}]
    for url, body in ((path, {"quantity": 2}), (event_path, {"items": items})):
        asked = required(api.post(url, body))
        # One type is listed under its own path.
        assert body_of(asked["extensions"]) == {"quantity": 2}
        assert asked["resource"]["url"].endswith(path)
        assert api.post(url, body, headers=wallet.header(asked)).status_code == 200
        sent = facilitator.asked[-1]["paymentPayload"]
        assert body_of(sent["extensions"]) == {"quantity": 2}
        assert sent["resource"] == asked["resource"]


@only_once
def test_several_types_are_listed_under_the_path_of_the_event(api, venue, event_path, ticket):
    other = venue.ticket({"id": ticket["event_id"]}, capacity=100)
    worker_once(venue.app)
    items = [{"ticket_id": each["id"], "quantity": 1} for each in (ticket, other)]
    asked = required(api.post(event_path, {"items": items}))
    assert body_of(asked["extensions"]) == {"items": items}
    assert asked["resource"]["url"].endswith(event_path)


@only_once
@pytest.mark.parametrize("name", ["Venue", "x" * 33, "Caf\N{LATIN SMALL LETTER E WITH ACUTE}"])
def test_the_resource_is_within_the_bounds_of_the_specification(api, path, venue, name):
    Tenant.update(name=name).execute()
    resource = required(api.post(path))["resource"]
    service = {key: resource[key] for key in ("serviceName", "tags") if key in resource}
    assert service == ({"serviceName": name} if name == "Venue" else {}) | {
        "tags": ["tickets", "events"]
    }
    kept = sanitized(resource)
    assert (kept.service_name, kept.tags) == (service.get("serviceName"), service["tags"])
    assert resource.keys() <= {"url", "description", "mimeType", "serviceName", "tags"}


@only_once
def test_the_longest_names_fit_into_the_header(api, venue, wallet):
    event = venue.event(title=LONG)
    ticket = venue.ticket(event, name=LONG)
    worker_once(venue.app)
    path = f"/v1/x402/tenants/{venue.slug}/tickets/{ticket['id']}/orders"
    asked = required(api.post(path))
    assert len(asked["resource"]["description"]) <= 500
    # Clients write UTF-8, the test's wallet writes ASCII: that is longer.
    payment = {**wallet.payment(asked), "extensions": asked["extensions"]}
    header = encoded(payment)
    assert len(header) < MAX_BYTES
    assert api.post(path, headers={"PAYMENT-SIGNATURE": header}).status_code == 200


@only_once
def test_a_get_shows_the_price_of_one_and_what_it_shows_cannot_be_paid(
    api, path, event_path, ticket, venue, wallet
):
    answer = api.get(path)
    assert (answer.status_code, answer.json["code"]) == (402, "payment_required")
    assert answer.json["offer"]["unit_amount"] == PRICE
    asked = required(answer)
    assert asked["accepts"][0]["amount"] == str(PRICE)
    listed = api.get(event_path)
    assert listed.json["offer"]["tickets"][0]["ticket_id"] == ticket["id"]
    items = [{"ticket_id": ticket["id"], "quantity": 1}]
    for shown, url, body in ((asked, path, None), (required(listed), event_path, {"items": items})):
        header = wallet.header(shown)
        assert api.get(url, headers=header).status_code == 402
        refused = api.post(url, body, headers=header)
        assert (refused.status_code, refused.json["code"]) == (400, "invalid_payment")
        assert (
            api.post(url, body, headers=wallet.header(required(api.post(url, body)))).status_code
            == 200
        )


@only_once
def test_a_get_of_what_cannot_be_bought_like_this_is_the_offer(api, venue, path, ticket):
    free = venue.ticket(price_amount=0, chain_id=None, capacity=10)
    assert api.get(path.replace(ticket["id"], free["id"])).status_code == 200
    assert venue.preflight(ticket, quantity=10).status_code == 201
    full = venue.ticket(capacity=1, max_per_order=1)
    venue.buyer(full)
    assert api.get(path.replace(ticket["id"], full["id"])).status_code == 200
