"""The text of a cell in a CSV file. A spreadsheet must not run it."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

# What a spreadsheet may run starts with = + - or @. Some also take look-alikes: full-width, small,
# superscript and subscript forms, and the minus sign.
_STARTERS = (
    "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u207c\u207a\u207b\u208c\u208a\u208b\u2212"
    "\u2a75\u2a76\ufb29"
)
# Spreadsheets skip these before they look at the first character: spaces, control characters,
# quotes, and characters without a width.
_SKIPPED = (
    "\\x00-\\x20\\x7f-\\xa0\"'`\u00ab\u00bb\u2018-\u201f\u00ad\u061c\u1680\u180e\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u3000\ufeff\uff02\uff07"
)
# A spreadsheet for which the decimal point is a comma splits a line at semicolons instead.
_SEPARATORS = ",;|\t\r\n"
# A run of skipped characters and separators from its beginning, so each is read once.
_RUN = re.compile(rf"(?<![{_SKIPPED},;|])([{_SKIPPED},;|]*+)(?=[{_STARTERS}])")
_RISKY = re.compile(f"[{_STARTERS}\\t\\r\\n]")
_CONTROLS = ("\t", "\r", "\n")


def text_of(value: Any) -> str:
    """Return the text of a cell: numbers as they are, times in UTC, None as an empty text.

    Text that a spreadsheet may run gets an apostrophe: before it, and after a separator inside it.
    """
    if isinstance(value, str):
        return defused(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return defused(str(value))


def defused(text: str) -> str:
    """Return a text that no spreadsheet runs."""
    if _RISKY.search(text) is None:
        return text
    found = _RUN.sub(_guarded, text)
    return f"'{found}" if found.startswith(_CONTROLS) else found


def _guarded(match: re.Match[str]) -> str:
    run = match[1]
    before = "" if match.start() else "'"
    inside = "'" if any(each in run for each in _SEPARATORS) else ""
    return before + run + inside
