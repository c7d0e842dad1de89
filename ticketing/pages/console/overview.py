"""The console's first page: first steps, and each event with its figures."""

from ticketing.constants import Role
from ticketing.pages.console import filters
from ticketing.pages.console.layout import page
from ticketing.pages.console.surface import ConsoleBlueprint
from ticketing.services.catalog import sales_figures
from ticketing.web.context import caller

SECTION = "overview"

blp = ConsoleBlueprint("overview", __name__, reads=Role.READ, writes=Role.READ)


@blp.get("/console")
def show_overview() -> str:
    """Show what is missing before a sale, and the figures of each event."""
    found = sales_figures.overview(caller().tenant_id, filters.page_request())
    return page(
        "overview.html",
        SECTION,
        figures=found.data,
        next_page=filters.next_page(found, {}),
    )
