"""Which SQL statements a request runs, and in which order."""

from contextlib import contextmanager

import pytest

from tests.support.doors import Door
from tests.support.factories import Api
from tests.support.holders import accept, bought
from tests.support.order_pages import link
from tests.support.query_plans.recorder import kind
from tests.support.questions import ask
from ticketing import clock
from ticketing.db.connection import database
from ticketing.models.api_keys import ApiKey

pytestmark = pytest.mark.sql


class Recording:
    """A cursor that records what it executes."""

    def __init__(self, cursor, statements):
        self._cursor, self._statements = cursor, statements

    def __getattr__(self, name):
        return getattr(self._cursor, name)

    def execute(self, sql, *rest):
        self._statements.append(kind(sql))
        return self._cursor.execute(sql, *rest)


@contextmanager
def statements():
    """Record all statements of this thread in a block, including those of transactions."""
    found, db = [], database.obj
    with pytest.MonkeyPatch.context() as patch:
        cursor = db.cursor
        patch.setattr(db, "cursor", lambda *given: Recording(cursor(*given), found))
        yield found


@pytest.fixture
def ticket(acme):
    found = acme.ticket(capacity=None)
    # The key's use is stored for this minute.
    ApiKey.update(last_used_at=clock.now()).execute()
    return found


PREFLIGHT = [
    "BEGIN",
    "UPDATE ticket_types",
    "UPDATE wallets",
    "INSERT INTO payment_intents",
    "INSERT INTO intent_items",
    "INSERT INTO order_accounts",
    "INSERT INTO notifications",
    "COMMIT",
]


def test_only_an_event_that_asks_before_an_order_reads_questions(acme, ticket):
    ask(acme, ticket["event_id"], ask="attendee")
    with statements() as found:
        assert acme.preflight(ticket).status_code == 201
    assert found == ["SELECT ticket_types", *PREFLIGHT]
    ask(acme, ticket["event_id"], identifier="diet")
    with statements() as found:
        assert acme.preflight(ticket, answers={"diet": "Cake"}).status_code == 201
    *held, committed = PREFLIGHT
    written = ["SELECT questions", "INSERT INTO answers", committed]
    assert found == ["SELECT ticket_types", "SELECT questions", *held, *written]


def test_preflight(acme, ticket):
    with statements() as found:
        assert acme.preflight(ticket).status_code == 201
    assert found == ["SELECT ticket_types", *PREFLIGHT]


def test_psycopg_keeps_how_it_parsed_each_statement_of_a_preflight(acme, ticket, monkeypatch):
    """It parses a statement with more than 50 parameters at each call, for a tenth of the CPU."""
    counts, execute = [], database.obj.execute_sql

    def counted(sql, params=None):
        counts.append(len(params or ()))
        return execute(sql, params)

    monkeypatch.setattr(database.obj, "execute_sql", counted)
    assert acme.preflight(ticket).status_code == 201
    assert 20 < max(counts) <= 50


def test_preflight_for_an_event_with_a_capacity_has_two_more(acme, ticket):
    limited = acme.ticket(acme.event(capacity=10), capacity=None)
    with statements() as found:
        assert acme.preflight(limited).status_code == 201
    begin, *rest = PREFLIGHT
    before = ["SELECT ticket_types", "SELECT event_stock", begin]
    assert found == [*before, "UPDATE event_stock", *rest]


def test_preflight_with_an_api_key(app, acme, ticket):
    api = acme.with_headers({"X-API-Key": acme.admin_key})
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
    with statements() as found:
        assert api.post(f"{acme.checkout}/preflight", body).status_code == 201
    assert found == ["SELECT api_keys", "SELECT ticket_types", *PREFLIGHT]


def test_preflight_with_an_idempotency_key_has_one_transaction_and_no_savepoint(app, acme, ticket):
    api = Api(app.test_client(), {"Idempotency-Key": "k" * 32})
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
    with statements() as found:
        assert api.post(f"{acme.checkout}/preflight", body).status_code == 201
    begin, *changes, commit = PREFLIGHT
    assert found == [
        "INSERT INTO idempotency_keys",
        begin,
        "SELECT ticket_types",
        *changes,
        "UPDATE idempotency_keys",
        commit,
    ]


def test_a_preflight_that_is_sold_out_begins_no_transaction(acme):
    ticket = acme.ticket(capacity=0)
    with statements() as found:
        assert acme.preflight(ticket).json["code"] == "sold_out"
    assert found == ["SELECT ticket_types"]


def test_a_poll_of_an_order_that_did_not_change_is_one_query(acme, ticket):
    buyer = acme.buyer(ticket)
    tag = buyer.api.get(buyer.path).headers["ETag"]
    with statements() as found:
        assert buyer.api.get(buyer.path, headers={"If-None-Match": tag}).status_code == 304
    assert len(found) == 1


def test_the_public_surface_anew_and_from_memory(api, acme, ticket):
    in_a_snapshot = [
        "SELECT events",
        "SELECT ticket_types",
        "SELECT tenants",
        "SELECT chains",
        "SELECT wallets",
    ]
    for path, anew in {
        "/events": ["SELECT tenants", "SELECT events"],
        f"/events/{ticket['event_id']}": ["SELECT tenants", "SELECT events"],
        f"/events/{ticket['event_id']}.ics": ["SELECT tenants", "SELECT events"],
        f"/events/{ticket['event_id']}/tickets": [
            "SELECT tenants",
            "BEGIN",
            *in_a_snapshot,
            "COMMIT",
        ],
    }.items():
        with statements() as found:
            assert api.get(acme.public + path).status_code == 200
        assert found == anew
        with statements() as found:
            assert api.get(acme.public + path).status_code == 200
        assert found == ["SELECT tenants"]


def test_the_admin_surface(acme, ticket):
    api = acme.with_headers({"X-API-Key": acme.admin_key})
    event = f"{acme.path}/events/{ticket['event_id']}"
    with statements() as found:
        assert api.get(event).status_code == 200
    obstacles = ["SELECT chains", "SELECT wallets", "SELECT ticket_types"]
    assert found == ["SELECT api_keys", "SELECT events", *obstacles]
    with statements() as found:
        assert api.patch(event, {"title": "Other"}).status_code == 200
    found = [each for each in found if each != "SELECT pg_advisory"]
    before_and_now = ["SELECT events", "SELECT events"]
    changes = ["UPDATE events", "UPDATE tenants", "INSERT INTO notifications", *obstacles]
    ends = ["INSERT INTO trail", "COMMIT"]
    assert found == ["SELECT api_keys", "BEGIN", *before_and_now, *changes, *ends]


def test_a_csv_file_is_read_in_one_snapshot_and_one_query_for_a_batch(acme, ticket):
    api = acme.with_headers({"X-API-Key": acme.admin_key})
    acme.buyer(ticket)
    with statements() as found:
        assert api.get(f"{acme.path}/events/{ticket['event_id']}/orders.csv").status_code == 200
    batches = ["SELECT payment_intents", "SELECT intent_items", "SELECT payment_intents"]
    read = ["SELECT questions", *batches]
    assert found == ["SELECT api_keys", "SELECT events", "BEGIN", *read, "COMMIT"]


def test_a_holders_calls(acme):
    (held,) = bought(acme, acme.ticket(price_amount=0))
    read = ["SELECT admissions", "SELECT transfers"]
    locked = ["SELECT admissions", "BEGIN", "SELECT admissions"]
    with statements() as found:
        assert held.get().status_code == 200
    assert found == ["SELECT admissions", *read]
    with statements() as found:
        offer = held.offer().json["offer"]
    offered = ["SELECT transfers", "UPDATE transfers", "INSERT INTO transfers"]
    assert found == [*locked, *offered, "INSERT INTO notifications", "COMMIT"]
    with statements() as found:
        assert accept(acme, offer).status_code == 200
    assert found[:3] == ["SELECT tenants", "BEGIN", "SELECT transfers"]
    accepted = ["SELECT admissions", "SELECT transfers", "UPDATE admissions"]
    accepted += ["DELETE FROM answers", "UPDATE transfers"]
    assert found[3:10] == [*accepted, "INSERT INTO notifications", "COMMIT"]


def test_a_purchase_that_is_confirmed(acme):
    buyer = acme.buyer(acme.ticket(price_amount=0))
    assert buyer.purchase().status_code == 200
    with statements() as found:
        assert buyer.purchase().status_code == 200
    assert found == ["SELECT payment_intents", "SELECT intent_items", "SELECT admissions"]


def test_a_scan_that_admits(acme):
    door = Door(acme)
    gate, by_id, by_qr = door.gate(), door.admission(), door.admission()
    ways = [
        {"admission_id": by_id.id, "generation": 1, "decided": "admitted"},
        {"qr": door.qr(by_qr)},
    ]
    gate.scan(code="x")  # the device is recorded as seen
    reads = ["BEGIN", "SELECT scans", "UPDATE door_devices", "SELECT admissions"]
    admits = ["UPDATE admissions", "INSERT INTO scans", "INSERT INTO notifications", "COMMIT"]
    # Whether a QR code is genuine is decided before the transaction.
    for way, before in zip(ways, ([], ["SELECT admissions"]), strict=True):
        with statements() as found:
            assert gate.outcome(**way) == "admitted"
        assert found == ["SELECT door_devices", *before, *reads, *admits]


def test_the_page_that_accepts_a_transfer(acme, api):
    (held,) = bought(acme, acme.ticket(price_amount=0, chain_id=None))
    path = f"/x/{held.offer().json['offer']}"
    with statements() as found:
        assert api.get(path).status_code == 200
    assert found == ["SELECT transfers"]


def test_the_page_of_a_ticket(acme, api):
    (held,) = bought(acme, acme.ticket(price_amount=0, chain_id=None))
    with statements() as found:
        assert api.get(f"/t/{held.code}").status_code == 200
    assert found == ["SELECT admissions", "SELECT transfers"]


def test_the_page_of_an_order(acme, api):
    buyer = acme.buyer(acme.ticket())
    with statements() as found:
        assert api.get(link(buyer)).status_code == 200
    tables = ("payment_intents", "intent_items", "ticket_types", "admissions", "payments", "chains")
    assert sorted(found) == sorted(f"SELECT {table}" for table in tables)
