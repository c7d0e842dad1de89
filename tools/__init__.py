"""Tools for development and tests: a throwaway chain and a throwaway PostgreSQL."""


class ToolMissing(Exception):
    """A program these tools run is absent and could not be installed; says how to get it."""
