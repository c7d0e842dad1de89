"""Write the tables of an event as CSV files (RFC 4180, UTF-8 with a byte order mark)."""

import codecs
import csv
import io
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from ticketing.db.connection import snapshot
from ticketing.models.admissions import Admission
from ticketing.services.access.rate_limits import OneAtATime
from ticketing.services.catalog import events
from ticketing.services.exports import safe_cells, spreadsheets, tables
from ticketing.services.exports.answer_columns import AnswerColumns
from ticketing.services.exports.spreadsheets import Words
from ticketing.services.exports.tables import Table

CONTENT_TYPE = "text/csv; charset=utf-8; header=present"
MAX_MEMORY_BYTES = 1024 * 1024
"""A larger file is on the disk."""

_turn = OneAtATime(retry_after=2)


@dataclass(frozen=True)
class CsvFile:
    """A complete file of `size` bytes with the name to save it under. Close `content` after use."""

    name: str
    size: int
    content: IO[bytes]


def attendees(tenant_id: str, event_id: str) -> CsvFile:
    """Return all admissions of an event. NotFound; TooManyRequests beside another export."""
    return _write(tables.ATTENDEES, tenant_id, event_id)


def orders(tenant_id: str, event_id: str) -> CsvFile:
    """Return all orders of an event. NotFound; TooManyRequests beside another export."""
    return _write(tables.ORDERS, tenant_id, event_id)


def items(tenant_id: str, event_id: str) -> CsvFile:
    """Return the items of an event's orders. NotFound; TooManyRequests beside another export."""
    return _write(tables.ITEMS, tenant_id, event_id)


def payments(tenant_id: str, event_id: str) -> CsvFile:
    """Return the payments and refunds of an event's orders.

    NotFound; TooManyRequests beside another export.
    """
    return _write(tables.PAYMENTS, tenant_id, event_id)


def vouchers(tenant_id: str, event_id: str, *, shows_codes: bool) -> CsvFile:
    """Return the vouchers of an event. Without `shows_codes`, the column of codes is empty.

    NotFound; TooManyRequests beside another export.
    """
    table = tables.VOUCHERS if shows_codes else tables.VOUCHERS_WITHOUT_CODES
    return _write(table, tenant_id, event_id)


def attendees_for_people(tenant_id: str, event_id: str, words: Words) -> CsvFile:
    """Return the same as `attendees` for a spreadsheet. `words`: what statuses are called."""
    zone = events.get(tenant_id, event_id).timezone
    return _write(spreadsheets.attendees(zone, words), tenant_id, event_id)


def orders_for_people(tenant_id: str, event_id: str, words: Words) -> CsvFile:
    """Return the same as `orders` for a spreadsheet. `words`: what statuses are called."""
    zone = events.get(tenant_id, event_id).timezone
    return _write(spreadsheets.orders(zone, words), tenant_id, event_id)


def chosen_attendees(tickets: Sequence[Admission], words: Words) -> CsvFile:
    """Return some tickets, with their events and ticket types, for a spreadsheet."""
    columns = spreadsheets.CHOSEN
    rows = [[safe_cells.text_of(of(each, words)) for of in columns.values()] for each in tickets]
    content = codecs.BOM_UTF8 + _lines([[*columns], *rows])
    return CsvFile("attendees-chosen.csv", len(content), io.BytesIO(content))


def _write(table: Table, tenant_id: str, event_id: str) -> CsvFile:
    """Write a table as of one moment.

    The file is complete before its first byte is sent. So no client, however slow, keeps the
    snapshot open or the thread busy, and an error in between is an error for the client too.
    """
    event = events.get(tenant_id, event_id)
    with ExitStack() as on_error:
        content = on_error.enter_context(SpooledTemporaryFile(MAX_MEMORY_BYTES))
        with _turn.turn(), snapshot():
            answered = None
            if table.ask is not None:
                answered = AnswerColumns(event.id, table.ask, table.id_of)
            names = [*table.columns, *(answered.names if answered else ())]
            content.write(codecs.BOM_UTF8 + _lines([names]))
            for rows in table.batches(event.id):
                more = answered.values(rows) if answered else [()] * len(rows)
                content.write(_lines(map(partial(_cells, table), rows, more)))
        size = content.tell()
        content.seek(0)
        on_error.pop_all()
    return CsvFile(f"{event.slug}-{table.name}.csv", size, content)


def _cells(table: Table, row: Any, more: Sequence[Any]) -> list[str]:
    values = [*(value(row) for value in table.columns.values()), *more]
    return [safe_cells.text_of(value) for value in values]


def _lines(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode()
