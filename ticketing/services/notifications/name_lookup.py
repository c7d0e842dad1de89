"""Resolve names without blocking the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable
from ipaddress import ip_address

from ticketing.services.notifications.webhook_urls import Address

MOST_AT_ONCE = 64
"""A name server that does not respond keeps a thread for half a minute."""

LookUp = Callable[[str, int], Awaitable[list[Address]]]
"""Returns the addresses of a name, without duplicates. None of them if it does not resolve."""


class SystemLookUp:
    """Resolves names as the operating system does, each in a thread of its own.

    A pool of threads would make the process wait for all of them at its end.
    """

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(MOST_AT_ONCE)

    async def __call__(self, host: str, port: int) -> list[Address]:
        """Return the addresses of a name. An empty list if it does not resolve."""
        loop = asyncio.get_running_loop()
        found: asyncio.Future[list[Address]] = loop.create_future()

        def finish(addresses: list[Address]) -> None:
            self._places.release()
            if not found.done():
                found.set_result(addresses)

        def look_up() -> None:
            addresses = _addresses(host, port)
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(finish, addresses)

        await self._places.acquire()
        threading.Thread(target=look_up, name=f"look-up of {host}", daemon=True).start()
        return await found


def _addresses(host: str, port: int) -> list[Address]:
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(ip_address(row[4][0]) for row in rows))
