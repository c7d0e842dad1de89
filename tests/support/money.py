"""An organizer with an ordinary address, in the console of a real browser, and their buyers."""

from itertools import count
from typing import Any

from playwright.sync_api import Page, expect

from tests.support.browser import Visits
from tests.support.console import PASSWORD
from tests.support.factories import CHAIN
from tests.support.injected_wallet import InjectedWallet
from tests.support.processes import Service
from tests.support.refunds import account
from tests.support.remote import RemoteOrganizer, eventually, in_process
from ticketing.chain.address import checksum
from tools import anvil
from tools.headless import DESKTOP

OWNER, OTHER = 6, 8
"""The node's accounts: the organizer's wallet, and another one that signs."""

FRIENDS = (
    "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
    "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
)
AT_ONCE = {
    "REFUND_CHANGE_HOURS": "0",
    "SMTP_URL": "smtp://127.0.0.1:9",
    "MAIL_FROM": "tickets@example.org",
}
"""Variables with which a buyer's statement counts at once, without a caution."""

_slugs = count(1)


def grow(node: anvil.Anvil) -> None:
    """Let the chain grow by a block that is later than all before."""
    node.rpc("evm_increaseTime", 2)
    node.rpc("anvil_mine", "0x1")


class Shop:
    """An organizer whose orders can be collected and paid back. The worker runs."""

    def __init__(self, stack: Service, node: anvil.Anvil, visit: Visits) -> None:
        self.stack, self.node, self._visit = stack, node, visit
        self.owner = checksum(account(node, OWNER))
        stack.start_worker()
        self.slug = f"venue-{next(_slugs)}"
        self.remote = RemoteOrganizer(stack, self.slug, address=self.owner)
        stack.wait_for_receivers(CHAIN)
        self._members = 0

    def orders(self, number: int, *, surplus: int = 0, names: Any = ()) -> list[Any]:
        """Sell tickets, and wait until they are paid. `surplus`: what each pays too much."""
        ticket = self.remote.ticket(capacity=1000)
        made = []
        for at in range(number):
            buyer = {"email": f"guest-{at}@example.org"}
            if at < len(names):
                buyer["name"] = names[at]
            made.append(self.remote.preflight(ticket, buyer=buyer).json)
        for each in made:
            paid = each["amount"] + surplus
            anvil.transfer(self.node.rpc, anvil.TOKEN_ADDRESS, each["address"], paid)
        for each in made:
            self.until(each, lambda it: it["status"] == "confirmed" and not it["refund_pending"])
        return made

    def owed(self, number: int, surplus: int, names: Any = ()) -> list[Any]:
        """Orders that paid too much and want it back, each at its own address."""
        made = self.orders(number, surplus=surplus, names=names)
        for each, address in zip(made, FRIENDS, strict=False):
            path = f"{self.remote.checkout}/intents/{each['id']}/refund-address"
            headers = {"Authorization": f"Bearer {each['client_secret']}"}
            answer = self.remote.client.send("POST", path, {"address": address}, headers)
            assert answer.status == 200, answer.json
        return made

    def until(self, intent: Any, holds: Any) -> None:
        """Wait until an order is so."""
        eventually(lambda: holds(self.remote.intent(intent)))

    def fund(self, amount: int, index: int = OWNER) -> None:
        """Give an account tokens."""
        anvil.mint(self.node.rpc, anvil.TOKEN_ADDRESS, account(self.node, index), amount)

    def balance(self, address: str) -> int:
        """How many of the token's units an address has."""
        return anvil.balance(self.node.rpc, anvil.TOKEN_ADDRESS, address)

    def wallet(self, index: int = OWNER, **options: Any) -> InjectedWallet:
        """A wallet of one account."""
        return InjectedWallet([account(self.node, index)], {CHAIN: self.node}, **options)

    def console(self, *wallets: InjectedWallet, role: str = "admin", **options: Any) -> Page:
        """Sign a new member in, in a new browser with these wallets."""
        self._members += 1
        email = f"member-{self._members}@example.org"
        member = ("members", "add", self.slug, email, "--role", role, "--password-stdin")
        in_process(self.stack, *member, stdin=f"{PASSWORD}\n")
        script = "\n".join(f"(() => {{ {each.script} }})();" for each in wallets)
        page = self._visit(self.stack.url, script=script, **(options or DESKTOP))
        for each in wallets:
            each.connect(page)
        page.goto("/console/sign-in?next=/console/money")
        page.get_by_label("Email").fill(email)
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Your money")).to_be_visible()
        return page
