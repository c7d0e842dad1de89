"""`make screenshots`: write docs/screenshots/<name>-<width>.png of the pages, for phone and desk.

A page that hides forms has a second picture, <name>-forms-<width>.png, with all of them open.

The service, its database and its chain are new; nothing of this folder's data is shown.
"""

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import Browser, Page, StorageState
from playwright.sync_api import Error as BrowserError

from tools import ToolMissing, anvil, headless
from tools.screenshots_console import CONSOLE_SHOTS, FIRST_STEPS, session_of
from tools.screenshots_desk import DESK_SHOTS
from tools.screenshots_door import (
    admitted,
    offline,
    ready,
    refused,
    scanner_url,
    unpaired,
    write_picture,
)
from tools.screenshots_networks import NETWORK_SHOTS
from tools.screenshots_shop import CONFIRMATIONS, PRICE, TENANT, Order, Shop, Shot
from tools.stack import ROOT, StackFailed, new_stack

FOLDER = ROOT / "docs" / "screenshots"
HOLD_SECONDS = 900
PAYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def _underpaid(shop: Shop) -> str:
    order = shop.order(2)
    order.pay(PRICE)
    return order.wait(lambda it: it["amount_received"] == PRICE).url


def _exchange(shop: Shop) -> str:
    order = shop.order(2)
    order.send("hold")
    return f"{order.url}?way=exchange"


def _processing(shop: Shop) -> str:
    order = shop.order()
    order.pay(PRICE)
    return order.wait(lambda it: it["status"] == "processing").url


def _overpaid(shop: Shop) -> Order:
    order = shop.order()
    order.pay(PRICE + 4_990_000, blocks=CONFIRMATIONS)
    return order.wait(lambda it: it["refund_due"] and not it["refund_pending"])


def _refund_stated(shop: Shop) -> str:
    order = _overpaid(shop)
    order.send("refund-address", {"address": PAYER})
    return order.url


def _refunded(shop: Shop) -> str:
    order = _overpaid(shop)
    order.send("refund-address", {"address": PAYER})
    sent = anvil.transfer(shop.node.rpc, anvil.TOKEN_ADDRESS, PAYER, 4_990_000)
    shop.mine(CONFIRMATIONS)
    body = {"tx_hash": sent["transactionHash"]}
    shop.change("POST", f"/refunds/{order.id}/settle", body)
    return order.url


def _canceled(shop: Shop) -> str:
    order = shop.order()
    order.send("cancel")
    return order.url


def _reversed(shop: Shop) -> str:
    order = shop.paid()
    shop.order()  # without an open order, the worker looks at the chain every 20 s
    shop.node.rpc("anvil_reorg", CONFIRMATIONS + 1, [])
    return order.wait(lambda it: it["status"] == "reversed").url


def _tickets(shop: Shop, quantity: int = 1) -> list[dict[str, str]]:
    found: list[dict[str, str]] = shop.paid(quantity).send("purchase")["admissions"]
    return found


def _ticket(shop: Shop) -> str:
    return f"{shop.stack.url}/t/{_tickets(shop)[0]['code']}"


def _offer(shop: Shop) -> tuple[str, str]:
    # Another picture may have opened the doors, and so ended transfers.
    shop.change("PATCH", f"/events/{shop.event_id}", {"doors_open_at": None})
    (ticket,) = _tickets(shop)
    path = f"{shop.checkout}/admissions/{ticket['id']}/transfer"
    bearer = {"Authorization": f"Bearer {ticket['code']}"}
    made = shop.client.send("POST", path, {"holder": {"name": "Grace Hopper"}}, bearer)
    return f"{shop.stack.url}/t/{ticket['code']}", str(made.json["url"])


def _expired(shop: Shop) -> str:
    order = shop.order()
    shop.pass_time(2 * HOLD_SECONDS)
    return order.wait(lambda it: it["status"] == "expired").url


def _expired_owed(shop: Shop) -> str:
    order = shop.order()
    order.pay(4_990_000, blocks=CONFIRMATIONS)
    shop.pass_time(2 * HOLD_SECONDS)
    return order.wait(lambda it: it["refund_due"] and not it["refund_pending"]).url


def _pay_link(shop: Shop) -> str:
    order = shop.order(2)
    url = order.payment_url
    order.pay(PRICE)
    order.wait(lambda it: it["amount_received"] == PRICE)
    return url


def _pay_link_paid(shop: Shop) -> str:
    order = shop.order()
    url = order.payment_url
    order.pay(PRICE, blocks=CONFIRMATIONS)
    order.wait(lambda it: it["status"] == "confirmed")
    return url


def _pay_link_ended(shop: Shop) -> str:
    order = shop.order()
    url = order.payment_url
    order.send("cancel")
    return url


def _somebody_else(_shop: Shop, page: Page) -> None:
    page.get_by_text("Let somebody else pay").click()
    page.wait_for_load_state("networkidle")


def _receipt(shop: Shop) -> str:
    order = _overpaid(shop)
    bill = {"name": "Lovelace Engines Ltd.", "address": "10 Downing Street\nLondon"}
    order.send("billing", {**bill, "tax_id": "GB123456789"})
    return f"{order.url}/receipt"


SHOTS = (
    FIRST_STEPS,
    Shot("tenant", lambda shop: shop.url),
    Shot("event", lambda shop: shop.event_url),
    Shot("embed", lambda shop: shop.embed_url),
    Shot("lost-links", lambda shop: f"{shop.stack.url}/_f/{TENANT}"),
    Shot("not-found", lambda shop: f"{shop.url}/none"),
    Shot("order-pay", lambda shop: shop.order(2).url),
    Shot("order-somebody-else", lambda shop: shop.order().url, act=_somebody_else),
    Shot("payment-link", _pay_link),
    Shot("payment-link-paid", _pay_link_paid),
    Shot("payment-link-ended", _pay_link_ended),
    Shot("order-pay-exchange", _exchange),
    Shot("order-underpaid", _underpaid),
    Shot("order-processing", _processing),
    Shot("order-confirmed", lambda shop: shop.paid(2).url),
    Shot("order-ten-tickets", lambda shop: shop.paid(10).url),
    Shot("order-print", lambda shop: f"{shop.paid(2).url}/print"),
    Shot("receipt", _receipt),
    Shot("order-overpaid", lambda shop: _overpaid(shop).url),
    Shot("order-refund-stated", _refund_stated),
    Shot("order-refunded", _refunded),
    Shot("order-canceled", _canceled),
    Shot("ticket", _ticket),
    Shot("ticket-offered", lambda shop: _offer(shop)[0]),
    Shot("transfer", lambda shop: _offer(shop)[1]),
    *CONSOLE_SHOTS,
    *DESK_SHOTS,
    *NETWORK_SHOTS,
    Shot("door-unpaired", scanner_url, act=unpaired),
    Shot("door-ready", scanner_url, act=ready),
    Shot("door-admitted", scanner_url, act=admitted),
    Shot("door-refused", scanner_url, act=refused),
    Shot("door-offline", scanner_url, act=offline),
    Shot("order-reversed", _reversed),
    Shot("order-expired", _expired, ends_orders=True),
    Shot("order-expired-owed", _expired_owed, ends_orders=True),
)
"""In this order: the last ones end orders that wait."""


def main() -> None:
    """Take all screenshots."""
    parser = argparse.ArgumentParser(prog="python -m tools.screenshots", description=__doc__)
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only these pages")
    parser.add_argument("--dark", action="store_true", help="with a dark color scheme")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    try:
        with ExitStack() as running:
            shop = open_shop(running)
            video = Path(running.enter_context(tempfile.TemporaryDirectory())) / "camera.y4m"
            write_picture(video)
            camera = f"--use-file-for-fake-video-capture={video}"
            browser = running.enter_context(headless.browser(camera))
            session = session_of(browser, shop)
            for shot in SHOTS:
                if arguments.only in shot.name:
                    known = session if shot.is_signed_in else None
                    take(browser, shop, shot, arguments.folder, arguments.dark, known)
    except (BrowserError, StackFailed, ToolMissing, RuntimeError) as error:
        sys.exit(f"make screenshots: {error}")


def take(
    browser: Browser,
    shop: Shop,
    shot: Shot,
    folder: Path,
    is_dark: bool,
    session: StorageState | None,
) -> None:
    """Write the screenshots of one page, one for each width, and again with its forms open."""
    folder.mkdir(exist_ok=True)
    url = shot.open(shop)
    for size in (headless.PHONE, headless.DESKTOP):
        context = browser.new_context(
            **size,
            color_scheme="dark" if is_dark else "light",
            reduced_motion="reduce",
            storage_state=session,
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
    variables = {"HOLD_SECONDS": str(HOLD_SECONDS)}
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


if __name__ == "__main__":
    main()
