"""`flask --app app keys`: API keys, for operators. They need no credential of the API."""

import json
import sys
from datetime import datetime
from typing import Any

import click
from flask.cli import AppGroup

from ticketing import clock
from ticketing.cli.base import command, config, json_option, record_change, show
from ticketing.constants import (
    DEFAULT_KEY_TTL,
    DEFAULT_OVERLAP,
    MAX_KEY_TTL,
    MAX_OVERLAP,
    MIN_KEY_TTL,
)
from ticketing.models.api_keys import ApiKey
from ticketing.roles import LADDER, Role
from ticketing.services.access import api_keys, audit_log, tenants, totp
from ticketing.services.notifications import webhook_secrets

group = AppGroup("keys", help="Create, rotate and revoke API keys.")

_LIFETIME = click.IntRange(MIN_KEY_TTL, MAX_KEY_TTL)


@group.command("create")
@click.argument("tenant")
@click.option("--name", required=True, help="The purpose of the key.")
@click.option(
    "--role",
    required=True,
    type=click.Choice([role.value for role in LADDER]),
    help="What the key may do.",
)
@click.option(
    "--ttl",
    type=_LIFETIME,
    default=DEFAULT_KEY_TTL,
    show_default=True,
    help="Lifetime in seconds.",
)
@json_option
@command
def create(tenant: str, name: str, role: str, ttl: int, as_json: bool) -> None:
    """Create an API key of TENANT (slug or id), and print it once."""
    tenant_id = tenants.find(tenant).id
    with audit_log.changes(tenant_id):
        key = api_keys.create(
            tenant_id, name=name, role=Role(role), ttl_seconds=ttl, keyring=config().keyring
        )
        record_change(tenant_id, key.id, before=None, after=_shown(key))
    _show_secret(key, as_json)


@group.command("list")
@click.argument("tenant")
@json_option
@command
def list_keys(tenant: str, as_json: bool) -> None:
    """List the API keys of TENANT, the oldest first."""
    found = tenants.find(tenant)
    keys = api_keys.list_all(found.id)
    if as_json:
        click.echo(json.dumps({"count": len(keys), "keys": _rows(keys)}))
    else:
        _print_all(keys)


@group.command("rotate")
@click.argument("tenant")
@click.argument("key_id")
@click.option(
    "--overlap",
    type=click.IntRange(0, MAX_OVERLAP),
    default=DEFAULT_OVERLAP,
    show_default=True,
    help="For how many seconds the old secret stays valid.",
)
@click.option("--ttl", type=_LIFETIME, help="New lifetime in seconds. Default: no change.")
@json_option
@command
def rotate(tenant: str, key_id: str, overlap: int, ttl: int | None, as_json: bool) -> None:
    """Give KEY_ID of TENANT a new secret, and print it once."""
    tenant_id = tenants.find(tenant).id
    with audit_log.changes(tenant_id):
        before = _shown(api_keys.get(tenant_id, key_id))
        key = api_keys.rotate(
            tenant_id,
            key_id,
            overlap_seconds=overlap,
            ttl_seconds=ttl,
            keyring=config().keyring,
        )
        record_change(tenant_id, key.id, before=before, after={**_shown(key), "key": key.key})
    _show_secret(key, as_json)


@group.command("revoke")
@click.argument("tenant")
@click.argument("key_id")
@command
def revoke(tenant: str, key_id: str) -> None:
    """Revoke KEY_ID of TENANT and all its JWTs at once."""
    tenant_id = tenants.find(tenant).id
    with audit_log.changes(tenant_id):
        before = _shown(api_keys.get(tenant_id, key_id))
        key = api_keys.revoke(tenant_id, key_id)
        record_change(tenant_id, key.id, before=before, after=_shown(key))
    click.echo(f"revoked {key.id}")


@group.command("revoke-all")
@click.argument("tenant")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@command
def revoke_all(tenant: str, yes: bool, as_json: bool) -> None:
    """Revoke all API keys of TENANT and all their JWTs at once."""
    found = tenants.find(tenant)
    if not yes:
        click.confirm(f"This revokes all API keys of {found.slug}. Continue?", abort=True, err=True)
    with audit_log.changes(found.id):
        revoked = api_keys.revoke_all(found.id)
        for key_id in revoked:
            record_change(found.id, key_id, before={"revoked": False}, after={"revoked": True})
    show({"tenant": found.slug, "revoked": len(revoked)}, as_json=as_json)


@group.command("under-previous")
@json_option
@command
def under_previous(as_json: bool) -> None:
    """List what needs SECRET_KEY_PREVIOUS: keys, webhooks, apps. Exit with code 1 if any does.

    A key is stored under SECRET_KEY when it is used, the secrets of webhook endpoints and of apps
    that show codes by the worker.
    """
    keys = api_keys.under_previous(config().keyring)
    endpoints = webhook_secrets.under_previous(config().keyring)
    webhooks = [{"tenant": each.tenant.slug, "id": each.id} for each in endpoints]
    apps = totp.under_previous(config().keyring)
    if as_json:
        click.echo(
            json.dumps(
                {"count": len(keys), "keys": _rows(keys), "webhooks": webhooks, "apps": apps}
            )
        )
    else:
        _print_all(keys)
        for each in webhooks:
            click.echo("  ".join((*each.values(), "webhook secret")))
        if apps:
            click.echo(f"{apps} apps of members that show codes")
    if keys or webhooks or apps:
        sys.exit(1)


def _show_secret(key: ApiKey, as_json: bool) -> None:
    show({"id": key.id, "name": key.name, "role": key.role, "key": key.key}, as_json=as_json)


def _rows(keys: list[ApiKey]) -> list[dict[str, Any]]:
    return [{"tenant": key.tenant.slug, "id": key.id, **_shown(key)} for key in keys]


def _print_all(keys: list[ApiKey]) -> None:
    for row in _rows(keys):
        cells = [row[name] for name in ("tenant", "id", "role", "status", "last_used_at", "name")]
        click.echo("  ".join(each or "never used" for each in cells))


def _shown(key: ApiKey) -> dict[str, Any]:
    return {
        "name": key.name,
        "role": key.role,
        "status": key.status.value,
        "created_at": _text(key.created_at),
        "expires_at": _text(key.expires_at),
        "last_used_at": _text(key.last_used_at),
        "revoked_at": _text(key.revoked_at),
        "previous_expires_at": _text(key.previous_expires_at),
    }


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else clock.rfc3339(moment)
