"""The two databases that growth is measured between, each with the service on it."""

import io
import json
import secrets
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flask import Flask
from peewee import Database
from werkzeug.test import EnvironBuilder, run_wsgi_app

from app import create_app
from ticketing import config, credentials
from ticketing.constants import Role
from ticketing.db import migrate
from ticketing.db.connection import database, is_sqlite
from ticketing.models.api_keys import ApiKey
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.services.access import api_keys, members

SECRET_KEY = "of no use but to measure with, and long enough"
PASSWORD = "correct horse battery staple"
CHAIN = 31337


@dataclass
class Cost:
    """What something cost: CPU seconds, the database's included, and seconds that passed."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    @property
    def cpu_ms(self) -> float:
        """The median."""
        return statistics.median(self.cpu) * 1000

    @property
    def wall_ms(self) -> float:
        """The median."""
        return statistics.median(self.wall) * 1000

    @property
    def best_wall_ms(self) -> float:
        """The least: what it takes while the machine does nothing else."""
        return min(self.wall) * 1000


class Side:
    """A database, the service on it, and what requests need to know of it."""

    def __init__(self, url: str, fill: Callable[[], None] | None) -> None:
        """Open a database; `fill` it once it is migrated."""
        self._config = config.load(
            {
                "SECRET_KEY": SECRET_KEY,
                "DATABASE_URL": url,
                f"RPC_URL_{CHAIN}": "http://127.0.0.1:9",
            }
        )
        self._app: Flask = create_app(self._config)
        self._db: Database = database.obj
        migrate.upgrade()
        if fill is not None:
            fill()
        self.tenant_id = str(Tenant.get(Tenant.slug == "big").id)
        self.keys = {slug: self._new_key(slug) for slug in ("big", "fair")}
        self.known = self._look_up()

    def _new_key(self, slug: str) -> ApiKey:
        tenant = Tenant.get(Tenant.slug == slug)
        return api_keys.create(
            tenant.id, name="x", role=Role.ADMIN, ttl_seconds=86_400, keyring=self._config.keyring
        )

    def _look_up(self) -> dict[str, str]:
        """Return what paths are made of, by name."""
        hit, fair = Event.select().order_by(Event.id).limit(2)
        intents = PaymentIntent.select().where(PaymentIntent.event == hit)
        sold = TicketType.get(TicketType.event == hit, TicketType.price_amount > 0)
        # In the middle of time, of those that were paid.
        intent = intents.where(PaymentIntent.status == "confirmed", PaymentIntent.amount > 0)
        middle = intent.order_by(PaymentIntent.id).offset(intent.count() // 2).first()
        known = {"hit": hit, "fair": fair, "ticket": sold, "intent": middle}
        told = {name: str(row.id) for name, row in known.items()}
        secret = credentials.client_secret(SECRET_KEY, told["intent"])
        key = self.keys["big"]
        email = f"{secrets.token_hex(8)}@example.org"
        members.add(self.tenant_id, email, Role.READ, PASSWORD)
        told |= {"slug": hit.slug, "secret": secret, "email": email}
        return told | {"key": str(key.id), "plain": key.key}

    def use(self) -> None:
        """Let the service work on this side from now on."""
        database.initialize(self._db)

    def request(
        self,
        path: str,
        *,
        body: Any = None,
        caller: str | None = "big",
        remembered: bool = False,
        query: dict[str, str] | None = None,
    ) -> Callable[[], Any]:
        """Return what sends a request, made once, and returns the answer's JSON.

        `caller` is the slug of a tenant whose key is sent, a secret in full, or nobody. Unless the
        answer may be a `remembered` one, it is read anew each time.
        """
        if caller is not None and caller in self.keys:
            headers = {"X-API-Key": self.keys[caller].key}
        else:
            headers = {"Authorization": f"Bearer {caller}"} if caller else {}
        environ = EnvironBuilder(
            path.format(**self.known),
            method="GET" if body is None else "POST",
            query_string=query or {},
            json=body,
            headers=list(headers.items()),
        ).get_environ()
        sent: bytes = environ["wsgi.input"].read()

        def send() -> Any:
            if not remembered:
                self._app.extensions.pop("remembered", None)
            answer, status, _ = run_wsgi_app(
                self._app, {**environ, "wsgi.input": io.BytesIO(sent)}, buffered=True
            )
            told = b"".join(answer)
            if not status.startswith("2"):
                raise SystemExit(f"{path}: {status} {told.decode()}")
            return json.loads(told)

        return send


def measure(
    what: Sequence[tuple[Side, Callable[[], object]]], rounds: int, times: int = 5
) -> list[Cost]:
    """Do several things by turns, `times` in a row, and return what each costs once."""
    costs = [Cost() for _ in what]
    for _ in range(rounds):
        for (side, act), cost in zip(what, costs, strict=True):
            side.use()
            # What was built for the other side is built anew.
            act()
            database_cpu, cpu, wall = _database_cpu(), time.process_time(), time.perf_counter()
            for _ in range(times):
                act()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            cost.cpu.append((cpu + _database_cpu() - database_cpu) / times)
            cost.wall.append(wall / times)
    return costs


def _database_cpu() -> float:
    """Return the CPU time of the process that serves this connection; SQLite has none."""
    if is_sqlite():
        return 0.0
    pid: int = database.connection().info.backend_pid
    try:
        # Its clock, as clock_getcpuclockid(3) makes it.
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0
