"""The two databases of bench.growth, each with the service on it."""

import io
import json
import secrets
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
    """A cost: CPU seconds, with those of the database, and elapsed seconds."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    @contextmanager
    def measured(self, times: int = 1) -> Iterator[None]:
        """Add the cost of the block, which does something `times` in a row."""
        before, cpu, wall = _database_cpu(), time.process_time(), time.perf_counter()
        yield
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        self.cpu.append((cpu + _database_cpu() - before) / times)
        self.wall.append(wall / times)

    @property
    def cpu_ms(self) -> float:
        """The median, in milliseconds."""
        return statistics.median(self.cpu) * 1000

    @property
    def wall_ms(self) -> float:
        """The median, in milliseconds."""
        return statistics.median(self.wall) * 1000

    @property
    def best_wall_ms(self) -> float:
        """The minimum: the time when the machine is otherwise idle."""
        return min(self.wall) * 1000


class Side:
    """A database, the service on it, and the values for requests."""

    def __init__(self, url: str, fill: Callable[[], None] | None) -> None:
        """Open and migrate a database, then `fill` it."""
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
        """Return the values for paths, by name."""
        hit, fair = Event.select().order_by(Event.id).limit(2)
        intents = PaymentIntent.select().where(PaymentIntent.event == hit)
        sold = TicketType.get(TicketType.event == hit, TicketType.price_amount > 0)
        # A paid intent from the middle of the time range.
        intent = intents.where(PaymentIntent.status == "confirmed", PaymentIntent.amount > 0)
        middle = intent.order_by(PaymentIntent.id).offset(intent.count() // 2).first()
        known = {"hit": hit, "fair": fair, "ticket": sold, "intent": middle}
        known_ids = {name: str(row.id) for name, row in known.items()}
        secret = credentials.client_secret(SECRET_KEY, known_ids["intent"])
        key = self.keys["big"]
        email = f"{secrets.token_hex(8)}@example.org"
        members.add(self.tenant_id, email, Role.READ, PASSWORD)
        known_ids |= {"slug": hit.slug, "secret": secret, "email": email}
        return known_ids | {"key": str(key.id), "plain": key.key}

    def use(self) -> None:
        """Switch the service to this side."""
        database.initialize(self._db)

    def request(
        self,
        path: str,
        *,
        body: Any = None,
        caller: str | None = "big",
        cached: bool = False,
        query: dict[str, str] | None = None,
    ) -> Callable[[], Any]:
        """Return a function that sends a request, and returns the JSON of the response.

        `caller` is the slug of a tenant whose key is sent, a full secret, or None. Unless the
        response may be a `cached` one, the cache is bypassed.
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
            if not cached:
                self._app.extensions.pop("cached", None)
            answer, status, _ = run_wsgi_app(
                self._app, {**environ, "wsgi.input": io.BytesIO(sent)}, buffered=True
            )
            body_bytes = b"".join(answer)
            if not status.startswith("2"):
                raise SystemExit(f"{path}: {status} {body_bytes.decode()}")
            return json.loads(body_bytes)

        return send


def measure(
    what: Sequence[tuple[Side, Callable[[], object]]], rounds: int, times: int = 5
) -> list[Cost]:
    """Run several functions in turn, each `times` in a row. Return the cost of one run of each."""
    costs = [Cost() for _ in what]
    for _ in range(rounds):
        for (side, act), cost in zip(what, costs, strict=True):
            side.use()
            # Build again what was built for the other side.
            act()
            with cost.measured(times):
                for _ in range(times):
                    act()
    return costs


def _database_cpu() -> float:
    """Return the CPU seconds of the server process of this connection. 0 for SQLite."""
    if is_sqlite():
        return 0.0
    pid: int = database.connection().info.backend_pid
    try:
        # The CPU clock of the process, as in clock_getcpuclockid(3).
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0
