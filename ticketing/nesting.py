"""How deep JSON is nested, measured before it is parsed.

The interpreter's own limit is not enough: 200,000 brackets ended a process.
"""

import re

MAX_DEPTH = 20

# A string that does not end matches too, and nothing is tried twice: the time grows no faster than
# the text.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def is_too_deep(text: bytes | bytearray) -> bool:
    """Return whether JSON text is nested deeper than MAX_DEPTH, or its brackets do not match."""
    # Most strings have no brackets. Only where they may have some, the strings are left out.
    return not _closes(text) and not _closes(_STRING.sub(b"", text))


def _closes(text: bytes | bytearray) -> bool:
    brackets = text.translate(None, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        inner = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if inner == brackets:
            break
        brackets = inner
    return not brackets
