"""An organizer and buyers of a server that runs in other processes."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.support.apps import new_app
from tests.support.factories import CHAIN, cli, event_body, ticket_body
from tests.support.wallets import give_wallet
from ticketing.db.connection import database
from tools.json_client import Answer, Client
from tools.stack import Stack

PATIENCE_SECONDS = 120
"""The time limit of all waits. A slow and busy machine stays well below it."""


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until `holds` returns true. AssertionError after PATIENCE_SECONDS."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.05)


def in_process(stack: Stack, *arguments: str, stdin: str | None = None) -> str:
    """Run a command with the configuration of a stack, in this process."""
    try:
        return cli(new_app(stack.environ), *arguments, stdin=stdin)
    finally:
        database.close()


class RemoteOrganizer:
    """A tenant that was created through the CLI. It uses HTTP.

    It can sell at once, unless its wallet is an `address` on the chains of `chain_ids`: then a
    worker must have proved receivers before the first order. If `address` is None, it
    has no wallet. `by` runs a command of the stack.
    """

    def __init__(
        self,
        stack: Stack,
        slug: str,
        *,
        address: str | None = "new",
        chain_ids: Sequence[int] = (CHAIN,),
        by: Callable[..., str] = in_process,
    ) -> None:
        chains = ",".join(map(str, chain_ids))
        is_named = address not in ("new", None)
        wallet = ("--address", address, "--chains", chains) if is_named else ()
        made = json.loads(by(stack, "tenants", "create", slug, "--name", slug, *wallet, "--json"))
        if address == "new":
            give_wallet(made["id"], new_app(stack.environ).extensions["ticketing"].chains)
            database.close()
        self.headers = {"X-API-Key": made["key"]}
        self.client = Client(stack.url)
        self.path = f"/v1/admin/tenants/{slug}"
        self.checkout = f"/v1/checkout/tenants/{slug}"
        self.public = f"/v1/public/tenants/{slug}"

    def move_to(self, stack: Stack) -> None:
        """Use another server from now on, with the same key."""
        self.client = Client(stack.url)

    def send(self, method: str, path: str, body: Any = None) -> Answer:
        return self.client.send(method, path, body, self.headers)

    def ticket(self, event: Mapping[str, Any] | None = None, **fields: Any) -> Any:
        """Create a published ticket type of a new published event, which has the fields `event`."""
        of_event = {**event_body(), "status": "published", **(event or {})}
        made = self.send("POST", f"{self.path}/events", of_event)
        body = {**ticket_body(), "status": "published", **fields}
        if "chain_ids" in fields:
            del body["chain_id"]
        return self.send("POST", f"{self.path}/events/{made.json['id']}/tickets", body).json

    def read(self, ticket: Any) -> Any:
        """Return the current ticket type."""
        path = f"{self.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
        return self.send("GET", path).json

    def preflight(self, ticket: Any, **fields: Any) -> Answer:
        body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], **fields}
        return self.client.send("POST", f"{self.checkout}/preflight", body)

    def intent(self, intent: Any) -> Any:
        """Return the current intent."""
        return self.send("GET", f"{self.path}/intents/{intent['id']}").json

    def purchase(self, intent: Any) -> Answer:
        headers = {"Authorization": f"Bearer {intent['client_secret']}"}
        path = f"{self.checkout}/intents/{intent['id']}/purchase"
        return self.client.send("POST", path, headers=headers)

    def ready(self) -> Any:
        return self.client.send("GET", "/readyz").json
