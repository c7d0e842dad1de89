"""What somebody may try who wants tokens that no member gave, or more than was given."""

import pytest

from tests.support.console import PASSWORD, SAME_ORIGIN, hidden_fields, sign_in
from tests.support.mcp import call, refused
from tests.support.oauth import (
    CALLBACK,
    VERIFIER,
    App,
    has_ended,
    is_refused,
    offered_back,
    registered,
    sent_back,
    tool_names,
)
from tests.support.races import at_once
from ticketing.models.connected_apps import ConnectedApp
from ticketing.models.members import Member
from ticketing.roles import Role
from ticketing.services.access import members

# Open redirect.


@pytest.mark.parametrize(
    "uri",
    [
        None,
        "",
        "https://evil.example/",
        "https://assistant.example/",
        f"{CALLBACK}/",
        f"{CALLBACK}/../x",
        f"{CALLBACK}?x=1",
        f"{CALLBACK}#x",
        "https://assistant.example:444/callback",
        "https://assistant.example.evil.example/callback",
        "https://x@assistant.example/callback",
        "https://ASSISTANT.example/callback",
        "http://assistant.example/callback",
        "http://127.0.0.1/callback",
        "javascript:alert(1)//https://assistant.example/callback",
        "//assistant.example/callback",
        f'{CALLBACK}"\\',
        f"{CALLBACK}\r\nX: y",
        f"{CALLBACK}\u2028",
        "x" * 3000,
    ],
)
@pytest.mark.parametrize("more", [{}, {"response_type": "token"}, {"scope": "nothing"}])
@pytest.mark.one_database
def test_nobody_is_sent_to_an_address_that_is_not_the_apps_own(console, registered_app, uri, more):
    page = registered_app.page(console, redirect_uri=uri, **more)
    assert page.status_code == 400 and "Location" not in page.headers


@pytest.mark.one_database
def test_a_program_on_the_computer_is_bound_to_its_host_and_path(console, client):
    app = registered(client, uri="http://127.0.0.1:1/callback")
    for uri in (
        "http://localhost:1/callback",
        "http://127.0.0.1:1/other",
        "http://127.0.0.1:1/callback?x",
        "https://127.0.0.1:1/callback",
        "http://127.0.0.1.evil.example/callback",
        "http://127.0.0.1:1@evil.example/callback",
    ):
        assert app.page(console, redirect_uri=uri).status_code == 400, uri


# Requests that authlib would not expect.


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": 'x"\\'}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "x"}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"scope": "admin paywall"}, "invalid_scope"),
        ({"scope": "finance"}, "invalid_scope"),
        ({"scope": 'x"\\'}, "invalid_scope"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
    ],
)
def test_an_app_hears_what_it_asked_wrongly(console, registered_app, wrong, error):
    """Anybody can register an address: so a person goes there by a click only."""
    back = offered_back(registered_app.page(console, **wrong))
    assert back["error"] == error and back["state"] == "a state"
    assert back["iss"] == "http://localhost" and back["error_description"]


@pytest.mark.one_database
def test_a_program_on_the_computer_hears_at_once_what_it_asked_wrongly(console, client):
    uri = "http://127.0.0.1:49152/callback"
    page = registered(client, uri=uri).page(console, scope="nothing")
    assert sent_back(page, uri)["error"] == "invalid_scope"


@pytest.mark.one_database
@pytest.mark.parametrize("name", ["client_id", "redirect_uri", "state", "scope", "code_challenge"])
def test_a_parameter_is_sent_once(console, registered_app, name):
    asks = [*registered_app.asks(scope="read").items(), (name, "x")]
    page = console.client.get("/console/connect", query_string=asks)
    assert page.status_code == 400 and "sent twice" in page.text


@pytest.mark.one_database
@pytest.mark.parametrize("text", ["\x00", "ä", "\ud800".encode(errors="surrogatepass"), "x" * 2049])
def test_a_state_is_short_and_ascii(console, registered_app, text):
    asks = {**registered_app.asks(), "state": text}
    assert console.client.get("/console/connect", query_string=asks).status_code == 400


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "application/x-www-form-urlencoded"),
        (b"{}", "application/json"),
        (b"grant_type=password&username=a&password=b&client_id=x", None),
        (b"grant_type=authorization_code&grant_type=refresh_token", None),
        (b"grant_type=authorization_code&client_id=x&code=%ff", None),
        (b"grant_type=authorization_code&client_id=x&code=%00", None),
        (b"grant_type=%22%5c&client_id=x", None),
        (b"grant_type=authorization_code&client_id=x", None),
        (b"grant_type=authorization_code&code=x", None),
        (b"grant_type=refresh_token&client_id=x", None),
        (b"grant_type=refresh_token&client_id=x&refresh_token=x&client_secret=y", None),
        (b"&".join(b"x%d=1" % n for n in range(1500)), None),
    ],
)
@pytest.mark.parametrize("path", ["/v1/oauth/token", "/v1/oauth/revoke"])
def test_a_token_request_with_a_fault_is_told_so(client, path, body, kind):
    answer = client.post(path, data=body, content_type=kind or "application/x-www-form-urlencoded")
    assert answer.status_code in (400, 413), answer.text
    assert answer.status_code == 413 or answer.json["error"]


# Codes.


def test_a_code_works_once_and_a_replay_ends_the_app(console, registered_app):
    code = registered_app.decide(console, "read")["code"]
    assert registered_app.exchange(code).status_code == 200
    assert not is_refused(registered_app.renew())
    assert is_refused(registered_app.exchange(code))
    assert has_ended(registered_app)


def test_of_two_exchanges_at_once_none_is_left(console, registered_app, acme):
    code = registered_app.decide(console, "read")["code"]

    def exchange():
        return App(acme.app.test_client(), registered_app.client_id).exchange(code)

    answers = at_once(*[exchange] * 4)
    assert sum(each.status_code == 200 for each in answers) <= 1
    (app,) = ConnectedApp.select()
    assert app.ended_at is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"code_verifier": "w" * 43},
        {"code_verifier": ""},
        {"code_verifier": VERIFIER + "\n"},
        {"redirect_uri": "https://assistant.example/other"},
        {"redirect_uri": ""},
        {"client_id": "another"},
        {"client_id": ""},
        {"resource": "https://other.example/mcp"},
    ],
)
@pytest.mark.one_database
def test_a_code_without_what_belongs_to_it_is_of_no_use(console, registered_app, wrong):
    code = registered_app.decide(console, "read")["code"]
    answer = registered_app.exchange(code, **wrong)
    assert answer.status_code in (400, 401) and "access_token" not in answer.text
    assert registered_app.exchange(code).status_code == 200


@pytest.mark.one_database
def test_a_code_is_of_no_use_to_another_app(console, registered_app, client):
    code = registered_app.decide(console, "read")["code"]
    other = registered(client, name="Other", uri="https://other.example/callback")
    assert is_refused(other.exchange(code, redirect_uri=CALLBACK))
    assert is_refused(other.exchange(code))


@pytest.mark.one_database
def test_a_code_ends_after_a_minute(console, registered_app, stopped):
    code = registered_app.decide(console, "read")["code"]
    stopped.forward(seconds=61)
    assert is_refused(registered_app.exchange(code))


@pytest.mark.one_database
def test_no_token_is_taken_for_another(console, registered_app):
    code = registered_app.decide(console, "read")["code"]
    registered_app.exchange(code)
    tokens = registered_app.tokens
    access = tokens["access_token"]
    assert is_refused(registered_app.renew(access))
    assert is_refused(registered_app.renew(access.removeprefix("oat_")))
    assert is_refused(registered_app.renew(code))
    assert is_refused(registered_app.exchange(tokens["refresh_token"]))
    registered_app.tokens = {"access_token": f"oat_{tokens['refresh_token']}"}
    assert registered_app.api().post("/mcp", {}).status_code == 401


# Refresh tokens.


def test_a_refresh_token_is_valid_once(console, registered_app, stopped):
    registered_app.connect(console, "read")
    first = registered_app.tokens["refresh_token"]
    assert registered_app.renew().status_code == 200
    second = registered_app.tokens["refresh_token"]
    assert second != first
    stopped.forward(seconds=31)
    assert is_refused(registered_app.renew(first))
    assert is_refused(registered_app.renew(second))
    assert has_ended(registered_app)


def test_a_lost_answer_is_given_again_for_half_a_minute(console, registered_app, stopped):
    registered_app.connect(console, "read")
    first = registered_app.tokens["refresh_token"]
    assert registered_app.renew().status_code == 200
    stopped.forward(seconds=29)
    assert registered_app.renew(first).status_code == 200
    assert registered_app.renew().status_code == 200
    # It is two generations old now.
    assert is_refused(registered_app.renew(first))
    assert has_ended(registered_app)


def test_two_renewals_at_once_go_on_with_one_token(console, registered_app, acme):
    registered_app.connect(console, "read")

    def renew():
        app = App(acme.app.test_client(), registered_app.client_id)
        return app.renew(registered_app.tokens["refresh_token"])

    answers = at_once(*[renew] * 4)
    assert {each.status_code for each in answers} == {200}
    assert ConnectedApp.select().get().generation == 2
    assert registered_app.renew(answers[0].json["refresh_token"]).status_code == 200


@pytest.mark.one_database
def test_an_app_that_stays_away_ends(console, registered_app, stopped):
    registered_app.connect(console, "read")
    stopped.forward(days=29)
    assert registered_app.renew().status_code == 200
    stopped.forward(days=30, seconds=1)
    assert has_ended(registered_app)
    assert "No app is connected" in sign_in_again(console).get("/console/apps").text


def sign_in_again(console):
    """The same member's console, with a new session: the clock has moved."""
    form = {"tenant": "acme", "email": console.email, "password": PASSWORD}
    console.client.post("/console/sign-in", data=form, headers=SAME_ORIGIN)
    return console


@pytest.mark.one_database
def test_an_access_token_ends_after_a_quarter_of_an_hour(console, registered_app, stopped):
    api = registered_app.connect(console, "read")
    assert registered_app.tokens["expires_in"] == 900
    stopped.forward(seconds=899)
    assert "sales" in tool_names(api)
    stopped.forward(seconds=1)
    assert api.post("/mcp", {}).status_code == 401


# More than was given.


def test_a_refresh_token_gives_less_but_never_more(console, registered_app):
    registered_app.connect(console, "read", scope="read write")
    assert is_refused(registered_app.renew(scope="read write"), "invalid_scope")
    assert is_refused(registered_app.renew(scope="write"), "invalid_scope")
    assert registered_app.renew(scope="read").json["scope"] == "read"


def test_a_renewal_may_ask_for_less(console, registered_app):
    registered_app.connect(console, "write", scope="read write")
    assert registered_app.renew(scope="read").json["scope"] == "read"
    assert "check_in" not in tool_names(registered_app.api())
    assert registered_app.renew().json["scope"] == "read write"
    assert "check_in" in tool_names(registered_app.api())


@pytest.mark.parametrize("role", ["admin", "paywall", "finance", "door"])
@pytest.mark.one_database
def test_a_form_cannot_choose_what_was_not_offered(console, registered_app, role):
    page = registered_app.page(console)
    form = {**hidden_fields(page.text), "consent": "connect", "role": role}
    assert console.send("/console/connect", form).status_code == 410
    assert ConnectedApp.select().count() == 0


def test_an_app_never_has_more_than_its_member(acme, console, registered_app):
    api = registered_app.connect(console, "write")
    assert "check_in" in tool_names(api)
    (member,) = Member.select().where(Member.email == console.email)
    members.change(acme.id, member.id, {"role": Role.READ})
    assert "check_in" not in tool_names(api) and "sales" in tool_names(api)
    members.change(acme.id, member.id, {"role": Role.DOOR})
    assert api.post("/mcp", {}).status_code == 401
    members.change(acme.id, member.id, {"role": Role.ADMIN})
    assert "check_in" in tool_names(api)


def test_an_app_is_limited_to_its_members_events(acme, registered_app):
    theirs, other = acme.ticket(price_amount=0), acme.ticket(price_amount=0)
    for each in (theirs, other):
        acme.buyer(each).purchase()
    console = sign_in(acme, "read", event_ids=[theirs["event_id"]])
    api = registered_app.connect(console, "read")
    listed = call(api, "list_attendees", tenant=acme.slug)["data"]
    assert [each["event_id"] for each in listed] == [theirs["event_id"]]


def test_an_app_of_one_tenant_is_a_stranger_to_the_neighbour(acme, neighbour, registered_app):
    api = registered_app.connect(sign_in(acme), "read")
    assert refused(api, "sales", tenant=neighbour.slug)["code"] == "wrong_tenant"


def test_a_page_is_answered_by_the_member_whom_it_asked(acme, neighbour, registered_app):
    page = registered_app.page(sign_in(acme))
    form = {**hidden_fields(page.text), "consent": "connect", "role": "read"}
    del form["csrf_token"]
    for other in (sign_in(acme, email="b@example.org"), sign_in(neighbour)):
        assert other.send("/console/connect", form).status_code == 410
    assert ConnectedApp.select().count() == 0


@pytest.mark.one_database
def test_a_page_that_was_open_too_long_has_ended(console, registered_app, stopped):
    page = registered_app.page(console)
    stopped.forward(minutes=10, seconds=1)
    form = {**hidden_fields(page.text), "consent": "connect", "role": "read"}
    assert console.send("/console/connect", form).status_code == 410


# The browser.


@pytest.mark.one_database
def test_the_page_cannot_be_framed_or_answered_by_another_site(console, registered_app):
    page = registered_app.page(console)
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    # Chromium applies it to what the app redirects to, too.
    assert "form-action" not in page.headers["Content-Security-Policy"]
    assert page.headers["Cache-Control"] == "no-store"
    form = {**hidden_fields(page.text), "consent": "connect", "role": "read"}
    foreign = {"Sec-Fetch-Site": "cross-site"}
    assert console.send("/console/connect", form, **foreign).status_code == 403
    answer = console.client.post(
        "/console/connect", data={**form, "csrf_token": "x"}, headers=SAME_ORIGIN
    )
    assert answer.status_code == 403
    assert ConnectedApp.select().count() == 0


@pytest.mark.one_database
def test_asking_changes_nothing(console, registered_app):
    registered_app.page(console)
    answer = console.client.get(
        "/console/connect", query_string={**registered_app.asks(), "consent": "connect"}
    )
    assert answer.status_code == 200 and ConnectedApp.select().count() == 0
