"""`make payback`: on the chains of `make run` only, pay back what the demo tenant owes to buyers.

It does what the organizer's browser does: it asks the service for the list of the wallet's owner,
and that account signs it. The local nodes have the keys of their accounts.

Exit code 0: nothing of what can be paid is left. 3: something is left, and the output says why.
1: an error.
"""

import json
import os
import sys
import time
from typing import Any

import urllib3
from dotenv import dotenv_values

from ticketing import formats
from ticketing.chain.errors import RpcError, RpcSilent
from ticketing.chain.rpc import RpcClient
from ticketing.constants import CURRENCY, PayoutReason
from tools import anvil
from tools.json_client import Client
from tools.run import DEMO_FILE, ENV_FILE, TENANT

SOMETHING_LEFT = 3
BOOKED_SECONDS = 60
_OTHERS_DECIDE = {PayoutReason.NO_PAYEE, PayoutReason.WAITS_UNTIL, PayoutReason.NOT_FINAL}
"""What waits for the buyer, or for the chain."""

_ADMIN = f"/v1/admin/tenants/{TENANT}"


class Refused(Exception):
    """It cannot be done. The message says why."""


class Demo:
    """The demo tenant, and its running service."""

    def __init__(self) -> None:
        """Find them. Refused if `make run` was never started."""
        settings = {**dotenv_values(ENV_FILE), **os.environ}
        rpc_urls = {chain_id: settings.get(f"RPC_URL_{chain_id}") for chain_id in anvil.CHAIN_IDS}
        port = settings.get("PORT")
        if port is None or not all(rpc_urls.values()) or not DEMO_FILE.exists():
            raise Refused("run 'make run' first, in another terminal")
        self._headers = {"X-API-Key": json.loads(DEMO_FILE.read_text())["key"]}
        self._client = Client(f"http://127.0.0.1:{port}")
        self.chains = [LocalChain(chain_id, str(url)) for chain_id, url in rpc_urls.items()]

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request of the tenant's administrator. Refused if the service does not."""
        answer = self._client.send(method, _ADMIN + path, body, self._headers)
        if answer.status != 200:
            raise Refused(f"the service answers: {answer.json['detail']}")
        return answer.json

    def owner(self) -> str:
        """Return the address of the wallet. Refused."""
        return str(self.send("GET", "/wallet")["address"])


class LocalChain:
    """One of the local chains."""

    def __init__(self, chain_id: int, rpc_url: str) -> None:
        self.chain_id = chain_id
        self._node = RpcClient((rpc_url,))

    def rpc(self, method: str, *params: Any) -> Any:
        """Call a method of the node. RpcError."""
        (result,) = self._node.batch([(method, list(params))])
        return result

    def account(self, address: str) -> int:
        """Return the place of an address among the node's accounts. Refused."""
        served = int(self.rpc("eth_chainId"), 16)
        if served != self.chain_id:
            raise Refused(f"this is chain {served}, not the local one")
        accounts = [account.lower() for account in self.rpc("eth_accounts")]
        if address.lower() not in accounts:
            raise Refused(f"{address} is not an account of the local chain: pay in the console")
        return accounts.index(address.lower())


def pay_back(demo: Demo) -> bool:
    """Pay what is owed, and wait until it is booked. Return whether nothing is left.

    Refused; RpcError; RuntimeError if a transaction fails.
    """
    owner = demo.owner()
    lists = [_pay_back_on(chain, demo, owner) for chain in demo.chains]
    parts = ("payments", "blocked", "listed_for_another")
    if not any(due[part] for due in lists for part in parts):
        print("nothing to pay back: nobody is owed anything")
    are_complete = [_say_what_is_left(due) for due in lists]
    return all(are_complete)


def _pay_back_on(chain: LocalChain, demo: Demo, owner: str) -> Any:
    """Pay what is owed on one chain, and wait until it is booked. Return the list of it."""
    account = chain.account(owner)
    due = demo.send(
        "POST", "/payouts", {"chain_id": chain.chain_id, "payer": owner, "accept_unwitnessed": True}
    )
    for each in due["transactions"]:
        print(f"{each['purpose']}: signed by {owner}", flush=True)
        anvil.send(chain.rpc, account, {"to": each["to"], "data": each["data"]})
    for each in due["payments"]:
        amount = formats.amount(each["amount"], CURRENCY)
        print(f"paid {amount} to {each['to']} for {each['intent_id']}")
    if due["payments"]:
        _wait_for_the_books(demo, [each["intent_id"] for each in due["payments"]])
    return due


def _wait_for_the_books(demo: Demo, intent_ids: list[str]) -> None:
    deadline = time.monotonic() + BOOKED_SECONDS
    for intent_id in intent_ids:
        while demo.send("GET", f"/intents/{intent_id}")["refund_due"]:
            if time.monotonic() > deadline:
                raise Refused("paid, but the worker has not booked it yet: see var/log")
            time.sleep(0.5)
    print("the books have it: nothing is due for these orders any more")


def _say_what_is_left(due: Any) -> bool:
    """Print what was not paid. Return whether this account could pay none of it now."""
    for each in due["blocked"]:
        until = f" {each['until']}" if each["until"] else ""
        print(f"left: {each['intent_id']}, {each['reason']}{until}")
    for each in due["listed_for_another"]:
        print(f"left: {each['intent_id']}, on the list of {each['payer']} until {each['until']}")
    reasons = {each["reason"] for each in due["blocked"]}
    if PayoutReason.BEYOND_BALANCE in reasons:
        has = formats.amount(due["balance"], CURRENCY)
        print(f"{due['payer']} had {has}: run 'make collect' first")
    if due["left"]["orders"]:
        print(f"left: {due['left']['orders']} more orders. Run it again")
    return not (reasons - _OTHERS_DECIDE or due["listed_for_another"] or due["left"]["orders"])


def main() -> None:
    """Pay back, or exit with the reason."""
    try:
        is_complete = pay_back(Demo())
    except (urllib3.exceptions.HTTPError, RpcSilent):
        sys.exit("make payback: nothing answers. Is 'make run' running?")
    except (Refused, RpcError, RuntimeError) as error:
        sys.exit(f"make payback: {error}")
    if not is_complete:
        sys.exit(SOMETHING_LEFT)


if __name__ == "__main__":
    main()
