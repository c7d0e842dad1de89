"""nginx before the service, if this machine has it."""

from collections.abc import Iterator
from contextlib import contextmanager

from tools import ToolMissing
from tools.daemons import Nginx


@contextmanager
def nginx_before(port: int) -> Iterator[Nginx | None]:
    """Run nginx before a port. None if there is no nginx: the summary of the run says so."""
    try:
        running = Nginx(port)
    except ToolMissing:
        yield None
        return
    with running:
        yield running
