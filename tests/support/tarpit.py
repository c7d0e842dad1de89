"""A server that accepts connections and says nothing."""

import socket
import threading
from contextlib import suppress
from typing import Self


class Tarpit:
    """A server on a port of its own. A context manager: its end closes all connections.

    `held` counts the connections that are open.
    """

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept)

    @property
    def held(self) -> int:
        """How many connections wait for an answer."""
        return len(self._connections)

    def url(self, path: str) -> str:
        """Return the URL of a path."""
        return f"https://127.0.0.1:{self._socket.getsockname()[1]}{path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
        self.release()

    def release(self) -> None:
        """Close the connections that it holds."""
        while self._connections:
            self._connections.pop().close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self._connections.append(self._socket.accept()[0])
