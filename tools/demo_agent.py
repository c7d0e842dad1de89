"""`make demo-agent`: an agent with a test wallet buys a ticket. It knows only where /llms.txt is.

Everything runs on this machine, on a copy of Base Sepolia. Exits with 1 if it gets no ticket.
"""

import json
import re
import secrets
import sys
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import urllib3

from tools import ToolMissing, agent, anvil, local_facilitator
from tools.json_client import Client
from tools.stack import StackFailed, new_stack

CHAIN = 84532
USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
PRICE = 5_000_000
_PATTERN = re.compile(r"/v1/x402/tenants/\{tenant\}/tickets/\{ticket_id\}/orders")


def main() -> None:
    """Start everything, and let the agent buy."""
    try:
        with ExitStack() as running:
            url, tenant = _open_shop(running)
            _buy(url, tenant)
    except (StackFailed, ToolMissing, agent.AgentRefused, RuntimeError) as error:
        sys.exit(f"\nmake demo-agent: {error}")


def put_usdc(node: anvil.Anvil, token: str = USDC) -> None:
    """Put the test token where a chain has USDC (Base Sepolia), and give tokens to the buyer."""
    code = node.rpc("eth_getCode", anvil.deploy_token(node.rpc), "latest")
    node.rpc("anvil_setCode", token, code)
    anvil.mint(node.rpc, token, anvil.BUYER, anvil.BUYER_TOKENS)


def _open_shop(running: ExitStack) -> tuple[str, str]:
    """Start the chain, the facilitator and the service with an event. Return URL and tenant."""
    node = running.enter_context(anvil.Anvil(chain_id=CHAIN, block_time=1))
    put_usdc(node)
    token = secrets.token_urlsafe(24)
    variables = {
        f"RPC_URL_{CHAIN}": node.url,
        f"CONFIRMATIONS_{CHAIN}": "1",
        f"X402_FACILITATOR_URL_{CHAIN}": local_facilitator.start(running, node.url, token),
        f"X402_FACILITATOR_TOKEN_{CHAIN}": token,
    }
    stack = new_stack(running, variables)
    stack.flask("worker", "--once")
    stack.start_web()
    stack.start_worker()
    stack.wait_for_receivers(CHAIN)
    stack.wait_for_facilitators()
    wallet = ("--address", anvil.SELLER, "--chains", str(CHAIN))
    key = stack.create_tenant("demo", "Demo", *wallet)
    _publish(Client(stack.url), {"X-API-Key": key})
    return stack.url, "demo"


def _publish(client: Client, headers: dict[str, str]) -> None:
    events = "/v1/admin/tenants/demo/events"
    start = (datetime.now(UTC) + timedelta(days=30)).isoformat(timespec="seconds")
    event = {"title": "Summer Concert", "type": "in_person", "venue": "Main Hall"}
    event |= {"start_at": start, "timezone": "Europe/Berlin", "status": "published"}
    made = client.send("POST", events, event, headers).json
    ticket = {"name": "Seat", "price_amount": PRICE, "chain_id": CHAIN, "capacity": 100}
    ticket["status"] = "published"
    client.send("POST", f"{events}/{made['id']}/tickets", ticket, headers)


def _buy(url: str, tenant: str) -> None:
    """Act as the agent. RuntimeError if it gets no ticket."""
    pattern = _read(f"{url}/llms.txt")
    client, public = Client(url), f"/v1/public/tenants/{tenant}/events"
    (event,) = _shown(client, public)["data"]
    (ticket,) = _shown(client, f"{public}/{event['id']}/tickets")["data"]
    path = pattern.replace("{tenant}", tenant).replace("{ticket_id}", ticket["id"])
    _shown(client, path)
    try:
        agent.buy(url + path, agent.KEY)
    except agent.AgentRefused as refusal:
        print(f"\nthe stock client with its default limit\n  {refusal}")
    print(f"\nthe stock client with a limit of $10\n  > POST {path}")
    bought = agent.buy(url + path, agent.KEY, limit="$10")
    print(f"  < {bought['status']} PAYMENT-RESPONSE {json.dumps(bought['receipt'])}")
    if bought["status"] != 200:
        raise RuntimeError(f"the agent got {bought['body']}")
    (admission,) = bought["body"]["admissions"]
    print(f"  < the ticket {admission['id']}, code {admission['code']}")


def _read(url: str) -> str:
    """Print /llms.txt, and return the pattern of the x402 path in it. RuntimeError."""
    print(f"the agent reads {url}")
    text = urllib3.request("GET", url).data.decode()
    print("\n".join(f"  < {line}" for line in text.splitlines()))
    found = _PATTERN.search(text)
    if found is None:
        raise RuntimeError(f"{url} does not say how to buy with x402")
    return found[0]


def _shown(client: Client, path: str) -> Any:
    answer = client.send("GET", path)
    print(f"\n  > GET {path}\n  < {answer.status} {json.dumps(answer.json)}")
    return answer.json


if __name__ == "__main__":
    main()
