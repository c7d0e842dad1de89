"""One client stores all it can, for a minute. Another one buys throughout.

With 600 for SECONDS it was tried for ten minutes. Before there were bounds, the disk was full after
twenty seconds.
"""

import itertools
import threading
import time
import uuid

import pytest

from tests.faults.test_disk import make_full
from tests.support.faults import family, order
from tests.support.processes import new_seat, new_tenant, service, variables_of
from tests.support.remote import eventually
from ticketing.limits import DEFAULT_ORDERS_PER_CLIENT, DEFAULT_RATE_LIMITS
from tools.json_client import Client

pytestmark = pytest.mark.long

SECONDS = 60
DISK = 96 * 2**20
FILES = 2  # the database and its write-ahead log
ATTACKER = "192.0.2.1"

DEFAULTS = {
    **{f"RATE_LIMIT_{name.upper()}": str(most) for name, most in DEFAULT_RATE_LIMITS.items()},
    "ORDERS_PER_CLIENT": str(DEFAULT_ORDERS_PER_CLIENT),
    "UNPAID_PER_ADDRESS": "100",
    "FREE_PER_CLIENT": "10",
    "TRUSTED_PROXIES": "127.0.0.1",
}

LARGE = {f"{number:03}{'x' * 600}": 1 for number in range(98)}


class Attacker:
    """A client without a credential that sends keys with large, invalid and repeated requests."""

    def __init__(self, url, acme, seat):
        self.sent = 0
        self._url, self._acme, self._seat = url, acme, seat
        self._orders = []
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(3)]

    def __enter__(self):
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        for each in self._threads:
            each.join()

    def _run(self):
        client, checkout = Client(self._url), self._acme.checkout
        for number in itertools.count():
            if self._done.is_set():
                return
            self._send(client, f"{checkout}/transfers/accept", LARGE)
            made = self._send(client, f"{checkout}/preflight", order(self._seat))
            if made.status == 201:
                self._orders.append(made.json)
            for each in self._orders[number % 7 :: 7]:
                path = f"{checkout}/intents/{each['id']}"
                secret = each["client_secret"]
                self._send(client, f"{path}/refund-address", LARGE, secret)
                self._send(client, f"{path}/cancel", None, secret)

    def _send(self, client, path, body, secret=None):
        headers = {"X-Forwarded-For": ATTACKER, "Idempotency-Key": str(uuid.uuid4())}
        if secret:
            headers["Authorization"] = f"Bearer {secret}"
        self.sent += 1
        return client.send("POST", path, body, headers)


def test_one_client_cannot_fill_the_disk_and_others_buy_throughout(sqlite_template, tmp_path):
    path = tmp_path / "ticketing.db"
    path.write_bytes(sqlite_template.read_bytes())
    with service(variables_of(f"sqlite:///{path}", **DEFAULTS), tmp_path / "log") as stack:
        stack.start_worker()
        acme = new_tenant(stack)
        seat = new_seat(acme)
        eventually(lambda: len(family(stack.pid())) == 1 + int(stack.environ["WEB_CONCURRENCY"]))
        # Each file may have its part of the disk: after that, it is full.
        make_full([*family(stack.pid()), stack.pid("worker")], DISK // FILES)
        end = time.monotonic() + SECONDS
        buyers = (f"198.51.100.{number % 250}" for number in itertools.count())
        with Attacker(stack.url, acme, seat) as attacker:
            while time.monotonic() < end:
                headers = {"X-Forwarded-For": next(buyers), "Idempotency-Key": str(uuid.uuid4())}
                bought = acme.client.send(
                    "POST", f"{acme.checkout}/preflight", order(seat), headers
                )
                assert bought.status == 201, bought.json
                headers["Authorization"] = f"Bearer {bought.json['client_secret']}"
                intent = f"{acme.checkout}/intents/{bought.json['id']}"
                done = acme.client.send("POST", f"{intent}/purchase", None, headers)
                assert done.status == 200, done.json
                assert acme.client.send("GET", "/readyz").json["writable"] is True
                time.sleep(1)
        assert attacker.sent > 5 * SECONDS
        used = sum(each.stat().st_size for each in tmp_path.glob("ticketing.db*"))
        assert used < DISK // 4
