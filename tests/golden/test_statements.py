"""The SQL statements of each request on SQLite, and the indexes that their plans read.

The text of a statement may change. For each request the golden file has the different ways in which
it went in the drive of tests/db/test_query_plans.py, and once each statement with its plan.
"""

from collections import defaultdict
from itertools import groupby

import pytest
from flask import request, request_finished, request_started

from tests.db.test_query_plans import Drive, environ, facilitator
from tests.golden.comparing import compare
from tests.support.query_plans.recorder import Explainer, Statement, kind
from ticketing.db.connection import database

__all__ = ["environ", "facilitator"]

pytestmark = [pytest.mark.long, pytest.mark.one_database]

OF_THE_MINUTE = {"UPDATE api_keys", "UPDATE sessions", "UPDATE door_devices"}
"""They store that somebody was here, unless that is stored for this minute already."""


class Ways:
    """Which statements each request ran. `ways`: with its status. `texts`: each once."""

    def __init__(self, app):
        self.ways = defaultdict(set)
        self.texts = {}
        self._name, self._running = None, []
        db = database.obj
        execute_sql = db.execute_sql

        def recording(sql, params=None, *rest):
            if self._name is not None and sql.lstrip()[:6] in STATEMENTS:
                self._running.append(kind(sql))
                statement = Statement(self._name, sql, tuple(params or ()))
                self.texts.setdefault((self._name, sql), statement)
            return execute_sql(sql, params, *rest)

        db.execute_sql = recording
        request_started.connect(self._begin, app)
        request_finished.connect(self._end, app)

    def _begin(self, sender, **_):
        rule = request.url_rule
        self._name = None if rule is None else f"{request.method} {rule.rule}"
        self._running = []

    def _end(self, sender, response, **_):
        if self._name is not None:
            self.ways[self._name].add((response.status_code, tuple(in_short(self._running))))
        self._name = None


STATEMENTS = {"SELECT", "INSERT", "UPDATE", "DELETE"}


def in_short(kinds):
    """Return statements, and how often each was run in a row."""
    steady = [each for each in kinds if each not in OF_THE_MINUTE]
    for each, same in groupby(steady):
        times = len(list(same))
        yield each if times == 1 else f"{each} x{times}"


def plan_in_short(plan):
    """Return how a plan reads each table."""
    read = [
        f"scans {step.table}"
        if step.index is None
        else f"{step.table} by {step.index.replace(f'sqlite_autoindex_{step.table}_', 'key ')}"
        for step in plan.steps
    ]
    return ", ".join(dict.fromkeys([*read, *["sorts"] * plan.sorts]))


def test_the_statements_of_each_request(app, node, facilitator, monkeypatch):
    monkeypatch.setattr("ticketing.services.payments.watched_orders.COLD_ADDRESSES_PER_SWEEP", 200)
    for name in ("waiting_room.rooms.LOOK_SECONDS", "health.WRITE_CHECK_SECONDS"):
        monkeypatch.setattr(f"ticketing.services.{name}", 0.0)
    drive = Drive(app, node, facilitator)
    ways = Ways(app)
    drive.run()
    plans, explainer = defaultdict(set), Explainer()
    endpoints = {rule.endpoint for rule in app.url_map.iter_rules()}
    others = [each for each in drive.recorder.statements.values() if each.where not in endpoints]
    for each in [*ways.texts.values(), *others]:
        what, read = kind(each.sql), plan_in_short(explainer.plan(each))
        if read and what not in OF_THE_MINUTE:
            plans[each.where].add(f"{what}: {read}")
    lines = []
    for name in sorted({*plans, *ways.ways}):
        lines.append(f"{name}\n")
        for status, way in sorted(ways.ways[name]):
            lines.append(f"  {status} {', '.join(way) or 'no statement'}\n")
        lines += [f"    {each}\n" for each in sorted(plans[name])]
    compare("statements.txt", "".join(lines))
