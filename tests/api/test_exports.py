"""The CSV files of an event: what is in them, and that no spreadsheet runs a cell."""

import csv
import gc
import io
import sys
import threading
import tracemalloc
import unicodedata

import pytest

from tests.support.admissions import FREE, admissions_of, given
from tests.support.holders import accept, bought
from tests.support.many_admissions import many
from tests.support.refunds import FRIEND_ADDRESS, give_back, overpay, settle, state
from ticketing import clock
from ticketing.db.connection import database
from ticketing.models.admissions import Admission
from ticketing.models.payments import Payment
from ticketing.services.exports import safe_cells
from ticketing.services.exports.safe_cells import defused

pytestmark = pytest.mark.sql

NAMES = ("attendees", "orders", "items", "payments")


def download(organizer, event, name, role="read"):
    """Return the response with a CSV file of an event."""
    event_id = event["id"] if isinstance(event, dict) else event
    return organizer.api(role).get(f"{organizer.path}/events/{event_id}/{name}.csv")


def rows_of(answer):
    """Return the rows of a CSV file, by their columns."""
    assert answer.status_code == 200, answer.text
    text = answer.data.decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def read(organizer, event, name):
    return rows_of(download(organizer, event, name))


def test_attendees_are_all_admissions_with_their_holders_and_without_codes(acme):
    event = acme.event()
    ticket = acme.ticket(event, name="Seat, left", capacity=None, **FREE)
    first, second = bought(acme, ticket, quantity=2, buyer={"name": "Ada", "email": "a@x.org"})
    offer = first.offer().json["offer"]
    assert accept(acme, offer, name="Grace").status_code == 200
    guests = f"{acme.path}/events/{event['id']}/tickets/{ticket['id']}/admissions"
    acme.api().post(guests, {"holders": [{"name": "Guest", "email": "g@x.org"}]})
    redeemed = Admission.update(redeemed_at=clock.now(), redeemed_gate="North")
    redeemed.where(Admission.id == second.id).execute()
    acme.buyer(acme.ticket(**FREE, capacity=None)).purchase()

    found = read(acme, event, "attendees")

    listed = acme.api().get(f"{acme.path}/admissions?event_id={event['id']}").json["data"]
    assert [row["admission_id"] for row in found] == [each["id"] for each in listed]
    transferred, seated, guest = found
    assert (transferred["holder_name"], transferred["holder_email"]) == ("Grace", "")
    assert (transferred["generation"], transferred["redeemed_at"]) == ("2", "")
    assert (seated["holder_email"], seated["redeemed_gate"]) == ("a@x.org", "North")
    assert seated["redeemed_at"].endswith("Z") and seated["intent_id"] == listed[1]["intent_id"]
    assert (guest["holder_name"], guest["intent_id"], guest["status"]) == ("Guest", "", "valid")
    assert {row["ticket_type"] for row in found} == {"Seat, left"}
    codes = [each.code for each in Admission.select()]
    text = download(acme, event, "attendees").text
    assert not [code for code in codes if code in text]


def test_orders_have_the_sums_of_the_api(acme, node):
    buyer = overpay(acme, node, 7, quantity=2, buyer={"name": "Ada", "email": "a@x.org"})
    acme.buyer({"id": buyer.intent["ticket_id"], "event_id": buyer.intent["event_id"]})
    state(buyer, FRIEND_ADDRESS)
    paid, waiting = read(acme, buyer.intent["event_id"], "orders")
    shown = acme.api().get(f"{acme.path}/intents/{buyer.intent['id']}").json
    same = ("amount", "unit_amount", "amount_received", "amount_due", "refund_due", "quantity")
    same += ("refund_pending", "chain_id", "address", "refund_address", "status", "currency")
    assert {name: paid[name] for name in same} == {name: str(shown[name]) for name in same}
    assert (paid["amount_decimal"], paid["flags"]) == ("10.000000", "overpaid")
    assert (paid["refunded"], paid["waived"]) == ("0", "0")
    assert (paid["buyer_name"], paid["buyer_email"]) == ("Ada", "a@x.org")
    assert paid["intent_id"] == buyer.intent["id"] and paid["confirmed_at"].endswith("Z")
    assert (waiting["status"], waiting["confirmed_at"]) == ("awaiting_payment", "")
    assert (waiting["amount_due"], waiting["buyer_name"]) == ("5000000", "")


def test_payments_have_each_payment_and_each_refund(acme, node):
    buyer = overpay(acme, node, 7)
    tx_hash = give_back(node, 7)
    assert settle(acme, buyer, tx_hash).status_code == 200
    overpay(acme, node, 1)
    paid, refunded = read(acme, buyer.intent["event_id"], "payments")
    (shown,) = acme.api().get(f"{acme.path}/intents/{buyer.intent['id']}").json["payments"]
    same = ("id", "chain_id", "tx_hash", "log_index", "block_number", "sender", "amount")
    assert {name: paid[name] for name in same} == {name: str(shown[name]) for name in same}
    assert (paid["kind"], paid["canonical"], paid["amount_decimal"]) == (
        "payment",
        "true",
        "5.000007",
    )
    assert paid["recipient"] == buyer.intent["address"]
    assert (refunded["kind"], refunded["tx_hash"]) == ("refund", tx_hash)
    assert (refunded["amount"], refunded["amount_decimal"]) == ("-7", "-0.000007")
    assert (refunded["recipient"], refunded["sender"]) == (paid["sender"], "")
    assert {row["intent_id"] for row in (paid, refunded)} == {buyer.intent["id"]}
    Payment.update(canonical=False).execute()
    paid, _ = read(acme, buyer.intent["event_id"], "payments")
    assert paid["canonical"] == "false"


def test_a_free_order_has_an_amount_of_zero(acme):
    ticket = acme.ticket(**FREE)
    given(acme, ticket)
    (order,) = read(acme, ticket["event_id"], "orders")
    assert (order["amount_decimal"], order["amount"], order["address"]) == ("0.000000", "0", "")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_as_rfc_4180_and_its_document_want_it(acme, api, name):
    event = acme.event(slug="launch-night")
    answer = download(acme, event, name)
    assert answer.content_type == "text/csv; charset=utf-8; header=present"
    disposition = f'attachment; filename="launch-night-{name}.csv"'
    assert answer.headers["Content-Disposition"] == disposition
    assert answer.headers["Cache-Control"] == "no-store"
    assert int(answer.headers["Content-Length"]) == len(answer.data)
    head, rest = answer.data.removeprefix("\ufeff".encode()).split(b"\r\n")
    assert answer.data.startswith(b"\xef\xbb\xbf") and rest == b""
    path = f"/v1/admin/tenants/{{tenant}}/events/{{event_id}}/{name}.csv"
    documented = api.get("/openapi.json").json["paths"][path]["get"]["responses"]["200"]
    columns = head.decode().split(",")
    described = documented["description"].partition(". ")[0]
    assert described == "Columns: " + ", ".join(f"`{each}`" for each in columns)
    assert documented["content"]["text/csv"]["example"] == head.decode() + "\r\n"


@pytest.mark.parametrize("name", NAMES)
def test_another_tenants_event_and_a_lower_role_get_nothing(acme, neighbour, api, name):
    event = acme.event(status="draft")
    assert download(acme, event, name).status_code == 200
    assert download(acme, "evt_" + "0" * 26, name).status_code == 404
    path = f"{acme.path}/events/{event['id']}/{name}.csv"
    assert api.get(path).status_code == 401
    assert neighbour.api().get(path).status_code == 403
    other = neighbour.event()
    assert download(acme, other, name).status_code == 404


def test_text_of_strangers_is_quoted_and_defused(acme):
    ticket = acme.ticket(capacity=None, name="=HYPERLINK(1)", **FREE)
    names = ['=cmd|"/c calc"!A1', "\t@SUM(1)", "Ada\r\n+1", '"quoted", "Ada"', "Zoë; 李", "-1"]
    for name in names:
        given(acme, ticket, buyer={"name": name, "email": "a@x.org"})
    found = read(acme, ticket["event_id"], "attendees")
    assert {row["ticket_type"] for row in found} == {"'=HYPERLINK(1)"}
    assert [row["holder_name"] for row in found] == [
        '\'=cmd|"/c calc"!A1',
        "'\t'@SUM(1)",
        "Ada\r\n'+1",
        '"quoted", "Ada"',
        "Zoë; 李",
        "'-1",
    ]
    orders = read(acme, ticket["event_id"], "orders")
    assert [row["buyer_name"] for row in orders] == [row["holder_name"] for row in found]


@pytest.mark.parametrize(
    "before", ["", " ", "\u00a0\t ", '"', "'", "\" '", "\ufeff", "\u200b\u202e"]
)
@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_a_cell_that_a_spreadsheet_would_run_gets_an_apostrophe(before, start):
    assert defused(f"{before}{start}1+1") in (f"'{before}{start}1+1", f"'{before}'{start}1+1")


@pytest.mark.parametrize("separator", [";", ",", "\t", "\n", "\r", "|", "; ", ';"'])
def test_so_does_a_part_that_another_separator_makes_a_cell(separator):
    assert defused(f"Ada{separator}=1+1") == f"Ada{separator}'=1+1"
    assert defused(f"Ada{separator}Grace") == f"Ada{separator}Grace"


@pytest.mark.exhaustive
def test_every_look_alike_of_a_start_is_one():
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if unicodedata.normalize("NFKC", character).startswith(("=", "+", "-", "@")):
            assert defused(f"{character}1") == f"'{character}1", hex(code)


@pytest.mark.parametrize("text", ["", "Ada", "ada@example.org", "Smith-Jones", "1=1", " ", "é"])
def test_other_text_stays_as_it_is(text):
    assert defused(text) == text


@pytest.mark.exhaustive
def test_more_rows_than_a_batch_are_there_once_each_and_in_order(acme):
    ticket = acme.ticket(capacity=None, **FREE)
    many(acme, ticket, 2001)
    found = [row["admission_id"] for row in read(acme, ticket["event_id"], "attendees")]
    assert len(found) == len(set(found)) == 2001 and found == sorted(found)


def test_a_file_shows_one_moment(acme, monkeypatch):
    ticket = acme.ticket(capacity=None, **FREE)
    many(acme, ticket, 1001)
    text_of = safe_cells.text_of
    later = []

    def add_one():
        many(acme, ticket, 1)
        database.close()

    def text_and_more(value):
        if not later:
            later.append(threading.Thread(target=add_one))
            later[0].start()
            later[0].join()
        return text_of(value)

    monkeypatch.setattr(safe_cells, "text_of", text_and_more)
    assert len(read(acme, ticket["event_id"], "attendees")) == 1001
    assert len(read(acme, ticket["event_id"], "attendees")) == 1002


@pytest.mark.exhaustive
def test_memory_does_not_grow_with_the_rows(acme):
    ticket = acme.ticket(capacity=None, **FREE)
    reader = acme.api("read")

    def peak():
        gc.collect()
        tracemalloc.start()
        answer = reader.get(f"{acme.path}/events/{ticket['event_id']}/attendees.csv")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert answer.status_code == 200
        answer.close()
        return most, answer.content_length

    many(acme, ticket, 3_000)
    before, short = peak()
    many(acme, ticket, 6_000)
    after, long = peak()
    assert short > 1024 * 1024 and long > 2.9 * short
    assert after - before < 500_000


def test_one_file_at_a_time_is_written(acme, monkeypatch):
    reader = acme.api("read")
    path = f"{acme.path}/events/{acme.event()['id']}"
    text_of, beside = safe_cells.text_of, []
    given(acme, acme.ticket({"id": path.rsplit("/", 1)[1]}, **FREE))

    def text_and_ask(value):
        if not beside:
            beside.append(None)
            beside.append(reader.get(f"{path}/orders.csv"))
        return text_of(value)

    monkeypatch.setattr(safe_cells, "text_of", text_and_ask)
    assert reader.get(f"{path}/attendees.csv").status_code == 200
    _, answer = beside
    assert (answer.status_code, answer.json["code"]) == (429, "too_many_requests")
    assert int(answer.headers["Retry-After"]) > 0


def test_erased_people_are_not_in_a_new_file(acme):
    ticket = acme.ticket(**FREE)
    buyer = given(acme, ticket, buyer={"name": "Ada Lovelace", "email": "a@x.org"})
    assert "Ada" in download(acme, ticket["event_id"], "orders").text
    acme.api().post(f"{acme.path}/intents/{buyer.intent['id']}/erase")
    for name in NAMES:
        assert "Ada" not in download(acme, ticket["event_id"], name).text
    (admission,) = admissions_of(buyer)
    assert admission.id in download(acme, ticket["event_id"], "attendees").text
