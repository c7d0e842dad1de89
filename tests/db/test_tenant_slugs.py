"""The migration that reserves slugs stops while a tenant has one, and there is a way out."""

import pytest

from tests.cli.test_commands import refused
from tests.support.factories import cli
from ticketing.db import migrate
from ticketing.db.connection import database
from ticketing.models.tenants import Tenant

MIGRATION = "0010_tenant_settings"


@pytest.mark.exhaustive
@pytest.mark.parametrize("oldest_pending", [MIGRATION, "0009_notifications", "0005_balances"])
def test_a_tenant_in_the_way_stops_the_migration_until_it_is_renamed(
    app, acme, neighbour, oldest_pending
):
    for organizer, slug in ((acme, "docs"), (neighbour, "mcp")):
        Tenant.update(slug=slug).where(Tenant.id == organizer.id).execute()
    while migrate.downgrade() != [oldest_pending]:
        pass
    pending, tables = migrate.pending(), database.get_tables()
    assert MIGRATION in pending

    sentence = refused(app, "db", "upgrade")
    assert "Pages need these slugs, which tenants have: docs, mcp." in sentence
    assert "tenants rename SLUG NEW_SLUG" in sentence
    assert (migrate.pending(), database.get_tables()) == (pending, tables)

    cli(app, "tenants", "rename", "docs", "acme-docs")
    assert "which tenants have: mcp." in refused(app, "db", "upgrade")
    cli(app, "tenants", "rename", "mcp", "mcp-2")
    assert f"applied {MIGRATION}" in cli(app, "db", "upgrade")
    assert migrate.pending() == []
    me = acme.with_headers({"X-API-Key": acme.admin_key})
    found = me.get("/v1/admin/tenants/acme-docs").json
    assert (found["id"], found["name"], found["website"]) == (acme.id, "Acme", None)


@pytest.mark.long
def test_settings_are_gone_after_a_downgrade_and_the_tenant_is_not(app, acme):
    me = acme.with_headers({"X-API-Key": acme.admin_key})
    before = me.get(acme.path).json
    me.patch(acme.path, {"website": "https://acme.example.org/"})
    while migrate.downgrade() != [MIGRATION]:
        pass
    migrate.upgrade()
    # Tenants of before the upgrade keep what they had: only new ones have this.
    assert me.get(acme.path).json == {**before, "early_confirmation": False}
