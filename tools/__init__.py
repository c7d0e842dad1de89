"""Tools for development and tests: a throwaway chain and a throwaway PostgreSQL."""

from typing import Self


class ToolMissing(Exception):
    """A program these tools run is absent and could not be installed; says how to get it."""


class Running:
    """Something that runs until it is stopped. A context manager, which stops it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End it."""
        raise NotImplementedError
