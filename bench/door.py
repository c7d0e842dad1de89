"""Measure the door: `python -m bench.door`. A manifest of 20,000 admissions, deltas, scans.

Requests run in this process, on SQLite and on Postgres. The table has the elapsed time at best, the
CPU time with that of the database, and the size of the response.
"""

import argparse
import gzip
import json
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

from werkzeug.test import Client

from app import create_app
from bench import seats
from bench.catalog import put_on_sale
from bench.growth_sides import Cost
from bench.table import aligned, verdict
from ticketing import clock, config, ids
from ticketing.constants import AdmissionStatus
from ticketing.db import migrate
from ticketing.models.admissions import Admission
from ticketing.models.door import DoorDevice
from ticketing.services.access import tenants
from ticketing.services.door import devices
from tools.postgres import Postgres

SEATS = 20_000
CHANGED = 20
SCANS = 500
MOST_MS, MOST_BYTES = 1000, 1_300_000
_SECRET_KEY = "of no use but to measure with, and long enough"


def main() -> None:
    """Measure on one kind of database or on both, and print a table for each."""
    parser = argparse.ArgumentParser(prog="python -m bench.door", description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgres"))
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    for kind in ("sqlite", "postgres"):
        if arguments.database in (None, kind):
            with ExitStack() as running:
                url = _database(kind, running)
                print(f"\n{kind}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
                heads = ("at the door", "ms", "CPU ms", "bytes", "bound", "holds")
                print(aligned(heads, list(_Door(url).lines(arguments.rounds))))


def _database(kind: str, running: ExitStack) -> str:
    if kind == "sqlite":
        folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
        return f"sqlite:///{folder}/door.db"
    return running.enter_context(Postgres(durable=True)).create_database("door")


class _Door:
    """An event with its doors open, and a device."""

    def __init__(self, url: str) -> None:
        settings = config.load(
            {"SECRET_KEY": _SECRET_KEY, "DATABASE_URL": url, "RATE_LIMIT_ADMIN": "0"}
            | {"LOG_LEVEL": "WARNING"}
        )
        self._client = Client(create_app(settings))
        migrate.upgrade()
        tenant, now = tenants.create("venue", "Venue", None), clock.now()
        ticket_type = put_on_sale(tenant, now + timedelta(hours=1), price_amount=0)
        event_id = ticket_type.event_id
        self._seats = [ids.new(ids.ADMISSION) for _ in range(SEATS)]
        seats.fill(ticket_type.id, self._seats)
        device = devices.create(
            tenant.id,
            event_id,
            name="Phone",
            gate="North",
            show_names=False,
            expires_at=None,
            config=settings,
        )
        DoorDevice.update(paired_at=now - timedelta(days=1)).execute()
        token = devices.pair(device.pairing_code, settings.keyring).token
        self._headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "gzip"}
        self._path = f"/v1/door/tenants/venue/events/{event_id}"
        self._next = iter(self._seats)

    def lines(self, rounds: int) -> Iterator[list[str]]:
        """Measure, and yield the lines of the table."""
        whole = f"a manifest of {SEATS:,}"
        yield _line(f"{whole}, the first one", self._measure(self._manifest, 1), MOST_MS)
        yield _line(f"{whole}, gzip", self._measure(self._manifest, rounds), MOST_MS, MOST_BYTES)
        del self._headers["Accept-Encoding"]
        yield _line(f"{whole}, plain", self._measure(self._manifest, rounds), MOST_MS)
        self._headers["Accept-Encoding"] = "gzip"
        known = self._client.get(f"{self._path}/manifest", headers=self._headers)
        tag = {"If-None-Match": known.headers["ETag"]}
        yield _line(f"{whole}, 304", self._measure(lambda: self._manifest(headers=tag), rounds))
        cursor = json.loads(gzip.decompress(self._manifest()))["cursor"]
        changed = Admission.id.in_(self._seats[-CHANGED:])
        suspended = Admission.update(status=AdmissionStatus.SUSPENDED, change_number=None)
        suspended.where(changed).execute()
        yield _line(
            f"a delta of {CHANGED}", self._measure(lambda: self._manifest(cursor), rounds * 10)
        )
        yield _line("a scan that admits", self._measure(lambda: self._scan(1), rounds * 10))
        yield _line(f"{SCANS} scans that admit", self._measure(lambda: self._scan(SCANS), rounds))
        yield _line("stats", self._measure(self._stats, rounds))

    def _measure(self, act: Callable[[], bytes], rounds: int) -> tuple[Cost, int]:
        cost, size = Cost(), 0
        for _ in range(rounds):
            with cost.measured():
                size = len(act())
        return cost, size

    def _manifest(self, since: str | None = None, headers: dict[str, str] | None = None) -> bytes:
        query = {} if since is None else {"since": since}
        sent = self._headers | (headers or {})
        answer = self._client.get(f"{self._path}/manifest", query_string=query, headers=sent)
        return _body(answer, 304 if headers else 200)

    def _scan(self, count: int) -> bytes:
        now = clock.now().isoformat()
        scans = [
            {"nonce": str(uuid.uuid4()), "kind": "redeem", "at": now, "generation": 1}
            | {"admission_id": next(self._next)}
            for _ in range(count)
        ]
        body = {"sent_at": now, "scans": scans}
        return _body(self._client.post(f"{self._path}/scans", json=body, headers=self._headers))

    def _stats(self) -> bytes:
        return _body(self._client.get(f"{self._path}/stats", headers=self._headers))


def _body(answer: Any, status: int = 200) -> bytes:
    if answer.status_code != status:
        raise SystemExit(f"{answer.status_code} {answer.text}")
    data: bytes = answer.data
    return data


def _line(
    name: str, found: tuple[Cost, int], most_ms: float | None = None, most_bytes: int | None = None
) -> list[str]:
    cost, size = found
    bounds = [f"{most_ms} ms"] if most_ms else []
    bounds += [f"{most_bytes:,} bytes"] if most_bytes else []
    holds = cost.best_wall_ms <= (most_ms or cost.best_wall_ms) and size <= (most_bytes or size)
    figures = [f"{cost.best_wall_ms:,.1f}", f"{cost.cpu_ms:,.1f}", f"{size:,}"]
    return [name, *figures, ", ".join(bounds) or "-", verdict(holds if bounds else None)]


if __name__ == "__main__":
    main()
