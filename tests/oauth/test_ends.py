"""How an app ends, and what a change of its member does to it."""

import logging
from datetime import timedelta

import pytest

from tests.support.console import SAME_ORIGIN, hidden_fields, sign_in
from tests.support.mcp import message
from tests.support.oauth import App, has_ended, is_refused
from ticketing import logs
from ticketing.models.connected_apps import ConnectedApp
from ticketing.models.members import Member
from ticketing.services.access import members, passwords
from ticketing.services.oauth import connected_apps


def test_a_member_who_is_disabled_takes_the_apps_along(acme, console, registered_app):
    registered_app.connect(console, "read")
    (member,) = Member.select().where(Member.email == console.email)
    members.disable(acme.id, member.id)
    assert has_ended(registered_app)


def test_a_new_password_ends_the_apps(acme, console, registered_app):
    registered_app.connect(console, "read")
    (member,) = Member.select().where(Member.email == console.email)
    with members.changing(acme.id):
        members.set_password(member, passwords.hashed("another long password"))
    assert has_ended(registered_app)


def test_an_app_ends_itself_with_one_of_its_tokens(console, registered_app, client):
    for kind in ("access_token", "refresh_token"):
        app = App(client, registered_app.client_id)
        app.connect(console, "read")
        form = {"client_id": "another", "token": app.tokens[kind]}
        assert is_refused(client.post("/v1/oauth/revoke", data=form))
        answer = client.post("/v1/oauth/revoke", data={**form, "client_id": app.client_id})
        assert answer.status_code == 200 and has_ended(app)
        # A token that is not valid is no error (RFC 7009, 2.2).
        again = client.post("/v1/oauth/revoke", data={**form, "client_id": app.client_id})
        assert again.status_code == 200


def test_a_member_ends_an_app_in_the_console(acme, console, registered_app):
    registered_app.connect(console, "read")
    page = console.get("/console/apps").text
    (app,) = ConnectedApp.select()
    assert "Assistant" in page and f"/console/apps/{app.id}/end" in page
    assert console.send(f"/console/apps/{app.id}/end").status_code == 303
    assert has_ended(registered_app)
    assert "No app is connected" in console.get("/console/apps").text
    assert "App ended" in sign_in(acme, email="b@example.org").get("/console/audit-log").text


def test_apps_of_others_are_for_administrators(acme, neighbour, console, registered_app):
    registered_app.connect(console, "read")
    (app,) = ConnectedApp.select()
    colleague = sign_in(acme, "write", email="b@example.org")
    for other in (colleague, sign_in(neighbour)):
        assert "No app is connected" in other.get("/console/apps").text
        assert other.send(f"/console/apps/{app.id}/end").status_code == 404
    admin = sign_in(acme, email="c@example.org")
    assert console.email in admin.get("/console/apps").text
    assert admin.send(f"/console/apps/{app.id}/end").status_code == 303
    assert has_ended(registered_app)


def test_a_member_has_a_bounded_number_of_apps(console, registered_app, monkeypatch):
    monkeypatch.setattr(connected_apps, "MAX_OF_MEMBER", 2)
    for _ in range(2):
        registered_app.connect(console, "read")
    page = registered_app.page(console)
    form = {**hidden_fields(page.text), "consent": "connect", "role": "read"}
    refusal = console.send("/console/connect", form)
    assert refusal.status_code == 409 and "too many apps" in refusal.text
    console.send(f"/console/apps/{ConnectedApp.select().first().id}/end")
    registered_app.connect(console, "read")


def test_what_the_list_does_not_show_counts_no_more(console, registered_app, stopped, monkeypatch):
    monkeypatch.setattr(connected_apps, "MAX_OF_MEMBER", 2)
    for _ in range(2):
        registered_app.decide(console, "read")  # no code is exchanged
    stopped.forward(minutes=2)
    assert "No app is connected" in console.get("/console/apps").text
    registered_app.connect(console, "read")


def test_what_has_ended_is_deleted(console, registered_app, stopped):
    registered_app.decide(console, "read")  # its code is not exchanged
    registered_app.connect(console, "read")
    connected_apps.forget_old()
    assert ConnectedApp.select().count() == 2
    stopped.forward(days=1)
    connected_apps.forget_old()
    assert [each.generation for each in ConnectedApp.select()] == [1]
    stopped.now += connected_apps.UNUSED_LIVES + timedelta(days=1)
    connected_apps.forget_old()
    assert ConnectedApp.select().count() == 0


# What a change of the member does.


@pytest.mark.parametrize(("before", "after"), [("finance", "admin"), ("door", "write")])
def test_an_app_whose_role_fits_no_more_is_asked_about_again(acme, registered_app, before, after):
    console = sign_in(acme, before)
    api = registered_app.connect(console, before)
    Member.update(role=after).execute()
    assert api.post("/mcp/organizer", message("tools/list")).status_code == 401
    refused = registered_app.renew()
    assert refused.status_code == 400 and refused.json["error"] == "invalid_grant"
    Member.update(role=before).execute()
    assert registered_app.renew().status_code == 200


@pytest.mark.one_database
def test_no_token_is_in_the_log(acme, console, registered_app, caplog):
    caplog.set_level(logging.DEBUG)
    logs.configure("DEBUG", "plain")
    registered_app.connect(console, "read")
    registered_app.renew()
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert "oat_" not in text and registered_app.tokens["refresh_token"] not in text


@pytest.mark.one_database
@pytest.mark.parametrize("path", ["", "/second"])
def test_the_window_that_opened_the_page_is_kept_on_the_way_to_it(acme, registered_app, path):
    stranger = acme.app.test_client()
    asked = stranger.get("/console/connect", query_string=registered_app.asks())
    to_sign_in = asked.headers["Location"].replace("/sign-in", f"/sign-in{path}")
    signing_in = stranger.open(to_sign_in, method="POST" if path else "GET", headers=SAME_ORIGIN)
    for answer in (asked, signing_in):
        assert answer.headers["Cross-Origin-Opener-Policy"] == "unsafe-none"
    other = stranger.get("/console/sign-in?next=/console/apps")
    assert other.headers["Cross-Origin-Opener-Policy"] == "same-origin"
