"""`make screenshots`: write docs/screenshots/<name>-<width>.png of the pages, for phone and desk.

A page that hides forms has a second picture, <name>-forms-<width>.png, with all of them open.

The service, its database and its chain are new; nothing of this folder's data is shown.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Browser, Page, StorageState
from playwright.sync_api import Error as BrowserError

from tools import START_SECONDS, ToolMissing, anvil, headless
from tools import screenshots_states as states
from tools.screenshots_shop import CONFIRMATIONS, PRICE, TENANT, Order, Shop, is_confirmed
from tools.stack import ROOT, StackFailed, new_stack

FOLDER = ROOT / "docs" / "screenshots"
EMAIL = "ada@northernlights.example"


@dataclass(frozen=True)
class Shot:
    """One state of one page. `at` is its path, or brings the state about and returns it.

    A path may name attributes of the shop. `act` uses the page. `ends_orders`: it moves the chain's
    clock, so that orders expire.
    """

    name: str
    at: str | Callable[[Shop], str | Order]
    act: Callable[[Shop, Page], object] = lambda _shop, _page: None
    ends_orders: bool = False

    @property
    def is_signed_in(self) -> bool:
        """Whether it is a page of the console for members."""
        return self.name.startswith("console-")

    def open(self, shop: Shop) -> str:
        """Bring the state about, and return the URL."""
        found = self.at.format_map(vars(shop)) if isinstance(self.at, str) else self.at(shop)
        return urljoin(shop.stack.url, found.url if isinstance(found, Order) else found)


_EVENT = "/console/events/{event_id}"
_TYPE = f"{_EVENT}/tickets/{{ticket_id}}"

SHOTS = (
    Shot("console-first-steps", "/console"),  # before anything is sold
    Shot("tenant", f"/{TENANT}"),
    Shot("event", f"/{TENANT}/{{slug}}"),
    Shot("embed", f"/_e/{TENANT}/{{slug}}"),
    Shot("lost-links", f"/_f/{TENANT}"),
    Shot("not-found", f"/{TENANT}/none"),
    Shot("order-pay", lambda shop: shop.order(2)),
    Shot("order-somebody-else", lambda shop: shop.order(), states.somebody_else),
    Shot("payment-link", states.payment_link(lambda it: it.paid(PRICE, blocks=0), 2)),
    Shot("payment-link-paid", states.payment_link(lambda it: it.paid(PRICE, is_confirmed))),
    Shot("payment-link-ended", states.payment_link(lambda it: it.after("cancel"))),
    Shot("order-pay-exchange", lambda shop: states.exchange(shop.order(2))),
    Shot("order-underpaid", lambda shop: shop.order(2).paid(PRICE, blocks=0)),
    Shot("order-processing", lambda shop: shop.order().paid(PRICE, blocks=0)),
    Shot("order-confirmed", lambda shop: shop.confirmed(2)),
    Shot("order-ten-tickets", lambda shop: shop.confirmed(10)),
    Shot("order-print", lambda shop: f"{shop.confirmed(2).url}/print"),
    Shot("receipt", states.receipt),
    Shot("order-overpaid", lambda shop: shop.overpaid()),
    Shot("order-refund-stated", lambda shop: states.payee_stated(shop.overpaid())),
    Shot("order-refunded", states.refunded),
    Shot("order-canceled", lambda shop: shop.order().after("cancel")),
    Shot("ticket", lambda shop: f"/t/{states.ticket(shop)['code']}"),
    Shot("ticket-offered", lambda shop: states.transfer(shop)[0]),
    Shot("transfer", lambda shop: states.transfer(shop)[1]),
    Shot("forgotten", "/console/forgotten"),
    Shot("sign-in", "/console/sign-in"),
    Shot("console-account", "/console/account"),
    Shot("console-second-factor", "/console/account/second-factor"),
    Shot("console-second-factor-app", "/console/account/second-factor", states.set_up_app),
    Shot("console-settings", "/console/settings"),
    Shot("console-overview", states.with_sales),
    Shot("console-search", "/console/search?q=e"),
    Shot("console-events", "/console/events"),
    Shot("console-event-new", "/console/events/new"),
    Shot("console-event", _EVENT),
    Shot("console-event-draft", states.draft),
    Shot("console-event-publish", lambda shop: f"{states.draft(shop)}/publish"),
    Shot("console-event-preview", lambda shop: f"{states.draft(shop)}/preview"),
    Shot("console-event-edit", f"{_EVENT}/edit"),
    Shot("console-event-cancel", f"{_EVENT}/cancel"),
    Shot("console-event-copy", f"{_EVENT}/copy"),
    Shot("console-event-messages", f"{_EVENT}/messages"),
    Shot("console-event-networks", f"{_EVENT}/networks"),
    Shot("console-series", lambda shop: f"/console/series/{states.series(shop)}"),
    Shot("series", lambda shop: f"/{TENANT}/{states.series(shop)}"),
    Shot("console-ticket-type", _TYPE),
    Shot("console-ticket-type-edit", f"{_TYPE}/edit"),
    Shot("console-ticket-type-cancel", f"{_TYPE}/cancel"),
    Shot("console-wallet", "/console/wallet"),
    Shot("console-orders", "/console/orders"),
    Shot("console-order", lambda shop: f"/console/orders/{shop.overpaid(2).id}"),
    Shot("console-attendees", states.attendees),
    Shot("console-attendees-chosen", states.attendees, states.choose_all),
    Shot("console-attendee", lambda shop: f"/console/attendees/{states.ticket(shop)['id']}"),
    Shot("console-guests", f"{_EVENT}/guests"),
    Shot("console-money", "/console/money"),
    Shot("console-money-pay-back", states.owed_to_an_address),
    Shot("console-money-move", "/console/money/move"),
    Shot("console-refunds", "/console/refunds"),
    Shot("console-refund", lambda shop: f"/console/refunds/{shop.overpaid(2).id}"),
    Shot("console-refunds-waive", states.small_refunds),
    Shot("console-door", states.door),
    Shot("console-scanner", "/console/scanner"),
    Shot("console-person", states.person),
    Shot("console-people", "/console/people"),
    Shot("console-key", states.key),
    Shot("console-keys", "/console/keys"),
    Shot("console-webhook", states.webhook),
    Shot("console-webhooks", "/console/webhooks"),
    Shot("console-audit-log", "/console/audit-log"),
    Shot("event-networks", f"/{TENANT}/{{second_slug}}"),
    Shot("order-networks", lambda shop: shop.order_on_two_networks()),
    Shot("order-networks-exchange", lambda shop: states.exchange(shop.order_on_two_networks())),
    Shot("order-stray", lambda shop: shop.partly_paid_elsewhere()),
    Shot("order-stray-back", states.asking_back),
    Shot("order-stray-asked-back", states.asked_back),
    Shot("order-stray-moved", states.moved),
    Shot("order-stray-owed", states.owed_elsewhere),
    Shot("console-order-stray", lambda shop: f"/console/orders/{shop.partly_paid_elsewhere().id}"),
    Shot("console-refund-stray", states.refund_elsewhere),
    Shot("console-pass-over", states.pass_over),
    Shot("door-unpaired", "/door/", states.unpaired),
    Shot("door-ready", "/door/", states.pair),
    Shot("door-admitted", "/door/", states.admitted),
    Shot("door-refused", "/door/", states.refused),
    Shot("door-offline", "/door/", states.offline),
    Shot("order-reversed", states.reversed_payment),
    Shot("order-expired", states.expired, ends_orders=True),
    Shot("order-expired-owed", states.expired_owed, ends_orders=True),
)
"""In this order: the last ones end orders that wait."""


def main() -> None:
    """Take all screenshots."""
    parser = argparse.ArgumentParser(prog="python -m tools.screenshots", description=__doc__)
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only these pages")
    parser.add_argument("--dark", action="store_true", help="with a dark color scheme")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    try:
        with ExitStack() as running:
            shop = open_shop(running)
            video = Path(running.enter_context(tempfile.TemporaryDirectory())) / "camera.y4m"
            states.write_picture(video)
            camera = f"--use-file-for-fake-video-capture={video}"
            browser = running.enter_context(headless.browser(camera))
            session = session_of(browser, shop)
            for shot in SHOTS:
                if arguments.only in shot.name:
                    take(browser, shop, shot, arguments.folder, arguments.dark, session)
    except (BrowserError, StackFailed, ToolMissing, RuntimeError) as error:
        sys.exit(f"make screenshots: {error}")


def take(
    browser: Browser, shop: Shop, shot: Shot, folder: Path, is_dark: bool, session: StorageState
) -> None:
    """Write the screenshots of one page, one for each width, and again with its forms open."""
    url = shot.open(shop)
    for size in (headless.PHONE, headless.DESKTOP):
        context = browser.new_context(
            **size,
            color_scheme="dark" if is_dark else "light",
            reduced_motion="reduce",
            storage_state=session if shot.is_signed_in else None,
        )
        page = context.new_page()
        page.goto(url, wait_until="networkidle")
        shot.act(shop, page)
        width = size["viewport"]["width"]
        _write(page, folder / f"{shot.name}-{width}.png")
        if headless.open_forms(page):
            _write(page, folder / f"{shot.name}-forms-{width}.png")
        context.close()


def _write(page: Page, file: Path) -> None:
    page.screenshot(path=file, full_page=True, scale="css")
    print(file, flush=True)


def open_shop(running: ExitStack) -> Shop:
    """Start two chains, a web server and a worker over an empty database, with a shop in it."""
    variables = {"HOLD_SECONDS": str(states.HOLD_SECONDS)}
    nodes = []
    for chain_id in anvil.CHAIN_IDS:
        node = running.enter_context(anvil.Anvil(chain_id=chain_id))
        anvil.ensure_token(node.rpc)
        variables |= {
            f"RPC_URL_{chain_id}": node.url,
            f"CONFIRMATIONS_{chain_id}": str(CONFIRMATIONS),
            f"EARLY_CONFIRMATIONS_{chain_id}": "0",
        }
        nodes.append(node)
    stack = new_stack(running, variables)
    stack.start_web()
    stack.start_worker()
    for chain_id in anvil.CHAIN_IDS:
        stack.wait_for_receivers(chain_id)
    return Shop(stack, *nodes)


def session_of(browser: Browser, shop: Shop) -> StorageState:
    """Add a member with role admin, and sign them in. Give the result to `new_context`."""
    member = ("members", "add", TENANT, EMAIL, "--role", "admin", "--password-stdin")
    shop.stack.flask(*member, stdin=states.PASSWORD + "\n")
    context = browser.new_context(base_url=shop.stack.url)
    context.set_default_timeout(START_SECONDS * 1000)
    page = context.new_page()
    page.goto("/console/sign-in?next=/console/account")
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password").fill(states.PASSWORD)
    page.get_by_role("button").click()
    page.wait_for_url("**/console/account")
    session = context.storage_state()
    context.close()
    return session


if __name__ == "__main__":
    main()
