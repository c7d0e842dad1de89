"""The console's page of settings: what pages show, and what may be missing of payments."""

from functools import partial

from werkzeug import Response

from schemas.tenants import TenantChangeSchema, TenantSchema
from ticketing import locales
from ticketing.pages import forms, typed_forms
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.words import SALE_MAILS
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.access import tenants
from ticketing.services.money import figures
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config

PATH = "/console/settings"

blp = ConsoleBlueprint("settings", __name__, reads={Role.ADMIN}, writes={Role.ADMIN})


@blp.get(PATH)
def show_settings() -> str:
    """Show the settings."""
    return settings_page(Form())


@blp.post(PATH)
def change_settings() -> Response:
    """Change the settings. An empty field removes one."""

    def change() -> str:
        settings = typed_forms.read(TenantChangeSchema, amounts=("payment_tolerance_most",))
        tenant_id = caller().tenant_id
        recorded(
            TenantSchema,
            partial(tenants.change, tenant_id, settings),
            partial(tenants.get, tenant_id),
            action="tenants_change_tenant",
        )
        return f"{PATH}#saved"

    return forms.carried_out(change, settings_page)


def settings_page(form: Form) -> str:
    """Render the page of settings, with what a form of it was refused for."""
    forgiven = figures.forgiven(caller().tenant_id)
    settings = {
        "early_most": config().early_most,
        "forgiven": forgiven,
        "languages": list(locales.LOCALES.items()),
        "sale_mails": list(SALE_MAILS.items()),
    }
    return page("settings.html", "settings", form=form, **settings)
