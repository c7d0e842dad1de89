"""A member connects an app: discovery, the page, tokens, and the tools that they open."""

import json

import pytest
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata

from tests.support.console import hidden_fields, sign_in
from tests.support.mcp import call, message
from tests.support.oauth import CALLBACK, ISSUER, metadata_url, registered, sent_back, tool_names
from ticketing.models.audit_log import AuditLogEntry
from ticketing.models.connected_apps import ConnectedApp

READS = {"sales", "list_attendees", "owed_refunds"}
ORGANIZERS = READS | {"check_in"}


def test_an_app_finds_the_page_and_the_tokens_by_itself(api):
    refused = api.post("/mcp/organizer", message("tools/list"))
    assert refused.status_code == 401 and refused.json["code"] == "unauthenticated"
    resource = api.get(metadata_url(refused)).json
    assert resource["resource"] == f"{ISSUER}/mcp/organizer"
    assert resource["scopes_supported"] == ["read", "write", "finance", "door"]
    assert resource["authorization_servers"] == [ISSUER]
    found = api.get("/.well-known/oauth-authorization-server").json
    assert found["issuer"] == ISSUER and found["code_challenge_methods_supported"] == ["S256"]
    https = {
        name: text.replace("http://", "https://") if isinstance(text, str) else text
        for name, text in found.items()
    }
    AuthorizationServerMetadata(https).validate()


@pytest.mark.parametrize("path", ["/mcp", "/mcp/organizer"])
def test_a_wrong_token_gets_the_way_to_a_right_one(acme, client, path):
    sent = {"Authorization": "Bearer oat_no"}
    refused = client.post(path, json=message("tools/list"), headers=sent)
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["WWW-Authenticate"]
    assert client.get(metadata_url(refused)).json["resource"] == ISSUER + path


def test_without_a_credential_mcp_is_open_to_buyers(api):
    assert not ORGANIZERS & tool_names(api, "/mcp")


@pytest.mark.parametrize(
    ("member", "asked", "role", "scope", "opened"),
    [
        ("admin", None, "read", "read", READS),
        ("admin", "read write", "write", "read write", ORGANIZERS),
        ("write", "admin write", "write", "read write", ORGANIZERS),
        ("read", "read write", "read", "read", READS),
        ("finance", None, "finance", "finance", READS),
        ("door", None, "door", "door", {"check_in"}),
    ],
)
def test_an_app_gets_the_role_that_the_member_chose(
    acme, registered_app, member, asked, role, scope, opened
):
    console = sign_in(acme, member)
    api = registered_app.connect(console, role, **({} if asked is None else {"scope": asked}))
    assert (
        registered_app.tokens["scope"] == scope and registered_app.tokens["token_type"] == "Bearer"
    )
    assert tool_names(api) & ORGANIZERS == opened
    assert tool_names(api, "/mcp") & ORGANIZERS == opened


def test_the_page_names_the_app_the_organizer_and_the_member(acme, registered_app):
    page = registered_app.page(sign_in(acme, "write"), scope="read write").text
    for text in ("Connect <bdi>Assistant</bdi>?", "assistant.example", "Acme", "ada@example.org"):
        assert text in page
    assert page.count('name="role"') == 2 and 'value="read" checked' in page
    assert "any app can use this name" in page


def test_a_call_of_a_tool_is_one_of_the_member(acme, registered_app):
    ticket = acme.ticket(price_amount=0)
    acme.buyer(ticket).purchase()
    console = sign_in(acme, "write")
    api = registered_app.connect(console, "write", scope="write")
    (attendee,) = call(api, "list_attendees", tenant=acme.slug)["data"]
    assert attendee["status"] == "valid"
    (app,) = ConnectedApp.select()
    assert (app.name, app.role, app.generation) == ("Assistant", "write", 1)


def test_tokens_open_nothing_but_mcp(acme, registered_app):
    api = registered_app.connect(sign_in(acme), "write")
    for path in ("events", "wallet", "members", "intents"):
        assert api.get(f"/v1/admin/tenants/{acme.slug}/{path}").status_code == 401, path
    token = registered_app.tokens["access_token"].removeprefix("oat_")
    bare = {"Authorization": f"Bearer {token}"}
    answer = acme.app.test_client().get(f"/v1/admin/tenants/{acme.slug}/events", headers=bare)
    assert answer.status_code == 401


def test_a_member_who_is_not_signed_in_comes_back_to_the_page(acme, registered_app):
    stranger = acme.app.test_client()
    asked = stranger.get("/console/connect", query_string=registered_app.asks())
    assert asked.status_code == 303 and "/console/sign-in?next=" in asked.headers["Location"]
    sign_in(acme, "write")
    form = {"tenant": acme.slug, "email": "ada@example.org", "password": "correct horse battery"}
    done = stranger.post(
        asked.headers["Location"], data=form, headers={"Sec-Fetch-Site": "same-origin"}
    )
    page = stranger.get(done.headers["Location"])
    assert page.status_code == 200 and "Connect <bdi>Assistant</bdi>?" in page.text


def test_a_member_who_refuses_is_sent_back_with_that(acme, registered_app):
    back = registered_app.decide(sign_in(acme), "read", consent="refuse")
    assert back["error"] == "access_denied"
    assert back["state"] == "a state" and back["iss"] == ISSUER
    assert ConnectedApp.select().count() == 0


def test_the_code_comes_with_state_and_issuer(acme, registered_app):
    back = registered_app.decide(sign_in(acme), "read")
    assert set(back) == {"code", "state", "iss"}
    assert back["state"] == "a state" and back["iss"] == ISSUER


def test_a_redirect_uri_keeps_its_query(acme, client):
    app = registered(client, uri=f"{CALLBACK}?from=here")
    page = app.page(sign_in(acme))
    assert page.status_code == 200
    answer = app.page(sign_in(acme, email="b@example.org"), scope="nothing")
    assert f'href="{CALLBACK}?from=here&amp;error=invalid_scope' in answer.text


def test_a_program_on_the_computer_takes_any_port(acme, client):
    app = registered(client, uri="http://127.0.0.1/callback")
    app.redirect_uri = "http://127.0.0.1:49152/callback"
    page = app.page(sign_in(acme))
    assert "a program on this computer" in page.text
    app.connect(sign_in(acme, email="b@example.org"), "read")


def test_a_chosen_role_is_in_the_audit_log_without_a_token(acme, registered_app):
    console = sign_in(acme)
    registered_app.connect(console, "write")
    (entry,) = AuditLogEntry.select().where(AuditLogEntry.action == "connected_apps_connect")
    assert json.loads(entry.after) == {"name": "Assistant", "host": None, "role": "write"}
    page = console.get("/console/audit-log").text
    assert "App connected" in page and "Assistant" in page


def test_the_same_form_connects_one_app(acme, registered_app):
    console = sign_in(acme)
    page = registered_app.page(console)
    form = {**hidden_fields(page.text), "consent": "connect", "role": "read"}
    first = sent_back(console.send("/console/connect", form))["code"]
    # A second click, while the app answers.
    second = sent_back(console.send("/console/connect", form))["code"]
    assert ConnectedApp.select().count() == 1
    other = console.send("/console/connect", {**form, "role": "write"})
    assert other.status_code == 410 and "was answered before" in other.text
    assert registered_app.exchange(second).status_code == 200
    again = console.send("/console/connect", form)
    assert again.status_code == 410 and "was answered before" in again.text
    assert registered_app.exchange(first).status_code == 400
