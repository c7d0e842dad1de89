"""The console's pages of the vouchers of an event."""

from collections.abc import Collection
from functools import partial
from typing import Any

from flask import Response as FlaskResponse
from flask import request
from werkzeug import Response

from schemas.forms import EmptyForm
from schemas.vouchers import (
    AuditedVoucherBatchSchema,
    AuditedVoucherSchema,
    VoucherBatchCreateSchema,
    VoucherChangeSchema,
    VoucherCreateSchema,
)
from ticketing import formats
from ticketing.constants import MAX_VOUCHERS_AT_ONCE, PriceMode, VoucherStatus
from ticketing.models.events import Event
from ticketing.models.vouchers import Voucher
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import list_filters, paths, words
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.forms import Form
from ticketing.pages.typed_forms import without_same_times
from ticketing.roles import Role
from ticketing.services.catalog import events, ticket_types, vouchers
from ticketing.services.exports import files
from ticketing.web.audited import recorded
from ticketing.web.context import caller
from ticketing.web.download import download
from ticketing.web.event_scope import ONE_EVENT
from ticketing.web.idempotency import once

SECTION = "events"
_NEW = Form(values={"max_usages": "1", "min_usages": "1"})

blp = ConsoleBlueprint(
    "vouchers", __name__, reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=ONE_EVENT
)
form_blp = ConsoleBlueprint(
    "voucher_forms", __name__, reads={Role.WRITE}, writes={Role.WRITE}, scope=ONE_EVENT
)


@blp.get(paths.vouchers("<event_id>"))
def list_vouchers(event_id: str) -> str:
    """List the vouchers of an event, and the uses of each tag."""
    tenant_id = caller().tenant_id
    event = events.get(tenant_id, event_id)
    chosen: dict[str, Any] = {
        "status": list_filters.choice("status", VoucherStatus),
        "tag": list_filters.text("tag"),
        "q": list_filters.text("q"),
    }
    asked = list_filters.page_request()
    found = vouchers.list_page(tenant_id, event_id, asked, shows_codes=_sees_codes(), **chosen)
    return page(
        "vouchers.html",
        SECTION,
        event=event,
        vouchers=found.data,
        next_page=list_filters.next_page(found, chosen),
        chosen=chosen,
        tags=vouchers.uses_by_tag(event_id),
        words=words,
    )


@blp.get(paths.vouchers("<event_id>") + ".csv")
def download_vouchers(event_id: str) -> FlaskResponse:
    """Download all vouchers of an event. Readers get no codes."""
    return download(files.vouchers(caller().tenant_id, event_id, shows_codes=_sees_codes()))


@form_blp.get(paths.voucher("<event_id>", "new"))
def new_voucher(event_id: str) -> str:
    """Show the form for a new voucher."""
    return _form_page(events.get(caller().tenant_id, event_id), "new", _NEW)


@form_blp.post(paths.voucher("<event_id>", "new"))
def create_voucher(event_id: str) -> Response:
    """Create a voucher, and go to its page."""
    tenant_id = caller().tenant_id
    event = events.get(tenant_id, event_id)

    def create() -> str:
        fields = typed_forms.read(VoucherCreateSchema, zone=event.timezone, amounts=_amounts())
        made: Voucher = recorded(
            AuditedVoucherSchema,
            partial(vouchers.create, tenant_id, event_id, fields),
            action="vouchers_create_voucher",
        )
        return made.id

    return forms.carried_out(
        lambda: paths.voucher(event_id, once(forms.key(), create)),
        partial(_form_page, event, "new"),
    )


@form_blp.get(paths.voucher("<event_id>", "batch"))
def new_batch(event_id: str) -> str:
    """Show the form for many new vouchers."""
    return _form_page(events.get(caller().tenant_id, event_id), "batch", _NEW)


@form_blp.post(paths.voucher("<event_id>", "batch"))
def create_batch(event_id: str) -> Response:
    """Create many vouchers, and go to the list."""
    tenant_id = caller().tenant_id
    event = events.get(tenant_id, event_id)

    def create() -> str:
        fields = typed_forms.read(VoucherBatchCreateSchema, zone=event.timezone, amounts=_amounts())
        count, prefix = fields.pop("count"), fields.pop("prefix")
        act = partial(vouchers.create_batch, tenant_id, event_id, fields)
        recorded(
            AuditedVoucherBatchSchema,
            partial(act, count=count, prefix=prefix),
            action="vouchers_create_vouchers",
        )
        return event_id

    def act() -> str:
        once(forms.key(), create)
        return f"{paths.vouchers(event_id)}#created"

    return forms.carried_out(act, partial(_form_page, event, "batch"))


@form_blp.get(paths.voucher("<event_id>", "<voucher_id>"))
def show_voucher(event_id: str, voucher_id: str) -> str:
    """Show one voucher, with the form to change it."""
    event, voucher = _found(event_id, voucher_id)
    return _form_page(event, "edit", Form(values=_values(voucher, event)), voucher)


@form_blp.post(paths.voucher("<event_id>", "<voucher_id>"))
def change_voucher(event_id: str, voucher_id: str) -> Response:
    """Change a voucher, and show it again."""
    event, voucher = _found(event_id, voucher_id)

    def change() -> str:
        sent = typed_forms.read(VoucherChangeSchema, zone=event.timezone, amounts=_amounts())
        fields = without_same_times(voucher, sent, event.timezone)
        _recorded(event_id, voucher_id, "vouchers_change_voucher", fields)
        return f"{paths.voucher(event_id, voucher_id)}#saved"

    return forms.carried_out(change, lambda form: _form_page(event, "edit", form, voucher))


@form_blp.post(paths.voucher("<event_id>", "<voucher_id>/disable"))
def disable_voucher(event_id: str, voucher_id: str) -> Response:
    """Disable a voucher, and show it again."""
    event, voucher = _found(event_id, voucher_id)

    def disable() -> str:
        forms.read(EmptyForm)
        _recorded(event_id, voucher_id, "vouchers_disable_voucher", None)
        return f"{paths.voucher(event_id, voucher_id)}#saved"

    return forms.carried_out(disable, lambda form: _form_page(event, "edit", form, voucher))


def _recorded(event_id: str, voucher_id: str, action: str, fields: dict[str, Any] | None) -> None:
    """Change a voucher, or disable it without `fields`, and write it to the audit log."""
    of_voucher = (caller().tenant_id, event_id, voucher_id)
    act = partial(vouchers.disable, *of_voucher)
    if fields is not None:
        act = partial(vouchers.change, *of_voucher, fields)
    recorded(AuditedVoucherSchema, act, partial(vouchers.get, *of_voucher), action=action)


def _found(event_id: str, voucher_id: str) -> tuple[Event, Voucher]:
    tenant_id = caller().tenant_id
    return events.get(tenant_id, event_id), vouchers.get(tenant_id, event_id, voucher_id)


def _sees_codes() -> bool:
    return caller().role.holds(Role.WRITE)


def _amounts() -> Collection[str]:
    """Return the fields of the form in which people write whole tokens. A percentage is none."""
    return () if request.form.get("price_mode") == PriceMode.PERCENT else ("value",)


def _values(voucher: Voucher, event: Event) -> dict[str, str]:
    """Return the fields of a form that shows a voucher."""
    value, until = voucher.value, voucher.valid_until
    is_percent = voucher.price_mode == PriceMode.PERCENT
    shown = "" if value is None else str(value) if is_percent else formats.number(value)
    return {
        "max_usages": str(voucher.max_usages),
        "min_usages": str(voucher.min_usages),
        "valid_until": "" if until is None else formats.typed(until, event.timezone),
        "price_mode": voucher.price_mode,
        "value": shown,
        "tag": voucher.tag or "",
        "comment": voucher.comment or "",
    }


def _form_page(event: Event, kind: str, form: Form, voucher: Voucher | None = None) -> str:
    """Show a form: `kind` is new, batch or edit."""
    named = voucher.ticket_type_ids if voucher is not None else None
    is_sent = request.method == "POST"
    return page(
        "voucher.html",
        SECTION,
        event=event,
        kind=kind,
        voucher=voucher,
        form=form,
        chosen=typed_forms.chosen("ticket_ids") if is_sent else named or [],
        ticket_types=ticket_types.names(event.id),
        most=MAX_VOUCHERS_AT_ONCE,
        words=words,
    )
