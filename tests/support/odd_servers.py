"""Servers that only look like mail servers."""

import socket
import threading


class OddServer:
    """A context manager. It does the same thing with each connection, at a port.

    `silent` says nothing, `drips` sends a byte at a time, `drips_later` does so after a message,
    `endless` never ends its answer, `closes` hangs up, `garbage` sends bytes without meaning.
    """

    def __init__(self, port: int, behaviour: str) -> None:
        self.connections = 0
        self._behave = getattr(self, f"_{behaviour}")
        self._listener = socket.create_server(("127.0.0.1", port))
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> "OddServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        while not self._done.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with client:
                try:
                    self._behave(client)
                except OSError:
                    continue

    def _silent(self, client: socket.socket) -> None:
        client.recv(1)

    def _drips(self, client: socket.socket) -> None:
        while not self._done.wait(0.2):
            client.sendall(b"2")

    def _drips_later(self, client: socket.socket) -> None:
        for answer in (b"220", b"250", b"250", b"250", b"354"):
            client.sendall(answer + b" OK\r\n")
            client.recv(1000)
        self._drips(client)

    def _endless(self, client: socket.socket) -> None:
        while not self._done.is_set():
            client.sendall(b"220-welcome\r\n" * 1000)

    def _closes(self, client: socket.socket) -> None:
        pass

    def _garbage(self, client: socket.socket) -> None:
        client.sendall(b"\xff\x00HTTP/1.1 400 Bad Request\r\n\r\n")
        client.recv(1)
