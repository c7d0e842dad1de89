"""Read the exchange rate once a day from FX_URL, with the guarded client of webhooks."""

import asyncio
import logging
import ssl
import time

from ticketing.config import Config
from ticketing.services import exchange_rates
from ticketing.services.notifications.http_client import Client
from ticketing.services.notifications.name_lookup import LookUp, SystemLookUp

MOST_BYTES = 32 * 1024
"""The file has some 1,700 bytes."""

AGAIN_SECONDS = 3600.0
"""The pause after a file that did not come, or had no rate."""

log = logging.getLogger(__name__)


class RateReader:
    """The task of the worker that reads the exchange rate, if FX_URL is set."""

    def __init__(self, config: Config, look_up: LookUp | None = None) -> None:
        """Read from FX_URL. `look_up` resolves its name."""
        self._config, self._look_up = config, look_up
        self._not_before = 0.0

    def run(self) -> None:
        """Read the rate if it is due. The last one stays if that fails."""
        url = self._config.fx_url
        if url is None or time.monotonic() < self._not_before or not exchange_rates.is_due():
            return
        self._not_before = time.monotonic() + AGAIN_SECONDS
        file = asyncio.run(self._get(url))
        if file is None:
            log.warning("FX_URL: the file of exchange rates did not come")
            return
        try:
            exchange_rates.keep(file)
        except exchange_rates.NotARate as problem:
            log.warning("FX_URL: %s", problem)

    async def _get(self, url: str) -> bytes | None:
        look_up = self._look_up or SystemLookUp()
        client = Client(url, self._config.webhook_allow, look_up, ssl.create_default_context())
        return await client.get(MOST_BYTES)
