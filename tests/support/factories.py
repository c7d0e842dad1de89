"""Tenants, credentials, events and payments for tests, created through the API and the CLI."""

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.wallets import give_wallet
from tools import anvil
from tools.stack import ROOT

CHAIN = 31337
PRICE = 5_000_000


@dataclass
class Api:
    """A test client that sends the same headers with each request."""

    client: FlaskClient
    headers: dict[str, str] | None = None

    def get(self, path: str, **options: Any) -> TestResponse:
        return self._send("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> TestResponse:
        return self._send("POST", path, json=body, **options)

    def patch(self, path: str, body: Any, **options: Any) -> TestResponse:
        return self._send("PATCH", path, json=body, **options)

    def put(self, path: str, body: Any, **options: Any) -> TestResponse:
        return self._send("PUT", path, json=body, **options)

    def delete(self, path: str, **options: Any) -> TestResponse:
        return self._send("DELETE", path, **options)

    def _send(self, method: str, path: str, **options: Any) -> TestResponse:
        headers = {**(self.headers or {}), **options.pop("headers", {})}
        if options.get("json") is None:
            options.pop("json", None)
        return self.client.open(path, method=method, headers=headers, **options)


@dataclass
class Organizer:
    """A tenant and the actions of its people."""

    app: Flask
    slug: str
    id: str
    admin_key: str

    @property
    def path(self) -> str:
        return f"/v1/admin/tenants/{self.slug}"

    @property
    def public(self) -> str:
        return f"/v1/public/tenants/{self.slug}"

    @property
    def checkout(self) -> str:
        return f"/v1/checkout/tenants/{self.slug}"

    def api(self, role: str = "admin") -> Api:
        """Return a client with a JWT of this role."""
        token = Api(self.app.test_client()).post("/v1/auth/token", {"api_key": self.key(role)})
        return self.with_headers({"Authorization": f"Bearer {token.json['access_token']}"})

    def key(self, role: str) -> str:
        """Return the plaintext of a new key of this role."""
        if role == "admin":
            return self.admin_key
        made = cli(self.app, "keys", "create", self.slug, "--name", role, "--role", role, "--json")
        return json.loads(made)["key"]

    def with_headers(self, headers: dict[str, str]) -> Api:
        return Api(self.app.test_client(), headers)

    def event(self, **fields: Any) -> dict[str, Any]:
        """Create an event, published by default."""
        body = {**event_body(), "status": "published", **fields}
        made = self._key_api().post(f"{self.path}/events", body)
        assert made.status_code == 201, made.json
        return made.json

    def ticket(self, event: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
        """Create a ticket type, published by default, by default of a new event."""
        event = event or self.event()
        body = {**ticket_body(), "status": "published", **fields}
        if "chain_ids" in fields:
            del body["chain_id"]
        made = self._key_api().post(f"{self.path}/events/{event['id']}/tickets", body)
        assert made.status_code == 201, made.json
        return made.json

    def stock(self, ticket: dict[str, Any]) -> tuple[int, int]:
        """Return how many of a ticket type are held and sold."""
        path = f"{self.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
        now = self._key_api().get(path).json
        return now["held"], now["sold"]

    def preflight(self, ticket: dict[str, Any], **fields: Any) -> TestResponse:
        """Send a preflight for this ticket type, and return the response."""
        body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], **fields}
        return Api(self.app.test_client()).post(f"{self.checkout}/preflight", body)

    def buyer(self, ticket: dict[str, Any], **fields: Any) -> "Buyer":
        """Return a buyer after a successful preflight."""
        answer = self.preflight(ticket, **fields)
        assert answer.status_code == 201, answer.json
        return Buyer(self, answer.json)

    def _key_api(self) -> Api:
        return self.with_headers({"X-API-Key": self.admin_key})


@dataclass
class Buyer:
    """A buyer with an intent."""

    organizer: Organizer
    intent: dict[str, Any]

    @property
    def path(self) -> str:
        return f"{self.organizer.checkout}/intents/{self.intent['id']}"

    @property
    def api(self) -> Api:
        secret = self.intent["client_secret"]
        return self.organizer.with_headers({"Authorization": f"Bearer {secret}"})

    def now(self) -> dict[str, Any]:
        """Return the current intent."""
        return self.api.get(self.path).json

    def purchase(self) -> TestResponse:
        return self.api.post(f"{self.path}/purchase")

    def cancel(self) -> TestResponse:
        return self.api.post(f"{self.path}/cancel")

    def pay(self, node: anvil.Anvil, atomic_amount: int | None = None) -> str:
        """Pay on the chain, by default the full amount. Return the transaction's hash."""
        if atomic_amount is None:
            atomic_amount = self.intent["atomic_amount"]
        token, address = self.intent["token_address"], self.intent["address"]
        return anvil.transfer(node.rpc, token, address, atomic_amount)["transactionHash"]


def new_organizer(app: Flask, slug: str, *, address: str | None = "new") -> Organizer:
    """Create a tenant through the CLI, by default with a wallet that can sell at once.

    `address`: a wallet of this address on the local chain instead, which the nodes are asked about.
    If it is None, the tenant has no wallet.
    """
    arguments = ["tenants", "create", slug, "--name", slug.title(), "--json"]
    if address not in ("new", None):
        arguments += ["--address", address, "--chains", str(CHAIN)]
    made = json.loads(cli(app, *arguments))
    if address == "new":
        give_wallet(made["id"], app.extensions["ticketing"].chains)
    return Organizer(app, slug, made["id"], made["key"])


def cli(app: Flask, *arguments: str, stdin: str | None = None, exit_code: int = 0) -> str:
    """Run a command of the application and return what it prints."""
    done = app.test_cli_runner().invoke(args=list(arguments), input=stdin)
    assert done.exit_code == exit_code, (done.output, done.exception)
    return done.output


def run(
    environ: dict[str, str], module: str, *arguments: str | bytes, stdin: str | bytes = b""
) -> subprocess.CompletedProcess[str]:
    """Run `python -m module arguments` in a process with only this environment."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env={"FLASK_SKIP_DOTENV": "1", **environ},
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        check=False,
    )
    out, err = (output.decode(errors="replace") for output in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def worker_once(app: Flask) -> str:
    """Run one look of the worker at every chain."""
    return cli(app, "worker", "--once")


def event_body() -> dict[str, Any]:
    return {
        "title": "Launch Night",
        "type": "in_person",
        "venue": "Main Hall",
        "start_at": in_days(30),
        "timezone": "Europe/Berlin",
    }


def ticket_body() -> dict[str, Any]:
    return {"name": "General admission", "price_amount": PRICE, "chain_id": CHAIN, "capacity": 10}


def in_days(days: float) -> str:
    """Return the moment in this many days, in the API's format."""
    return written(datetime.now(UTC).replace(microsecond=0) + timedelta(days=days))


def written(moment: datetime) -> str:
    """Return a moment in UTC in the API's format."""
    return moment.isoformat().replace("+00:00", "Z")


def statuses(answers: Iterable[TestResponse]) -> list[int]:
    """The status of each response."""
    return [answer.status_code for answer in answers]
