"""The console's pages that move money: what the wallet in the browser signs, or a Safe's file.

The service has no key. The script money.js asks these views what to sign, with the session and the
token of the console's forms.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flask import Response
from werkzeug import Response as AnyResponse

from schemas.collections import CollectionsSchema
from schemas.forms import ChainForm, CollectForm, PayoutFileForm, RefundReportForm
from schemas.payouts import (
    PayoutCreateSchema,
    PayoutListSchema,
    PayoutPreviewQuery,
    PayoutPreviewSchema,
)
from ticketing import clock
from ticketing.constants import PayeeCaution, PayoutReason
from ticketing.errors import ChainUnavailable, FieldMessage, Invalid, TicketingError
from ticketing.pages import forms, render, typed_forms
from ticketing.pages.console import list_filters, money
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services import chains
from ticketing.services.money import collecting, figures, owed, payouts, refund_reports
from ticketing.services.money.payout_lists import PayoutList, PayoutPreview, PreviewOrder
from ticketing.web.audited import actor
from ticketing.web.context import caller, config
from ticketing.web.problems import headers_of

MOVE = f"{money.PATH}/move"
PAY_BACK = f"{money.PATH}/pay-back"

_LOOKED = "accept_unwitnessed", "include_cautioned"
"""What somebody ticks who has looked at orders that are not listed otherwise."""

blp = ConsoleBlueprint(
    "money_moving", __name__, reads={Role.ADMIN, Role.FINANCE}, writes={Role.ADMIN, Role.FINANCE}
)


@blp.get(MOVE)
def show_move() -> str:
    """Show what can be moved to the organizer's wallet, one row for each network."""
    found = figures.read(caller().tenant_id, config().chains)
    rows = [row for row in found.rows if row.ready.amount]
    return page(
        "money_move.html",
        money.SECTION,
        rows=rows,
        amount=sum(row.ready.amount for row in rows),
        owners=money.owners_of(caller().tenant_id),
        wallet=money.wallet_of(caller().tenant_id),
        decimals=_decimals,
    )


@blp.get(f"{MOVE}/safe.json")
def download_collections() -> AnyResponse:
    """Download what to sign on a network, as a file for a Safe."""
    asked = list_filters.text("chain_id") or ""
    chain_id = int(asked) if asked.isdecimal() else 0
    proposal = collecting.propose(caller().tenant_id, config().chains, chain_id)
    return _file(f"move-{chain_id}.json", proposal.safe)


@blp.post(f"{money.PATH}/collections")
def propose_collections() -> Response:
    """Return what to sign on a network to move money, as JSON."""

    def propose() -> Any:
        asked = typed_forms.read(CollectForm)
        return CollectionsSchema().dump(
            collecting.propose(
                caller().tenant_id,
                config().chains,
                asked["chain_id"],
                is_owner_confirmed=asked["owner_confirmed"],
            )
        )

    return _json(propose)


@blp.get(PAY_BACK)
def show_pay_back() -> str:
    """Show what is owed, one row for each network."""
    return _pay_back_page(Form())


@blp.post(PAY_BACK)
def show_list() -> Response:
    """Show the list of the account that will sign, for those without a wallet in the browser."""
    try:
        asked = typed_forms.read(PayoutCreateSchema)
        found = _propose_payouts(asked)
    except TicketingError as error:
        return forms.shown_again(_pay_back_page(forms.refused(error)), error)
    return Response(_pay_back_page(Form(), found, asked))


@blp.post(f"{PAY_BACK}/safe")
def download_payouts() -> AnyResponse:
    """Download the list of the account that will sign, as a file for a Safe."""

    def download() -> AnyResponse:
        asked = typed_forms.read(PayoutFileForm)
        shown = asked.pop("shown")
        found = _propose_payouts(asked)
        if shown != _digest(found):
            # Other people or sums: they are shown before anybody signs them.
            return Response(_pay_back_page(Form(), found, asked, has_changed=True))
        return _file(f"pay-back-{found.chain_id}.json", found.safe)

    return forms.answered(download, _pay_back_page)


@blp.post(f"{money.PATH}/payouts/preview")
def preview_payouts() -> Response:
    """Return what a list would have, and what to look at first, with the buyers' names, as JSON."""

    def preview() -> Any:
        asked = typed_forms.read(PayoutPreviewQuery)
        found = payouts.preview(caller().tenant_id, **asked, enabled=config().chains)
        return {**PayoutPreviewSchema().dump(found), "names": _names(found, found.orders)}

    return _json(preview)


@blp.post(f"{money.PATH}/payouts")
def propose_payouts() -> Response:
    """Return what an account signs to pay refunds back, with the names of the buyers, as JSON."""

    def propose() -> Any:
        found = _propose_payouts(typed_forms.read(PayoutCreateSchema))
        return {**PayoutListSchema().dump(found), "names": _names(found, found.payments)}

    return _json(propose)


@blp.post(f"{money.PATH}/signed")
def note_signed() -> Response:
    """Let the worker read a network at once. Return the time of the last block in the books."""

    def note() -> Any:
        chain_id = typed_forms.read(ChainForm)["chain_id"]
        if chain_id not in config().chains:
            raise Invalid({"chain_id": [FieldMessage("choice", "This network is not enabled.")]})
        cursor = chains.await_blocks(chain_id)
        if cursor is None:
            raise ChainUnavailable("The worker has not read this network yet. Retry.")
        return {"as_of": clock.rfc3339(cursor.time)}

    return _json(note)


@blp.post(f"{money.PATH}/reports")
def report_refunds() -> Response:
    """Tell the operator what a wallet's node says of refunds that is not as listed."""

    def report() -> Any:
        asked = typed_forms.read(RefundReportForm)
        refund_reports.note(caller().tenant_id, config().chains, **asked)
        return {}

    return _json(report)


def _propose_payouts(asked: dict[str, Any]) -> PayoutList:
    """List the refunds that the account in a form pays. Invalid, ChainUnavailable."""
    return payouts.propose(
        caller().tenant_id,
        **asked,
        enabled=config().chains,
        by=actor("payouts_create_payout"),
    )


def _digest(found: PayoutList) -> str:
    """Return a digest of who gets how much."""
    payments = [(each.payment.id, each.payment.to, each.amount) for each in found.payments]
    return hashlib.sha256(json.dumps(payments).encode()).hexdigest()


def _names(found: PayoutList | PayoutPreview, orders: Iterable[Any]) -> dict[str, str]:
    """Return the names of all buyers of an answer; `orders` are those that are listed."""
    named = [*orders, *found.blocked, *found.listed_for_another]
    return dict(owed.names(caller().tenant_id, {each.intent_id for each in named}))


def _pay_back_page(
    form: Form,
    listed: PayoutList | None = None,
    asked: Mapping[str, Any] | None = None,
    *,
    has_changed: bool = False,
) -> str:
    """Render the page. `listed` is the list that was `asked` for without a script."""
    tenant_id, enabled = caller().tenant_id, config().chains
    wallet = money.wallet_of(tenant_id)
    networks = owed.read(tenant_id).networks
    rows = [each for each in networks if _is_payable(each) and each.listed.amount]
    names: dict[str, str] = {}
    previewed: dict[str, PreviewOrder] = {}
    if listed is not None and asked is not None:
        names = _names(listed, listed.payments)
        account = {key: asked[key] for key in ("chain_id", "token", "payer")}
        preview = payouts.preview(tenant_id, **account, enabled=enabled)
        previewed = {each.intent_id: each for each in preview.orders}
    return page(
        "money_pay_back.html",
        money.SECTION,
        rows=rows,
        amount=sum(each.listed.amount for each in rows),
        unstated=sum(each.unstated.amount for each in networks),
        waiting=sum(each.waiting.amount for each in networks),
        by_hand=sum(each.by_hand.amount for each in networks),
        owners=money.owners_of(tenant_id),
        wallet=wallet,
        decimals=_decimals,
        named=lambda chain_id: chains.name_of(chain_id, config()),
        explorer=lambda chain_id: enabled[chain_id].explorer_url,
        single=[
            chains.name_of(each.chain_id, config())
            for each in rows
            if len(enabled[each.chain_id].rpc_urls) == 1
        ],
        reasons=list(PayoutReason),
        cautions=list(PayeeCaution),
        form=form,
        listed=listed,
        looked=[key for key in _LOOKED if asked and asked[key]],
        previewed=previewed,
        shown="" if listed is None else _digest(listed),
        has_changed=has_changed,
        names=names,
    )


def _is_payable(row: Any) -> bool:
    """Return whether a row is of the token that orders are paid in now, on an enabled network."""
    chain = config().chains.get(row.chain_id)
    return chain is not None and chain.token_address == row.token_address


def _decimals(chain_id: int) -> int:
    """Return the decimals of a network's token."""
    known = chains.payable(config().chains, chains.states_of(chain_id)).get(chain_id)
    return (known and known.decimals) or 0


def _json(act: Callable[[], Any]) -> Response:
    """Return what `act` returns as JSON. If it is refused: the code, and a sentence."""
    try:
        return Response(json.dumps(act()), content_type="application/json")
    except TicketingError as error:
        sentence = render.template("refusal.txt", folder="console", error=error)
        said = json.dumps({"code": error.code, "sentence": sentence})
        return Response(said, error.status, headers_of(error), content_type="application/json")


def _file(name: str, content: Any) -> Response:
    response = Response(f"{json.dumps(content, indent=2)}\n", content_type="application/json")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
