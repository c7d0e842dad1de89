"""A program that connects with PyPI's MCP client, which signs in by itself.

    python -m tests.support.oauth_client https://tickets.example.org/mcp/organizer acme [url]

It prints the URL that a browser must open, then, as JSON, the tools and the sales of the tenant.
`url`: where the app is described. Without one it registers itself.
"""

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

PORT = 7878
REDIRECT_URI = f"http://127.0.0.1:{PORT}/callback"


class Memory:
    """The storage that the client asks for."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def _show(url: str) -> None:
    _say(url)


async def _wait() -> AuthorizationCodeResult:
    """Wait for the browser to come back, on a port that nobody registered."""
    found: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readuntil(b"\r\n\r\n")).decode().split()[1]
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nConnected")
        await writer.drain()
        writer.close()
        if line.startswith("/callback") and not found.done():
            sent = {name: values[0] for name, values in parse_qs(urlsplit(line).query).items()}
            found.set_result(AuthorizationCodeResult(**sent))

    async with await asyncio.start_server(serve, "127.0.0.1", PORT):
        return await found


async def main(url: str, tenant: str, client_metadata_url: str | None = None) -> None:
    """Connect, list the tools and ask for the sales."""
    metadata = OAuthClientMetadata(client_name="Python", redirect_uris=[AnyUrl(REDIRECT_URI)])
    provider = OAuthClientProvider(
        url, metadata, Memory(), _show, _wait, client_metadata_url=client_metadata_url
    )
    async with (
        httpx2.AsyncClient(auth=provider) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        tools = [each.name for each in (await client.list_tools()).tools]
        sales = await client.call_tool("sales", {"tenant": tenant})
    _say(json.dumps({"tools": tools, "sales": sales.structured_content}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
