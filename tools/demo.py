"""`make demo`: sell one ticket on a real chain, step by step, from an empty database.

Exits with 1 if the result of a step is not as specified.
"""

import argparse
import json
import secrets
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from queue import Empty

from tools import ToolMissing, anvil
from tools.demo_buyer import BUYER, buy
from tools.demo_organizer import TENANT, look_behind, open_shop, publish
from tools.demo_steps import Demo, NotAsSpecified, require
from tools.mail_catcher import MailCatcher
from tools.receiver import Receiver
from tools.stack import Stack, StackFailed, free_port

CONFIRMATIONS = 2
DELIVER_SECONDS = 30


def main() -> None:
    """Sell one ticket."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", help="instead of a new SQLite file; must be empty")
    arguments = parser.parse_args()
    start = time.monotonic()
    try:
        with ExitStack() as running:
            _sell(running, arguments.database_url)
    except (NotAsSpecified, StackFailed, ToolMissing, RuntimeError) as error:
        sys.exit(f"\nmake demo: {error}")
    print(f"\nsold one ticket in {time.monotonic() - start:.1f} s, with the start of the processes")


def _sell(running: ExitStack, database_url: str | None) -> None:
    folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="ticketing-demo-")))
    node = running.enter_context(anvil.Anvil(block_time=1))
    anvil.ensure_token(node.rpc)
    port, mail_port = free_port(), free_port()
    mails = running.enter_context(MailCatcher(mail_port, folder / "mails", _ignore))
    receiver = running.enter_context(Receiver(0, _ignore))
    variables = {
        "DATABASE_URL": database_url or f"sqlite:///{folder}/demo.db",
        "SECRET_KEY": secrets.token_urlsafe(48),
        "PORT": str(port),
        "PUBLIC_URL": f"http://127.0.0.1:{port}",
        "SMTP_URL": f"smtp://127.0.0.1:{mail_port}",
        "MAIL_FROM": "tickets@example.org",
        "WEBHOOK_ALLOW": "127.0.0.0/8",
        "RPC_URL_31337": node.url,
        "CONFIRMATIONS_31337": str(CONFIRMATIONS),
        "POLL_SECONDS": "0.2",
    }
    stack = running.enter_context(Stack(variables, log=folder / "log"))
    stack.flask("db", "upgrade")
    stack.start_web()
    stack.start_worker()
    made = stack.flask(
        "tenants", "create", TENANT, "--name", "Demo", "--xpub", anvil.SELLER_XPUB, "--json"
    )
    demo = Demo(stack)
    token = open_shop(demo, json.loads(made)["key"], receiver)
    event_id, ticket_id = publish(demo, token)
    intent_id = buy(demo, node, event_id, ticket_id)
    look_behind(demo, token, event_id, ticket_id)
    _what_was_sent(receiver, mails, intent_id)


def _ignore(_: str) -> None:
    """Print nothing: the steps show it."""


def _what_was_sent(receiver: Receiver, mails: MailCatcher, intent_id: str) -> None:
    try:
        webhook = receiver.verified.get(timeout=DELIVER_SECONDS)
        mail = mails.caught.get(timeout=DELIVER_SECONDS)
    except Empty:
        raise NotAsSpecified("no webhook, or no mail, was sent") from None
    print(f"\nthe webhook that the organizer's receiver verified\n  < {json.dumps(webhook)}")
    require(webhook["type"] == "intent.confirmed", "the webhook has another type")
    require(webhook["data"]["intent_id"] == intent_id, "the webhook is about another order")
    print(f"\nthe mail that the buyer got\n  < {mail.subject}")
    for link in mail.links:
        print(f"  < {link}")
    require(mail.recipients == [BUYER], "the mail went to somebody else")


if __name__ == "__main__":
    main()
