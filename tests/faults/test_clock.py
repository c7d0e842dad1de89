"""The clock of web and worker is set back an hour while they run. The chain's clock is not."""

import uuid
from datetime import datetime
from pathlib import Path

import pytest

from tests.support.factories import PRICE, event_body, in_days
from tests.support.faults import order
from tests.support.remote import eventually
from tools import anvil

pytestmark = pytest.mark.long

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
def variables(variables, clock):
    folder = Path(__file__).parent / "clock_set_back"
    return {**variables, "PYTHONPATH": str(folder), "CLOCK_SET_BACK_FILE": str(clock.file)}


@pytest.fixture
def remote(stack, node, remote):
    """A tenant. The worker has read its chain."""
    stack.start_worker()
    eventually(lambda: remote.ready()["chains"][0]["block_number"] is not None)
    return remote


def pay(node, intent):
    anvil.transfer(node.rpc, intent["token_address"], intent["address"], PRICE)


def seconds_between(*moments):
    one, other = map(datetime.fromisoformat, moments)
    return abs((one - other).total_seconds())


def token(remote):
    made = remote.client.send("POST", "/v1/auth/token", {"api_key": remote.headers["X-API-Key"]})
    return {"Authorization": f"Bearer {made.json['access_token']}"}


def test_orders_are_held_paid_and_expired_as_the_chain_counts_time(stack, remote, node, clock):
    ticket = remote.ticket(capacity=None)
    early, unpaid = remote.preflight(ticket).json, remote.preflight(ticket).json
    clock.set_back(HOUR)
    late = [remote.preflight(ticket).json for _ in range(10)]
    everything = [early, unpaid, *late]
    for name in ("id", "address"):
        assert len({intent[name] for intent in everything}) == len(everything)
    assert max(each["created_at"] for each in late) < early["created_at"]
    # Counted from the chain's newest block, which is recent.
    assert seconds_between(early["expires_at"], late[0]["expires_at"]) < HOUR / 2
    for intent in (early, late[0]):
        pay(node, intent)
        eventually(lambda intent=intent: remote.intent(intent)["status"] == "confirmed")
        assert len(remote.purchase(intent).json["admissions"]) == 1
    node.rpc("evm_increaseTime", 1000)
    node.rpc("anvil_mine", "0x1")
    left = [unpaid, *late[1:]]
    eventually(lambda: all(remote.intent(each)["status"] == "expired" for each in left))
    now = remote.read(ticket)
    assert (now["held"], now["sold"]) == (0, 2)


def test_credentials_keys_cursors_and_pages_go_on(stack, remote, clock):
    events = f"{remote.path}/events"
    made = [remote.send("POST", events, event_body()).json["id"] for _ in range(5)]
    first = remote.send("GET", f"{events}?limit=2").json
    seat = remote.ticket(price_amount=0, chain_id=None, sales_start_at=in_days(-0.02))
    listing = f"{remote.path.replace('/admin/', '/public/')}/events/{seat['event_id']}/tickets"
    key = {"Idempotency-Key": str(uuid.uuid4())}
    preflight = ("POST", f"{remote.checkout}/preflight", order(seat), key)
    free, old = remote.client.send(*preflight), token(remote)

    def shown():
        answers = [remote.client.send("GET", listing) for _ in range(20)]
        (availability,) = {answer.json["data"][0]["availability"] for answer in answers}
        return availability

    assert shown() == "on_sale"
    clock.set_back(HOUR)
    assert shown() == "not_started"
    assert remote.preflight(seat).json["code"] == "sales_not_started"
    assert remote.send("GET", events).status == 200
    # A JWT from the future may be forged. The client can get a new one at once.
    assert remote.client.send("GET", events, headers=old).status == 401
    assert remote.client.send("GET", events, headers=token(remote)).status == 200
    again = remote.client.send(*preflight)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json == free.json
    assert remote.purchase(free.json).json["status"] == "confirmed"
    made.append(remote.send("POST", events, event_body()).json["id"])
    found, cursor = [each["id"] for each in first["data"]], first["next_cursor"]
    while cursor is not None:
        page = remote.send("GET", f"{events}?limit=2&cursor={cursor}").json
        found += [each["id"] for each in page["data"]]
        cursor = page["next_cursor"]
    assert len(found) == len(set(found))
    assert set(found) >= {*made[:5], seat["event_id"]}
    listed = [each["id"] for each in remote.send("GET", f"{events}?limit=100").json["data"]]
    assert sorted(listed) == sorted([*made, seat["event_id"]])
    ready = remote.ready()
    assert ready["status"] == "ready" and 0 <= ready["chains"][0]["age_seconds"] < HOUR / 2
    clock.set_back(0)
    assert remote.client.send("GET", events, headers=old).status == 200
    assert shown() == "on_sale"


def test_a_lease_of_a_time_to_come_keeps_no_worker_waiting(stack, remote, node, clock):
    intent = remote.preflight(remote.ticket()).json
    stack.kill("worker")
    clock.set_back(HOUR)
    pay(node, intent)
    stack.start_worker()
    # `eventually` waits much less than an hour.
    eventually(lambda: remote.intent(intent)["status"] == "confirmed")
