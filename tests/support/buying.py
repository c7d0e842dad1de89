"""A buyer in a real browser, and a wallet in it that sends by the local chain."""

import re
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page, expect

from tests.support.factories import PRICE
from tests.support.remote import PATIENCE_SECONDS, RemoteOrganizer
from tools import anvil

PATIENCE = PATIENCE_SECONDS * 1000

WALLET = """
globalThis.wallet = { chain: "0x1", asked: [], refuses: {} };
const provider = { request: async ({ method, params }) => {
  wallet.asked.push(method);
  if (wallet.refuses[method]) throw wallet.refuses[method];
  if (method === "eth_requestAccounts") return ["BUYER"];
  if (method === "eth_chainId") return wallet.chain;
  if (method === "wallet_switchEthereumChain") { wallet.chain = params[0].chainId; return null; }
  return askNode(method, params);
} };
const uuid = "350670db-19fa-4704-a166-e52e178b59d2";
const info = { uuid, name: "<b>Stub</b>", rdns: "org.stub" };
addEventListener("eip6963:requestProvider", () => dispatchEvent(
  new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) })));
""".replace("BUYER", anvil.BUYER)
"""A wallet as EIP-6963 describes it, on Ethereum at first. `wallet.refuses` has its errors."""


_TITLES = dict.fromkeys(("Paid", "Done"), "You\u2019re in.")
"""Where the title of the page says more than its state."""


@dataclass(frozen=True)
class Order:
    """An order in a browser's tab."""

    page: Page
    node: anvil.Anvil
    remote: RemoteOrganizer

    @property
    def path(self) -> str:
        """The path of its page."""
        found = re.match(r"https?://[^/]+(/o/[^/#?]+)", self.page.url)
        assert found, self.page.url
        return found[1]

    @property
    def id(self) -> str:
        return self.path.removeprefix("/o/").partition(".")[0]

    def now(self) -> Any:
        """The order as the organizer reads it."""
        return self.remote.intent({"id": self.id})

    def pay(self, atomic_amount: int = PRICE) -> str:
        """Pay the address that the page shows, by hand. Return the transaction's hash."""
        address = self.page.locator("#copy-address").get_attribute("data-copy")
        assert address
        sent = anvil.transfer(self.node.rpc, anvil.TOKEN_ADDRESS, address, atomic_amount)
        return str(sent["transactionHash"])

    def says(self, status: str) -> None:
        """Wait until the page says that it is in this state, in its title too."""
        expect(self.page.get_by_role("status")).to_have_text(status, timeout=PATIENCE)
        title = _TITLES.get(status, status)
        expect(self.page).to_have_title(re.compile(f"^{re.escape(title)} "), timeout=PATIENCE)


def event_path(remote: RemoteOrganizer, ticket: Any) -> str:
    """The path of the page of a ticket type's event."""
    event = remote.send("GET", f"{remote.path}/events/{ticket['event_id']}").json
    return f"/{remote.path.rpartition('/')[2]}/{event['slug']}"


def order(page: Page, node: anvil.Anvil, remote: RemoteOrganizer, **fields: Any) -> Order:
    """Order a ticket of a new event, on its page."""
    # On a machine that is busy with tests, a waiting room could open by itself.
    ticket = remote.ticket({"waiting_room": "off"}, **fields)
    page.goto(event_path(remote, ticket))
    page.get_by_role("button", name="Order").click()
    page.wait_for_url("**/o/*")
    return Order(page, node, remote)


def with_wallet(page: Page, node: anvil.Anvil) -> None:
    """Let the wallet in this tab use the local chain. Call it before the first page."""
    page.expose_function("askNode", lambda method, params: node.rpc(method, *params))


def balance(node: anvil.Anvil, address: str) -> int:
    """How many of the token's units an address has."""
    question = {"to": anvil.TOKEN_ADDRESS, "data": f"0x70a08231{address[2:].lower():0>64}"}
    return int(node.rpc("eth_call", question, "latest"), 16)
