"""The console's page on which an administrator ends a doubt about an id of a refund."""

from flask import request
from werkzeug import Response

from schemas.refunds import RefundPassOverSchema
from ticketing.errors import NotFound
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.orders import intents
from ticketing.services.payments import passed_ids
from ticketing.web.audited import actor
from ticketing.web.context import caller
from ticketing.web.idempotency import once

_PATH = f"{paths.REFUNDS}/<intent_id>/pass-over"
_NAMED = ("payer", "payment_id", "chain_id", "token_address")
"""The fields that say which id it is. The lists of refunds link here with them."""

blp = ConsoleBlueprint("passed_ids", __name__, reads={Role.ADMIN}, writes={Role.ADMIN})


@blp.get(_PATH)
def show_id(intent_id: str) -> str:
    """Show which account has used an id of an order, and ask what for."""
    return _page(intent_id, Form())


@blp.post(_PATH)
def pass_over_id(intent_id: str) -> Response:
    """Note that an id was used for something else."""

    def pass_over() -> str:
        fields = typed_forms.read(RefundPassOverSchema)
        by = actor("passed_ids_pass_over_id")

        def act() -> str:
            passed_ids.pass_over(caller().tenant_id, intent_id, **fields, by=by)
            return ""

        once(forms.key(), act)
        return f"{paths.refund_named(intent_id, fields)}#passed-over"

    return forms.carried_out(pass_over, lambda form: _page(intent_id, form))


def _page(intent_id: str, form: Form) -> str:
    named = {name: request.values[name] for name in _NAMED if request.values.get(name)}
    of_id = {name: named.get(name) for name in ("payer", "payment_id")}
    if RefundPassOverSchema(only=tuple(of_id)).validate(of_id):
        raise NotFound
    return page(
        "pass_over.html",
        "refunds",
        order=intents.get(caller().tenant_id, intent_id),
        named=named,
        path_of_refund=paths.refund_named(intent_id, named),
        form=form,
    )
