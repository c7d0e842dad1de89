"""The console's first page: first steps, and each event with its figures."""

from datetime import UTC

from flask import redirect
from werkzeug import Response as AnyResponse

from ticketing import clock
from ticketing.pages.console import first_steps, list_filters
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.charts import asked_range, sales_chart
from ticketing.pages.console.layout import OVERVIEW, home, page
from ticketing.pages.console.words import DAYS, MEASURES
from ticketing.roles import Role
from ticketing.services.catalog import first_steps as progress
from ticketing.services.catalog import sales_figures
from ticketing.services.mail import daily_bound
from ticketing.services.money import figures
from ticketing.web.context import caller, config
from ticketing.web.event_scope import EVERY_VIEW

SECTION = "overview"

blp = ConsoleBlueprint("overview", __name__, reads={*Role}, writes={*Role}, scope=EVERY_VIEW)


@blp.get("/console")
def show_overview() -> str | AnyResponse:
    """Show the first steps that are left, what needs the organizer, and the figures.

    Who may not see all events goes on to another first page.
    """
    me = caller()
    if home(me) != OVERVIEW:
        return redirect(home(me), 303)
    left = progress.left(me.tenant)
    found = sales_figures.overview(me.tenant_id, list_filters.page_request())
    shown = asked_range()
    days = sales_figures.by_day(me.tenant_id, None, last=shown.most)
    sold = sales_figures.tickets_of(me.tenant_id)
    return page(
        "overview.html",
        SECTION,
        steps=first_steps.steps(left, me.tenant, me.role) if left else [],
        figures=found.data,
        money=figures.read(me.tenant_id, config().chains),
        sold=sold,
        shown=shown,
        day_words=DAYS,
        measures=MEASURES,
        has_sales=bool(days) or sold.tickets > 0,
        next_page=list_filters.next_page(found, {}),
        mails=daily_bound.today(me.tenant_id, config()) if config().smtp else None,
        chart=sales_chart(days, clock.now().astimezone(UTC).date(), shown),
    )
