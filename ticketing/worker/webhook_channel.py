"""One webhook endpoint, while notifications are sent to it: one request at a time, in order."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable

from ticketing import clock
from ticketing.config import Config
from ticketing.encryption import SecretUnreadable
from ticketing.models.notifications import WebhookEndpoint
from ticketing.notification_types import DeliveryError
from ticketing.services.notifications import webhook_secrets
from ticketing.services.notifications.deliveries import (
    GONE,
    PASSED_KEPT,
    REFUSALS,
    Attempt,
    Batch,
    Item,
    Outcome,
    Report,
    is_refusal,
)
from ticketing.services.notifications.http_client import Client

TURN_SECONDS = 2.0
"""After this time an endpoint makes room for others that wait."""

FAST_SECONDS = 1.0

log = logging.getLogger(__name__)


class Channel:
    """What is done for an endpoint, as far as it is not in the database yet.

    `saved` is the cursor in the database, `sequence` how far it is really. `task` sends a batch.
    `is_slow` is how this turn counts, `is_fast` how the last answer was. `has_moved`: the endpoint
    was changed in the database, so this channel ends.
    """

    def __init__(self, endpoint: WebhookEndpoint, client: Client, config: Config) -> None:
        """Continue at the endpoint's cursor."""
        self.endpoint, self.client = endpoint, client
        self._keyring = config.keyring
        self.saved = self.sequence = endpoint.sequence
        self.saved_at = 0.0
        self.is_fast = False
        self.is_slow = True
        self.is_manual = False
        self.has_moved = False
        self.task: asyncio.Task[None] | None = None
        self._delivered = 0
        self._passed: deque[Attempt] = deque(maxlen=PASSED_KEPT)
        self._keys: list[bytes] = []
        self._failed: list[Attempt] = []
        self._manual: list[Attempt] = []
        self.failure: Attempt | None = None

    @property
    def is_free(self) -> bool:
        """Whether a new turn can begin."""
        return self.task is None and not self.has_moved and self.failure is None

    @property
    def is_urgent(self) -> bool:
        """Whether there are attempts to write, not only a cursor that moved."""
        return bool(self._failed or self._manual)

    @property
    def has_news(self) -> bool:
        """Whether there is something to write."""
        return self.is_urgent or self._delivered > 0 or self.sequence != self.saved

    def report(self) -> Report:
        """Return what was done since the last report."""
        report = Report(
            endpoint_id=self.endpoint.id,
            after=self.saved,
            sequence=self.sequence,
            delivered=self._delivered,
            passed=list(self._passed),
            failed=self._failed,
            manual=self._manual,
            failure=self.failure,
            updated_at=self.endpoint.updated_at,
        )
        self.saved, self.saved_at = self.sequence, time.monotonic()
        self._delivered, self._failed, self._manual, self.failure = 0, [], [], None
        self._passed.clear()
        return report

    def skip(self, sequence: int) -> None:
        """Move the cursor over notifications of types that the endpoint does not want."""
        self.sequence = max(self.sequence, sequence)

    async def send(self, batch: Batch, may_go_on: Callable[[], bool]) -> None:
        """Send a batch until one fails, its turn ends, or it may not go on."""
        self.is_manual = batch.is_manual
        self._keys = self._signing_keys(batch.endpoint)
        ends = time.monotonic() + TURN_SECONDS
        for place, item in enumerate(batch.items):
            if not may_go_on() or self.has_moved or (place and time.monotonic() > ends):
                return
            attempt = await self._attempt(batch.endpoint, item)
            if batch.is_manual:
                self._manual.append(attempt)
            elif attempt.outcome.is_delivered:
                self._deliver(attempt)
            else:
                following = self._item_to_probe(batch, place, attempt.outcome)
                if following is None or not may_go_on():
                    self._fail(attempt)
                else:
                    await self._probe(batch.endpoint, attempt, following)
                return
        if not batch.is_manual:
            self.skip(batch.last_sequence)

    def _item_to_probe(self, batch: Batch, place: int, outcome: Outcome) -> Item | None:
        """Return the notification after this one, if this one was refused often enough."""
        # The refusals in the database are those of the first one that waits there.
        is_first = place == 0 and self.sequence == batch.endpoint.sequence
        refusals = 1 + (batch.endpoint.refusals if is_first else 0)
        if not is_refusal(outcome) or refusals < REFUSALS or batch.items[place] is batch.items[-1]:
            return None
        return batch.items[place + 1]

    def _signing_keys(self, endpoint: WebhookEndpoint) -> list[bytes]:
        """Return the keys of a turn. Decryption costs more than a signature. Empty: unreadable."""
        try:
            return webhook_secrets.signing_keys(endpoint, self._keyring)
        except SecretUnreadable:
            return []

    async def _probe(self, endpoint: WebhookEndpoint, refused: Attempt, item: Item) -> None:
        """Send the notification after a refused one. If it passes, set the refused one aside."""
        probe = await self._attempt(endpoint, item)
        if probe.outcome.is_delivered:
            self._set_aside(endpoint, refused)
            self._deliver(probe)
        elif probe.outcome.status_code == GONE:
            self._failed.append(refused)
            self._fail(probe)
        else:
            self._failed.append(probe)
            self._fail(refused)

    def _set_aside(self, endpoint: WebhookEndpoint, refused: Attempt) -> None:
        item = refused.item
        self._failed.append(Attempt(item, refused.outcome, refused.began_at, is_set_aside=True))
        log.warning("webhook endpoint %s: %s is set aside", endpoint.id, item.notification_id)

    def _deliver(self, attempt: Attempt) -> None:
        self.skip(attempt.item.sequence or 0)
        self._delivered += 1
        self._passed.append(attempt)

    def _fail(self, attempt: Attempt) -> None:
        self._failed.append(attempt)
        self.failure = attempt

    async def _attempt(self, endpoint: WebhookEndpoint, item: Item) -> Attempt:
        began_at = clock.now()
        if item.body is None:
            outcome = Outcome(error=DeliveryError.NOTIFICATION_DELETED)
            return Attempt(item, outcome, began_at)
        if not self._keys:
            return Attempt(item, Outcome(error=DeliveryError.SECRET_UNREADABLE), began_at)
        timestamp = int(began_at.timestamp())
        headers = webhook_secrets.sign(self._keys, item.notification_id, timestamp, item.body)
        try:
            outcome = await self.client.post(headers, item.body)
        except Exception:
            # No answer of a receiver may end the worker, which also watches the chains.
            log.exception("webhook endpoint %s", endpoint.id)
            outcome = Outcome(error=DeliveryError.INTERNAL_ERROR)
        self.is_fast = outcome.is_delivered and outcome.duration_ms < FAST_SECONDS * 1000
        return Attempt(item, outcome, began_at)
