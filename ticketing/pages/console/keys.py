"""The console's pages of API keys: what software may do in the tenant's name."""

from functools import partial

from flask import redirect
from werkzeug import Response

from schemas.api_keys import (
    ApiKeyCreateSchema,
    ApiKeyRotateSchema,
    ApiKeySchema,
    NewApiKeySchema,
)
from ticketing.constants import DEFAULT_KEY_TTL, DEFAULT_OVERLAP
from ticketing.models.api_keys import ApiKey
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import list_filters, one_time, words
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.one_time import Answer, Secret
from ticketing.pages.forms import Form
from ticketing.roles import KeyStatus, Role
from ticketing.services.access import api_keys
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config

PATH = "/console/keys"
_KEY = f"{PATH}/<key_id>"
_TEXT = "Put it where your software reads its secrets. Do not send it by mail or chat."

blp = ConsoleBlueprint("keys", __name__, reads={Role.ADMIN}, writes={Role.ADMIN})


@blp.get(PATH)
def list_keys() -> str:
    """List the keys, the oldest first."""
    return _list(Form())


@blp.post(PATH)
def create_key() -> Response:
    """Create a key, and show it once."""
    tenant_id = caller().tenant_id

    def create() -> Response:
        fields = typed_forms.read(ApiKeyCreateSchema)
        made = one_time.made_once(
            lambda: recorded(
                NewApiKeySchema,
                lambda: api_keys.create(tenant_id, keyring=config().keyring, **fields),
                action="api_keys_create_api_key",
            )
        )
        return _shown("New key", made)

    return forms.answered(create, _list)


@blp.get(_KEY)
def show_key(key_id: str) -> str:
    """Show one key."""
    return _page(key_id, Form())


@blp.post(f"{_KEY}/rotate")
def rotate_key(key_id: str) -> Response:
    """Give a key a new secret, and show it once."""
    tenant_id = caller().tenant_id

    def rotate() -> Response:
        fields = typed_forms.read(ApiKeyRotateSchema)
        made = one_time.made_once(
            lambda: recorded(
                NewApiKeySchema,
                lambda: api_keys.rotate(tenant_id, key_id, keyring=config().keyring, **fields),
                partial(api_keys.get, tenant_id, key_id),
                action="api_keys_rotate_api_key",
            )
        )
        return _shown("New secret of a key", made)

    return forms.answered(rotate, partial(_page, key_id))


@blp.post(f"{_KEY}/revoke")
def revoke_key(key_id: str) -> Response:
    """Revoke a key with all its tokens."""
    tenant_id = caller().tenant_id
    recorded(
        ApiKeySchema,
        partial(api_keys.revoke, tenant_id, key_id),
        partial(api_keys.get, tenant_id, key_id),
        action="api_keys_revoke_api_key",
    )
    return redirect(f"{PATH}/{key_id}#revoked", 303)


def _shown(title: str, made: ApiKey | None) -> Response:
    secrets = None if made is None else [Secret("Key", made.key, made.name)]
    return one_time.answer("keys", Answer(title, _TEXT, PATH, secrets))


def _list(form: Form) -> str:
    status = list_filters.choice("status", KeyStatus)
    found = api_keys.list_page(caller().tenant_id, status, list_filters.page_request())
    return page(
        "keys.html",
        "keys",
        form=form,
        keys=found.data,
        next_page=list_filters.next_page(found, {"status": status}),
        status=status,
        default_ttl=DEFAULT_KEY_TTL,
        words=words,
    )


def _page(key_id: str, form: Form) -> str:
    key = api_keys.get(caller().tenant_id, key_id)
    return page("key.html", "keys", form=form, key=key, default=DEFAULT_OVERLAP, words=words)
