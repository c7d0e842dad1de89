"""The door on real processes: a crowd at one ticket, and kill -9 in the middle of a batch."""

import threading

import pytest
import urllib3

from tests.support.doors import OPEN, moment, redeem
from tests.support.factories import event_body, in_days, ticket_body
from tests.support.remote import PATIENCE_SECONDS, eventually
from ticketing.db.connection import database, is_sqlite, open_database
from ticketing.models.admissions import Admission
from ticketing.models.door import DoorDevice, Scan
from ticketing.models.events import Event
from ticketing.scanning import MAX_SCANS
from tools.json_client import Client

pytestmark = pytest.mark.long

DEVICES = 200


class RemoteDoor:
    """An event of a remote organizer, with its doors open."""

    def __init__(self, remote):
        self.remote = remote
        body = {**event_body(), "start_at": in_days(OPEN), "status": "published"}
        self.event = remote.send("POST", f"{remote.path}/events", body).json
        body = {**ticket_body(), "price_amount": 0, "chain_id": None, "capacity": None}
        body |= {"status": "published", "max_per_order": 100}
        tickets = f"{remote.path}/events/{self.event['id']}/tickets"
        self.ticket = remote.send("POST", tickets, body).json
        tenant = remote.path.rsplit("/", 1)[1]
        self.path = f"/v1/door/tenants/{tenant}/events/{self.event['id']}"

    def admissions(self, quantity):
        intent = self.remote.preflight(self.ticket, quantity=quantity).json
        return self.remote.purchase(intent).json["admissions"]

    def device(self, gate):
        """The headers of a new paired device."""
        devices = f"{self.remote.path}/events/{self.event['id']}/door-devices"
        made = self.remote.send("POST", devices, {"name": gate, "gate": gate}).json
        code = {"pairing_code": made["pairing_code"]}
        paired = self.remote.client.send("POST", "/v1/door/pair", code)
        return {"Authorization": f"Bearer {paired.json['token']}"}

    def send(self, client, headers, *scans):
        body = {"sent_at": moment(), "scans": scans}
        return client.send("POST", f"{self.path}/scans", body, headers)


@pytest.fixture
def door(remote):
    return RemoteDoor(remote)


@pytest.fixture
def books(stack):
    """The database of the stack, opened in this process."""
    open_database(stack.database_url)
    yield
    database.close()


def test_of_200_devices_at_one_ticket_one_admits_and_199_say_when_and_where(stack, door, books):
    (admission,) = door.admissions(1)
    devices = {f"gate {number}": door.device(f"gate {number}") for number in range(DEVICES)}
    together, results = threading.Barrier(DEVICES), {}

    def scan(gate, headers):
        client, mine = Client(stack.url), redeem(qr=admission["qr"])
        together.wait(PATIENCE_SECONDS)
        answer = door.send(client, headers, mine)
        results[gate] = (answer.status, answer.json)

    threads = [threading.Thread(target=scan, args=each) for each in devices.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {status for status, _ in results.values()} == {200}
    by_gate = {gate: answer["results"][0] for gate, (_, answer) in results.items()}
    (first,) = (gate for gate, each in by_gate.items() if each["outcome"] == "admitted")
    others = [each for gate, each in by_gate.items() if gate != first]
    assert len(others) == DEVICES - 1
    assert {each["outcome"] for each in others} == {"already_redeemed"}
    assert {each["first_gate"] for each in others} == {first}
    assert {each["first_at"] for each in others} == {by_gate[first]["first_at"]}
    assert Scan.select().count() == DEVICES
    assert Admission.get().redeemed_by == Scan.get(Scan.outcome == "admitted").id


def test_a_batch_that_was_killed_in_the_middle_gets_the_same_answers_when_sent_again(
    stack, door, books
):
    admissions = [each for _ in range(5) for each in door.admissions(100)]
    assert len(admissions) == MAX_SCANS
    headers = door.device("North")
    scans = [redeem(code=each["code"]) for each in admissions]
    unanswered = []

    def send():
        try:
            door.send(Client(stack.url), headers, *scans)
        except urllib3.exceptions.HTTPError:
            unanswered.append(True)

    thread = threading.Thread(target=send)
    with database.transaction() as transaction:
        # Another transaction is about to write the scan in the middle, so the batch stops there.
        device = DoorDevice.get()
        Scan.create(
            id="scn_x",
            event=Event.get(),
            credential=device.id,
            nonce=scans[MAX_SCANS // 2]["nonce"],
            **dict.fromkeys(("kind", "content_digest", "verdict", "outcome"), "x"),
            **dict.fromkeys(("device_at", "scanned_at", "received_at"), device.created_at),
        )
        thread.start()
        # On SQLite there is one writer: the batch waits before its first scan.
        eventually(lambda: is_sqlite() or _somebody_waits())
        stack.kill("web")
        transaction.rollback()
    thread.join()
    assert unanswered
    eventually(lambda: is_sqlite() or not _somebody_waits())
    assert Scan.select().count() == 0
    assert Admission.select().where(Admission.redeemed_at.is_null(False)).count() == 0
    stack.start_web()
    first, again = (door.send(Client(stack.url), headers, *scans) for _ in range(2))
    assert first.status == 200 and first.json == again.json
    assert {each["outcome"] for each in first.json["results"]} == {"admitted"}
    assert Scan.select().count() == MAX_SCANS


def _somebody_waits():
    # Inside a transaction, Postgres shows the connections of its first look again and again.
    database.execute_sql("SELECT pg_stat_clear_snapshot()")
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    ((count,),) = database.execute_sql(waiting).fetchall()
    return count > 0
