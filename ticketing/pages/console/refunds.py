"""The console's pages of refunds: who gets how much back, and how that was settled."""

from urllib.parse import urlencode

from flask import request
from werkzeug import Response

from schemas.refunds import (
    SORTS,
    RefundByHandSchema,
    RefundPayeeSchema,
    RefundSettleSchema,
    RefundsWaiveSchema,
    RefundWaiveSchema,
)
from ticketing import formats
from ticketing.constants import CURRENCY, RefundStatus
from ticketing.errors import NotFound
from ticketing.models.order_accounts import OrderAccount
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import list_filters, paths, words
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services import chains
from ticketing.services.catalog import titles
from ticketing.services.orders import accounts, intents
from ticketing.services.payments import (
    entered_payees,
    refund_settlement,
    refunds,
    refunds_by_hand,
    waivers,
)
from ticketing.web.audited import actor
from ticketing.web.context import caller, config
from ticketing.web.event_scope import filtered
from ticketing.web.idempotency import once

PATH = paths.REFUNDS
_REFUND = f"{PATH}/<intent_id>"
_WAIVE_SMALL = f"{PATH}/waive"
_SORT_NAMES = {"created_at": "Oldest first", "-amount": "Largest amount first"}

blp = ConsoleBlueprint(
    "refunds",
    __name__,
    reads={Role.READ, Role.FINANCE},
    writes={Role.ADMIN, Role.FINANCE},
    scope=filtered("list_refunds"),
)


@blp.get(PATH)
def list_refunds() -> str:
    """List the refunds that are due, or those that were paid or waived."""
    status = list_filters.choice("status", RefundStatus) or RefundStatus.DUE
    least = list_filters.amount("min")
    sort = list_filters.one_of("sort", SORTS, "created_at")
    asked = list_filters.page_request()
    found = refunds.list_page(
        caller().tenant_id, asked, status, least, sort, event_ids=caller().event_ids
    )
    titles.add_to([each.intent for each in found.data])
    typed = None if least is None else formats.number(least)
    chosen = {"status": status, "min": typed, "sort": sort}
    return page(
        "refunds.html",
        "refunds",
        refunds=found.data,
        status=status,
        least=chosen["min"],
        sort=sort,
        sorts=_SORT_NAMES,
        next_page=list_filters.next_page(found, chosen),
        path_of=paths.refund,
        named=lambda chain_id: chains.name_of(chain_id, config()),
        words=words,
    )


@blp.get(_WAIVE_SMALL)
def show_small_refunds() -> str:
    """Show how many refunds are within a limit, and their sum, before they are waived."""
    return _small_page(list_filters.amount("most"), list_filters.text("chain_id"), Form())


@blp.post(_WAIVE_SMALL)
def waive_small_refunds() -> Response:
    """Write off the refunds within a limit. If they are many, the page then shows the rest."""

    def waive() -> str:
        fields = typed_forms.read(RefundsWaiveSchema, amounts=["max_amount"])
        by = actor("refunds_waive_refunds")

        def act() -> str:
            waivers.waive_small(caller().tenant_id, **fields, by=by)
            return ""

        once(forms.key(), act)
        shown = {"most": formats.number(fields["max_amount"]), "chain_id": fields["chain_id"] or ""}
        return f"{_WAIVE_SMALL}?{urlencode(shown)}#waived"

    def again(form: Form) -> str:
        typed = typed_forms.micro_units(form.values.get("max_amount", ""))
        most = typed if isinstance(typed, int) and typed else None
        return _small_page(most, form.values.get("chain_id"), form)

    return forms.carried_out(waive, again)


@blp.get(_REFUND)
def show_refund(intent_id: str) -> str:
    """Show the refund of one order: of its home, or of the account that the query names."""
    return _page(intent_id)


@blp.post(f"{_REFUND}/settle")
def settle_refund(intent_id: str) -> Response:
    """Count a transaction as a refund, or a part of it."""

    def settle() -> str:
        fields = typed_forms.read(RefundSettleSchema)
        # Without `once`: it reads the chain first, and the same transaction counts once anyway.
        refund_settlement.settle(
            caller().tenant_id,
            intent_id,
            **fields,
            enabled=config().chains,
            by=actor("refunds_settle_refund"),
        )
        return f"{paths.refund_named(intent_id, fields)}#settled"

    return forms.carried_out(settle, lambda form: _page(intent_id, settling=form))


@blp.post(f"{_REFUND}/waive")
def waive_refund(intent_id: str) -> Response:
    """Write off a refund that is not sent back."""

    def waive() -> str:
        fields = typed_forms.read(RefundWaiveSchema)
        by = actor("refunds_waive_refund")
        once(
            forms.key(),
            lambda: waivers.waive(caller().tenant_id, intent_id, **fields, by=by).intent.id,
        )
        return f"{paths.refund_named(intent_id, fields)}#waived"

    return forms.carried_out(waive, lambda form: _page(intent_id, waiving=form))


@blp.post(f"{_REFUND}/by-hand")
def mark_refund(intent_id: str) -> Response:
    """Mark a refund that is paid by hand, or remove the mark."""

    def mark() -> str:
        fields = typed_forms.read(RefundByHandSchema)
        by = actor("refunds_mark_refund")

        def act() -> str:
            refunds_by_hand.mark(caller().tenant_id, intent_id, **fields, by=by)
            return ""

        once(forms.key(), act)
        return f"{paths.refund_named(intent_id, fields)}#by-hand"

    return forms.carried_out(mark, lambda form: _page(intent_id, marking=form))


@blp.post(f"{_REFUND}/payee")
def enter_payee(intent_id: str) -> Response:
    """Enter where a refund goes, for a buyer who told the organizer."""

    def enter() -> str:
        fields = typed_forms.read(RefundPayeeSchema)
        by = actor("refunds_enter_payee")

        def act() -> str:
            entered_payees.enter(caller().tenant_id, intent_id, **fields, config=config(), by=by)
            return ""

        once(forms.key(), act)
        return f"{paths.refund_named(intent_id, fields)}#entered"

    return forms.carried_out(enter, lambda form: _page(intent_id, entering=form))


def _small_page(most: int | None, chosen: str | None, form: Form) -> str:
    networks = {str(each): chains.name_of(each, config()) for each in config().chains}
    chain_id = chosen if chosen in networks else ""
    found = most and waivers.small(caller().tenant_id, most, int(chain_id) if chain_id else None)
    return page(
        "waive_refunds.html",
        "refunds",
        most=most and formats.number(most),
        found=found,
        at_once=waivers.WAIVED_AT_ONCE,
        currency=CURRENCY,
        networks=networks,
        chain_id=chain_id,
        form=form,
    )


def _account(intent_id: str) -> OrderAccount:
    """Return the account that the query or the form names, with its refunds. NotFound."""
    order = intents.read(caller().tenant_id, intent_id)
    chain_id = request.values.get("chain_id", "")
    token_address = request.values.get("token_address") or None
    if chain_id and not chain_id.isdecimal():
        raise NotFound
    found = accounts.named(order, int(chain_id) if chain_id else None, token_address)
    every: list[OrderAccount] = [order.home, *order.strays]
    account = next((each for each in every if found is not None and each.id == found.id), None)
    if account is None:
        raise NotFound
    return account


def _page(
    intent_id: str,
    settling: Form | None = None,
    waiving: Form | None = None,
    marking: Form | None = None,
    entering: Form | None = None,
) -> str:
    account = _account(intent_id)
    order = account.order
    return page(
        "refund.html",
        "refunds",
        order=order,
        account=account,
        others=[each for each in (order.home, *order.strays) if each.id != account.id],
        refund=refunds.owed_for(account),
        zone=order.event.timezone,
        network=chains.name_of(account.chain_id, config()),
        path_of=paths.refund,
        named=lambda chain_id: chains.name_of(chain_id, config()),
        settling=settling or Form(),
        waiving=waiving or Form(),
        marking=marking or Form(),
        entering=entering or Form(),
        words=words,
    )
