"""Measure webhooks: `python -m bench.webhooks`. Deliveries a second, and how long a day's take.

The worker's deliveries run in this process, on SQLite and on Postgres, against receivers in another
process that answer at once. Five of 20 endpoints can be dead.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from app import create_app
from bench.table import aligned
from ticketing import clock, config, ids
from ticketing.db import migrate
from ticketing.db.connection import write_transaction
from ticketing.models.notifications import Notification, NotificationFeed, WebhookEndpoint
from ticketing.notification_types import NotificationType
from ticketing.services.access import tenants
from ticketing.services.notifications import webhook_secrets
from ticketing.worker.delivering import Delivering
from tools.certificates import Authority
from tools.postgres import Postgres

ENDPOINTS, DEAD = 20, 5
_ROWS_AT_ONCE = 1000
_SECRET_KEY = "of no use but to measure with, and long enough"


def main() -> None:
    """Measure on one kind of database or on both, and print a table for each."""
    parser = argparse.ArgumentParser(prog="python -m bench.webhooks", description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgres"))
    parser.add_argument("--notifications", type=int, default=2000)
    parser.add_argument("--day", type=int, default=10_000, help="notifications of a day")
    arguments = parser.parse_args()
    for kind in ("sqlite", "postgres"):
        if arguments.database in (None, kind):
            with ExitStack() as running:
                folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
                hooks = _Webhooks(_database(kind, folder, running), folder)
                print(f"\n{kind}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
                heads = ("webhooks", "deliveries", "seconds", "a second", "CPU us", "CPU %")
                print(aligned(heads, list(hooks.lines(arguments.notifications, arguments.day))))


def _database(kind: str, folder: Path, running: ExitStack) -> str:
    if kind == "sqlite":
        return f"sqlite:///{folder}/webhooks.db"
    return running.enter_context(Postgres(durable=True)).create_database("webhooks")


class _Webhooks:
    """A tenant with a feed, and its endpoints."""

    def __init__(self, url: str, folder: Path) -> None:
        self._config = config.load(
            {"SECRET_KEY": _SECRET_KEY, "DATABASE_URL": url, "LOG_LEVEL": "ERROR"}
            | {"WEBHOOK_ALLOW": "127.0.0.0/8"}
        )
        create_app(self._config)
        migrate.upgrade()
        self._tenant_id = tenants.create("hooks", "Hooks", None).id
        self._authority = Authority(folder)
        self._certificate = self._authority.certificate("127.0.0.1")
        os.environ["SSL_CERT_FILE"] = str(self._authority.path)
        NotificationFeed.create(tenant=self._tenant_id, last_sequence=0)

    def lines(self, count: int, day: int) -> Iterator[list[str]]:
        """Measure, and yield the lines of the table."""
        self._publish(max(count, day))
        with _receiver() as http, _receiver(*self._certificate) as https:
            yield self._line(f"{ENDPOINTS} endpoints, http", [http] * ENDPOINTS, count)
            yield self._line(f"{ENDPOINTS} endpoints, https", [https] * ENDPOINTS, count)
            yield self._line("1 endpoint after a day, http", [http], day)
            yield self._line("1 endpoint after a day, https", [https], day)
            with _silent() as dead:
                urls = [http] * (ENDPOINTS - DEAD) + [dead] * DEAD
                yield self._line(f"{ENDPOINTS} endpoints, {DEAD} of them dead", urls, count)

    def _line(self, name: str, urls: list[str], count: int) -> list[str]:
        last = NotificationFeed.get().last_sequence
        WebhookEndpoint.delete().execute()
        for url in urls:
            self._endpoint(url, last - count)
        cpu, start = time.process_time(), time.perf_counter()
        Delivering(self._config).once()
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        done = sum(each.delivered for each in WebhookEndpoint.select())
        healthy = [each for each in WebhookEndpoint.select() if each.failing_since is None]
        if done != len(healthy) * count:
            raise SystemExit(f"{done} deliveries to {len(healthy)} endpoints")
        figures = [f"{done:,}", f"{seconds:.1f}", f"{done / seconds:,.0f}"]
        return [name, *figures, f"{cpu / done * 1e6:,.0f}", f"{cpu / seconds * 100:.0f}"]

    def _publish(self, count: int) -> None:
        now = clock.now()
        rows = [
            {
                "id": ids.new(ids.NOTIFICATION),
                "tenant": self._tenant_id,
                "sequence": number,
                "type": NotificationType.INTENT_CREATED,
                "created_at": now,
                "data": '{"intent_id":"pi_0","event_id":"evt_0","status":"confirmed"}',
            }
            for number in range(1, count + 1)
        ]
        with write_transaction():
            for start in range(0, count, _ROWS_AT_ONCE):
                Notification.insert_many(rows[start : start + _ROWS_AT_ONCE]).execute()
            NotificationFeed.update(last_sequence=count).execute()

    def _endpoint(self, url: str, sequence: int) -> None:
        now = clock.now()
        made = WebhookEndpoint(
            id=ids.new(ids.WEBHOOK_ENDPOINT),
            tenant=self._tenant_id,
            url=f"{url}/hooks",
            types='["*"]',
            sequence=sequence,
            created_at=now,
            updated_at=now,
        )
        webhook_secrets.store(made, webhook_secrets.new_secret(), self._config.keyring)
        made.save(force_insert=True)


@contextmanager
def _receiver(*certificate: Path) -> Iterator[str]:
    """Run a receiver. Give its URL."""
    command = [sys.executable, "-m", "bench.webhook_receiver", *map(str, certificate)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        scheme = "https" if certificate else "http"
        yield f"{scheme}://127.0.0.1:{int(process.stdout.readline())}"
        process.kill()


@contextmanager
def _silent() -> Iterator[str]:
    """Listen, and never answer. Give the URL."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


if __name__ == "__main__":
    main()
