"""The clock of web and worker is set back an hour while they run; that of the chain is not."""

import json
import time
import uuid
from datetime import datetime
from pathlib import Path

import pytest

from tests.conftest import SECRET_KEY
from tests.support.factories import PRICE, event_body, in_days, new_xpub
from tests.support.faults import UNLIMITED, order
from tests.support.remote import RemoteOrganizer, eventually
from ticketing.services import chains
from tools import anvil
from tools.stack import Stack, free_port

HOUR = 3600


class Clock:
    """The clock of all processes of a stack."""

    def __init__(self, file):
        self.file = file
        self.set_back(0)

    def set_back(self, seconds):
        fresh = self.file.with_suffix(".new")
        fresh.write_text(str(seconds))
        fresh.replace(self.file)


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path / "clock")


@pytest.fixture
def stack(database_url, node, clock, tmp_path):
    variables = {
        "DATABASE_URL": database_url,
        "SECRET_KEY": SECRET_KEY,
        "PORT": str(free_port()),
        "RPC_URL_31337": node.url,
        "POLL_SECONDS": "0.1",
        "WEB_CONCURRENCY": "2",
        "PYTHONPATH": str(Path(__file__).parent / "clock_set_back"),
        "CLOCK_SET_BACK_FILE": str(clock.file),
        **UNLIMITED,
    }
    with Stack(variables, log=tmp_path / "log") as running:
        running.start_web()
        running.start_worker()
        yield running
        running.check()
        assert json.loads(running.flask("reconcile", "--json"))["ok"] is True
        assert "Traceback" not in (tmp_path / "log").read_text()
        running.kill("web")  # It would wait for those who keep their connections.


@pytest.fixture
def acme(stack):
    made = RemoteOrganizer(stack, "acme", new_xpub())
    eventually(lambda: made.ready()["chains"][0]["block_number"] is not None)
    return made


def pay(node, intent):
    anvil.transfer(node.rpc, intent["token_address"], intent["address"], PRICE)


def seconds_between(*moments):
    one, other = map(datetime.fromisoformat, moments)
    return abs((one - other).total_seconds())


def token(acme):
    made = acme.client.send("POST", "/v1/auth/token", {"api_key": acme.headers["X-API-Key"]})
    return {"Authorization": f"Bearer {made.json['access_token']}"}


def test_orders_are_held_paid_and_expired_as_the_chain_counts_time(stack, acme, node, clock):
    ticket = acme.ticket(capacity=None)
    early, unpaid = acme.preflight(ticket).json, acme.preflight(ticket).json
    clock.set_back(HOUR)
    late = [acme.preflight(ticket).json for _ in range(10)]
    everything = [early, unpaid, *late]
    for name in ("id", "address"):
        assert len({intent[name] for intent in everything}) == len(everything)
    assert max(each["created_at"] for each in late) < early["created_at"]
    # Counted from the chain's newest block, which is a few seconds old.
    assert seconds_between(early["expires_at"], late[0]["expires_at"]) < 60
    for intent in (early, late[0]):
        pay(node, intent)
        eventually(lambda intent=intent: acme.intent(intent)["status"] == "confirmed")
        assert len(acme.purchase(intent).json["admissions"]) == 1
    node.rpc("evm_increaseTime", 1000)
    node.rpc("anvil_mine", "0x1")
    left = [unpaid, *late[1:]]
    eventually(lambda: all(acme.intent(each)["status"] == "expired" for each in left))
    now = acme.read(ticket)
    assert (now["held"], now["sold"]) == (0, 2)


def test_credentials_keys_cursors_and_pages_go_on(stack, acme, clock):
    events = f"{acme.path}/events"
    made = [acme.send("POST", events, event_body()).json["id"] for _ in range(5)]
    first = acme.send("GET", f"{events}?limit=2").json
    seat = acme.ticket(price_amount=0, chain_id=None, sales_start_at=in_days(-0.02))
    listing = f"{acme.path.replace('/admin/', '/public/')}/events/{seat['event_id']}/tickets"
    key = {"Idempotency-Key": str(uuid.uuid4())}
    preflight = ("POST", f"{acme.checkout}/preflight", order(seat), key)
    free, old = acme.client.send(*preflight), token(acme)

    def shown():
        answers = [acme.client.send("GET", listing) for _ in range(20)]
        (availability,) = {answer.json["data"][0]["availability"] for answer in answers}
        return availability

    assert shown() == "on_sale"
    clock.set_back(HOUR)
    assert shown() == "not_started"
    assert acme.preflight(seat).json["code"] == "sales_not_started"
    assert acme.send("GET", events).status == 200
    # What claims to be of a time to come may be forged. A new token is to be had at once.
    assert acme.client.send("GET", events, headers=old).status == 401
    assert acme.client.send("GET", events, headers=token(acme)).status == 200
    again = acme.client.send(*preflight)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json == free.json
    assert acme.purchase(free.json).json["status"] == "confirmed"
    made.append(acme.send("POST", events, event_body()).json["id"])
    found, cursor = [each["id"] for each in first["data"]], first["next_cursor"]
    while cursor is not None:
        page = acme.send("GET", f"{events}?limit=2&cursor={cursor}").json
        found += [each["id"] for each in page["data"]]
        cursor = page["next_cursor"]
    assert len(found) == len(set(found))
    assert set(found) >= {*made[:5], seat["event_id"]}
    listed = [each["id"] for each in acme.send("GET", f"{events}?limit=100").json["data"]]
    assert sorted(listed) == sorted([*made, seat["event_id"]])
    ready = acme.ready()
    assert ready["status"] == "ready" and 0 <= ready["chains"][0]["age_seconds"] < 60
    clock.set_back(0)
    assert acme.client.send("GET", events, headers=old).status == 200
    assert shown() == "on_sale"


def test_a_lease_of_a_time_to_come_keeps_no_worker_waiting(stack, acme, node, clock):
    intent = acme.preflight(acme.ticket()).json
    stack.kill("worker")
    clock.set_back(HOUR)
    pay(node, intent)
    started = time.monotonic()
    stack.start_worker()
    eventually(lambda: acme.intent(intent)["status"] == "confirmed")
    assert time.monotonic() - started < chains.LEASE.total_seconds()
