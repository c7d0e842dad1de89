"""What one client can store: responses to requests with an Idempotency-Key, and their sizes."""

import sqlite3
import uuid
from pathlib import Path

import pytest

from tests.support.apps import new_app
from tests.support.counted_work import watched
from tests.support.databases import on_sqlite
from tests.support.factories import Api, Buyer
from ticketing.db import connection, reserve
from ticketing.models.idempotency import IdempotencyKey

pytestmark = [pytest.mark.sql, pytest.mark.usefixtures("time")]

FREE = {"price_amount": 0, "chain_id": None, "capacity": None}


def keyed():
    return {"headers": {"Idempotency-Key": str(uuid.uuid4())}}


@pytest.fixture
def stored():
    """Return how many rows there are, claims included."""
    return lambda: IdempotencyKey.select().count()


def order(ticket, **more):
    return {"event_id": ticket["event_id"], "ticket_id": ticket["id"], **more}


def test_what_had_no_effect_is_not_stored(acme, stored):
    ticket = acme.ticket(**FREE)
    api = Api(acme.app.test_client())
    path = f"{acme.checkout}/preflight"
    none = "tkt_00000000000000000000000000"
    assert api.post(path, {"x": 1}, **keyed()).status_code == 422
    assert api.post(path, order(ticket, ticket_id=none), **keyed()).status_code == 404
    assert api.post(path, order(ticket, quantity=11), **keyed()).status_code == 409
    text = {**keyed(), "content_type": "text/plain", "data": "x"}
    assert acme.app.test_client().post(path, **text).status_code == 415
    broken = {**keyed(), "content_type": "application/json", "data": "{"}
    assert acme.app.test_client().post(path, **broken).status_code == 400
    accept = f"{acme.checkout}/transfers/accept"
    assert api.post(accept, {"offer": "x" * 40}, **keyed()).status_code in (404, 410, 422)
    assert stored() == 0


def test_a_key_whose_request_was_invalid_is_judged_as_new(acme, stored):
    ticket = acme.ticket(**FREE)
    api, key = Api(acme.app.test_client()), keyed()
    path = f"{acme.checkout}/preflight"
    assert api.post(path, order(ticket, quantity="two"), **key).status_code == 422
    first = api.post(path, order(ticket), **key)
    assert first.status_code == 201
    assert "Idempotent-Replayed" not in first.headers
    again = api.post(path, order(ticket, quantity=2), **key)
    assert again.json["code"] == "idempotency_key_reused"
    assert stored() == 1


def test_a_purchase_and_a_cancelation_that_change_nothing_are_not_stored(acme, stored):
    bought, left = (acme.buyer(acme.ticket(**FREE)) for _ in range(2))
    for buyer, act in ((bought, "purchase"), (left, "cancel")):
        before, key = stored(), keyed()
        assert buyer.api.post(f"{buyer.path}/{act}", **key).status_code == 200
        again = buyer.api.post(f"{buyer.path}/{act}", **key)
        assert again.headers["Idempotent-Replayed"] == "true"
        assert stored() == before + 1
        for _ in range(3):
            assert buyer.api.post(f"{buyer.path}/{act}", **keyed()).status_code == 200
        assert stored() == before + 1


def test_an_error_names_ten_unknown_members_and_cuts_them(acme):
    names = [f"{number:03}" + "x" * 600 for number in range(90)]
    body = {**dict.fromkeys(names, 1), "quantity": "two"}
    answer = Api(acme.app.test_client()).post(f"{acme.checkout}/preflight", body)
    assert answer.status_code == 422
    unknown = {name for name in answer.json["errors"] if name.endswith("x")}
    assert unknown == {name[:64] for name in names[:10]}
    assert {"event_id", "ticket_id", "quantity"} <= answer.json["errors"].keys()
    assert len(answer.data) < 4096


def test_an_error_names_ten_repeated_parameters_and_cuts_them(acme):
    query = "&".join(f"{number:03}{'x' * 100}=1" for number in [*range(20), *range(20)])
    api = acme.with_headers({"X-API-Key": acme.admin_key})
    answer = api.get(f"{acme.path}/events?{query}")
    assert answer.status_code == 422
    assert [len(name) for name in answer.json["errors"]] == [64] * 10


def test_an_order_has_a_hundred_stored_responses_a_day(acme, time, stored):
    buyer = acme.buyer(acme.ticket(transferable=True, **FREE))
    (admission,) = buyer.purchase().json["admissions"]
    holder = Api(acme.app.test_client(), {"Authorization": f"Bearer {admission['code']}"})
    path = f"{acme.checkout}/admissions/{admission['id']}/transfer/cancel"
    sent = [holder.post(path, **keyed()).status_code for _ in range(101)]
    assert sent == [200] * 100 + [429]
    refused = holder.post(path, **keyed())
    assert refused.json["code"] == "too_many_requests"
    assert refused.headers["Retry-After"] == "86400"
    assert stored() == 100
    assert holder.post(path).status_code == 200
    time.forward(hours=24, seconds=1)
    assert holder.post(path, **keyed()).status_code == 200


@pytest.mark.parametrize(
    ("address", "other", "most"),
    [
        (lambda n: "192.0.2.1", "192.0.2.2", 4),
        (lambda n: f"2001:db8:1:{n}::1", "2001:db8:2::1", 12),
    ],
    ids=["IPv4", "IPv6 /48"],
)
def test_a_client_has_four_stored_responses_a_day_for_each_order(
    environ, acme, address, other, most
):
    environ["ORDERS_PER_CLIENT"] = "1"
    buyer = acme.buyer(acme.ticket(transferable=True, **FREE))
    (admission,) = buyer.purchase().json["admissions"]
    acme.app = new_app(environ)
    headers = {"Authorization": f"Bearer {admission['code']}"}
    path = f"{acme.checkout}/admissions/{admission['id']}/transfer/cancel"

    def send(address):
        key = {"Idempotency-Key": str(uuid.uuid4())}
        api = Api(acme.app.test_client(), headers)
        return api.post(path, headers=key, environ_overrides={"REMOTE_ADDR": address})

    sent = [send(address(number)).status_code for number in range(most + 2)]
    assert sent == [200] * most + [429] * 2
    assert send(other).status_code == 200


def test_an_address_has_a_wide_limit_for_all_its_orders(environ, acme):
    environ["RATE_LIMIT_ORDER"] = "2"
    buyers = [acme.buyer(acme.ticket(**FREE)) for _ in range(52)]
    acme.app = new_app(environ)

    def read(buyer, address="192.0.2.1"):
        api = Buyer(acme, buyer.intent).api
        return api.get(buyer.path, environ_overrides={"REMOTE_ADDR": address})

    for buyer in buyers[:50]:
        for left in ("1", "0"):
            answer = read(buyer)
            assert answer.status_code == 200
            assert f"r={left};" in answer.headers["RateLimit"]
    assert read(buyers[50]).status_code == 429
    assert read(buyers[51], "192.0.2.2").status_code == 200


def test_readyz_says_that_the_database_can_be_written(app):
    answer = Api(app.test_client()).get("/readyz")
    assert (answer.status_code, answer.json["status"]) == (200, "ready")
    assert answer.json["writable"] is True


def test_readyz_writes_one_row_in_five_seconds_at_most(app):
    api = Api(app.test_client())
    with watched() as work:
        for _ in range(5):
            api.get("/readyz")
    writes = [each for each in work.statements if not each.lstrip("( ").startswith("SELECT")]
    assert len([each for each in writes if "rate_counts" in each]) == len(writes) == 1


@on_sqlite
def test_readyz_says_that_sqlite_cannot_be_written(environ, app, monkeypatch):
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_SECONDS", 0.2)
    app = new_app(environ)
    other = sqlite3.connect(environ["DATABASE_URL"].removeprefix("sqlite:///"))
    other.execute("BEGIN IMMEDIATE")
    answer = Api(app.test_client()).get("/readyz")
    assert (answer.status_code, answer.json["status"]) == (200, "read_only")
    assert answer.json["writable"] is False
    other.rollback()
    # It is checked every five seconds only: requests need no credential.
    assert Api(app.test_client()).get("/readyz").json["writable"] is False


@on_sqlite
def test_a_scarce_disk_has_a_reserve_that_is_given_back(environ, app, monkeypatch):
    path = Path(environ["DATABASE_URL"].removeprefix("sqlite:///") + "-reserve")
    monkeypatch.setattr(reserve, "RESERVE_BYTES", 65_536)
    monkeypatch.setattr(reserve, "SCARCE_BYTES", 0)
    reserve.keep()
    assert not path.exists()
    monkeypatch.setattr(reserve, "SCARCE_BYTES", 2**60)
    for _ in range(2):
        reserve.keep()
        assert path.stat().st_size == 65_536
    monkeypatch.setattr(reserve, "RESERVE_BYTES", 2**59)  # more than there is
    for _ in range(2):
        reserve.keep()
        assert not path.exists()
