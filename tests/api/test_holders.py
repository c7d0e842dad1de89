"""The holder's calls: reading an admission by its code, and naming its holder."""

from datetime import timedelta

import pytest

from tests.support.apps import new_app
from tests.support.factories import Api
from tests.support.holders import ADA, JOIN_URL, Held, bought, write
from tests.support.routes import same
from ticketing import clock
from ticketing.models.admissions import Admission, Transfer

UNKNOWN = "adm_" + "0" * 26


@pytest.fixture
def event(acme):
    return acme.event(online_join_url=JOIN_URL)


@pytest.fixture
def ticket(acme, event):
    return acme.ticket(event, price_amount=0, chain_id=None)


@pytest.fixture
def held(acme, ticket):
    (found,) = bought(acme, ticket, buyer=ADA)
    return found


def test_its_code_shows_the_admission_with_everything_that_its_holder_needs(held, event, ticket):
    answer = held.get()
    assert answer.status_code == 200
    shown = answer.json
    assert (shown["id"], shown["status"], shown["generation"]) == (held.id, "valid", 1)
    assert (shown["code"], shown["holder"], shown["transferred"]) == (held.code, ADA, False)
    assert shown["qr"].startswith("T1:") and held.code not in shown["qr"]
    assert shown["online_join_url"] == JOIN_URL
    assert shown["event"]["id"] == event["id"] and "online_join_url" not in shown["event"]
    assert shown["event"]["transfers_end_at"] == event["transfers_end_at"]
    assert shown["ticket"] == {
        "id": ticket["id"],
        "name": ticket["name"],
        "transferable": True,
    }
    assert (shown["transfer"], shown["refund_recipient"]) == (None, "order_buyer")
    assert (shown["redeemed_at"], shown["redeemed_gate"]) == (None, None)
    assert held.get().json == shown


def test_the_qr_code_of_the_order_and_of_the_admission_are_the_same(acme, ticket):
    buyer = acme.buyer(ticket, quantity=2)
    for each in buyer.purchase().json["admissions"]:
        assert Held(acme, each["id"], each["code"]).get().json["qr"] == each["qr"]


def test_a_wrong_code_an_unknown_admission_and_another_tenant_are_the_same_404(
    acme, neighbour, held, ticket
):
    (other,) = bought(acme, ticket)
    (theirs,) = bought(neighbour, neighbour.ticket(price_amount=0))
    lies = [
        Held(acme, held.id, other.code),
        Held(acme, held.id, held.code[:-1]),
        Held(acme, held.id, held.code.upper()),
        Held(acme, held.id, "\xff"),
        Held(acme, held.id, ""),
        Held(acme, UNKNOWN, held.code),
        Held(acme, UNKNOWN, ""),
        Held(acme, "%00", held.code),
        Held(acme, theirs.id, theirs.code),
        Held(neighbour, held.id, held.code),
    ]
    calls = [lie.get() for lie in lies]
    changes = [lie.name(name="Eve") for lie in lies]
    offers = [lie.offer() for lie in lies] + [lie.cancel() for lie in lies]
    for answers in (calls, changes, offers):
        assert len({same(answer) for answer in answers}) == 1
        assert (answers[0].status_code, answers[0].json["code"]) == (404, "not_found")
    assert held.get().json["holder"] == ADA


def test_a_paywall_credential_does_all_but_sees_no_code(acme, held):
    for role, status in (("read", 403), ("paywall", 200), ("admin", 200)):
        api = acme.api(role)
        answer = api.get(held.path)
        assert answer.status_code == status
        if status == 200:
            assert answer.json == {**held.get().json, "code": None}
            named = api.patch(held.path, {"holder": {"name": role}})
            assert (named.json["holder"]["name"], named.json["code"]) == (role, None)
            assert api.post(f"{held.path}/transfer").status_code == 201
            assert api.post(f"{held.path}/transfer/cancel").json["code"] is None


def test_the_tenant_in_the_path_may_be_its_slug_or_its_id(acme, held):
    path = f"/v1/checkout/tenants/{acme.id}/admissions/{held.id}"
    assert held.api.get(path).json == held.get().json
    assert held.api.patch(path, {"holder": {"name": "B"}}).json["holder"]["name"] == "B"


def test_a_holder_is_named_field_by_field_and_the_doors_are_told(held):
    write(held, change_number=7)
    assert held.name(name="Grace").json["holder"] == {**ADA, "name": "Grace"}
    row = Admission.get_by_id(held.id)
    assert row.named_at is not None and row.change_number is None and row.generation == 1
    assert held.name(email=None).json["holder"] == {"name": "Grace", "email": None}
    assert held.name().json["holder"] == {"name": "Grace", "email": None}
    refused = held.api.patch(held.path, {})
    assert refused.status_code == 422 and refused.json["errors"].keys() == {"holder"}


def test_of_a_type_that_is_not_transferable_a_holder_is_named_once(acme, event):
    ticket = acme.ticket(event, price_amount=0, chain_id=None, transferable=False)
    (held,) = bought(acme, ticket, buyer=ADA)
    assert held.name(**ADA).status_code == 200  # nothing changes: this does not count
    assert held.name(name="Grace").status_code == 200
    assert held.name(name="Grace").status_code == 200  # sent again
    refused = held.name(name="Eve")
    assert (refused.status_code, refused.json["code"]) == (409, "not_transferable")
    assert held.get().json["holder"]["name"] == "Grace"


def test_a_suspended_admission_can_be_named_and_shows_no_join_url(held):
    write(held, status="suspended")
    shown = held.name(name="Grace").json
    assert (shown["status"], shown["holder"]["name"]) == ("suspended", "Grace")
    assert shown["online_join_url"] is None and shown["qr"] is not None


def test_a_void_admission_shows_no_qr_code_and_no_join_url(held):
    write(held, status="void")
    shown = held.get().json
    assert (shown["status"], shown["qr"], shown["online_join_url"]) == ("void", None, None)


def test_a_holder_inside_sees_since_when(held):
    write(held, redeemed_at=clock.now(), redeemed_gate="North")
    shown = held.get().json
    assert shown["redeemed_at"] is not None and shown["redeemed_gate"] == "North"


def test_nobody_is_told_who_gets_a_refund_of_a_guest(held):
    write(held, intent=None)
    assert held.get().json["refund_recipient"] is None


def test_organizers_find_holders_by_name_address_and_whether_they_are_inside(acme, ticket):
    (ada,) = bought(acme, ticket, buyer={"name": "Ada Byron", "email": "a@x.example.org"})
    (grace,) = bought(acme, ticket, buyer={"name": "GRACE 100%", "email": None})
    (nobody,) = bought(acme, ticket)
    write(grace, redeemed_at=clock.now(), redeemed_gate="North")
    expected = {
        "q=byron": [ada],
        "q=BYRON": [ada],
        "q=X.Example": [ada],
        "q=grace": [grace],
        "q=%25": [grace],
        "q=_": [],
        "q=a": [ada, grace],
        "q=a&redeemed=true": [grace],
        "redeemed=true": [grace],
        "redeemed=false": [ada, nobody],
        f"event_id={ticket['event_id']}&redeemed=false&q=ada&status=valid": [ada],
        "status=void": [],
    }
    read = acme.api("read")
    for query, found in expected.items():
        listed = read.get(f"{acme.path}/admissions?{query}")
        assert [each["id"] for each in listed.json["data"]] == [each.id for each in found], query
        assert all({"code", "qr"}.isdisjoint(each) for each in listed.json["data"])
    shown = read.get(f"{acme.path}/admissions?redeemed=true").json["data"][0]
    assert shown["redeemed_at"] is not None and shown["redeemed_gate"] == "North"
    assert shown["holder"] == {"name": "GRACE 100%", "email": None}


def limited(environ, **limits):
    limits = {f"RATE_LIMIT_{name.upper()}": str(limit) for name, limit in limits.items()}
    return new_app({**environ, **limits})


def at(app, held):
    acme = held.organizer
    return Held(type(acme)(app, acme.slug, acme.id, acme.admin_key), held.id, held.code)


def test_a_good_code_counts_for_its_order_and_a_wrong_one_for_its_address(environ, acme, ticket):
    first, second = bought(acme, ticket, quantity=2)
    (other,) = bought(acme, ticket)
    app = limited(environ, order=3, checkout=2)
    lie = at(app, Held(acme, first.id, other.code))
    assert [lie.get().status_code for _ in range(3)] == [404, 404, 429]
    # Many holders share an address, from which somebody guesses.
    told = [at(app, each).get().status_code for each in (first, second, first, second)]
    assert told == [200, 200, 200, 429]
    assert at(app, other).get().status_code == 200


def test_a_buyer_who_transferred_it_uses_up_nothing_of_the_new_holder(environ, acme, ticket):
    buyer = acme.buyer(ticket)
    (admission,) = buyer.purchase().json["admissions"]
    held = Held(acme, admission["id"], admission["code"]).transferred()
    app = limited(environ, order=2, checkout=2)
    secret = {"Authorization": f"Bearer {buyer.intent['client_secret']}"}
    asked = [Api(app.test_client(), secret).get(buyer.path).status_code for _ in range(3)]
    assert asked == [200, 200, 429]
    assert [at(app, held).get().status_code for _ in range(3)] == [200, 200, 429]


def test_codes_and_offers_are_in_no_log(held, caplog):
    offer = held.offer().json["offer"]
    held.get()
    assert held.code not in caplog.text and offer not in caplog.text


def test_an_expired_offer_is_not_pending(held):
    made = held.offer(name="Bob").json
    shown = held.get().json["transfer"]
    assert (shown["id"], shown["holder"]) == (made["id"], {"name": "Bob", "email": None})
    assert shown["expires_at"] == made["expires_at"] and made["offer"] not in held.get().text
    Transfer.update(expires_at=clock.now() - timedelta(seconds=1)).execute()
    assert held.get().json["transfer"] is None
