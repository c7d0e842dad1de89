"""The console's pages for screenshots, and the session of a member who sees them."""

from playwright.sync_api import Browser, StorageState

from tools.screenshots_shop import TENANT, Shop, Shot

EMAIL, PASSWORD = "ada@northernlights.example", "correct horse battery"


def session_of(browser: Browser, shop: Shop) -> StorageState:
    """Add a member with role admin, and sign them in. Give the result to `new_context`."""
    member = ("members", "add", TENANT, EMAIL, "--role", "admin", "--password-stdin")
    shop.stack.flask(*member, stdin=PASSWORD + "\n")
    context = browser.new_context(base_url=shop.stack.url)
    page = context.new_page()
    page.goto("/console/sign-in?next=/console/account")
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button").click()
    page.wait_for_url("**/console/account")
    session = context.storage_state()
    context.close()
    return session


def _shot(name: str, path: str) -> Shot:
    return Shot(f"console-{name}", lambda shop: f"{shop.stack.url}{path}", is_signed_in=True)


CONSOLE_SHOTS = (
    _shot("account", "/console/account"),
    _shot("settings", "/console/settings"),
)
