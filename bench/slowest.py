"""What pages, lists and the worker ask of a database, how long each takes, and the plans.

It runs in this process over one connection: requests to the application without a server, and
rounds of the worker. A statement that reads is run once more, before its own run and up to its
last row: that is its time. Of one that writes, it is the time of its own run.
"""

import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from bench.buyers import TENANT
from bench.harness import World
from ticketing.config import Config, load
from ticketing.db.connection import database, is_sqlite
from ticketing.limits import CallClass
from ticketing.models.events import Event
from ticketing.roles import Role
from ticketing.services.access import members, sessions
from ticketing.worker.loop import look_once
from tools.stack import StackFailed

ROUNDS = 3
ONCE = "files of an event"
"""A part of what is done once only: all else is done ROUNDS times."""

_METRICS_TOKEN = "token-of-the-bench-alone"
_QUIET = {
    "LOG_LEVEL": "ERROR",
    "METRICS_TOKEN": _METRICS_TOKEN,
    **{f"RATE_LIMIT_{each.upper()}": "0" for each in CallClass},
}
_COLUMNS = re.compile(r'((?:"\w+"\."\w+", ){3})(?:"\w+"\."\w+", )+')
_VALUES = re.compile(r"((?:%s|\?), )(?:(?:%s|\?), )+(%s|\?)")
_WIDTH = 400
"""How much of a statement, or of a line of a plan, is shown."""

_READS = re.compile(r"\s*(SELECT|WITH)\b")

Headers = Mapping[str, str]


@dataclass
class Statement:
    """A statement that was run by `where`, with the values of its slowest run."""

    where: str
    sql: str
    parameters: Sequence[Any]
    rows: int = 0
    times_ms: list[float] = field(default_factory=list)
    plan: str = ""

    @property
    def ms(self) -> float:
        """Its time: the median."""
        return statistics.median(self.times_ms)

    @property
    def text(self) -> str:
        """Its SQL, with a part of long lists only."""
        return shortened(self.sql)


@dataclass(frozen=True)
class Visit:
    """Something that was done several times: how long it took, and its statements in all."""

    where: str
    times_ms: list[float]
    statements: int

    @property
    def ms(self) -> float:
        """The median time, in which each statement that reads has run twice."""
        return statistics.median(self.times_ms)


def shortened(sql: str) -> str:
    """Return SQL on one line, without quotes, and with the first of many columns and values."""
    short = _VALUES.sub(r"\1… \2", _COLUMNS.sub(r"\1… ", " ".join(sql.split())))
    return short.replace('"', "")


def cut(line: str) -> str:
    """Return the beginning of a long line."""
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]}…"


class Trace:
    """The statements of the open database, by what ran them and by their text."""

    def __init__(self) -> None:
        self.where: str | None = None
        self.count = 0
        self.statements: dict[tuple[str, str], Statement] = {}
        self._run = database.obj.execute_sql
        database.obj.execute_sql = self._traced

    def end(self) -> None:
        """Trace no more."""
        database.obj.execute_sql = self._run

    def _traced(self, sql: str, params: Any = None, *rest: Any) -> Any:
        if self.where is None:
            return self._run(sql, params, *rest)
        self.count += 1
        began = time.perf_counter()
        if _READS.match(sql):
            rows = len(self._run(sql, params).fetchall())
            self._note(sql, params, began, rows)
            return self._run(sql, params, *rest)
        cursor = self._run(sql, params, *rest)
        self._note(sql, params, began, max(0, cursor.rowcount))
        return cursor

    def _note(self, sql: str, params: Any, began: float, rows: int) -> None:
        ms = (time.perf_counter() - began) * 1000
        key = (str(self.where), shortened(sql))
        found = self.statements.setdefault(key, Statement(str(self.where), sql, ()))
        if ms > max(found.times_ms, default=0.0):
            found.sql, found.parameters, found.rows = sql, tuple(params or ()), rows
        found.times_ms.append(ms)


def look(world: World, most: int) -> tuple[list[Visit], list[Statement]]:
    """Do everything. Return the visits, and so many of the slowest statements with their plans.

    StackFailed if a response has an unexpected status.
    """
    config = load({**world.variables, **_QUIET})
    app = create_app(config)
    trace = Trace()
    try:
        visits = [_visit(trace, *each) for each in _visits(app, config, world)]
        ranked = sorted(trace.statements.values(), key=lambda each: each.ms, reverse=True)
        trace.where = None
        slowest = list(_distinct(ranked))[:most]
        for each in slowest:
            each.plan = "\n".join(map(cut, _plan(each).splitlines()))
        return visits, slowest
    finally:
        trace.end()
        database.close()


def _distinct(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yield the first of those with the same text."""
    known = set()
    for each in statements:
        if each.text not in known:
            known.add(each.text)
            yield each


def _visit(trace: Trace, where: str, act: Callable[[], None]) -> Visit:
    times, trace.where = [], where
    before = trace.count
    rounds = 1 if ONCE in where else ROUNDS
    for _ in range(rounds):
        began = time.perf_counter()
        act()
        times.append((time.perf_counter() - began) * 1000)
    trace.where = None
    return Visit(where, times, (trace.count - before) // rounds)


def _visits(app: Flask, config: Config, world: World) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield what is done, each with its name."""
    event = Event.get_by_id(world.shop.hot_event_id)
    member = members.add(event.tenant_id, "bench@example.org", Role.ADMIN, "correct horse battery")
    browser, program = app.test_client(), app.test_client()
    browser.set_cookie("session", sessions.begin(member, None, None, config.keyring))
    for where, path in _pages(event.id):
        yield where, _asks(browser, path)
    for where, path in _lists(event.id):
        yield where, _asks(program, path, {"X-API-Key": world.shop.key})
    token = {"Authorization": f"Bearer {_METRICS_TOKEN}"}
    yield "/metrics", _asks(program, "/metrics", token)
    yield "a round of the worker", lambda: _work(config)


def _pages(event_id: str) -> Iterator[tuple[str, str]]:
    """Yield the console's pages, each with a name and its path."""
    for line in _CONSOLE:
        yield f"/console{line}", f"/console{line.format(event=event_id)}"


def _lists(event_id: str) -> Iterator[tuple[str, str]]:
    """Yield the lists and the files of the API, each with a name and its path."""
    admin = f"/v1/admin/tenants/{TENANT}"
    for line in _LISTS:
        yield f"API {line}", f"{admin}{line.format(event=event_id)}"
    for name in ("attendees", "orders", "items", "payments"):
        yield f"{ONCE}: {name}", f"{admin}/events/{event_id}/{name}.csv"


_CONSOLE = (
    "",
    "/orders",
    "/orders?status=expired",
    "/orders?status=canceled&event_id={event}",
    "/orders?event_id={event}",
    "/orders?flag=overpaid",
    "/orders?q=buyer-77@example.org",
    "/attendees",
    "/attendees?event_id={event}",
    "/attendees?status=void&event_id={event}",
    "/attendees?used=yes",
    "/attendees?q=nobody",
    "/money",
    "/money/move",
    "/money/pay-back",
    "/refunds",
    "/refunds?sort=-amount",
    "/refunds/waive",
    "/search?q=buyer-77@example.org",
    "/search?q=Holder+77",
    "/search?q=nobody",
    "/events",
    "/events/{event}",
    "/events/{event}/vouchers",
    "/events/{event}/vouchers?q=nobody",
    "/events/{event}/waiting-list",
    "/events/{event}/guests",
    "/events/{event}/door",
    "/audit-log",
)
_LISTS = (
    "/events",
    "/events/{event}/tickets",
    "/intents",
    "/intents?event_id={event}",
    "/intents?status=canceled&event_id={event}",
    "/admissions",
    "/admissions?event_id={event}",
    "/refunds",
    "/collections?chain_id=31337",
    "/events/{event}/vouchers",
    "/events/{event}/waiting-list",
    "/sales",
    "/sales?event_id={event}",
    "/money",
    "/notifications",
    "/notifications?type=intent.confirmed",
    "/audit-log",
)


def _asks(client: FlaskClient, path: str, headers: Headers | None = None) -> Callable[[], None]:
    def ask() -> None:
        with client.get(path, headers=headers) as answer:
            if answer.status_code != 200:
                raise StackFailed(
                    f"GET {path}: {answer.status_code} {answer.get_data(as_text=True)[:200]}"
                )

    return ask


def _work(config: Config) -> None:
    if troubles := look_once(config):
        raise StackFailed(f"the worker: {'; '.join(troubles)}")


def _plan(statement: Statement) -> str:
    """Return the plan with which a statement runs. An INSERT of values has none."""
    if statement.sql.lstrip().startswith("INSERT"):
        return ""
    return _sqlite_plan(statement) if is_sqlite() else _postgres_plan(statement)


def _sqlite_plan(statement: Statement) -> str:
    told = database.execute_sql(f"EXPLAIN QUERY PLAN {statement.sql}", statement.parameters)
    depths = {0: -1}
    lines = []
    for node, parent, _, detail in told.fetchall():
        depths[node] = depths.get(parent, -1) + 1
        lines.append("  " * depths[node] + detail)
    return "\n".join(lines)


def _postgres_plan(statement: Statement) -> str:
    """Run it once more and undo it. The server says the plan that it used.

    So it is the plan for any values if that is what this connection has come to.
    """
    told: list[str] = []
    with _explained(told), database.atomic() as transaction:
        cursor = database.execute_sql(statement.sql, statement.parameters)
        if cursor.description is not None:
            cursor.fetchall()
        transaction.rollback()
    return told[0].split("\n", 2)[2] if told else ""


@contextmanager
def _explained(told: list[str]) -> Iterator[None]:
    """Let Postgres report the plans of this connection's statements (auto_explain)."""
    database.execute_sql("LOAD 'auto_explain'")
    settings = {
        "log_level": "notice",
        "log_analyze": "on",
        "log_timing": "off",
        "log_min_duration": "0",
    }
    for name, value in settings.items():
        database.execute_sql(f"SET auto_explain.{name} = {value}")
    connection = database.connection()

    def note(notice: Any) -> None:
        told.append(notice.message_primary)

    connection.add_notice_handler(note)
    try:
        yield
    finally:
        connection.remove_notice_handler(note)
        database.execute_sql("SET auto_explain.log_min_duration = -1")
