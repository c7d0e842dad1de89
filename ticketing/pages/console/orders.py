"""The console's pages of orders: find them, and see what happened to one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from flask import redirect
from werkzeug import Response as AnyResponse

from schemas.order_emails import EmailCorrectionSchema
from ticketing.constants import Flag, IntentStatus
from ticketing.models.notifications import Notification
from ticketing.notification_types import NotificationType
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import list_filters, paths, words
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services import chains, erasure
from ticketing.services.catalog import titles
from ticketing.services.notifications import mail_queue, reading
from ticketing.services.orders import accounts, intents, order_search, payees_shown
from ticketing.services.payments import old_links, refunds
from ticketing.web.audited import erased, noted
from ticketing.web.context import caller, config
from ticketing.web.event_scope import filtered

PATH = "/console/orders"

blp = ConsoleBlueprint(
    "orders",
    __name__,
    reads={Role.READ, Role.FINANCE},
    writes={Role.WRITE, Role.FINANCE},
    scope=filtered("list_orders"),
)
erasing = ConsoleBlueprint("order_erasure", __name__, reads={Role.ADMIN}, writes={Role.ADMIN})

_TOGETHER = timedelta(seconds=1)


@dataclass(frozen=True)
class Entry:
    """Something that happened, once or to several tickets at the same time."""

    at: datetime
    type: NotificationType
    count: int = 1

    @property
    def label(self) -> str:
        """What happened, to be translated."""
        return words.HAPPENED[self.type]


@blp.get(PATH)
def list_orders() -> str:
    """List orders, the newest first, or find those that a text identifies."""
    tenant_id, searched = caller().tenant_id, list_filters.text("q")
    event_id = list_filters.text("event_id")
    status, flag = list_filters.choice("status", IntentStatus), list_filters.choice("flag", Flag)
    found = order_search.list_page(
        tenant_id,
        list_filters.page_request(),
        searched,
        caller().event_ids,
        event_id=event_id,
        status=status,
        flag=flag,
        newest_first=True,
    )
    chosen = {"event_id": event_id, "status": status, "flag": flag}
    titles.add_to(found.data)
    return page(
        "orders.html",
        "orders",
        orders=found.data,
        searched=searched,
        chosen=chosen,
        events=titles.latest_events(tenant_id, caller().event_ids),
        next_page=list_filters.next_page(found, chosen),
        words=words,
    )


@blp.get(f"{PATH}/<intent_id>")
def show_order(intent_id: str) -> str:
    """Show an order with its payments, tickets and mails, and what happened to it."""
    return _page(intent_id, Form())


@blp.post(f"{PATH}/<intent_id>/email")
def send_again(intent_id: str) -> AnyResponse:
    """Correct where the mails of an order go, and send the one that its buyer needs now."""

    def send() -> str:
        sent = typed_forms.read(EmailCorrectionSchema)
        noted(
            intent_id,
            partial(
                old_links.send_again,
                caller().tenant_id,
                intent_id,
                sent["email"],
                config(),
                role=caller().role,
                end_old_links=sent["end_old_links"],
            ),
            lambda _: sent,
            action="intents_send_intent_to_email",
        )
        return f"{PATH}/{intent_id}#sent-again"

    return forms.carried_out(send, partial(_page, intent_id))


def _page(intent_id: str, form: Form) -> str:
    tenant_id = caller().tenant_id
    order = intents.read_all(tenant_id, intent_id)
    seats = [each.id for each in order.admissions]
    return page(
        "order.html",
        "orders",
        form=form,
        writes_mail=config().smtp is not None,
        order=order,
        has_money=accounts.has_money(order),
        zone=order.event.timezone,
        network=None if order.chain_id is None else chains.name_of(order.chain_id, config()),
        strays=[refunds.owed_for(each) for each in order.strays],
        currencies={each.id: each.currency for each in order.accounts},
        path_of=paths.refund,
        named=lambda chain_id: chains.name_of(chain_id, config()),
        entries=_timeline(reading.of_intent(order)),
        mails=mail_queue.about(tenant_id, [intent_id, *seats, *payees_shown.ids_of(order)]),
        words=words,
    )


@erasing.post(f"{PATH}/<intent_id>/erase")
def erase_order(intent_id: str) -> AnyResponse:
    """Erase the names and email addresses of an order."""
    erased(erasure.erase_intent, intent_id, action="erasure_erase_intent")
    return redirect(f"{PATH}/{intent_id}#erased", 303)


def _timeline(notifications: Iterable[Notification]) -> Sequence[Entry]:
    """Return the entries of a timeline, the oldest first."""
    entries: list[Entry] = []
    for each in notifications:
        entry = Entry(each.created_at, NotificationType(each.type))
        last = entries[-1] if entries else None
        if last and last.type is entry.type and entry.at - last.at <= _TOGETHER:
            entries[-1] = replace(last, count=last.count + 1)
        else:
            entries.append(entry)
    return entries
