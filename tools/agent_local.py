"""`make agent`: let an agent with the stock x402 client buy a ticket of the demo tenant.

`make run` must run in another terminal. Exits with 1 if the agent gets no ticket.
"""

import json
import os
import sys

from dotenv import dotenv_values

from tools import ToolMissing, agent, anvil
from tools.run import DEMO_FILE, ENV_FILE, TENANT

LIMIT = 10_000_000
ASSETS = [
    {
        "network": f"eip155:{chain_id}",
        "asset": anvil.TOKEN_ADDRESS,
        "maxAmountPerPayment": str(LIMIT),
    }
    for chain_id in anvil.CHAIN_IDS
]
"""The test token, at most 10 of it. The client knows the real USDC only."""


def main() -> None:
    """Buy, and print the ticket."""
    port = {**dotenv_values(ENV_FILE), **os.environ}.get("PORT")
    if port is None or not DEMO_FILE.exists():
        sys.exit("make agent: run 'make run' first, in another terminal")
    ticket_id = json.loads(DEMO_FILE.read_text())["ticket_id"]
    path = f"/v1/x402/tenants/{TENANT}/tickets/{ticket_id}/orders"
    print(f"the agent sends POST {path}, with a spend limit of 10 test USDC", flush=True)
    try:
        bought = agent.buy(f"http://127.0.0.1:{port}{path}", agent.KEY, assets=ASSETS)
    except (agent.AgentRefused, ToolMissing) as error:
        sys.exit(f"make agent: {error}")
    body = bought["body"]
    if bought["status"] not in (200, 202):
        sys.exit(f"make agent: the service answers {bought['status']}: {body['detail']}")
    print(f"order {body['id']} is {body['status']}")
    for admission in body["admissions"]:
        print(f"ticket {admission['id']}, code {admission['code']}")


if __name__ == "__main__":
    main()
