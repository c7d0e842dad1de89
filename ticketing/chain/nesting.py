"""Limit the nesting depth of JSON, before it is parsed.

Python's own limit is not enough: 200,000 brackets crashed a process.
"""

import re

MAX_DEPTH = 20

# A string without an end matches too. The possessive quantifiers prevent backtracking, so the time
# is linear in the length of the text.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def is_too_deep(text: bytes | bytearray) -> bool:
    """Return whether JSON text is nested deeper than MAX_DEPTH, or its brackets do not match."""
    # Most strings contain no brackets, so the cheap check comes first. The strings are removed only
    # if it fails.
    return not _closes(text) and not _closes(_STRING.sub(b"", text))


def _closes(text: bytes | bytearray) -> bool:
    brackets = text.translate(None, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        inner = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if inner == brackets:
            break
        brackets = inner
    return not brackets
