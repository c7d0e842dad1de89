"""The API keys surface: list, create, read, rotate, revoke."""

from typing import Any

from schemas.api_keys import (
    ApiKeyCreateSchema,
    ApiKeyListQuery,
    ApiKeyRotateSchema,
    ApiKeySchema,
    NewApiKeySchema,
)
from schemas.base import page_of
from ticketing.errors import KeyNotActive, NotFound
from ticketing.models.api_keys import ApiKey
from ticketing.roles import Role
from ticketing.services.access import api_keys
from ticketing.services.pagination import Page
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config, page_request
from ticketing.web.idempotency import idempotent, never_stored

blp = ApiBlueprint(
    "api_keys",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/apikeys",
    guard=auth.TenantRole(reads={Role.ADMIN}, writes={Role.ADMIN}),
    description="Keys for software. The plaintext is shown once.",
)


@blp.get("")
@blp.arguments(ApiKeyListQuery, location="query")
@blp.response(200, page_of(ApiKeySchema))
def list_api_keys(query: dict[str, Any], tenant: str) -> Page[ApiKey]:
    """List the tenant's API keys."""
    return api_keys.list_page(caller().tenant_id, page=page_request(query), **query)


@blp.post("")
@idempotent
@blp.arguments(ApiKeyCreateSchema)
@blp.response(201, NewApiKeySchema)
@audited(NewApiKeySchema)
@never_stored("key")
def create_api_key(body: dict[str, Any], tenant: str) -> ApiKey:
    """Create an API key. Only this response contains its plaintext."""
    return api_keys.create(caller().tenant_id, keyring=config().keyring, **body)


@blp.get("/<key_id>")
@blp.response(200, ApiKeySchema)
@blp.raises(NotFound)
def get_api_key(tenant: str, key_id: str) -> ApiKey:
    """Read one API key."""
    return api_keys.get(caller().tenant_id, key_id)


@blp.post("/<key_id>/rotate")
@idempotent
@blp.arguments(ApiKeyRotateSchema)
@blp.response(200, NewApiKeySchema)
@audited(NewApiKeySchema, before=api_keys.get)
@never_stored("key")
@blp.raises(NotFound, KeyNotActive)
def rotate_api_key(body: dict[str, Any], tenant: str, key_id: str) -> ApiKey:
    """Give an API key a new secret. Only this response contains its plaintext.

    The previous secret and its JWTs stay valid until the overlap ends. Older secrets end at
    once.
    """
    return api_keys.rotate(caller().tenant_id, key_id, keyring=config().keyring, **body)


@blp.post("/<key_id>/revoke")
@idempotent
@blp.response(200, ApiKeySchema)
@audited(ApiKeySchema, before=api_keys.get)
@blp.raises(NotFound)
def revoke_api_key(tenant: str, key_id: str) -> ApiKey:
    """Revoke an API key and all its JWTs at once. A repeat gets the same response."""
    return api_keys.revoke(caller().tenant_id, key_id)
