"""One field that finds events, orders, tickets and vouchers."""

from ticketing.pages.console import list_filters, words
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.roles import Role
from ticketing.services.catalog import titles, vouchers
from ticketing.services.orders import admissions, order_search
from ticketing.services.pagination import PageRequest
from ticketing.web.context import caller, config
from ticketing.web.event_scope import filtered

MOST = 10
"""How many of each kind are shown."""

blp = ConsoleBlueprint(
    "search",
    __name__,
    reads={Role.READ, Role.FINANCE},
    writes={Role.READ, Role.FINANCE},
    scope=filtered("search"),
)


@blp.get("/console/search")
def search() -> str:
    """Find what a text names: see the services of each kind. Codes only for who may see them."""
    who, text = caller(), list_filters.text("q")
    tenant_id, some = who.tenant_id, PageRequest(MOST, None, config().keyring)
    if text is None:
        return page("search.html", "search", searched=None)
    orders = order_search.list_page(tenant_id, some, text, who.event_ids).data[:MOST]
    tickets = admissions.list_page(
        tenant_id,
        some,
        event_id=None,
        event_ids=who.event_ids,
        status=None,
        redeemed=None,
        q=text,
        newest_first=True,
    )
    found = vouchers.with_code(tenant_id, text, who.event_ids)
    titles.add_to(orders)
    titles.add_to(tickets.data)
    titles.add_types_to(tickets.data)
    return page(
        "search.html",
        "search",
        searched=text,
        events=titles.named(tenant_id, text, MOST, who.event_ids),
        orders=orders,
        tickets=tickets.data,
        has_more_tickets=tickets.next_cursor is not None,
        vouchers=found if who.role.holds(Role.WRITE) else (),
        words=words,
    )
