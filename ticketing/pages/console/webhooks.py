"""The console's pages of webhooks: endpoints, what failed there, sending again."""

from collections.abc import Callable
from functools import partial
from typing import Any

from werkzeug import Response

from schemas.forms import EmptyForm
from schemas.webhooks import (
    NewWebhookSchema,
    WebhookChangeSchema,
    WebhookCreateSchema,
    WebhookDeliverySchema,
    WebhookEnableSchema,
    WebhookResendSchema,
    WebhookRotateSchema,
    WebhookSchema,
)
from ticketing.constants import DEFAULT_OVERLAP
from ticketing.models.notifications import WebhookEndpoint
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import list_filters, one_time, words
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.one_time import Answer, Secret
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.notifications import webhooks
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config
from ticketing.web.idempotency import once

PATH = "/console/webhooks"
_WEBHOOK = f"{PATH}/<webhook_id>"
_TEXT = "The receiver checks with it that a request comes from here (Standard Webhooks)."

blp = ConsoleBlueprint("webhooks", __name__, reads={Role.ADMIN}, writes={Role.ADMIN})


@blp.get(PATH)
def list_webhooks() -> str:
    """List the endpoints, the oldest first."""
    return _list(Form())


@blp.post(PATH)
def create_webhook() -> Response:
    """Create an endpoint, and show its secret once."""
    tenant_id = caller().tenant_id

    def create() -> Response:
        fields = typed_forms.read(WebhookCreateSchema)
        made = one_time.made_once(
            lambda: recorded(
                NewWebhookSchema,
                lambda: webhooks.create(tenant_id, config=config(), **fields),
                action="webhooks_create_webhook",
            )
        )
        return _shown("New webhook", made, PATH)

    return forms.answered(create, _list)


@blp.get(_WEBHOOK)
def show_webhook(webhook_id: str) -> str:
    """Show one endpoint with its deliveries that failed or were asked for."""
    return _page(webhook_id)


@blp.post(f"{_WEBHOOK}/change")
def change_webhook(webhook_id: str) -> Response:
    """Change the URL and the types of an endpoint."""

    def change() -> str:
        fields = typed_forms.read(WebhookChangeSchema)
        act = partial(webhooks.change, config=config(), **fields)
        _recorded(WebhookSchema, act, webhook_id, "webhooks_change_webhook")
        return f"{PATH}/{webhook_id}#saved"

    return forms.carried_out(change, lambda form: _page(webhook_id, changing=form))


@blp.post(f"{_WEBHOOK}/rotate")
def rotate_webhook(webhook_id: str) -> Response:
    """Give an endpoint a new secret, and show it once."""

    def rotate() -> Response:
        fields = typed_forms.read(WebhookRotateSchema)
        act = partial(webhooks.rotate, keyring=config().keyring, **fields)
        made = one_time.made_once(
            lambda: _recorded(NewWebhookSchema, act, webhook_id, "webhooks_rotate_webhook")
        )
        return _shown("New secret of a webhook", made, f"{PATH}/{webhook_id}")

    return forms.answered(rotate, lambda form: _page(webhook_id, rotating=form))


@blp.post(f"{_WEBHOOK}/test")
def test_webhook(webhook_id: str) -> Response:
    """Send a test to an endpoint."""
    tenant_id = caller().tenant_id

    def test() -> str:
        forms.read(EmptyForm)
        once(
            forms.key(),
            lambda: (
                recorded(
                    WebhookDeliverySchema,
                    partial(webhooks.send_test, tenant_id, webhook_id),
                    action="webhooks_test_webhook",
                ).id
            ),
        )
        return f"{PATH}/{webhook_id}#sent"

    return forms.carried_out(test, lambda form: _page(webhook_id, sending=form))


@blp.post(f"{_WEBHOOK}/resend")
def resend_to_webhook(webhook_id: str) -> Response:
    """Send notifications again: one of them, or everything since a time."""

    def resend() -> str:
        fields = typed_forms.read(WebhookResendSchema)
        act = partial(webhooks.resend, **fields)
        action = "webhooks_resend_to_webhook"
        once(
            forms.key(),
            lambda: _recorded(WebhookSchema, act, webhook_id, action, details=fields).id,
        )
        return f"{PATH}/{webhook_id}#sent"

    return forms.carried_out(resend, lambda form: _page(webhook_id, sending=form))


@blp.post(f"{_WEBHOOK}/enable")
def enable_webhook(webhook_id: str) -> Response:
    """Deliver to a disabled or failing endpoint again."""

    def enable() -> str:
        fields = typed_forms.read(WebhookEnableSchema)
        act = partial(webhooks.enable, **fields)
        _recorded(WebhookSchema, act, webhook_id, "webhooks_enable_webhook", details=fields)
        return f"{PATH}/{webhook_id}#saved"

    return forms.carried_out(enable, lambda form: _page(webhook_id, sending=form))


@blp.post(f"{_WEBHOOK}/delete")
def delete_webhook(webhook_id: str) -> Response:
    """Delete an endpoint with its deliveries."""

    def delete() -> str:
        forms.read(EmptyForm)
        _recorded(WebhookSchema, webhooks.delete, webhook_id, "webhooks_delete_webhook")
        return f"{PATH}#deleted"

    return forms.carried_out(delete, lambda form: _page(webhook_id, sending=form))


def _recorded(
    schema: type[WebhookSchema],
    act: Callable[[str, str], Any],
    webhook_id: str,
    action: str,
    details: dict[str, Any] | None = None,
) -> Any:
    """Change an endpoint, and write it to the audit log."""
    tenant_id = caller().tenant_id
    return recorded(
        schema,
        lambda: act(tenant_id, webhook_id),
        partial(webhooks.get, tenant_id, webhook_id),
        action=action,
        details=details,
    )


def _shown(title: str, made: WebhookEndpoint | None, back: str) -> Response:
    secrets = None if made is None else [Secret("Secret", made.plaintext)]
    return one_time.answer("webhooks", Answer(title, _TEXT, back, secrets))


def _list(form: Form) -> str:
    found = webhooks.list_page(caller().tenant_id, list_filters.page_request())
    return page(
        "webhooks.html",
        "webhooks",
        form=form,
        chosen=typed_forms.chosen("types"),
        webhooks=found.data,
        next_page=list_filters.next_page(found, {}),
        words=words,
    )


def _page(
    webhook_id: str,
    changing: Form | None = None,
    rotating: Form | None = None,
    sending: Form | None = None,
) -> str:
    tenant_id = caller().tenant_id
    webhook = webhooks.get(tenant_id, webhook_id)
    found = webhooks.list_deliveries(
        tenant_id, webhook_id, list_filters.page_request(), with_passed=False
    )
    return page(
        "webhook.html",
        "webhooks",
        webhook=webhook,
        deliveries=found.data,
        next_page=list_filters.next_page(found, {}),
        chosen=typed_forms.chosen("types") if changing else webhook.type_names,
        changing=changing or Form(),
        rotating=rotating or Form(),
        sending=sending or Form(),
        default=DEFAULT_OVERLAP,
        words=words,
    )
