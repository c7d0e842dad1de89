"""Signing in to the console, and what ends a session."""

import re
from datetime import timedelta

import pytest

from tests.support.console import PASSWORD, SAME_ORIGIN, hidden_fields, sign_in, signed_in
from tests.support.factories import cli
from ticketing import clock
from ticketing.models.admissions import Admission

ACCOUNT = "/console/account"


def test_without_a_session_every_section_leads_to_the_sign_in(api):
    answer = api.get("/console/account?a=1")
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/console/sign-in?next=/console/account%3Fa%3D1"


def test_signing_in_leads_to_the_page_that_was_asked_for(acme, console):
    browser = acme.app.test_client()
    form = {"tenant": "acme", "email": console.email, "password": PASSWORD}
    path = "/console/sign-in?next=/console/account%3Fa%3D1"
    answer = browser.post(path, data=form, headers=SAME_ORIGIN)
    assert answer.headers["Location"] == "/console/account?a=1"
    assert browser.get(ACCOUNT).status_code == 200


def test_a_sign_in_is_in_the_audit_log_and_a_refused_one_is_not(acme, console):
    browser = acme.app.test_client()
    form = {"tenant": "acme", "email": console.email, "password": PASSWORD}
    for password in ("wrong", PASSWORD):
        sent = {**form, "password": password}
        browser.post("/console/sign-in", data=sent, headers=SAME_ORIGIN)
    page = console.get("/console/audit-log").text
    assert page.count("Signed in<") == 1 and console.email in page


@pytest.mark.parametrize("path", ["//evil.example", "https://evil.example", "/\\evil.example", "x"])
def test_signing_in_never_leads_to_another_site(acme, console, path):
    form = {"tenant": "acme", "email": console.email, "password": PASSWORD}
    answer = acme.app.test_client().post(
        "/console/sign-in", query_string={"next": path}, data=form, headers=SAME_ORIGIN
    )
    assert answer.headers["Location"] == "/console"


@pytest.mark.parametrize("wrong", [{"tenant": "none"}, {"email": "a@b.c"}, {"password": "wrong"}])
def test_a_wrong_sign_in_shows_the_form_again_without_a_reason(acme, console, wrong):
    form = {"tenant": "acme", "email": console.email, "password": PASSWORD, **wrong}
    answer = acme.app.test_client().post("/console/sign-in", data=form, headers=SAME_ORIGIN)
    assert answer.status_code == 401
    assert "Nobody signs in with this email address and password." in answer.text
    assert form["password"] not in answer.text
    assert "Set-Cookie" not in answer.headers


def test_the_cookie_is_for_this_host_and_no_script(acme, console):
    form = {"tenant": "acme", "email": console.email, "password": PASSWORD}
    answer = acme.app.test_client().post("/console/sign-in", data=form, headers=SAME_ORIGIN)
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("session=")
    assert cookie.endswith("; HttpOnly; Path=/; SameSite=Lax")


class TestKnownBrowser:
    """Ten attempts a minute are allowed for a member, and some for all addresses."""

    FORM = {"tenant": "acme", "email": "ada@example.org", "password": PASSWORD}

    @pytest.fixture
    def environ(self, environ):
        return {**environ, "RATE_LIMIT_LOGIN": "10"}

    @pytest.fixture
    def known(self, acme):
        """A browser in which Ada has signed in, and out."""
        ada = sign_in(acme, "admin", "ada@example.org")
        browser = acme.app.test_client()
        assert self.post(browser).status_code == 303
        ada.send("/console/sign-out")
        return browser

    def post(self, browser, **other):
        return browser.post("/console/sign-in", data={**self.FORM, **other}, headers=SAME_ORIGIN)

    def test_a_strangers_wrong_passwords_do_not_lock_it_out(self, acme, known):
        stranger = acme.app.test_client()
        tried = [self.post(stranger, password="wrong").status_code for _ in range(12)]
        assert tried[0] == 401 and tried[-1] == 429
        assert self.post(acme.app.test_client()).status_code == 429
        assert self.post(known).status_code == 303

    def test_it_has_no_more_attempts_than_others(self, known):
        tried = [self.post(known, password="wrong").status_code for _ in range(12)]
        assert tried.count(401) <= 10 and tried[-1] == 429

    def test_it_counts_for_its_member_only(self, acme, neighbour, known):
        sign_in(acme, "read", "bob@example.org")
        sign_in(neighbour, "read", "ada@example.org")
        stranger = acme.app.test_client()
        for other in ({"email": "bob@example.org"}, {"tenant": "neighbour"}):
            for _ in range(12):
                self.post(stranger, password="wrong", **other)
            assert self.post(known, **other).status_code == 429

    def test_a_forged_one_is_a_stranger(self, acme, known):
        secret = known.get_cookie("browser").value
        forged = acme.app.test_client()
        forged.set_cookie("browser", secret[:-1] + ("0" if secret[-1] != "0" else "1"))
        for _ in range(12):
            self.post(forged, password="wrong")
        assert self.post(acme.app.test_client()).status_code == 429
        assert self.post(known).status_code == 303

    def test_the_form_keeps_the_short_name_of_the_organizer(self, neighbour, known):
        assert 'value="acme"' in known.get("/console/sign-in").text
        assert 'value="acme"' not in known.application.test_client().get("/console/sign-in").text


def test_json_surfaces_take_no_cookie(acme, console):
    assert console.get(acme.path).status_code == 401


def test_signing_out_ends_the_session_on_the_server(acme, console):
    cookie = console.client.get_cookie("session")
    answer = console.send("/console/sign-out")
    assert answer.headers["Location"] == "/console/sign-in"
    assert console.client.get_cookie("session") is None
    console.client.set_cookie("session", cookie.value)
    assert console.get(ACCOUNT).status_code == 303


def test_a_session_ends_when_its_member_is_disabled(acme, console):
    cli(acme.app, "members", "disable", "acme", console.email)
    assert console.get(ACCOUNT).status_code == 303


def test_another_session_is_listed_and_can_be_ended(acme, console):
    other = signed_in(acme, console.email)
    rows = re.findall(r"<tr>.*?</tr>", console.get(ACCOUNT).text, re.DOTALL)
    (path,) = [re.search(r'action="([^"]+)"', row)[1] for row in rows[1:] if "this one" not in row]
    assert console.send(path).headers["Location"] == f"{ACCOUNT}#ended"
    assert other.get(ACCOUNT).status_code == 303
    assert console.get(ACCOUNT).status_code == 200


def test_a_session_ends_after_twelve_hours_without_a_request(acme, console, monkeypatch):
    later = clock.now() + timedelta(hours=12, minutes=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert console.get(ACCOUNT).status_code == 303


def test_a_form_without_the_token_of_its_session_is_refused(acme, console, neighbour):
    other = sign_in(neighbour)
    token = hidden_fields(other.get("/console/settings").text)["csrf_token"]
    for form in ({}, {"csrf_token": token}, {"csrf_token": "é"}):
        answer = console.client.post("/console/settings", data=form, headers=SAME_ORIGIN)
        assert answer.status_code == 403
        assert "session" in answer.text or "signed in again" in answer.text


def test_a_form_of_another_site_is_refused(console):
    answer = console.send("/console/settings", {"name": "x"}, **{"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403


def test_a_role_that_is_too_low_opens_nothing(reader):
    assert reader.get("/console/settings").status_code == 403
    assert "Settings" not in reader.get(ACCOUNT).text


def test_settings_are_changed_and_recorded(acme, console):
    form = {"name": "Acme Live", "accent_color": "#0b6e66", "website": ""}
    assert console.send("/console/settings", form).headers["Location"] == "/console/settings#saved"
    assert 'value="Acme Live"' in console.get("/console/settings").text
    (entry, *_) = acme.api().get(f"{acme.path}/audit-log").json["data"]
    assert entry["action"] == "tenants_change_tenant"
    assert entry["actor"].startswith("mem_")


def test_refused_settings_are_shown_again(console):
    answer = console.send("/console/settings", {"name": "Acme", "accent_color": "0b6e66"})
    assert answer.status_code == 422
    assert 'value="0b6e66"' in answer.text and 'id="accent_color-error"' in answer.text


def test_the_same_key_with_other_content_is_another_form(acme, console):
    ticket = acme.ticket()
    path = f"/console/events/{ticket['event_id']}/guests"
    for guest in ("Ada", "Ada", "Grace"):
        console.send(path, {"ticket_id": ticket["id"], "guests": guest})
    assert Admission.select().count() == 2
