"""Apps that describe themselves at a URL, and apps that register themselves."""

import json
from dataclasses import replace

import pytest

from tests.support.console import sign_in
from tests.support.oauth import CALLBACK, App, registered, tool_names

pytestmark = pytest.mark.one_database


def refusal(app, console):
    page = app.page(console)
    assert page.status_code == 400 and "Location" not in page.headers
    return page.text


def test_an_app_is_described_at_the_url_that_is_its_id(acme, documents, client):
    app = App(client, documents.describe())
    console = sign_in(acme)
    page = app.page(console).text
    assert '<strong translate="no">localhost:' in page and "any app can use this name" not in page
    assert documents.asked == ["/app.json"]
    assert "sales" in tool_names(app.connect(console, "read"))
    assert documents.asked == ["/app.json"]  # not again for ten minutes
    # Who can put a file there need not be who gets the code.
    assert "Connect it only if you have just come from assistant.example, and trust it." in page
    assert "localhost:" in console.get("/console/apps").text


@pytest.mark.parametrize(
    "more",
    [
        {"client_id": "https://localhost/another"},
        {"client_id": None},
        {"redirect_uris": []},
        {"redirect_uris": "https://assistant.example/callback"},
        {"redirect_uris": ["http://assistant.example/callback"]},
        {"redirect_uris": [CALLBACK] * 11},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"token_endpoint_auth_method": "client_secret_post"},
    ],
)
def test_a_description_with_a_fault_is_refused(acme, documents, client, more):
    app = App(client, documents.describe(**more))
    assert "This app was not connected" in refusal(app, sign_in(acme))


def test_a_description_is_json(acme, documents, client):
    documents.content_type = "text/plain"
    assert "cannot be read" in refusal(App(client, documents.describe()), sign_in(acme))


@pytest.mark.parametrize(
    "file",
    [
        (404, b"{}"),
        (302, b""),
        (200, b""),
        (200, b"[]"),
        (200, b"null"),
        (200, b"\xff"),
        (200, b"[" * 10_000),
        (200, b"1" * 10_000),
        (200, b'{"a": "' + b"x" * 20_000 + b'"}'),
    ],
)
def test_a_description_that_cannot_be_read_is_refused(acme, documents, client, file):
    app = App(client, documents.describe())
    documents.files["/app.json"] = file
    if file[0] == 302:
        documents.files["/moved.json"] = file
        app.client_id = documents.url("/moved.json")
    assert "cannot be read" in refusal(app, sign_in(acme))
    assert len(documents.asked) == 1


@pytest.mark.parametrize(
    "client_id",
    [
        "https://localhost",
        "https://localhost/",
        "https://localhost/a/../app.json",
        "https://user@localhost/app.json",
        "https://localhost/app.json#part",
        "https://localhost:99999/app.json",
        "https://2130706433/app.json",
        "https://[::1/app.json",
        "https:///app.json",
        "http://localhost/app.json",
        "an-app",
        "eyJhbGciOiJub25lIn0.eyJyZWRpcmVjdF91cmlzIjpbXX0.",
    ],
)
def test_an_id_that_is_none_is_refused(acme, client, client_id):
    refusal(App(client, client_id), sign_in(acme))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost"]
)
def test_nothing_is_read_from_a_network_that_is_not_public(acme, documents, client, host):
    known = acme.app.extensions
    known["ticketing"] = replace(known["ticketing"], webhook_allow=())
    port = documents.url("").rpartition(":")[2]
    refusal(App(client, f"https://{host}:{port}/app.json"), sign_in(acme))
    assert documents.asked == []


def test_a_name_is_shown_as_text(acme, client):
    app = registered(client, name="<b>Bank</b>\u202e\n" + "x" * 100)
    page = app.page(sign_in(acme)).text
    assert "&lt;b&gt;Bank&lt;/b&gt;xxx" in page and "x" * 61 not in page


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"redirect_uris": []},
        {"redirect_uris": [1]},
        {"redirect_uris": {"a": CALLBACK}},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": ["data:text/html,x"]},
        {"redirect_uris": ["https://user@assistant.example/"]},
        {"redirect_uris": ["https://assistant.example/#part"]},
        {"redirect_uris": ["https://assistant.example/\r\nX: y"]},
        {"redirect_uris": ["https://assistant.example:x/"]},
        {"redirect_uris": ["http://assistant.example/"]},
        {"redirect_uris": ["http://localhost.assistant.example/"]},
        {"redirect_uris": ["https://"]},
        {"redirect_uris": ["https://a;sandbox/callback"]},
        {"redirect_uris": ["https://a'b/callback"]},
        {"redirect_uris": ["https://a*/callback"]},
        {"redirect_uris": ["https://[::1]/callback"]},
        {"redirect_uris": [f"https://assistant.example/{'x' * 300}"]},
        {"redirect_uris": [f"https://assistant.example/{'x' * 250}{n}" for n in range(9)]},
        {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_basic"},
        [],
        None,
    ],
)
def test_a_registration_with_a_fault_is_refused(client, sent):
    answer = client.post("/v1/oauth/register", json=sent)
    assert answer.status_code == 400, answer.text
    assert answer.json["error"] == "invalid_client_metadata"


@pytest.mark.parametrize("body", [b"", b"{", b"\xff"])
def test_a_registration_that_is_not_json_is_refused(client, body):
    answer = client.post("/v1/oauth/register", data=body, content_type="application/json")
    assert answer.status_code == 400 and answer.json["error"] == "invalid_client_metadata"


def test_a_registration_says_what_it_became(client):
    sent = {
        "client_name": "Assistant",
        "redirect_uris": [CALLBACK],
        "grant_types": ["authorization_code"],
        "scope": "admin",
        "logo_uri": "https://assistant.example/logo.png",
    }
    answer = client.post("/v1/oauth/register", json=sent)
    assert answer.status_code == 201 and answer.headers["Cache-Control"] == "no-store"
    assert answer.json["token_endpoint_auth_method"] == "none"
    assert answer.json["redirect_uris"] == [CALLBACK]
    assert "client_secret" not in answer.json and "scope" not in answer.json
    assert json.dumps(answer.json)


def test_an_id_of_another_kind_of_token_is_refused(acme, client):
    app = registered(client)
    app.connect(sign_in(acme), "read")
    refusal(App(client, app.tokens["refresh_token"]), sign_in(acme, email="b@example.org"))
