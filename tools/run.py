"""`make run`: run everything on this machine until Ctrl-C.

That is two chains, the database, the web server, the worker, a mail server that only prints, a
receiver of webhooks and, if its packages are installed, an x402 facilitator for each chain.

`make run HOST=192.168.1.20`, an address of this machine, serves phones in its network, too.
Everybody in that network can open the pages.
"""

import fcntl
import json
import os
import secrets
import signal
import sys
import threading
from argparse import ArgumentParser
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from dotenv import dotenv_values

from tools import ToolMissing, anvil, local_facilitator
from tools.json_client import Client
from tools.mail_catcher import MailCatcher
from tools.receiver import Receiver
from tools.sample_picture import sample_picture
from tools.stack import ROOT, Stack, StackFailed, free_port, is_free

ENV_FILE = ROOT / ".env"
VAR = ROOT / "var"
LOCK_FILE = VAR / "lock"
DEMO_FILE = VAR / "demo.json"
CHAIN_STATES = VAR / "chains"
LOG_FILE = VAR / "log"
MAILS = VAR / "mails"
TENANT = "demo"
WALLET = ("--address", anvil.SELLER, "--chains", ",".join(map(str, anvil.CHAIN_IDS)))
BLOCK_SECONDS = 2
SAVE_SECONDS = 2

HELP = """\
ticketing is running. Press Ctrl-C to stop. The data is in var/, the log in var/log.

  Buy a ticket in your browser:   {page}
  Organize in your browser:       {console}

  API        {url}   (documentation: {url}/docs)
  chain      {rpc_url}   (31337, local; the demo wallet has test USDC)
             {second_rpc_url}   (31338, a second one)
  tenant     demo
  admin key  {key}
  wallet     {wallet}   (the organizer's; an account of the local chain)

Mails and webhooks are printed below: nothing leaves this machine.
Or buy it with curl, in another terminal, from this folder:

  curl -s {url}/v1/public/tenants/demo/events/{event_id}/tickets
  intent=$(curl -s {url}/v1/checkout/tenants/demo/preflight \\
    -H 'Content-Type: application/json' \\
    -d '{{"event_id": "{event_id}", "ticket_id": "{ticket_id}",
         "buyer": {{"email": "ada@example.org"}}}}'); echo "$intent"
  id=$(echo "$intent" | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')
  secret=$(echo "$intent" | sed 's/.*"client_secret":"\\([^"]*\\)".*/\\1/')
  .venv/bin/flask --app app dev pay $id
  curl -s -X POST {url}/v1/checkout/tenants/demo/intents/$id/purchase \\
    -H "Authorization: Bearer $secret"

See the order as its organizer:

  curl -s {url}/v1/admin/tenants/demo/intents/$id -H 'X-API-Key: {key}'

Move the money of paid orders to the organizer's wallet, and pay back what buyers are owed:

  make collect
  make payback

{agents}
To see the local chains in a browser wallet, add these networks to it:

  name      ticketing, local           ticketing, local 2
  RPC URL   {rpc_url}      {second_rpc_url}
  chain ID  31337                      31338
  currency  ETH                        ETH
  token     {token}   (test USDC, 6 decimals, on both)
"""


WITH_AGENTS = """\
Let an agent with the stock x402 client buy a ticket:

  make agent
"""

WITHOUT_AGENTS = """\
Agents can buy by x402 if a facilitator is installed: stop this, run 'make .venv/agent', and
start it again.
"""

IN_THE_NETWORK = """\
Phones in your network can open {page}, and the links of orders and tickets. The console stays on
this computer: a password would be readable on its way. The scanner needs https: browsers give the
camera to no other page.
"""


def main() -> None:
    """Start everything, print what to try, and wait for Ctrl-C."""
    arguments = ArgumentParser(prog="make run", description=__doc__)
    arguments.add_argument("--host", type=IPv4Address, help="an address of this machine")
    host = arguments.parse_args().host
    try:
        _run(None if host is None else str(host))
    except (ToolMissing, StackFailed, RuntimeError) as error:
        sys.exit(f"make run: {error}")


def _run(host: str | None) -> None:
    variables = _variables(host or "127.0.0.1")
    port = int(variables["PORT"])
    rpc_ports = {
        chain_id: urlsplit(variables[f"RPC_URL_{chain_id}"]).port or 8545
        for chain_id in anvil.CHAIN_IDS
    }
    with ExitStack() as running:
        _lock(running)
        _need(port, f"PORT={port + 1}")
        if host and not is_free(port, host):
            raise StackFailed(f"nothing can listen on {host}:{port}: is it this machine's address?")
        for chain_id, rpc_port in rpc_ports.items():
            # Beyond the default ports of both.
            _need(rpc_port, f"RPC_URL_{chain_id}=http://127.0.0.1:{rpc_port + 2}")
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        _say("two local chains")
        nodes = _chains(running, rpc_ports)
        _say("the database, the web server, the worker")
        if "SMTP_URL" not in variables:
            variables |= _mail(running)
        has_agents = local_facilitator.is_installed()
        if has_agents:
            _say("an x402 facilitator for each chain")
            variables |= _facilitators(running, nodes)
        # Before the worker, so that it stops after it.
        receiver = running.enter_context(_receiver())
        stack = running.enter_context(Stack(variables, log=LOG_FILE, host=host))
        stack.flask("db", "upgrade")
        stack.start_web()
        demo = _demo(stack)
        _receive(receiver, stack, demo)
        stack.start_worker()
        # An order of a wallet that is an address needs it.
        for chain_id in nodes:
            stack.wait_for_receivers(chain_id)
        stack.wait_for_facilitators()
        page = f"{variables['PUBLIC_URL']}/{TENANT}/{demo['slug']}"
        console = f"{stack.url}/console"
        if not _is_managed(stack):
            console = _invitation(stack).replace(variables["PUBLIC_URL"], stack.url)
        told = {"url": stack.url, "page": page, "console": console, **demo}
        told |= {"wallet": anvil.SELLER, "token": anvil.TOKEN_ADDRESS}
        told["agents"] = WITH_AGENTS if has_agents else WITHOUT_AGENTS
        told["rpc_url"], told["second_rpc_url"] = (node.url for node in nodes.values())
        print(HELP.format(**told), flush=True)
        if host:
            print(IN_THE_NETWORK.format(**told), flush=True)
        while not stop.wait(SAVE_SECONDS):
            stack.check()
            for chain_id, node in nodes.items():
                if not node.alive:
                    raise StackFailed(f"the local chain {chain_id} has stopped")
                node.save()
        print("\nending", flush=True)


def _chains(running: ExitStack, ports: Mapping[int, int]) -> dict[int, anvil.Anvil]:
    """Start the local chains, with the token and a funded buyer on each."""
    CHAIN_STATES.mkdir(exist_ok=True)
    nodes = {}
    for chain_id, port in ports.items():
        state = CHAIN_STATES / f"{chain_id}.json"
        nodes[chain_id] = running.enter_context(
            anvil.Anvil(port=port, chain_id=chain_id, block_time=BLOCK_SECONDS, state=state)
        )
        anvil.ensure_token(nodes[chain_id].rpc)
    return nodes


def _facilitators(running: ExitStack, nodes: Mapping[int, anvil.Anvil]) -> dict[str, str]:
    """Start a facilitator for each chain. Return the configuration that uses them."""
    found = {}
    for chain_id, node in nodes.items():
        token = secrets.token_urlsafe(24)
        found[f"X402_FACILITATOR_URL_{chain_id}"] = local_facilitator.start(
            running, node.url, token
        )
        found[f"X402_FACILITATOR_TOKEN_{chain_id}"] = token
    return found


def _lock(running: ExitStack) -> None:
    """Lock var/, because two local chains must not share one database."""
    VAR.mkdir(exist_ok=True)
    lock = running.enter_context(LOCK_FILE.open("w"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StackFailed("it is already running in this folder") from None


def _need(port: int, instead: str) -> None:
    if not is_free(port):
        # The setting must be in .env: later `flask` commands read it from there.
        raise StackFailed(
            f"port {port} is in use: stop the other program, or put {instead} into {ENV_FILE.name}"
        )


def _say(what: str) -> None:
    print(f"starting {what}", flush=True)


def _variables(host: str) -> dict[str, str]:
    """Return the variables of the environment and of .env. The first run completes .env."""
    needed = {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "RPC_URL_31337": "http://127.0.0.1:8545",
        "RPC_URL_31338": "http://127.0.0.1:8546",
        "PORT": "8000",
    }
    ENV_FILE.touch(mode=0o600)
    written = dotenv_values(ENV_FILE)
    missing = [f"{name}={value}\n" for name, value in needed.items() if not written.get(name)]
    if missing:
        ends_a_line = ENV_FILE.read_text()[-1:] in ("", "\n")
        with ENV_FILE.open("a") as file:
            file.write("".join(missing) if ends_a_line else "\n" + "".join(missing))
    kept = {name: value for name, value in dotenv_values(ENV_FILE).items() if value is not None}
    found = {**kept, **{name: os.environ[name] for name in kept if name in os.environ}}
    public_url = f"http://{host}:{found['PORT']}"
    return {"PUBLIC_URL": public_url, "WEBHOOK_ALLOW": "127.0.0.0/8", **found}


def _mail(running: ExitStack) -> dict[str, str]:
    """Start a mail server that prints. Return the configuration that uses it."""
    port = free_port()
    running.enter_context(MailCatcher(port, MAILS, _show))
    return {"SMTP_URL": f"smtp://127.0.0.1:{port}", "MAIL_FROM": "tickets@example.org"}


def _receiver() -> Receiver:
    """Start a receiver of webhooks, at the port of the last run if it is free."""
    port = int(_kept().get("receiver_port", 0))
    return Receiver(port if port and is_free(port) else 0, _show)


def _receive(receiver: Receiver, stack: Stack, demo: dict[str, str]) -> None:
    """Let the demo tenant's webhooks go to the receiver.

    The endpoint of the last run, with its secret, is in `demo`. It is made again if it is gone, or
    if the receiver has another port now.
    """
    client, headers = Client(stack.url), {"X-API-Key": demo["key"]}
    endpoints = f"/v1/admin/tenants/{TENANT}/webhooks"
    last = f"{endpoints}/{demo.get('webhook_id')}"
    found = client.send("GET", last, headers=headers)
    if found.status != 200 or found.json["url"] != receiver.url:
        client.send("DELETE", last, headers=headers)
        made = client.send("POST", endpoints, {"url": receiver.url, "types": ["*"]}, headers)
        if made.status != 201:
            _show(f"no webhooks: {made.json['detail']}")
            return
        demo["webhook_id"], demo["webhook_secret"] = made.json["id"], made.json["secret"]
        demo["receiver_port"] = str(urlsplit(receiver.url).port)
        _keep(demo)
    receiver.secret = demo["webhook_secret"]


def _show(text: str) -> None:
    print(f"{text}\n", flush=True)


def _demo(stack: Stack) -> dict[str, str]:
    """Return the demo tenant's admin key and published event. The first run creates them."""
    client = Client(stack.url)
    demo = _kept()
    admin = f"/v1/admin/tenants/{TENANT}"
    event = f"{admin}/events/{demo.get('event_id')}"
    if demo:
        last = client.send("GET", event, headers={"X-API-Key": demo["key"]})
        if last.status == 200:
            return {**demo, "slug": last.json["slug"]}
    demo = {"key": _admin_key(stack)}
    headers = {"X-API-Key": demo["key"]}
    made = client.send("POST", f"{admin}/events", _event(), headers)
    demo["event_id"], demo["slug"] = made.json["id"], made.json["slug"]
    event = f"{admin}/events/{demo['event_id']}"
    picture = headers | {"Content-Type": "image/jpeg"}
    client.send("PUT", f"{event}/image", sample_picture(), picture)
    demo["ticket_id"] = client.send("POST", f"{event}/tickets", _TICKET, headers).json["id"]
    _keep(demo)
    return demo


def _kept() -> dict[str, str]:
    """Return what is known of the demo tenant from the last run."""
    kept: dict[str, str] = json.loads(DEMO_FILE.read_text()) if DEMO_FILE.exists() else {}
    return kept


def _keep(demo: dict[str, str]) -> None:
    DEMO_FILE.touch(mode=0o600)
    DEMO_FILE.write_text(json.dumps(demo))


def _is_managed(stack: Stack) -> bool:
    """Return whether an administrator has a password, to sign in to the console."""
    return any(line.endswith("  admin  active") for line in _members(stack))


def _invitation(stack: Stack) -> str:
    """Return a new link at which the first administrator of the demo tenant sets a password."""
    invited = [line.split()[0] for line in _members(stack) if line.endswith("  admin  invited")]
    first = invited[0] if invited else "admin@example.org"
    return stack.flask("members", "invite", TENANT, first, "--role", "admin").strip()


def _members(stack: Stack) -> list[str]:
    return stack.flask("members", "list", TENANT).splitlines()


def _admin_key(stack: Stack) -> str:
    try:
        return stack.create_tenant(TENANT, "Demo", *WALLET)
    except StackFailed:
        made = stack.flask("keys", "create", TENANT, "--name", "demo", "--role", "admin", "--json")
        return str(json.loads(made)["key"])


def _event() -> dict[str, str]:
    start = datetime.now(UTC).replace(microsecond=0) + timedelta(days=30)
    return {
        "title": "Launch Night",
        "type": "online",
        "start_at": start.isoformat(),
        "timezone": _zone(),
        "online_join_url": "https://meet.example.org/launch",
        "status": "published",
    }


def _zone() -> str:
    """Return the IANA time zone of this machine, which the next event's form proposes. Or UTC."""
    _, _, name = str(Path("/etc/localtime").resolve()).partition("/zoneinfo/")
    return name if name in available_timezones() else "UTC"


_TICKET = {
    "name": "General admission",
    "price_amount": 5_000_000,
    "chain_ids": anvil.CHAIN_IDS,
    "capacity": 100,
    "status": "published",
}


if __name__ == "__main__":
    main()
