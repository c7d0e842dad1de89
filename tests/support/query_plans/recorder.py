"""The databases' plans of statements, and what is wrong with them."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from psycopg import ClientCursor

from tests.support.query_plans.allowed import ALLOWED
from ticketing.db.connection import database, is_sqlite

BOUNDED = {"chains", "schema_migrations", "tallies"}
"""Tables that stay small. All others grow."""

MAIN = "t1"
"""Peewee's alias for the main table of a query."""

_STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE)\b")
_KIND = re.compile(
    r'(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SELECT pg_advisory)|(SELECT).*? FROM "?(\w+)'
    r'|(UPDATE|INSERT INTO|DELETE FROM) "?(\w+)',
    re.DOTALL,
)
_ALIAS = re.compile(r'"(\w+)" AS "(\w+)"')
_SQLITE_STEP = re.compile(
    r"(SCAN|SEARCH) (?:TABLE )?(?:\w+ AS )?(\w+)(?: USING [A-Z ]*(\w+))?(?:[^(]*\((.*)\))?"
)


def kind(sql: str) -> str:
    """Return what a statement does, and to which table."""
    match = _KIND.match(sql.strip().replace("INSERT OR IGNORE", "INSERT"))
    if match is None:
        return sql.split()[0]
    return " ".join(part for part in match.groups() if part)


@dataclass(frozen=True)
class Statement:
    """A statement, and what ran it: an endpoint or the worker."""

    where: str
    sql: str
    parameters: tuple[Any, ...]

    @property
    def is_page(self) -> bool:
        """Whether it reads the first rows of an order: only these must be read.

        A window function needs all rows before there is a first one.
        """
        return "ORDER BY" in self.sql and "LIMIT" in self.sql and " OVER (" not in self.sql


class Recorder:
    """Records every statement of the open database, once for each `where`."""

    def __init__(self) -> None:
        self.where: str | None = None
        self.statements: dict[tuple[str, str], Statement] = {}
        db = database.obj
        execute_sql = db.execute_sql

        def recording(sql: str, params: Any = None, *rest: Any) -> Any:
            if self.where is not None and _STATEMENT.match(sql):
                statement = Statement(self.where, sql, tuple(params or ()))
                self.statements.setdefault((self.where, sql), statement)
            return execute_sql(sql, params, *rest)

        db.execute_sql = recording


@dataclass(frozen=True)
class Step:
    """A table that a plan reads: by an index, or completely.

    The index is searched by its first column (`leads`) and maybe more. `filter` has the columns
    that are known only after a row was read.
    """

    table: str
    index: str | None
    leads: bool
    filter: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The plan of a statement."""

    steps: list[Step]
    sorts: bool
    text: str

    @property
    def indexes(self) -> set[str | None]:
        """The names of the indexes that it reads."""
        return {step.index for step in self.steps}

    def faults(self, statement: Statement) -> list[str]:
        """Return the steps that read more than the answer needs."""
        found = []
        for step in self.steps:
            if step.index is None:
                found.append(f"scans {step.table}")
            elif not step.leads:
                found.append(f"walks {step.index}")
            elif step.filter and statement.is_page:
                found.append(f"searches {step.index}, then looks at {' '.join(step.filter)}")
        # A plan that reads nothing sorts nothing: its condition is never true.
        if self.sorts and statement.is_page and self.steps:
            found.append(f"sorts {self.steps[0].table}")
        return [] if "0 = 1" in statement.sql else found


class Explainer:
    """Asks the open database for plans."""

    def __init__(self) -> None:
        self._tables = set(database.get_tables()) - BOUNDED
        self._columns = {
            table: {column.name for column in database.get_columns(table)} for table in self._tables
        }
        self.indexes = {
            index.name: index.sql or "" for table in self._tables for index in _indexes(table)
        }
        self._plans: dict[tuple[Any, ...], Plan] = {}

    def plan(self, statement: Statement) -> Plan:
        """Return the plan of a statement. On Postgres, it is the plan for any parameters."""
        parameters = statement.parameters
        key = (statement.sql, *(parameters if is_sqlite() else map(type, parameters)))
        if key not in self._plans:
            self._plans[key] = (self._sqlite if is_sqlite() else self._postgres)(statement)
        return self._plans[key]

    def _sqlite(self, statement: Statement) -> Plan:
        aliases = {alias: table for table, alias in _ALIAS.findall(statement.sql)}
        told = database.execute_sql(f"EXPLAIN QUERY PLAN {statement.sql}", statement.parameters)
        details = [detail for *_, detail in told.fetchall()]
        steps = []
        for detail in details:
            if match := _SQLITE_STEP.match(detail):
                kind, name, index, bound = match.groups()
                table = aliases.get(name, name)
                if table not in self._tables:
                    continue
                if kind == "SCAN" and " WHERE " in self.indexes.get(index, ""):
                    steps.append(Step(table, index, False, ()))
                elif kind == "SCAN" or "AUTOMATIC" in detail:
                    steps.append(Step(table, None, False, ()))
                else:
                    # Without a bound, it is the first or last row of an index.
                    bound = bound or ""
                    leads = re.match(r"[\w<>]+=\?", bound) is not None
                    left = self._left(statement, index, bound) if name == MAIN else ()
                    steps.append(Step(table, index, leads, left))
        return Plan(steps, "USE TEMP B-TREE FOR ORDER BY" in details, "\n".join(details))

    def _left(self, statement: Statement, index: str, bound: str) -> tuple[str, ...]:
        """Return the columns that an index does not answer. SQLite does not report them."""
        condition = statement.sql.partition(" WHERE ")[2].partition(" ORDER BY ")[0]
        asked = set(re.findall(rf'"{MAIN}"\."(\w+)"', condition))
        definition = self.indexes.get(index, "")
        part = definition.partition(" WHERE ")[2] + (definition if "<expr>" in bound else "")
        return tuple(sorted(asked - set(re.findall(r"\w+", bound + part))))

    def _postgres(self, statement: Statement) -> Plan:
        numbers = iter(range(1, 1 + len(statement.parameters)))
        sql = re.sub("%s", lambda _: f"${next(numbers)}", statement.sql).replace("%%", "%")
        types = [_TYPES.get(type(each), "unknown") for each in statement.parameters]
        header = f"({', '.join(types)})" if types else ""
        values = f"({', '.join(['%s'] * len(types))})" if types else ""
        settings = [*_POSTGRES_SETTINGS, f"enable_sort = {'off' if statement.is_page else 'on'}"]
        with database.atomic(), ClientCursor(database.connection()) as cursor:
            for setting in settings:
                cursor.execute(f"SET LOCAL {setting}")
            cursor.execute(f"PREPARE explained {header} AS {sql}")
            explain = f"EXPLAIN (FORMAT JSON) EXECUTE explained{values}"
            ((told,),) = cursor.execute(explain, statement.parameters or None).fetchall()
            cursor.execute("DEALLOCATE explained")
        steps, sorts = [], False
        for node in _nodes(told[0]["Plan"]):
            sorts |= node["Node Type"] in ("Sort", "Incremental Sort")
            index, bound = node.get("Index Name"), node.get("Index Cond", "")
            table = node.get("Relation Name") or self._table_of(index)
            if table not in self._tables or node["Node Type"] in (
                "ModifyTable",
                "Bitmap Heap Scan",
            ):
                continue
            told_of = node.get("Filter", "") if node.get("Alias") == MAIN else ""
            left = self._columns[table] & set(re.findall(r"\w+", told_of))
            steps.append(Step(table, index, self._leads(index, bound), tuple(sorted(left))))
        return Plan(steps, sorts, json.dumps(told, indent=1))

    def _table_of(self, index: str | None) -> str | None:
        match = re.search(r" ON (?:\w+\.)?(\w+) ", self.indexes.get(index or "", ""))
        return match and match[1]

    def _leads(self, index: str | None, bound: str) -> bool:
        """Return whether an index is searched for one value of its first column."""
        # Postgres quotes a column whose name is a keyword: "position".
        bound = bound.replace('"', "")
        definition = self.indexes.get(index or "", "").replace('"', "")
        first = re.search(r"\((\w+(?:\(\w+\))?)", definition)
        return (
            first is not None
            and re.search(rf"{re.escape(first[1])} (= |IS NULL)", bound) is not None
        )


def _indexes(table: str) -> list[Any]:
    return list(database.get_indexes(table))


def _nodes(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(each for child in node.get("Plans", []) for each in _nodes(child))]


_TYPES = {bool: "boolean", int: "bigint"}

# A table is scanned only where that cannot be avoided, and a plan is for any parameters, as it
# becomes for a statement that is run often.
_POSTGRES_SETTINGS = ("enable_seqscan = off", "plan_cache_mode = force_generic_plan")


def faults_of(explainer: Explainer, statements: Iterable[Statement]) -> dict[str, str]:
    """Return what is wrong with the plans and not ALLOWED, each with its statement and plan."""
    found = {}
    for statement in statements:
        plan = explainer.plan(statement)
        for fault in plan.faults(statement):
            told = f"{statement.where} {fault}"
            if not any(re.fullmatch(pattern, told) for pattern in ALLOWED.values()):
                found[told] = f"{told}\n{statement.sql}\n{plan.text}"
    return found


def indexes_read_by(read: Callable[[], object]) -> set[tuple[str, str | None]]:
    """Run a function. Return the indexes by which its statements read, each with its table."""
    recorder = Recorder()
    recorder.where = "test"
    read()
    recorder.where = None
    explainer = Explainer()
    steps = [step for each in recorder.statements.values() for step in explainer.plan(each).steps]
    return {(step.table, step.index) for step in steps}
