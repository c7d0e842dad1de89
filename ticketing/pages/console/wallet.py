"""The console's page of the wallet: set it after its address was compared, and look after it."""

import json
from contextlib import suppress
from datetime import timedelta
from functools import partial

from flask import Response, redirect, request
from werkzeug import Response as AnyResponse

from schemas.forms import PasswordForm, WalletForm
from schemas.wallets import WalletSchema
from ticketing import formats
from ticketing.constants import WalletWarning
from ticketing.errors import NotFound, TicketingError
from ticketing.pages import forms, render, typed_forms
from ticketing.pages.console import first_steps, paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services import chains
from ticketing.services.access import actors, members
from ticketing.services.catalog import first_steps as progress
from ticketing.services.wallets import changes, recovery, refusals, views
from ticketing.services.wallets.owners import OwnerSettings
from ticketing.services.wallets.views import WalletView
from ticketing.web import sign_in
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config

SECTION = "wallet"

WARNINGS = {
    WalletWarning.CONTRACT_UNCONFIRMED: (
        "There is a contract at your address. Nothing is sold until you confirm below that it is"
        " your Safe or smart wallet."
    ),
    WalletWarning.WALLET_UNTESTED: (
        "Not tested yet: move the money of a first order, and look whether your exchange credits"
        " it. Some exchanges do not credit transfers that a contract makes."
    ),
    WalletWarning.RECOVERY_FILE_NOT_SAVED: (
        "Save the recovery file. With it you find all payments, also if this service is gone."
    ),
    WalletWarning.RECOVERY_FILE_OUTDATED: (
        "Many orders have come since you saved the recovery file. Save it again."
    ),
}

_FILE_WARNINGS = frozenset(
    {WalletWarning.RECOVERY_FILE_NOT_SAVED, WalletWarning.RECOVERY_FILE_OUTDATED}
)

blp = ConsoleBlueprint("wallet", __name__, reads={Role.ADMIN}, writes={Role.ADMIN})


@blp.get(paths.WALLET)
def show_wallet() -> str:
    """Show the wallet, what waits, and the forms to set it."""
    return _page(Form())


@blp.post(f"{paths.WALLET}/address")
def show_address() -> str:
    """Show an address in groups to compare, or why it cannot be a wallet. Nothing is stored."""
    owner, form = "", Form()
    try:
        owner = refusals.owner_of(forms.sent().get("address", ""), config().chains)
    except TicketingError as error:
        form = forms.refused(error)
    return render.template("wallet_address.html", folder="console", owner=owner, form=form)


@blp.post(paths.WALLET)
def state_wallet() -> AnyResponse:
    """Set the wallet if its address was compared on the page, else ask to compare it.

    A change that would wait is asked about too: with the password, it may not have to.
    """
    try:
        settings = _stated()
    except TicketingError as error:
        return forms.shown_again(_page(forms.refused(error)), error)
    waits = changes.would_wait(caller().tenant_id, settings, config().wallet_change)
    if waits or forms.sent().get("compared") != settings.owner:
        return Response(_compared(settings, Form()))
    return _change(settings)


@blp.post(f"{paths.WALLET}/confirm")
def set_wallet() -> AnyResponse:
    """Set the wallet whose address was compared, at once or after the time that it waits."""
    try:
        # Before the transaction, because it reads the chains.
        settings = _stated()
    except TicketingError as error:
        return forms.shown_again(_page(forms.refused(error)), error)
    return _change(settings)


@blp.post(f"{paths.WALLET}/cancel")
def cancel_change() -> AnyResponse:
    """Cancel the change that waits. After a double click, nothing waits any more."""
    tenant_id = caller().tenant_id

    def cancel() -> WalletView:
        changes.cancel(tenant_id, caller().credential_id)
        return views.read(tenant_id)

    with suppress(NotFound):
        recorded(
            WalletSchema,
            cancel,
            partial(views.read, tenant_id),
            action="wallets_cancel_wallet_change",
        )
    return redirect(f"{paths.WALLET}#canceled", 303)


@blp.post(paths.CREDITED)
def note_credited() -> AnyResponse:
    """Note that the money of a first collection arrived, and can be spent."""
    tenant_id = caller().tenant_id

    def note() -> WalletView:
        changes.note_credited(tenant_id)
        return views.read(tenant_id)

    before = partial(views.read, tenant_id)
    recorded(WalletSchema, note, before, action="wallets_note_wallet_credited")
    return redirect(f"{paths.WALLET}#credited", 303)


@blp.post(f"{paths.WALLET}/recovery")
def download_recovery_file() -> AnyResponse:
    """Download the recovery file, after the password was written once more."""

    def download() -> AnyResponse:
        sign_in.again(forms.read(PasswordForm)["password"])
        tenant = caller().tenant
        text = json.dumps(recovery.file_of(tenant, config().chains), indent=2)
        response = Response(f"{text}\n", content_type="application/json")
        name = f"{tenant.slug}-recovery.json"
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        response.headers["Cache-Control"] = "no-store"
        return response

    return forms.answered(download, _page)


def _stated() -> OwnerSettings:
    """Return the wallet that a form states. Invalid, ChainUnavailable.

    A secret is recognized before anything else, so that no page shows it again.
    """
    refusals.check_not_secret(forms.sent().get("address", ""))
    read = typed_forms.read(WalletForm, amounts={"minimum_deposit"})
    if not read.get("exchange"):
        # The page shows this field for an exchange only.
        read["minimum_deposit"] = None
    return changes.stated(caller().tenant_id, read, config().chains)


def _change(settings: OwnerSettings) -> AnyResponse:
    def change() -> str:
        wait = _wait()
        tenant_id = caller().tenant_id
        changed: WalletView = recorded(
            WalletSchema,
            lambda: _set(settings, wait),
            partial(views.read, tenant_id),
            action="wallets_set_wallet",
        )
        return f"{paths.WALLET}#{'saved' if changed.pending is None else 'waits'}"

    return forms.carried_out(change, partial(_compared, settings))


def _wait() -> timedelta:
    """Return how long a change waits: not at all with the password of a known administrator."""
    wait = config().wallet_change
    password = forms.sent().get("password")
    if password and members.is_longer_admin(sign_in.again(password), wait):
        return timedelta(0)
    return wait


def _set(settings: OwnerSettings, wait: timedelta) -> WalletView:
    tenant_id = caller().tenant_id
    changes.put(tenant_id, settings, by=caller().credential_id, wait=wait)
    return views.read(tenant_id)


def _compared(settings: OwnerSettings, form: Form) -> str:
    """Return the page that asks to compare the address."""
    tenant_id, wait = caller().tenant_id, config().wallet_change
    return page(
        "wallet_confirm.html",
        SECTION,
        settings=settings,
        minimum_deposit=_typed(settings.least_collected),
        networks=[_named(chain_id) for chain_id in sorted(settings.chain_ids)],
        waits=changes.would_wait(tenant_id, settings, wait),
        hours=wait // timedelta(hours=1),
        form=form,
    )


def _page(form: Form) -> str:
    try:
        wallet = views.read(caller().tenant_id)
    except NotFound:
        wallet = None
    tenant, role = caller().tenant, caller().role
    left = progress.left(tenant)
    pending = None if wallet is None else wallet.pending
    asked_by = "" if pending is None else pending.by
    known = chains.networks(config())
    chosen = typed_forms.chosen("chain_ids")
    if wallet is not None and "chain_ids" not in request.form:
        # Another form of the page was sent, or none.
        chosen = [str(chain_id) for chain_id in wallet.chain_ids]
    return page(
        "wallet.html",
        SECTION,
        steps=first_steps.steps(left, tenant, role) if left else [],
        wallet=wallet,
        file_warnings=_FILE_WARNINGS.intersection(wallet.warnings if wallet else ()),
        pending=pending,
        asked_by=actors.names(caller().tenant_id, [asked_by]).get(asked_by, asked_by),
        enabled=[each for each in known if each.is_enabled],
        others=[each for each in known if not each.is_enabled],
        chosen=chosen,
        minimum_deposit=_typed(None if wallet is None else wallet.minimum_deposit),
        named=_named,
        warnings=WARNINGS,
        form=form,
    )


def _typed(amount: int | None) -> str:
    """Return an amount as people write it in a form."""
    return "" if amount is None else formats.number(amount)


def _named(chain_id: int) -> str:
    return chains.name_of(chain_id, config())
