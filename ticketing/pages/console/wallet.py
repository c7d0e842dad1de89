"""The console's page of the wallet: set it after its first address was compared."""

from functools import partial

from flask import Response
from werkzeug import Response as AnyResponse

from schemas.wallets import WalletSchema, WalletSetSchema
from ticketing.constants import Role
from ticketing.errors import NotFound, TicketingError
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.forms import Form
from ticketing.services import chains
from ticketing.services.wallets import xpubs
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
        xpub = typed_forms.read(WalletSetSchema)["xpub"]
        unchecked = xpubs.ensure_unused(xpub, config().chains)
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
        xpub = typed_forms.read(WalletSetSchema)["xpub"]
        # Before the transaction, because it reads the chains.
        xpubs.ensure_unused(xpub, config().chains)
        tenant_id = caller().tenant_id
        recorded(
            WalletSchema,
            lambda: xpubs.replace(tenant_id, xpub),
            partial(xpubs.read, tenant_id),
            action="wallets_set_wallet",
        )
        return f"{paths.WALLET}#saved"

    return forms.carried_out(change, _page)


def _page(form: Form) -> str:
    try:
        wallet = xpubs.read(caller().tenant_id)
    except NotFound:
        wallet = None
    return page("wallet.html", SECTION, wallet=wallet, form=form)
