"""The settings of a tenant: its admins read and change them."""

import pytest

SETTINGS = {
    "name": "Acme Nights",
    "contact_email": "hello@acme.example.org",
    "website": "https://acme.example.org/",
    "terms_url": "https://acme.example.org/terms",
    "privacy_url": "http://acme.example.org/privacy?lang=en",
    "legal_address": "Acme Events Ltd.\n1 High Street\nLondon",
    "tax_id": "GB 123 4567 89",
    "accent_color": "#1F4e79",
    "locale": "pl",
    "sale_mails": "each",
    "early_confirmation": False,
    "listed": True,
    "second_factor_required": True,
    "payment_tolerance_percent": 5,
    "payment_tolerance_most": 2_000_000,
}
DEFAULTS = {
    "locale": "en",
    "sale_mails": "none",
    "early_confirmation": True,
    "listed": False,
    "second_factor_required": False,
    "payment_tolerance_percent": 0,
    "payment_tolerance_most": 1_500_000,
}
OPTIONAL = SETTINGS.keys() - {"name", *DEFAULTS}


@pytest.fixture
def me(acme):
    return acme.with_headers({"X-API-Key": acme.admin_key})


def log_of(acme, me):
    entries = me.get(f"{acme.path}/audit-log", query_string={"subject": acme.id}).json["data"]
    return [each for each in entries if each["actor"] != "cli"]


def test_a_new_tenant_has_its_name_and_no_settings(acme, me):
    found = me.get(acme.path).json
    assert found.pop("created_at").endswith("Z")
    named = {"id": acme.id, "slug": "acme", "name": "Acme"}
    assert found == {**named, **dict.fromkeys(OPTIONAL), **DEFAULTS}


def test_settings_are_read_back_as_they_were_set(acme, neighbour, me):
    before = me.get(acme.path).json
    changed = me.patch(acme.path, SETTINGS)
    assert (changed.status_code, changed.json) == (200, {**before, **SETTINGS})
    assert me.get(f"/v1/admin/tenants/{acme.id}").json == changed.json
    of_neighbour = neighbour.api().get(neighbour.path).json
    assert of_neighbour["name"] == "Neighbour"
    assert all(of_neighbour[each] is None for each in OPTIONAL)


@pytest.mark.parametrize("field", sorted(SETTINGS))
def test_only_the_fields_that_are_sent_change(acme, me, field):
    before = me.get(acme.path).json
    changed = me.patch(acme.path, {field: SETTINGS[field]}).json
    assert changed == {**before, field: SETTINGS[field]} != before
    assert me.patch(acme.path, {}).json == changed


def test_null_removes_a_setting_but_not_the_name_or_a_number(acme, me):
    me.patch(acme.path, SETTINGS)
    for field in OPTIONAL:
        assert me.patch(acme.path, {field: None}).json[field] is None
    kept = {"name": None, **dict.fromkeys(DEFAULTS)}
    refused = me.patch(acme.path, {**kept, "website": SETTINGS["website"]})
    assert refused.status_code == 422 and refused.json["errors"].keys() == kept.keys()
    assert me.get(acme.path).json["name"] == SETTINGS["name"]
    assert me.get(acme.path).json["website"] is None


@pytest.mark.parametrize("field", ["id", "slug", "created_at", "revision", "wallet_id"])
def test_what_is_no_setting_cannot_be_changed(acme, me, field):
    before = me.get(acme.path).json
    refused = me.patch(acme.path, {field: "x"})
    assert refused.status_code == 422 and refused.json["errors"].keys() == {field}
    assert me.get(acme.path).json == before


@pytest.mark.parametrize("color", ["#ffffff", "#FFD700", "#000000"])
def test_any_color_is_taken_and_kept_as_it_was_written(acme, me, color):
    assert me.patch(acme.path, {"accent_color": color}).json["accent_color"] == color


def test_the_audit_log_has_the_settings_before_and_after(acme, me):
    me.patch(acme.path, {"name": "Acme Nights", "website": SETTINGS["website"]})
    me.patch(acme.path, {"name": "Acme Nights", "website": None, "contact_email": "a@b.io"})
    me.patch(acme.path, {"name": "Acme Nights"})
    second, first = log_of(acme, me)
    assert first["action"] == second["action"] == "tenants_change_tenant"
    assert first["before"] == {"name": "Acme", "website": None}
    assert first["after"] == {"name": "Acme Nights", "website": SETTINGS["website"]}
    assert second["before"] == {"website": SETTINGS["website"], "contact_email": None}
    assert second["after"] == {"website": None, "contact_email": "a@b.io"}


def test_a_refused_change_changes_and_records_nothing(acme, me):
    before = me.get(acme.path).json
    bad = {**SETTINGS, "terms_url": "javascript:alert(1)", "accent_color": "#ffff0"}
    refused = me.patch(acme.path, bad)
    assert refused.json["errors"].keys() == {"terms_url", "accent_color"}
    assert me.get(acme.path).json == before
    assert log_of(acme, me) == []
