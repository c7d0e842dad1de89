"""Several endpoints: a slow or dead one delays no other, and changes in the middle do no harm."""

import contextlib
import selectors
import socket
import threading
from datetime import timedelta

import pytest

from tests.support.factories import new_organizer
from tests.support.remote import eventually
from tests.support.webhook_receivers import endpoint, publish
from ticketing import clock as clocks
from ticketing import encryption
from ticketing.db.connection import database
from ticketing.models.notifications import Lease, WebhookEndpoint
from ticketing.services import leases
from ticketing.services.leases import LeaseHolder
from ticketing.services.notifications import http_client, webhook_secrets
from ticketing.worker import delivery_schedule
from ticketing.worker.delivering import LEASE, Delivering

pytestmark = pytest.mark.exhaustive


class Silent:
    """A server that accepts connections and says nothing. `most` were open at the same time."""

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self.most = 0
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self):
        with selectors.DefaultSelector() as selector, contextlib.suppress(OSError):
            selector.register(self._listener, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select()]
                # A client that closed one connection for the next one has one.
                for connection in filter(lambda each: each is not self._listener, ready):
                    self._read(selector, connection)
                if self._listener in ready:
                    connection, _ = self._listener.accept()
                    selector.register(connection, selectors.EVENT_READ)
                    self.most = max(self.most, len(selector.get_map()) - 1)

    def _read(self, selector, connection):
        with contextlib.suppress(ConnectionError):
            if connection.recv(65536):
                return
        selector.unregister(connection)
        connection.close()


@pytest.fixture
def silent():
    with Silent() as server:
        yield server


class Running:
    """A worker's thread that delivers. A context manager."""

    def __init__(self, hooks):
        self.stop = threading.Event()
        self._delivering = Delivering(hooks.config)
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        self._delivering.run(self.stop.is_set)
        database.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


@pytest.fixture
def held(hooks):
    """An endpoint whose first request was sent, and is not answered yet."""
    made = hooks.endpoint()
    hooks.receiver.answer("/hook", is_held=True)
    publish(hooks.tenant_id, 5)
    with Running(hooks) as running:
        eventually(lambda: len(hooks.receiver.received()) == 1)
        made.running = running
        yield made


def test_an_endpoint_is_deleted_while_a_request_runs(hooks, held):
    WebhookEndpoint.delete().execute()
    hooks.receiver.let_go()
    other = hooks.endpoint("/other")
    eventually(lambda: hooks.now(other).sequence == 5)
    assert len(hooks.receiver.sequences("/hook")) <= 5
    assert WebhookEndpoint.select().count() == 1


def test_an_endpoint_is_disabled_while_a_request_runs(hooks, held):
    now = clocks.now()
    WebhookEndpoint.update(disabled_at=now, updated_at=now, disabled_reason="failing").execute()
    hooks.receiver.answer("/hook", status=500)
    hooks.receiver.let_go()
    other = hooks.endpoint("/other")
    eventually(lambda: hooks.now(other).sequence == 5)
    now = hooks.now(held)
    assert now.disabled_at is not None and now.attempts == 0


def test_an_endpoint_gets_another_url_while_a_request_runs(hooks, held):
    hooks.receiver.answer("/new")
    other = hooks.endpoint("/new")
    keyring = hooks.config.keyring
    secret = encryption.decrypt(other.secret, "webhook-secrets", other.id, keyring)
    other.delete_instance()
    now = WebhookEndpoint.get_by_id(held.id)
    now.url, now.updated_at = other.url, clocks.now()
    webhook_secrets.store(now, secret, keyring)
    now.save(only=["url", "secret", "updated_at"])
    hooks.receiver.let_go()
    eventually(lambda: hooks.now(held).sequence == 5)
    # What was sent before the change is seen once a second.
    seen = hooks.receiver.sequences("/hook") + hooks.receiver.sequences("/new")
    assert sorted(set(seen)) == [1, 2, 3, 4, 5]


def test_a_cursor_is_moved_while_a_request_runs(hooks, held):
    WebhookEndpoint.update(sequence=3, updated_at=clocks.now()).execute()
    hooks.receiver.let_go()
    eventually(lambda: hooks.receiver.sequences("/hook")[-2:] == [4, 5])
    eventually(lambda: hooks.now(held).sequence == 5)


def test_a_stop_lets_a_request_end_and_releases_the_lease(hooks, held):
    held.running.stop.set()
    hooks.receiver.let_go()
    held.running.thread.join()
    assert Lease.get(Lease.name == LEASE).holder is None
    done = hooks.receiver.sequences("/hook")
    assert hooks.now(held).sequence == max(done)
    hooks.deliver()
    assert hooks.receiver.sequences("/hook") == [1, 2, 3, 4, 5]


def test_a_stop_does_not_wait_for_a_receiver_that_hangs(hooks, held):
    held.running.stop.set()
    held.running.thread.join()
    assert len(hooks.receiver.received()) == 1  # it was never answered
    assert hooks.now(held).sequence == 0
    hooks.receiver.let_go()
    hooks.deliver()
    # The first one twice with the same id.
    received = hooks.receiver.received()
    assert [each["sequence"] for each in received] == [1, 1, 2, 3, 4, 5]
    assert received[0]["id"] == received[1]["id"]


def test_nothing_is_sent_while_another_worker_has_the_lease(hooks):
    made = hooks.endpoint()
    publish(hooks.tenant_id, 3)
    another = LeaseHolder(LEASE)
    assert another.take()
    hooks.deliver()
    assert hooks.receiver.received() == []
    with Running(hooks):
        another.give_back()
        eventually(lambda: hooks.now(made).sequence == 3)


def test_a_worker_that_lost_its_lease_stops_and_moves_no_cursor_back(hooks, held):
    Lease.update(holder="another", until=clocks.now() + leases.LEASE).execute()
    # The other worker has delivered everything meanwhile.
    WebhookEndpoint.update(sequence=5).execute()
    hooks.receiver.let_go()
    held.running.stop.set()
    held.running.thread.join()
    assert hooks.now(held).sequence == 5
    assert Lease.get(Lease.name == LEASE).holder == "another"


def test_dead_endpoints_get_half_of_the_places_and_delay_no_other(hooks, silent, monkeypatch):
    monkeypatch.setattr(http_client, "DEADLINE_SECONDS", 1.0)
    tenants = [hooks.tenant_id, *(new_organizer(hooks.app, f"t{n}").id for n in range(3))]
    good = []
    for tenant_id in tenants:
        hooks.tenant_id = tenant_id
        for _ in range(10):
            endpoint(tenant_id, hooks.config.keyring, url=silent.url)
        good.append(hooks.endpoint(f"/{tenant_id}"))
        publish(tenant_id, 20)
    with Running(hooks):
        eventually(lambda: all(hooks.now(each).sequence == 20 for each in good))
        is_dead = WebhookEndpoint.url == silent.url
        eventually(lambda: all(e.attempts > 0 for e in WebhookEndpoint.select().where(is_dead)))
    dead = list(WebhookEndpoint.select().where(is_dead))
    assert len(dead) == 40
    assert silent.most <= delivery_schedule.MOST_SLOW
    assert {each.sequence for each in dead} == {0}
    for tenant_id, made in zip(tenants, good, strict=True):
        assert hooks.receiver.sequences(f"/{tenant_id}") == list(range(1, 21))
        assert hooks.now(made).delivered == 20


def test_an_endpoint_retries_after_the_clock_was_set_back(hooks):
    made = hooks.endpoint(
        attempts=5,
        failing_since=clocks.now() + timedelta(hours=20),
        next_attempt_at=clocks.now() + timedelta(hours=20),
    )
    publish(hooks.tenant_id)
    hooks.deliver()
    assert hooks.now(made).sequence == 1
