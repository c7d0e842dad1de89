"""POSTs of webhooks to a server in the same event loop."""

import asyncio
import contextlib
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from ipaddress import ip_address
from typing import Any, Self

from ticketing.config import Allowed, webhook_allow
from ticketing.services.notifications.deliveries import Outcome
from ticketing.services.notifications.http_client import Client
from ticketing.services.notifications.name_lookup import LookUp
from ticketing.services.notifications.webhook_urls import Address

LOOPBACK = webhook_allow({"WEBHOOK_ALLOW": "127.0.0.0/8"})
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Names:
    """A resolver that gives one answer after another. The last one stays."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers, self.asked = list(answers), 0

    async def __call__(self, host: str, port: int) -> list[Address]:
        self.asked += 1
        now = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [ip_address(each) for each in now]


class Server:
    """A server in the same event loop. `requests` has what each connection sent."""

    def __init__(self, serve: "Serve", tls: ssl.SSLContext | None = None) -> None:
        self.serve, self.tls = serve, tls
        self.connections = 0
        self.requests: list[tuple[bytes, bytes]] = []
        self._tasks: set[asyncio.Task[Any] | None] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._handle, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def request(self, reader: StreamReader) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        self.requests.append((head, await reader.readexactly(length)))

    async def _handle(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.connections += 1
        self._tasks.add(asyncio.current_task())
        with contextlib.suppress(
            ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError
        ):
            await self.serve(self, reader, writer)
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


Serve = Callable[[Server, StreamReader, StreamWriter], Awaitable[object]]
"""What a server does with each connection."""


def says(*answers: bytes) -> Serve:
    """Return a server that answers each request of a connection, then closes it."""

    async def serve(server: Server, reader: StreamReader, writer: StreamWriter) -> None:
        for answer in answers:
            await server.request(reader)
            writer.write(answer)
            await writer.drain()
        await reader.read(1)

    return serve


def run(
    serve: Serve,
    *,
    times: int = 1,
    allow: Sequence[Allowed] = LOOPBACK,
    names: LookUp | None = None,
    url: str = "http://{}:{}/hook?x=1",
    tls: tuple[ssl.SSLContext, ssl.SSLContext, str] | None = None,
) -> tuple[list[Outcome], Server]:
    """Send POSTs to a server. Return the outcomes and the server."""
    server_tls, client_tls, host = tls or (None, None, "127.0.0.1")

    async def main() -> tuple[list[Outcome], Server]:
        async with Server(serve, server_tls) as server:
            look_up = names or Names(["127.0.0.1"])
            context = client_tls or _tls()
            client = Client(url.format(host, server.port), allow, look_up, context)
            try:
                return [
                    await client.post({"webhook-id": "ntf_1"}, b"{}") for _ in range(times)
                ], server
            finally:
                client.close()

    return asyncio.run(main())


@cache
def _tls() -> ssl.SSLContext:
    """The worker's context. To read all authorities takes long."""
    return ssl.create_default_context()


def one(serve: Serve, **options: Any) -> Outcome:
    """Send one POST, and return its outcome."""
    ((outcome,), _) = run(serve, **options)
    return outcome
