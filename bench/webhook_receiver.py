"""Stands for the receivers of webhooks: `python -m bench.webhook_receiver [CERTIFICATE KEY]`.

It prints its port, and answers every request with 204 on kept connections. It verifies nothing: it
should cost less than what is measured.
"""

import asyncio
import re
import ssl
import sys

_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


class _Connection(asyncio.Protocol):
    """Answers one request after another."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._seen = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer each request that is complete."""
        self._seen += data
        while (end := self._seen.find(b"\r\n\r\n")) >= 0:
            match = _LENGTH.search(self._seen, 0, end + 2)
            size = end + 4 + int(match[1] if match else 0)
            if len(self._seen) < size:
                return
            self._seen = self._seen[size:]
            self._transport.write(_ANSWER)


async def _serve(files: list[str]) -> None:
    tls = None
    if files:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*files)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Connection, "127.0.0.1", 0, ssl=tls)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1:]))
