"""Devices at the door that sell: walk-ins pay on the screen, and go in, on both databases."""

import uuid
from datetime import datetime

import pytest

from tests.support.doors import KEYRING, moment
from tests.support.factories import CHAIN, PRICE, Api, Buyer, in_days, worker_once
from ticketing.credentials import client_secret
from ticketing.models.admissions import Admission
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.services.payments import reconciliation

pytestmark = pytest.mark.sql

OPEN = 1 / 24
"""In days: the event starts in an hour, so the doors are open."""


@pytest.fixture
def environ(environ):
    """An order is final with 3 blocks, and confirmed early with 1."""
    early = {f"CONFIRMATIONS_{CHAIN}": "3", f"EARLY_CONFIRMATIONS_{CHAIN}": "1"}
    return {**environ, **early}


@pytest.fixture
def ticket(acme):
    return acme.ticket(acme.event(start_at=in_days(OPEN)), capacity=40)


def paired(acme, ticket, **fields):
    """Return a device as its phone: its API, and the path of its event."""
    admin = acme.with_headers({"X-API-Key": acme.admin_key})
    path = f"{acme.path}/events/{ticket['event_id']}/door-devices"
    made = admin.post(path, {"name": "Phone", **fields}).json
    phone = Api(acme.app.test_client())
    device = phone.post("/v1/door/pair", {"pairing_code": made["pairing_code"]}).json
    phone.headers = {"Authorization": f"Bearer {device['token']}"}
    return phone, f"/v1/door/tenants/{acme.slug}/events/{ticket['event_id']}", device


@pytest.fixture
def phone(acme, ticket):
    return paired(acme, ticket, sells=True)


def sell(phone, ticket, quantity=1, key=None):
    api, path, _ = phone
    headers = {"Idempotency-Key": key} if key else {}
    body = {"ticket_id": ticket["id"], "quantity": quantity}
    return api.post(f"{path}/box-office/orders", body, headers=headers)


def buyer(acme, answer):
    assert answer.status_code == 201, answer.json
    return Buyer(acme, answer.json)


def let_in(phone, codes):
    api, path, _ = phone
    scans = [
        {"nonce": str(uuid.uuid4()), "kind": "redeem", "at": moment(), "code": each}
        for each in codes
    ]
    return api.post(f"{path}/scans", {"sent_at": moment(), "scans": scans}).json["results"]


def proof(acme):
    """The books must be right at any time."""
    assert reconciliation.reconcile(acme.id) == []


def test_somebody_walks_in_pays_and_is_inside(acme, node, ticket, phone):
    api, path, device = phone
    assert device["sells"] is True
    shown = api.get(f"{path}/box-office").json["ticket_types"]
    assert [(each["id"], each["price_amount"]) for each in shown] == [(ticket["id"], PRICE)]
    answer = sell(phone, ticket, 2)
    sale = buyer(acme, answer)
    assert answer.json["network"] and answer.json["amount"] == 2 * PRICE
    for name in ("address_qr", "payment_qr"):
        assert answer.json[name].startswith("data:image/png;base64,")
    assert PaymentIntent.get_by_id(sale.intent["id"]).sold_by == device["device_id"]
    sale.pay(node)
    # One block is enough, although the doors are open.
    done = sale.purchase()
    assert (done.status_code, done.json["status"]) == (200, "confirmed"), done.json
    assert done.json["final"] is False
    codes = [each["code"] for each in done.json["admissions"]]
    assert [each["outcome"] for each in let_in(phone, codes)] == ["admitted"] * 2
    assert Admission.select().where(Admission.redeemed_at.is_null(False)).count() == 2
    node.rpc("anvil_mine", hex(3))
    worker_once(acme.app)
    assert sale.now()["final"] is True
    proof(acme)


def test_an_order_of_the_page_waits_for_its_last_block(acme, node, ticket, phone):
    other = acme.buyer(ticket)
    other.pay(node)
    assert other.purchase().json["status"] == "processing"


def test_an_organizer_who_allows_nothing_early_waits_at_the_door_too(
    acme, admin, node, ticket, phone
):
    assert admin.patch(acme.path, {"early_confirmation": False}).status_code == 200
    sale = buyer(acme, sell(phone, ticket))
    sale.pay(node)
    assert sale.purchase().json["status"] == "processing"


def test_only_a_device_that_sells_sells(acme, ticket):
    plain = paired(acme, ticket)
    api, path, device = plain
    assert device["sells"] is False
    for answer in (sell(plain, ticket), api.get(f"{path}/box-office")):
        assert (answer.status_code, answer.json["code"]) == (403, "insufficient_role")
    admin = acme.with_headers({"X-API-Key": acme.admin_key})
    assert admin.get(f"{path}/box-office").status_code == 403
    assert PaymentIntent.select().count() == 0


def test_a_repeat_after_a_lost_answer_is_the_same_order(acme, ticket, phone):
    key = str(uuid.uuid4())
    first, again = sell(phone, ticket, key=key), sell(phone, ticket, key=key)
    assert again.json == first.json and PaymentIntent.select().count() == 1
    secret = client_secret(KEYRING.current, first.json["id"], 0)
    assert again.json["client_secret"] == secret


def test_a_device_has_few_unpaid_orders(acme, node, ticket, phone):
    sales = [buyer(acme, sell(phone, ticket, 2)) for _ in range(5)]  # its share are 10 seats
    full = sell(phone, ticket)
    assert (full.status_code, full.json["code"]) == (409, "box_office_full")
    assert sales[0].cancel().status_code == 200
    assert sell(phone, ticket).status_code == 201
    assert sell(paired(acme, ticket, sells=True), ticket).status_code == 201
    proof(acme)


def test_selling_ends_with_the_device(acme, admin, ticket, phone):
    sale = buyer(acme, sell(phone, ticket))
    path = f"{acme.path}/events/{ticket['event_id']}/door-devices"
    assert admin.post(f"{path}/{phone[2]['device_id']}/revoke").status_code == 200
    assert sell(phone, ticket).status_code == 401
    # The order that waits can be paid until it expires.
    assert sale.now()["status"] == "awaiting_payment"


def test_questions_and_keys_do_not_keep_anybody_out(acme, admin, ticket, phone):
    event = f"{acme.path}/events/{ticket['event_id']}"
    asked = {"question": "Size?", "type": "text", "ask": "order", "required": True}
    assert admin.post(f"{event}/questions", asked).status_code == 201
    path = f"{event}/tickets/{ticket['id']}"
    assert admin.patch(path, {"requires_key": True}).status_code == 200
    assert sell(phone, ticket).status_code == 201
    assert admin.patch(path, {"require_voucher": True}).status_code == 200
    assert sell(phone, ticket).json["code"] == "voucher_required"


def test_what_is_sold_out_or_of_another_event_is_not_sold(acme, ticket, phone):
    TicketType.update(capacity=0).where(TicketType.id == ticket["id"]).execute()
    assert sell(phone, ticket).json["code"] == "sold_out"
    assert phone[0].get(f"{phone[1]}/box-office").json["ticket_types"] == []
    assert sell(phone, acme.ticket()).status_code == 404
    assert sell(phone, ticket, 0).status_code == 422


def test_ten_walk_ins_on_one_phone_of_whom_one_pays_too_little(acme, node, ticket, phone):
    sales = [buyer(acme, sell(phone, ticket, key=str(uuid.uuid4()))) for _ in range(10)]
    for sale in sales[:9]:
        sale.pay(node)
    sales[9].pay(node, PRICE // 2)
    worker_once(acme.app)
    found = [sale.now() for sale in sales]
    assert [each["status"] for each in found] == ["confirmed"] * 9 + ["awaiting_payment"]
    assert found[9]["amount_due"] == PRICE - PRICE // 2
    codes = [sale.purchase().json["admissions"][0]["code"] for sale in sales[:9]]
    assert [each["outcome"] for each in let_in(phone, codes)] == ["admitted"] * 9
    sales[9].pay(node, PRICE - PRICE // 2)
    done = sales[9].purchase().json
    assert done["status"] == "confirmed"
    assert let_in(phone, [done["admissions"][0]["code"]])[0]["outcome"] == "admitted"
    proof(acme)


class TestWhatADeviceHolds:
    @pytest.fixture
    def hall(self, acme):
        """An event in which the share of a client is 100 seats."""
        return acme.ticket(acme.event(start_at=in_days(OPEN)), capacity=2000, max_per_order=20)

    def test_forty_seats_however_many_orders(self, acme, node, hall):
        phone = paired(acme, hall, sells=True)
        first = buyer(acme, sell(phone, hall, 20))
        assert sell(phone, hall, 20).status_code == 201
        full = sell(phone, hall)
        assert (full.status_code, full.json["code"]) == (409, "box_office_full")
        other = paired(acme, hall, sells=True)
        assert sell(other, hall).status_code == 201
        assert acme.preflight(hall, quantity=20).status_code == 201
        assert first.cancel().status_code == 200
        assert sell(phone, hall, 20).status_code == 201

    def test_the_share_of_a_client_where_that_is_less(self, acme):
        event = acme.event(start_at=in_days(OPEN))
        small = acme.ticket(event, capacity=100, max_per_order=6)
        phone = paired(acme, small, sells=True)
        assert sell(phone, small, 6).status_code == 201
        assert sell(phone, small).json["code"] == "box_office_full"

    def test_each_for_five_minutes(self, acme, hall):
        order = buyer(acme, sell(paired(acme, hall, sells=True), hall)).intent
        made, until = (datetime.fromisoformat(order[name]) for name in ("created_at", "expires_at"))
        assert abs((until - made).total_seconds() - 300) < 60
