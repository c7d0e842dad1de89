"""Reads what apps say of themselves, for the page on which a member connects one.

All URLs that wait are read at the same time, so a silent one delays others by 5 s at most. It needs
no lease: if two workers read a URL, the first answer is kept.
"""

import asyncio
import ssl
import time

from ticketing.config import Config
from ticketing.models.app_descriptions import AppDescription
from ticketing.services.notifications.http_client import Client
from ticketing.services.notifications.name_lookup import SystemLookUp
from ticketing.services.oauth import descriptions


def read_some(config: Config) -> None:
    """Read the URLs that pages wait for, and keep what came."""
    rows = descriptions.to_read()
    if rows:
        asyncio.run(_read_all(rows, config))


async def _read_all(rows: list[AppDescription], config: Config) -> None:
    look_up, tls = SystemLookUp(), ssl.create_default_context()

    async def read(row: AppDescription) -> None:
        began = time.monotonic()
        limit = descriptions.DEADLINE_SECONDS
        client = Client(row.url, config.webhook_allow, look_up, tls, limit)
        file = await client.get(descriptions.MAX_DOCUMENT_BYTES, is_json=True)
        descriptions.keep(row, file, time.monotonic() - began)

    await asyncio.gather(*map(read, rows))
