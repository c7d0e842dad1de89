"""What the databases say of how they would run a statement, and what is wrong with that."""

import json
import re
from dataclasses import dataclass
from typing import Any

from psycopg import ClientCursor

from ticketing.db import database, is_sqlite

BOUNDED = {"chains", "schema_migrations"}
"""Tables that a service does not fill: all others grow."""

_STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE)\b")
_ALIAS = re.compile(r'"(\w+)" AS "(\w+)"')
_SQLITE_STEP = re.compile(r"(SCAN|SEARCH) (\w+)(?: USING .*?INDEX (\w+))?(?:.* \((.*)\))?")


@dataclass(frozen=True)
class Statement:
    """A statement that was run, and what for: an endpoint, or the worker."""

    where: str
    sql: str
    parameters: tuple[Any, ...]

    @property
    def is_page(self) -> bool:
        """Whether it wants the first rows in an order: these alone must be read."""
        return "ORDER BY" in self.sql and "LIMIT" in self.sql


class Recorder:
    """Keeps every statement that the open database is given."""

    def __init__(self) -> None:
        self.where = "nobody"
        self.statements: dict[Statement, None] = {}
        db = database.obj
        execute_sql = db.execute_sql

        def recording(sql: str, params: Any = None, *rest: Any) -> Any:
            if _STATEMENT.match(sql):
                self.statements[Statement(self.where, sql, tuple(params or ()))] = None
            return execute_sql(sql, params, *rest)

        db.execute_sql = recording


@dataclass(frozen=True)
class Step:
    """A table that a plan reads, through an index or without; `bound` are the index's terms."""

    table: str
    index: str | None
    bound: str
    leads: bool
    filter: str | None


@dataclass(frozen=True)
class Plan:
    """How a statement would be run."""

    steps: list[Step]
    sorts: bool
    text: str

    def faults(self, statement: Statement) -> list[str]:
        """Return what reads more than the answer needs."""
        found = (
            ["sorts what it takes the first rows of"] if self.sorts and statement.is_page else []
        )
        for step in self.steps:
            if step.table in BOUNDED:
                continue
            if step.index is None or not step.bound:
                found.append(f"scans {step.table}")
            elif not step.leads:
                found.append(f"walks a range of all of {step.table}: {step.bound}")
            elif step.filter and statement.is_page:
                found.append(f"filters {step.table}: {step.filter}")
        return found


class Explainer:
    """Asks the open database for plans."""

    def __init__(self) -> None:
        self._tables = set(database.get_tables())
        self._leading = {} if is_sqlite() else dict(_query(_LEADING_COLUMNS))
        self._table_of = {} if is_sqlite() else dict(_query(_TABLES_OF_INDEXES))

    def plan(self, statement: Statement) -> Plan:
        """Return the plan of a statement; of Postgres the one for any parameters."""
        return (self._sqlite if is_sqlite() else self._postgres)(statement)

    def _sqlite(self, statement: Statement) -> Plan:
        aliases = {alias: table for table, alias in _ALIAS.findall(statement.sql)}
        details = [
            row[-1] for row in _query(f"EXPLAIN QUERY PLAN {statement.sql}", statement.parameters)
        ]
        steps = []
        for detail in details:
            if match := _SQLITE_STEP.match(detail):
                kind, name, index, bound = match.groups()
                table = aliases.get(name, name)
                if table in self._tables:
                    made_for_it = "AUTOMATIC" in detail
                    read = "" if kind == "SCAN" or made_for_it else bound or ""
                    leads = re.match(r"[\w<>]+=\?", read) is not None
                    steps.append(Step(table, index or "rowid", read, leads, None))
        return Plan(steps, "USE TEMP B-TREE FOR ORDER BY" in details, "\n".join(details))

    def _postgres(self, statement: Statement) -> Plan:
        # A statement that is run often is planned once, for any parameters.
        with database.atomic() as transaction:
            database.execute_sql("SET LOCAL enable_seqscan = off")
            database.execute_sql("SET LOCAL plan_cache_mode = force_generic_plan")
            numbers = iter(range(1, 1 + len(statement.parameters)))
            sql = re.sub("%s", lambda _: f"${next(numbers)}", statement.sql).replace("%%", "%")
            database.execute_sql("DEALLOCATE ALL")
            database.execute_sql(f"PREPARE explained AS {sql}".replace("%", "%%"))
            marks = ", ".join(["%s"] * len(statement.parameters))
            cursor = ClientCursor(database.connection())
            execute = f"EXECUTE explained({marks})" if marks else "EXECUTE explained"
            cursor.execute(f"EXPLAIN (FORMAT JSON) {execute}", statement.parameters or None)
            ((told,),) = cursor.fetchall()
            transaction.rollback()
        steps, sorts = [], False
        for node in _nodes(told[0]["Plan"]):
            sorts |= node["Node Type"] in ("Sort", "Incremental Sort")
            index = node.get("Index Name")
            table = node.get("Relation Name") or self._table_of.get(index)
            if table is None or node["Node Type"] in ("ModifyTable", "Bitmap Heap Scan"):
                continue
            bound = node.get("Index Cond", "")
            leading = self._leading.get(index)
            leads = re.search(rf"\b{leading} (=|IS NULL)", bound) is not None
            steps.append(Step(table, index, bound, leads, node.get("Filter")))
        return Plan(steps, sorts, json.dumps(told, indent=1))


def _query(sql: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
    return list(database.execute_sql(sql, parameters).fetchall())


def _nodes(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(each for child in node.get("Plans", []) for each in _nodes(child))]


_LEADING_COLUMNS = """
    SELECT pg_class.relname, pg_get_indexdef(indexrelid, 1, true)
    FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
"""
_TABLES_OF_INDEXES = "SELECT indexname, tablename FROM pg_indexes"
