"""Deliver webhooks: one event loop in one thread, under the lease "webhooks".

The database has all state. A worker that is killed loses nothing, and at worst sends something
twice with the same id. Database calls run in a thread of their own, so that a slow database lets no
receiver seem slow.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ticketing.config import Config
from ticketing.db.connection import database
from ticketing.services.leases import LeaseHolder
from ticketing.services.notifications import deliveries
from ticketing.services.notifications.deliveries import Batch
from ticketing.services.notifications.http_client import Client
from ticketing.services.notifications.name_lookup import LookUp, SystemLookUp
from ticketing.worker.delivery_schedule import DeliverySchedule
from ticketing.worker.webhook_channel import Channel

LEASE = "webhooks"

SAVE_SECONDS = 1.0
LOOK_SECONDS = 0.5
NAP_SECONDS = 0.2
"""How often it is checked whether the worker shall stop."""

STOP_SECONDS = 3.0
"""How long a stop waits for requests that were sent."""

T = TypeVar("T")

log = logging.getLogger(__name__)


class Delivering:
    """The task of the worker that delivers webhooks."""

    def __init__(self, config: Config, look_up: LookUp | None = None) -> None:
        """Deliver to the endpoints of all tenants. `look_up` resolves names."""
        self._config, self._look_up = config, look_up
        self._lease = LeaseHolder(LEASE)

    def run(self, is_stopping: Callable[[], bool]) -> None:
        """Deliver until `is_stopping()`. An error of the database ends it, too."""
        asyncio.run(self._session(is_stopping).run())

    def once(self) -> None:
        """Deliver what is due, unless another worker delivers."""
        asyncio.run(self._session(lambda: False).run_once())

    def _session(self, is_stopping: Callable[[], bool]) -> _Session:
        return _Session(self._config, self._look_up or SystemLookUp(), self._lease, is_stopping)


class _Session:
    """One event loop. What it has not saved is lost with it, and is delivered again."""

    def __init__(
        self, config: Config, look_up: LookUp, lease: LeaseHolder, is_stopping: Callable[[], bool]
    ) -> None:
        self._config, self._look_up, self._lease = config, look_up, lease
        self._is_stopping = is_stopping
        self._database = ThreadPoolExecutor(1, thread_name_prefix="webhooks-database")
        self._wake = asyncio.Event()
        self._channels: dict[str, Channel] = {}
        self._schedule = DeliverySchedule()
        self._look_at = 0.0
        self._is_ending = False

    @functools.cached_property
    def _tls(self) -> ssl.SSLContext:
        """Trusts what the system trusts, or SSL_CERT_FILE."""
        return ssl.create_default_context()

    async def run(self) -> None:
        """Deliver until the worker stops."""
        try:
            while not self._is_stopping():
                await self._step()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(NAP_SECONDS):
                        await self._wake.wait()
                self._wake.clear()
            await self._end_requests()
        finally:
            await self._leave()

    async def run_once(self) -> None:
        """Deliver until nothing is due."""
        try:
            while True:
                self._look_at = 0.0
                started = await self._step()
                tasks = [each.task for each in self._channels.values() if each.task]
                if not started and not tasks:
                    break
                if tasks:
                    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            await self._save(everything=True)
        finally:
            await self._leave()

    async def _step(self) -> int:
        """Save, look for more, and begin what there is room for. Return how much began."""
        self._collect()
        await self._save()
        if time.monotonic() >= self._look_at:
            await self._look()
        started = await self._start() if self._may_send() else 0
        self._tidy()
        return started

    def _may_send(self) -> bool:
        """Return whether this worker has the lease for certain."""
        return self._lease.is_certain and not self._is_ending

    def _collect(self) -> None:
        """Take what ended. An error of a task is an error of the worker."""
        for channel in self._channels.values():
            if channel.task is not None and channel.task.done():
                channel.task.result()
                channel.task = None
                self._schedule.ended(channel)

    async def _save(self, *, everything: bool = False) -> None:
        """Save each cursor at most once a second, and attempts at once."""
        due = time.monotonic() - SAVE_SECONDS
        reports = [
            each.report()
            for each in self._channels.values()
            if each.has_news and (everything or each.is_urgent or each.saved_at <= due)
        ]
        if not reports:
            return
        for report in reports:
            if report.failure is not None:
                self._schedule.forget(report.endpoint_id)
        for endpoint_id in await self._query(lambda: deliveries.save(reports)):
            self._channels[endpoint_id].has_moved = True

    async def _look(self) -> None:
        """Renew the lease, and look which endpoints have something waiting."""
        self._look_at = time.monotonic() + LOOK_SECONDS
        was_held, is_held = self._lease.is_held, await self._query(self._lease.keep)
        is_usual = is_held and was_held is None
        if is_held != was_held and not is_usual:
            log.info("%s webhooks", "delivering" if is_held else "standing by for")
        found = await self._query(deliveries.waiting) if is_held else {}
        for endpoint_id, waiting in found.items():
            channel = self._channels.get(endpoint_id)
            if channel is not None and channel.saved != waiting.sequence:
                channel.has_moved = True
        self._schedule.replace(found)

    async def _start(self) -> int:
        """Begin to send to as many endpoints as there is room for."""
        wanted = self._schedule.choose(self._channels)
        if not wanted:
            return 0
        batches = await self._query(lambda: deliveries.load(wanted))
        begun = {batch.endpoint.id for batch in batches}
        for endpoint_id in {each.endpoint_id for each in wanted} - begun:
            self._schedule.forget(endpoint_id)
        for batch in batches:
            self._begin(batch)
        return len(batches)

    def _begin(self, batch: Batch) -> None:
        endpoint = batch.endpoint
        channel = self._channels.get(endpoint.id)
        if channel is None and batch.after != endpoint.sequence:
            self._schedule.forget(endpoint.id)
            return
        if channel is None:
            client = Client(endpoint.url, self._config.webhook_allow, self._look_up, self._tls)
            channel = Channel(endpoint, client, self._config)
            self._channels[endpoint.id] = channel
        if channel.saved != endpoint.sequence or channel.endpoint.updated_at != endpoint.updated_at:
            channel.has_moved = True
            return
        channel.endpoint = endpoint
        if batch.is_manual and not batch.items:
            self._schedule.forget_manual(endpoint.id)
        elif not batch.items:
            channel.skip(batch.last_sequence)
            self._wake.set()
        else:
            channel.is_slow = not self._schedule.is_fast(endpoint.id)
            channel.task = asyncio.create_task(channel.send(batch, self._may_send))
            channel.task.add_done_callback(lambda _: self._wake.set())

    def _tidy(self) -> None:
        """Forget endpoints for which there is nothing more to do or to save."""
        for endpoint_id, channel in list(self._channels.items()):
            if channel.task is not None or channel.has_news:
                continue
            if channel.has_moved or channel.client.is_old:
                channel.client.close()
                del self._channels[endpoint_id]

    async def _end_requests(self) -> None:
        """Let requests that were sent end, for STOP_SECONDS at most. Save what was done."""
        self._is_ending = True
        tasks = [each.task for each in self._channels.values() if each.task]
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_SECONDS)
        self._collect()
        await self._save(everything=True)

    async def _leave(self) -> None:
        """Release the lease, and close all connections."""
        tasks = [each.task for each in self._channels.values() if each.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for channel in self._channels.values():
            channel.client.close()
        try:
            if self._lease.is_held:
                await self._query(self._lease.give_back)
        finally:
            await self._query(database.close)
            self._database.shutdown()

    async def _query(self, act: Callable[[], T]) -> T:
        """Run something in the thread of the database."""
        return await asyncio.get_running_loop().run_in_executor(self._database, act)
