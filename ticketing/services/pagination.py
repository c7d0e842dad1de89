"""Pages of lists, with signed keyset cursors."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from peewee import Expression, Field, Model, ModelSelect, Tuple

from ticketing import credentials
from ticketing.credentials import Keyring
from ticketing.errors import Invalid

T = TypeVar("T")
M = TypeVar("M", bound=Model)

_SIGNATURE_LENGTH = 32


@dataclass(frozen=True)
class Page(Generic[T]):
    """Rows of a list, and the cursor of the next page (None: this is the last page)."""

    data: Sequence[T]
    next_cursor: str | None


@dataclass(frozen=True)
class PageRequest:
    """The requested page of a list: at most `limit` rows after `cursor`."""

    limit: int
    cursor: str | None
    keyring: Keyring


@dataclass(frozen=True)
class Computed:
    """A number that rows are ordered by and that is no column: in SQL, and `of` a row."""

    name: str
    expression: Expression
    of: Callable[[Any], int]


def paginate(
    query: ModelSelect[M],
    order: Sequence[Field[Any] | Computed],
    request: PageRequest,
    *,
    scope: str,
    descending: bool = False,
) -> Page[M]:
    """Return one page of `query`. The values of `order` are unique together.

    `scope` identifies the list and its filters. Invalid for a cursor of another list, and for a
    modified cursor.
    """
    scope = f"{scope} {[field.name for field in order]} {descending}"
    columns = [field.expression if isinstance(field, Computed) else field for field in order]
    if request.cursor is not None:
        after = unseal(request.cursor, scope, request.keyring)
        if after is None:
            raise Invalid({"cursor": ["Must be a cursor of this list."]})
        here = Tuple(*columns) if len(columns) > 1 else columns[0]
        bound = Tuple(*after) if len(columns) > 1 else after[0]
        query = query.where(here < bound if descending else here > bound)
    in_order = query.order_by(*(each.desc() if descending else each.asc() for each in columns))
    rows = list(in_order.limit(request.limit + 1))  # one more shows whether there is a next page
    if len(rows) <= request.limit:
        return Page(rows, None)
    rows.pop()
    values = [_value(rows[-1], field) for field in order]
    return Page(rows, seal(values, scope, request.keyring.current))


def _value(row: Model, field: Field[Any] | Computed) -> Any:
    """Return a value as it is compared in the database."""
    if isinstance(field, Computed):
        return field.of(row)
    return field.db_value(getattr(row, field.name))


def seal(values: Sequence[Any], scope: str, secret_key: str) -> str:
    """Return `values` as opaque text that cannot be changed or used in another scope."""
    payload = json.dumps(values)
    return _encode(_sign(payload, scope, secret_key) + payload)


def unseal(cursor: str, scope: str, keyring: Keyring) -> list[Any] | None:
    """Return the values inside a sealed text. None if it was changed, or is of another scope."""
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        text = ""
    signature, payload = text[:_SIGNATURE_LENGTH], text[_SIGNATURE_LENGTH:]
    genuine = credentials.same_as_any(
        signature, [_sign(payload, scope, each) for each in keyring.accepted]
    )
    # The last character of base64 may have unused bits. Only the canonical form is accepted.
    if not genuine or _encode(text) != cursor:
        return None
    values: list[Any] = json.loads(payload)
    return values


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _sign(payload: str, scope: str, secret_key: str) -> str:
    digest = credentials.keyed_digest(secret_key, "cursor", f"{scope}\n{payload}")
    return digest[:_SIGNATURE_LENGTH]
