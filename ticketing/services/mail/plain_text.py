"""Text that people wrote, made safe for mails."""

import unicodedata

_JOINERS = "\u200c\u200d"
"""Needed inside words of some scripts, and inside emoji."""


def plain(text: str, most: int) -> str:
    """Return a text as one line of at most `most` characters, without invisible characters.

    Line breaks and runs of spaces become one space. Control characters and those that change the
    direction of text are removed, so that it cannot disguise what follows it.
    """
    shown = "".join(map(_shown, text))
    line = " ".join(shown.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _shown(character: str) -> str:
    category = unicodedata.category(character)
    if category.startswith("Z") or character in "\t\r\n\v\f\x85":
        return " "
    is_hidden = category.startswith("C") and character not in _JOINERS
    return "" if is_hidden else character
