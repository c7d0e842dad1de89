"""The console's page of money: what came in, what is owed, and what can be moved."""

from ticketing.constants import Flag, IntentStatus
from ticketing.errors import NotFound
from ticketing.models.order_accounts import OrderAccount
from ticketing.pages.console import paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.roles import Role
from ticketing.services import chains
from ticketing.services.money import collectable, figures, moved, owed
from ticketing.services.wallets import views
from ticketing.services.wallets.views import WalletView
from ticketing.web.context import caller, config

SECTION = "money"
PATH = "/console/money"
MOVED_SHOWN = 10

blp = ConsoleBlueprint(
    "money", __name__, reads={Role.READ, Role.FINANCE}, writes={Role.ADMIN, Role.FINANCE}
)


@blp.get(PATH)
def show_money() -> str:
    """Show the figures by network, what can be moved, and to whom money is owed."""
    tenant_id = caller().tenant_id
    found = figures.read(tenant_id, config().chains)
    times = [row.as_of for row in found.rows if row.as_of is not None]
    return page(
        "money.html",
        SECTION,
        rows=found.rows,
        totals=found.totals,
        as_of=min(times) if times else None,
        owed=owed.read(tenant_id),
        moved=moved.newest(tenant_id, MOVED_SHOWN),
        owners=owners_of(tenant_id),
        why=_why,
        path_of=paths.refund,
        named=lambda chain_id: chains.name_of(chain_id, config()),
    )


def wallet_of(tenant_id: str) -> WalletView | None:
    """Return the wallet of a tenant. None: it has none yet."""
    try:
        return views.read(tenant_id)
    except NotFound:
        return None


def owners_of(tenant_id: str) -> list[str]:
    """Return the addresses to which orders are collected: the wallet's, and former ones."""
    return [str(each.owner) for each in collectable.wallets(tenant_id).values()]


def _why(account: OrderAccount) -> str:
    """Return why an account of an order is owed money, in a few words to be translated."""
    intent = account.order
    if not account.is_home:
        is_here = account.chain_id == intent.chain_id
        return "Sent in another token" if is_here else "Sent on another network"
    if intent.released:
        return "Ticket or deposit returned"
    if Flag.PAID_LATE in intent.flags:
        return "Sent too late"
    if intent.status in (IntentStatus.EXPIRED, IntentStatus.CANCELED):
        return "Not paid in full in time"
    return "Sent too much"
