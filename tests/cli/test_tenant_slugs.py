"""Slugs that the service needs for its own paths, and tenants that get another slug."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cli.test_commands import refused
from tests.support.apps import new_app
from tests.support.factories import Api, cli, new_organizer
from tests.support.remote import eventually
from ticketing import ids
from ticketing.constants import RESERVED_SLUGS
from ticketing.db.connection import database, is_sqlite, write_transaction
from ticketing.models.events import Event
from ticketing.services import catalog_version
from ticketing.services.access import tenants
from ticketing.services.access.tenants import SLUG

COULD_BE_SLUGS = sorted(word for word in RESERVED_SLUGS if SLUG.fullmatch(word))


def test_every_path_that_is_not_a_tenants_begins_with_a_reserved_word(app):
    firsts = {rule.rule.split("/")[1] for rule in app.url_map.iter_rules()}
    assert {"v1", "docs", "openapi.json", "static"} <= firsts
    ours = {first for first in firsts if not first.startswith("_")} - {"", "<tenant:tenant>"}
    assert ours <= RESERVED_SLUGS


@pytest.mark.parametrize("slug", COULD_BE_SLUGS)
def test_no_tenant_gets_a_reserved_slug(app, acme, slug):
    sentence = f"'{slug}' is reserved for the service's own paths."
    assert sentence in refused(app, "tenants", "create", slug, "--name", "Docs")
    assert sentence in refused(app, "tenants", "rename", "acme", slug)
    cli(app, "tenants", "create", f"{slug}-1", "--name", "Docs")


def test_a_renamed_tenant_keeps_its_id_its_keys_and_its_orders(app, acme):
    buyer = acme.buyer(acme.ticket(price_amount=0))
    told = cli(app, "tenants", "rename", "acme", "acme-nights", "--json")
    assert told == f'{{"id": "{acme.id}", "slug": "acme-nights"}}\n'
    me = acme.with_headers({"X-API-Key": acme.admin_key})
    for reference in ("acme-nights", acme.id):
        found = me.get(f"/v1/admin/tenants/{reference}").json
        assert (found["id"], found["slug"], found["name"]) == (acme.id, "acme-nights", "Acme")
        intent = f"/v1/checkout/tenants/{reference}/intents/{buyer.intent['id']}"
        assert buyer.api.get(intent).json["id"] == buyer.intent["id"]
    entry = me.get(f"/v1/admin/tenants/{acme.id}/audit-log").json["data"][0]
    assert (entry["actor"], entry["action"]) == ("cli", "tenants rename")
    assert (entry["before"], entry["after"]) == ({"slug": "acme"}, {"slug": "acme-nights"})


def test_the_old_slug_ends_at_once_in_caches_and_jwts_too(app, acme, environ):
    elsewhere, jwt = Api(new_app(environ).test_client()), acme.api()
    listing = "/v1/public/tenants/{}/events"
    for _ in range(2):
        assert elsewhere.get(listing.format("acme")).status_code == 200
    assert jwt.get(acme.path).status_code == 200
    cli(app, "tenants", "rename", "acme", "nights")
    assert elsewhere.get(listing.format("acme")).status_code == 404
    assert elsewhere.get(listing.format("nights")).status_code == 200
    for slug in ("acme", "nights"):
        assert jwt.get(f"/v1/admin/tenants/{slug}").status_code == 401
    by_key = acme.with_headers({"X-API-Key": acme.admin_key})
    assert by_key.get(acme.path).json["code"] == "wrong_tenant"
    taker = new_organizer(app, "acme")
    assert taker.api().get(taker.path).json["id"] == taker.id != acme.id
    assert by_key.get(taker.path).json["code"] == "wrong_tenant"


@pytest.mark.parametrize("slug", ["Acme", "a_b", "-a", "", "a" * 81, "ten_" + "0" * 26])
def test_a_tenant_is_not_renamed_to_a_bad_slug(app, acme, slug):
    assert "slug" in refused(app, "tenants", "rename", "--", "acme", slug)


def test_a_tenant_is_not_renamed_to_the_slug_of_another(app, acme, neighbour):
    assert "slug is already in use" in refused(app, "tenants", "rename", "acme", "neighbour")
    assert acme.api().get(acme.path).json["slug"] == "acme"


@pytest.mark.parametrize("slug", ["nobody-here", "Acme", ""])
def test_a_tenant_that_does_not_exist_is_not_renamed(app, acme, slug):
    assert "tenant does not exist" in refused(app, "tenants", "rename", "--", slug, "other")


def somebody_waits():
    # Inside a transaction, Postgres shows the connections of its first look again and again.
    database.execute_sql("SELECT pg_stat_clear_snapshot()")
    waiting = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    return database.execute_sql(waiting).fetchone()[0] == 1


def test_a_rename_waits_for_a_change_of_the_tenant_that_is_not_committed(app, acme):
    event, owner = acme.event(), acme.with_headers({"X-API-Key": acme.admin_key})
    with ThreadPoolExecutor(1) as pool:
        with write_transaction():
            # Like each new order, the copy refers to the tenant. Then the tenant's row changes.
            copied = Event.get_by_id(event["id"])
            copied.id, copied.slug = ids.new(ids.EVENT), "copied"
            copied.save(force_insert=True)
            renamed = pool.submit(tenants.rename, "acme", "nights")
            if not is_sqlite():
                eventually(somebody_waits)
            catalog_version.advance(acme.id)
        assert renamed.result() == acme.id
        pool.submit(database.close).result()
    assert owner.get(f"/v1/admin/tenants/nights/events/{copied.id}").json["slug"] == "copied"
