"""The console's page of the wallet: set it after its first address was compared."""

from functools import partial

from flask import Response
from werkzeug import Response as AnyResponse

from schemas.wallets import WalletRecordSchema, WalletSetSchema
from ticketing.constants import Role
from ticketing.errors import NotFound, TicketingError
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.forms import Form
from ticketing.services import chains
from ticketing.services.wallets import changes, views, xpubs
from ticketing.services.wallets.changes import Settings
from ticketing.services.wallets.views import WalletView
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config

SECTION = "wallet"

blp = ConsoleBlueprint("wallet", __name__, reads=Role.ADMIN, writes=Role.ADMIN)


@blp.get(paths.WALLET)
def show_wallet() -> str:
    """Show the wallet, and the form to set it."""
    return _page(Form())


@blp.post(paths.WALLET)
def compare_address() -> Response:
    """Ask whether the wallet shows the account's first address. Nothing is stored."""
    try:
        xpub = typed_forms.read(WalletSetSchema)["xpub"] or ""
        unchecked = xpubs.stated(xpub, config().chains).unchecked_chains
    except TicketingError as error:
        return forms.shown_again(_page(forms.refused(error)), error)
    asked = page(
        "wallet_confirm.html",
        SECTION,
        xpub=xpub,
        first_address=xpubs.first_address(xpub),
        unchecked=[chains.name_of(chain_id, config()) for chain_id in unchecked],
        form=Form(),
    )
    return Response(asked)


@blp.post(f"{paths.WALLET}/confirm")
def set_wallet() -> AnyResponse:
    """Set the account whose first address was compared as the wallet."""

    def change() -> str:
        # Before the transaction, because it reads the chains.
        settings = changes.stated(typed_forms.read(WalletSetSchema), config().chains)
        tenant_id = caller().tenant_id
        recorded(
            WalletRecordSchema,
            lambda: _set(settings),
            partial(views.read, tenant_id),
            action="wallets_set_wallet",
        )
        return f"{paths.WALLET}#saved"

    return forms.carried_out(change, _page)


def _set(settings: Settings) -> WalletView:
    tenant_id, by = caller().tenant_id, caller().credential_id
    changes.put(tenant_id, settings, by=by, wait=config().wallet_change)
    return views.read(tenant_id)


def _page(form: Form) -> str:
    try:
        wallet = views.read(caller().tenant_id)
    except NotFound:
        wallet = None
    return page("wallet.html", SECTION, wallet=wallet, form=form)
