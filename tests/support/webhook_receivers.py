"""Receivers of webhooks in processes of their own, and the endpoints that name them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from ticketing import clock, ids
from ticketing.credentials import Keyring
from ticketing.db.connection import write_transaction
from ticketing.models.notifications import WebhookEndpoint
from ticketing.notification_types import NotificationType
from ticketing.services.notifications import feed, numbering, webhook_secrets
from tools.stack import ROOT, free_port

CLOCK = ROOT / "tests" / "faults" / "clock_set_back"
LOOPBACK = "127.0.0.0/8"


class Receiver:
    """A receiver process. A context manager. `answer` sets what it answers on a path.

    A rule has `status` (204), `text`, `headers`, `is_held` if it answers only after `let_go`, and
    `by_type`: a list of rules with a `type`. The rule of a path has the `secret` to verify with.
    """

    def __init__(self, folder: Path, *certificate: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self._certificate = folder, certificate
        self.port = free_port()
        self._rules: dict[str, dict[str, Any]] = {}
        self._write("rules", "{}")
        self.clock_forward(0)
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the process, on the same port as before."""
        arguments = [str(self.folder), str(self.port), *map(str, self._certificate)]
        variables = {"PYTHONPATH": str(CLOCK), "CLOCK_SET_BACK_FILE": str(self.folder / "clock")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.webhook_receiver_process", *arguments],
            cwd=ROOT,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def stop(self) -> None:
        """Kill the process, unless it is stopped already."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        scheme = "https" if self._certificate else "http"
        return f"{scheme}://{host}:{self.port}{path}"

    def answer(self, path: str, **rule: Any) -> None:
        """Set what is answered from now on. The secret stays."""
        secret = self._rules.get(path, {}).get("secret")
        self._rules[path] = {"secret": secret, **rule}
        self._write("rules", json.dumps(self._rules))

    def let_go(self) -> None:
        """Let all answers go that are held."""
        self._write("open", "")

    def clock_forward(self, seconds: float) -> None:
        """Move the receiver's clock."""
        self._write("clock", str(-int(seconds)))

    def received(self, path: str | None = None) -> list[dict[str, Any]]:
        """Return all requests so far, or those to one path."""
        log = self.folder / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        found = [json.loads(line) for line in lines]
        return [each for each in found if path in (None, each["path"])]

    def sequences(self, path: str) -> list[int]:
        """Return the places in the feed of all requests to a path."""
        return [each["sequence"] for each in self.received(path)]

    def _write(self, name: str, text: str) -> None:
        fresh = self.folder / f"{name}.new"
        fresh.write_text(text)
        fresh.replace(self.folder / name)


def endpoint(
    tenant_id: str,
    keyring: Keyring,
    receiver: Receiver | None = None,
    path: str = "/hook",
    **fields: Any,
) -> WebhookEndpoint:
    """Insert an endpoint at the start of the feed. Its receiver knows the secret."""
    secret, now = webhook_secrets.new_secret(), clock.now()
    made = WebhookEndpoint(
        id=ids.new(ids.WEBHOOK_ENDPOINT),
        tenant=tenant_id,
        **{"created_at": now, "updated_at": now, "sequence": 0, "types": '["*"]'} | fields,
    )
    if receiver is not None:
        made.url = made.url or receiver.url(path)
        receiver.answer(path)
        receiver._rules[path]["secret"] = secret
        receiver.answer(path)
    webhook_secrets.store(made, secret, keyring)
    made.save(force_insert=True)
    return made


def publish(tenant_id: str, count: int = 1, type: str = "event.changed") -> list[int]:
    """Record facts and number them. Return their places in the feed."""
    with write_transaction():
        for start in range(0, count, 1000):
            numbers = range(start, min(count, start + 1000))
            facts = [(NotificationType(type), {"event_id": f"evt_{each}"}) for each in numbers]
            feed.record_all(tenant_id, facts)
    last = numbering.numbered_feed(tenant_id).last_sequence
    return list(range(last - count + 1, last + 1))
