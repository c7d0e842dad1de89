"""Tools for development and tests: a throwaway chain and a throwaway PostgreSQL."""

from typing import Self

START_SECONDS = 120
"""How long a program may take to start. A busy machine needs many times what an idle one does."""


class ToolMissing(Exception):
    """A required program is missing. The message says how to install it."""


class Running:
    """Something that runs until `stop`. As a context manager, it stops at the end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop it."""
        raise NotImplementedError


def printable(text: str) -> str:
    """Return a text of others for a terminal, without control characters except line breaks."""
    return "".join(each if each.isprintable() or each == "\n" else "?" for each in text)


def error_line(said: str) -> str | None:
    """Return the line of a program's output with the error."""
    return next((line.strip() for line in said.splitlines() if "rror" in line), None)
