"""The webhooks surface: endpoints, their secrets, and what was delivered to them."""

from typing import Any

from schemas.base import PageQuery, page_of
from schemas.webhooks import (
    NewWebhookSchema,
    WebhookChangeSchema,
    WebhookCreateSchema,
    WebhookDeliveryQuery,
    WebhookDeliverySchema,
    WebhookEnableSchema,
    WebhookResendSchema,
    WebhookRotateSchema,
    WebhookSchema,
)
from ticketing.errors import NotFound, TooManyDeliveries, TooManyWebhooks
from ticketing.models.notifications import WebhookDelivery, WebhookEndpoint
from ticketing.roles import Role
from ticketing.services.notifications import webhooks
from ticketing.services.pagination import Page
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config, page_request
from ticketing.web.idempotency import idempotent, never_stored

blp = ApiBlueprint(
    "webhooks",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/webhooks",
    guard=auth.TenantRole(reads={Role.ADMIN}, writes={Role.ADMIN}),
    description="Endpoints that get the tenant's notifications, signed by Standard Webhooks.",
)


@blp.get("")
@blp.arguments(PageQuery, location="query")
@blp.response(200, page_of(WebhookSchema))
def list_webhooks(query: dict[str, Any], tenant: str) -> Page[WebhookEndpoint]:
    """List the tenant's webhook endpoints."""
    return webhooks.list_page(caller().tenant_id, page_request(query))


@blp.post("")
@idempotent
@blp.arguments(WebhookCreateSchema)
@blp.response(201, NewWebhookSchema)
@audited(NewWebhookSchema)
@never_stored("secret")
@blp.raises(TooManyWebhooks)
def create_webhook(body: dict[str, Any], tenant: str) -> WebhookEndpoint:
    """Create a webhook endpoint. Only this response contains its secret.

    It gets what is recorded from now on.
    """
    return webhooks.create(caller().tenant_id, config=config(), **body)


@blp.get("/<webhook_id>")
@blp.response(200, WebhookSchema)
@blp.raises(NotFound)
def get_webhook(tenant: str, webhook_id: str) -> WebhookEndpoint:
    """Read one webhook endpoint."""
    return webhooks.get(caller().tenant_id, webhook_id)


@blp.patch("/<webhook_id>")
@blp.arguments(WebhookChangeSchema)
@blp.response(200, WebhookSchema)
@audited(WebhookSchema, before=webhooks.get)
@blp.raises(NotFound)
def change_webhook(body: dict[str, Any], tenant: str, webhook_id: str) -> WebhookEndpoint:
    """Change the URL or the types of a webhook endpoint. It goes on where it is.

    With another URL, it no longer counts as failing. A disabled one stays disabled.
    """
    return webhooks.change(caller().tenant_id, webhook_id, config=config(), **body)


@blp.delete("/<webhook_id>")
@blp.response(204)
@audited(WebhookSchema, before=webhooks.get)
@blp.raises(NotFound)
def delete_webhook(tenant: str, webhook_id: str) -> None:
    """Delete a webhook endpoint with its deliveries."""
    webhooks.delete(caller().tenant_id, webhook_id)


@blp.post("/<webhook_id>/rotate")
@idempotent
@blp.arguments(WebhookRotateSchema)
@blp.response(200, NewWebhookSchema)
@audited(NewWebhookSchema, before=webhooks.get)
@never_stored("secret")
@blp.raises(NotFound)
def rotate_webhook(body: dict[str, Any], tenant: str, webhook_id: str) -> WebhookEndpoint:
    """Give a webhook endpoint a new secret. Only this response contains it.

    During the overlap, requests have two signatures: one with each secret.
    """
    return webhooks.rotate(caller().tenant_id, webhook_id, keyring=config().keyring, **body)


@blp.post("/<webhook_id>/test")
@idempotent
@blp.response(200, WebhookDeliverySchema)
@audited(WebhookDeliverySchema)
@blp.raises(NotFound, TooManyDeliveries)
def test_webhook(tenant: str, webhook_id: str) -> WebhookDelivery:
    """Send a notification `webhook.test` to this endpoint only, once.

    The response is 200 with the delivery, which waits: the worker sends it within seconds, also to
    a disabled endpoint. The deliveries show the result. (It is not 202, because a repeat with the
    same `Idempotency-Key` must not send another one.)
    """
    return webhooks.send_test(caller().tenant_id, webhook_id)


@blp.post("/<webhook_id>/resend")
@idempotent
@blp.arguments(WebhookResendSchema)
@blp.response(200, WebhookSchema)
@audited(WebhookSchema, before=webhooks.get, details=("notification_ids", "since"))
@blp.raises(NotFound, TooManyDeliveries)
def resend_to_webhook(body: dict[str, Any], tenant: str, webhook_id: str) -> WebhookEndpoint:
    """Send notifications again: everything since a time, or those with some ids.

    `since` moves `position` back, and the endpoint's types are sent again in their order. With
    `ids`, each is tried once, also at a disabled endpoint; the deliveries show the results.
    """
    return webhooks.resend(caller().tenant_id, webhook_id, **body)


@blp.post("/<webhook_id>/enable")
@idempotent
@blp.arguments(WebhookEnableSchema)
@blp.response(200, WebhookSchema)
@audited(WebhookSchema, before=webhooks.get, details=("since",))
@blp.raises(NotFound)
def enable_webhook(body: dict[str, Any], tenant: str, webhook_id: str) -> WebhookEndpoint:
    """Deliver to a disabled or failing webhook endpoint again, at once."""
    return webhooks.enable(caller().tenant_id, webhook_id, **body)


@blp.get("/<webhook_id>/deliveries")
@blp.arguments(WebhookDeliveryQuery, location="query")
@blp.response(200, page_of(WebhookDeliverySchema))
@blp.raises(NotFound)
def list_webhook_deliveries(
    query: dict[str, Any], tenant: str, webhook_id: str
) -> Page[WebhookDelivery]:
    """List the deliveries of an endpoint, the latest first.

    Those that failed, or that somebody asked for, of the last 30 days; and the last 100 that passed
    by themselves, of the last 7 days. The endpoint's `delivered` counts all that passed.
    """
    with_passed = not query["only_failed"]
    return webhooks.list_deliveries(
        caller().tenant_id, webhook_id, page_request(query), with_passed=with_passed
    )
