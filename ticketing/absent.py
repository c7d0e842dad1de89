"""Modules that others import wherever they find them, though we have no use for them there."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def absent(name: str) -> Iterator[None]:
    """Let `import name` fail within the block, as where it is not installed."""
    loaded = sys.modules.pop(name, None)
    sys.modules[name] = None  # type: ignore[assignment]  # what the import system takes for it
    try:
        yield
    finally:
        del sys.modules[name]
        if loaded is not None:
            sys.modules[name] = loaded
