"""The schedule of webhook deliveries: whose are next, so that nobody waits for a slow endpoint."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ticketing.services.notifications.deliveries import Waiting, Wanted
from ticketing.worker.webhook_channel import Channel

MOST, MOST_SLOW = 32, 16
"""Requests side by side; of these, to endpoints that fail, are slow, or are not known yet."""


class DeliverySchedule:
    """The endpoints that wait, and when each was served before.

    Of the requests side by side, and of those to slow endpoints, one tenant has half at most.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Waiting] = {}
        self._fast: set[str] = set()
        self._had_manual: set[str] = set()
        self._served: dict[str, float] = {}

    def replace(self, waiting: dict[str, Waiting]) -> None:
        """Take a new list of the endpoints that wait."""
        self._waiting = waiting
        self._served = {key: at for key, at in self._served.items() if key in waiting}

    def forget(self, endpoint_id: str) -> None:
        """Remove an endpoint from the list, until the next one."""
        self._waiting.pop(endpoint_id, None)

    def forget_manual(self, endpoint_id: str) -> None:
        """Note that an endpoint has no manual deliveries left."""
        waiting = self._waiting.get(endpoint_id)
        if waiting is not None:
            self._waiting[endpoint_id] = replace(waiting, has_manual=False)

    def is_fast(self, endpoint_id: str) -> bool:
        """Return whether the last answer of an endpoint was good and came soon."""
        return endpoint_id in self._fast

    def ended(self, channel: Channel) -> None:
        """Note that an endpoint was served."""
        endpoint_id = channel.endpoint.id
        (self._fast.add if channel.is_fast else self._fast.discard)(endpoint_id)
        (self._had_manual.add if channel.is_manual else self._had_manual.discard)(endpoint_id)
        self._served[endpoint_id] = time.monotonic()

    def choose(self, channels: Mapping[str, Channel]) -> list[Wanted]:
        """Return what to read for those who are next: as many as there is room for."""
        running = [each for each in channels.values() if each.task is not None]
        of_tenant = Counter(each.endpoint.tenant_id for each in running)
        slow_of_tenant = Counter(each.endpoint.tenant_id for each in running if each.is_slow)
        chosen: list[Wanted] = []
        for waiting in self._in_order(of_tenant):
            if of_tenant.total() >= MOST:
                break
            tenant_id = waiting.tenant_id
            is_slow = waiting.is_failing or waiting.endpoint_id not in self._fast
            if of_tenant[tenant_id] >= MOST // 2 or (
                is_slow
                and (
                    slow_of_tenant.total() >= MOST_SLOW
                    or slow_of_tenant[tenant_id] >= MOST_SLOW // 2
                )
            ):
                continue
            wanted = self._wanted(waiting, channels.get(waiting.endpoint_id))
            if wanted is not None:
                chosen.append(wanted)
                of_tenant[tenant_id] += 1
                slow_of_tenant[tenant_id] += is_slow
        return chosen

    def _in_order(self, of_tenant: Counter[str]) -> Iterable[Waiting]:
        """Return who waits: the tenant with the fewest requests first, then the longest wait."""
        seen = Counter(of_tenant)
        ranks: list[tuple[int, int, Waiting]] = []
        for waiting in sorted(
            self._waiting.values(), key=lambda each: self._served.get(each.endpoint_id, 0.0)
        ):
            ranks.append((seen[waiting.tenant_id], len(ranks), waiting))
            seen[waiting.tenant_id] += 1
        return [waiting for _, _, waiting in sorted(ranks, key=lambda rank: rank[:2])]

    def _wanted(self, waiting: Waiting, channel: Channel | None) -> Wanted | None:
        """Return what to read for an endpoint. None if it is busy, or has nothing more."""
        if channel is not None and not channel.is_free:
            return None
        after = waiting.sequence if channel is None else channel.sequence
        has_feed = after < waiting.last_sequence
        # The two kinds take turns, so that neither waits for all of the other.
        is_manual = waiting.has_manual and not (
            has_feed and waiting.endpoint_id in self._had_manual
        )
        if not is_manual and not has_feed:
            return None
        return Wanted(waiting.endpoint_id, waiting.tenant_id, after, is_manual)
