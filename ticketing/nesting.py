"""How deep JSON is nested: looked at before it is parsed.

The interpreter's own guard is no wall: a process was seen to die of 200,000 brackets.
"""

import re

MAX_DEPTH = 20

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def is_too_deep(text: bytes | bytearray) -> bool:
    """Tell whether JSON text is nested deeper than MAX_DEPTH, or its brackets do not match."""
    # Brackets in strings seldom spoil the count: only then it is worth to leave the strings out.
    return not _closes(text) and not _closes(_STRING.sub(b"", text))


def _closes(text: bytes | bytearray) -> bool:
    brackets = text.translate(None, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        inner = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if inner == brackets:
            break
        brackets = inner
    return not brackets
